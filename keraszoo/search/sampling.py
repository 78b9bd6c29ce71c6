"""Sampling: draws the next word instead of taking the best."""

import numpy as np
from keras import ops

from keraszoo.search.constraints import FORBIDDEN


def draw(logits, options, sentences, position):
    """Draws a word of each row from softmax(logits / temperature), cut to the likeliest words: int32 `(N,)`.

    It is the word with the largest sum of logit, `(N, V)`, and Gumbel noise. The noise is a hash of the seed,
    the sentence's number `(N,)`, such as `numbers_of` gives it, position and word: the same on every backend.
    """
    logits = ops.cast(logits, "float32")
    allowed = logits > FORBIDDEN / 2
    logits = logits - ops.max(logits, axis=-1, keepdims=True)  # the likeliest stays above all that are cut
    logits = ops.where(allowed, logits / ops.maximum(options.temperature, 1e-30), FORBIDDEN)
    logits = keep_likeliest(logits, options.top_k, options.top_p if options.kind.top_p < 1 else None)
    words = ops.arange(logits.shape[-1], dtype="int32")
    keys = _mix(_mix(seeded(sentences, options.seed)) + position)
    bits = _mix(keys[:, None] ^ _mix(words)[None])  # (N, V)
    uniform = (ops.cast(ops.bitwise_and(bits, 0xFFFFFF), "float32") + 0.5) / 2.0**24
    uniform = ops.minimum(uniform, 1 - 2.0**-24)  # float32 rounds the greatest to 1, whose noise is infinite
    noise = -ops.log(-ops.log(uniform))
    return ops.cast(ops.argmax(logits + noise, axis=-1), "int32")


def seeded(sentences, seed):
    """Numbers of sentences, int32 `(N,)`, whose draws with seed 0 are those of `sentences` with `seed`."""
    return ops.cast(sentences, "int32") + _int32(seed * 0x9E3779B9)


def numbers_of(ids, pad_id):
    """A number for each row of ids `(B, S)`, int32 `(B,)`: of its words only, whatever padding and batch.

    Example:

    >>> one, other, again = ops.convert_to_numpy(numbers_of(ops.array([[5, 6, 0], [6, 5, 0], [5, 6, 0]]), 0))
    >>> bool(one == again), bool(one == other)
    (True, False)
    """
    ids = ops.cast(ids, "int32")
    places = ops.arange(ops.shape(ids)[1], dtype="int32")
    return ops.sum(ops.where(ids == pad_id, 0, _mix(ids + _mix(places + 1)[None])), axis=1)


def keep_likeliest(logits, top_k=0, top_p=None):
    """Keeps the k likeliest words of `(N, V)`, and of these the fewest with a probability of `top_p`.

    The likeliest word is always kept. Words that tie at the border are all kept.
    `top_p` may be a scalar tensor; `None`: all are kept.
    """
    if top_k and top_k < logits.shape[-1]:
        least = ops.top_k(logits, top_k)[0][:, -1:]
        logits = ops.where(logits < least, FORBIDDEN, logits)
    if top_p is not None:
        ordered = ops.flip(ops.sort(logits, axis=-1), axis=-1)
        probability = ops.softmax(ordered, axis=-1)
        before = ops.cumsum(probability, axis=-1) - probability  # sum over all likelier words
        least = ops.min(ops.where(before < top_p, ordered, np.inf), axis=-1, keepdims=True)
        logits = ops.where(logits < least, FORBIDDEN, logits)
    return logits


def _int32(number):
    return int(np.uint32(number & 0xFFFFFFFF).astype(np.int32))


def _mix(x):
    """Chris Wellons' `lowbias32` integer hash, on int32 that wrap."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, None)):
        x = ops.bitwise_xor(x, ops.bitwise_and(ops.right_shift(x, shift), (1 << (32 - shift)) - 1))
        x = x if factor is None else x * _int32(factor)
    return x
