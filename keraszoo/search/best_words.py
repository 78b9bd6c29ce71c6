"""The best next words of each row, with few passes over the logits of the vocabulary."""

from keras import ops

from keraszoo.layers.rows import pick
from keraszoo.search.constraints import FORBIDDEN, constrain


def best_allowed(logits, number, tokens, position, options, end_id, never=(), prefix=None):
    """The `number` best words of logits, float32 `(N, V)`, that `constrain` allows, whose arguments follow.

    `never` and a minimum length forbid the same few words in every row. So they are dropped from a few more
    candidates, which spares a copy of the logits.

    Returns:
        `(logits, words, log_total)`: `(N, K)` in descending order, at most `FORBIDDEN` for forbidden words;
        int32 `(N, K)`; and the logarithm of the sum of all V exponentials, `(N, 1)`.
    """
    barred = [*never, *([end_id] if options.kind.min_length else [])]
    best, words = top_words(logits, min(number + len(barred), logits.shape[-1]))
    # of the greatest logit and its probability; a slice `best[:, :1]` would have XLA sort whole rows
    greatest = ops.max(pick(ops.softmax(logits), words), axis=1, keepdims=True)
    log_total = ops.max(best, axis=1, keepdims=True) - ops.log(greatest)
    if options.no_repeat_ngram or prefix is not None:
        allowed = constrain(logits, tokens, position, options, end_id, never, prefix)
        return *top_words(allowed, number), log_total
    for word in never:
        best = ops.where(words == word, FORBIDDEN, best)
    if options.kind.min_length:
        too_short = ops.logical_and(words == end_id, ops.less(position, options.min_length))
        best = ops.where(too_short, FORBIDDEN, best)
    best, places = ops.top_k(best, number)
    return best, pick(words, places), log_total


def top_words(logits, number):
    """`ops.top_k`, in two steps: the best words are in the blocks of words with the greatest maxima.

    Of equals the first comes first, except on PyTorch, whose `topk` takes any of them.

    >>> best, words = top_words(ops.cast(ops.arange(900)[None] % 700, "float32"), 2)
    >>> ops.convert_to_numpy(words).tolist()
    [[699, 698]]
    """
    vocabulary = logits.shape[-1]
    size = next((size for size in range(40, 128) if vocabulary % size == 0), vocabulary)
    count = vocabulary // size
    if count <= 2 * number:
        best, words = ops.top_k(logits, number)
        return best, ops.cast(words, "int32")
    blocks = ops.reshape(logits, (-1, count, size))
    _, chosen = ops.top_k(ops.max(blocks, axis=-1), number)
    chosen = ops.sort(ops.cast(chosen, "int32"), axis=-1)  # in order, so that of equals the first wins
    some = ops.reshape(pick(blocks, chosen), (-1, number * size))
    best, places = ops.top_k(some, number)
    places = ops.cast(places, "int32")
    return best, pick(chosen, places // size) * size + places % size
