"""Hypotheses of one sentence, side by side: they look at the same memory."""

from keras import ops


def by_sentence(rows, memory, width):
    """The rows of each sentence together, `(N, width)` to `(B, N / B, width)`.

    Args:
        rows: N of them, those of a sentence one after the other.
        memory: `(B, S, D)`.
        width: of a row.
    """
    sentences = ops.shape(memory)[0]
    # Of no sentences JAX cannot find out how many rows each has.
    each = 1 if isinstance(sentences, int) and sentences == 0 else -1
    return ops.reshape(rows, (sentences, each, width))
