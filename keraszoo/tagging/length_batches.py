"""Which sentences are tagged together: those of like length, and no more padding than a batch is worth."""

import keras

from keraszoo.errors import KerasZooError

OF_A_BATCH, OF_A_POSITION = 64, 4  # what launching their operations costs, in positions of padding


def length_batches(lengths, batch_tokens):
    """Yields the numbers of the sentences of each batch, from short ones to long ones.

    A batch ends where its padded tokens would be more than the budget; a longer sentence is a batch alone.
    It also ends where the padding in it has cost as much as a batch more does, so that one long sentence does
    not make all others long. On JAX, which compiles a program for each shape, the budget alone decides.

    Args:
        lengths: list of int, the words of each sentence; those without words are left out.
        batch_tokens: the budget.

    Raises:
        KerasZooError: if the budget is less than 1.

    Example:

    >>> list(length_batches([3, 0, 100, 3, 3], batch_tokens=1000))
    [[0, 3, 4], [2]]
    """
    if not isinstance(batch_tokens, int) or batch_tokens < 1:
        raise KerasZooError(f"batch_tokens must be at least 1, got {batch_tokens!r}")
    order = sorted((i for i, length in enumerate(lengths) if length), key=lengths.__getitem__)
    batch, real = [], 0
    for i in order:
        padded = (len(batch) + 1) * lengths[i]
        if batch and (padded > batch_tokens or _too_much(padded - real - lengths[i], lengths[batch[-1]])):
            yield batch
            batch, real = [], 0
        batch.append(i)
        real += lengths[i]
    if batch:
        yield batch


def _too_much(padding, length):
    """Whether so many positions of padding cost more than a batch of this length does by being one more."""
    return keras.backend.backend() != "jax" and padding > OF_A_BATCH + OF_A_POSITION * length
