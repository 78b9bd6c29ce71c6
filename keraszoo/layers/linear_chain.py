"""Dynamic programs of a linear chain: sums and maxima over all paths through the tags of a sentence.

A path y_1..y_T through K tags has the score

    s(y) = start[y_1] + sum_t e_t[y_t] + sum_{t>1} A[y_{t-1}, y_t] + end[y_T]

One more tag, the last, stands for "outside of the sentence", so that start, end and padding need no special
cases. It is the tag before and after the sentence and at padding; start and end are the moves from it and to
it. A sentence without words has one path, with score 0. Padding at any place is skipped.
"""

import numpy as np
from keras import ops

from keraszoo.layers.masking import LOWEST
from keraszoo.layers.time_loop import over_time

NEVER = -1e9  # the score of the impossible: a word that is outside, a tag at padding


def with_outside(emissions, mask, transitions, start, end):
    """Adds the tag for "outside" to emissions `(B, T, K)`, by the mask of words `(B, T)`, and to the moves.

    Returns `(scores, moves)`: `(B, T, K + 1)`, and from row to column `(K + 1, K + 1)`.
    """
    mask = mask[..., None]
    words = ops.where(mask, emissions, NEVER)
    scores = ops.concatenate([words, ops.cast(ops.where(mask, NEVER, 0.0), words.dtype)], axis=-1)
    stay = ops.zeros((1, 1), dtype=transitions.dtype)
    rows = [
        ops.concatenate([transitions, end[:, None]], axis=1),
        ops.concatenate([start[None], stay], axis=1),
    ]
    return scores, ops.concatenate(rows, axis=0)


def is_word(scores):
    """Bool `(B, T)`: at a word, the tag for outside of the sentence is impossible."""
    return scores[..., -1] < 0


def _words_first(scores):
    """Two orders of the positions: words before padding, and back from there. Twice int `(B, T)`."""
    places = ops.arange(ops.shape(scores)[1], dtype="int32")
    order = ops.argsort(ops.where(is_word(scores), places, places + ops.shape(scores)[1]), axis=1)
    order = ops.cast(order, "int32")
    return order, ops.cast(ops.argsort(order, axis=1), "int32")


def _in_order(x, order):
    """The positions of `(B, T, K)` in another order, `(B, T)`."""
    rows, length = ops.shape(order)
    first = length * ops.arange(rows, dtype="int32")[:, None]
    taken = ops.take(ops.reshape(x, (rows * length, x.shape[-1])), order + first, axis=0)
    return ops.reshape(taken, (rows, length, x.shape[-1]))  # on JAX, Keras takes no rows of none


def _outside(like):
    """The state of paths that are outside, in log space, with the shape of `like`; tags on the last axis."""
    row = np.append(np.full(like.shape[-1] - 1, NEVER), 0)
    return ops.zeros_like(like) + ops.convert_to_tensor(row, dtype=like.dtype)


def _logsumexp(x, axis):
    largest = ops.max(x, axis=axis, keepdims=True, initial=LOWEST)  # `initial`: saves TensorFlow a check
    return ops.squeeze(ops.log(ops.sum(ops.exp(x - largest), axis=axis, keepdims=True)) + largest, axis)


def _forward_backward(scores, moves):
    """Log sums over the paths up to each position, from it on (both with its own score), and over all paths.

        alpha_t[j] = e_t[j] + log sum_i exp(alpha_{t-1}[i] + A[i, j])
        gamma_t[i] = e_t[i] + log sum_j exp(A[i, j] + gamma_{t+1}[j])
        log Z = log sum_i exp(alpha_T[i] + A[i, outside])

    Padding is at the end. One loop runs in both directions at once, with the batch on the last axis, where a
    CPU sums fastest. Returns `(alpha, gamma, log_z)`: twice `(B, T, K + 1)`, and `(B,)`.
    """
    ahead = ops.transpose(scores, (1, 2, 0))
    both = ops.stack([ahead, ops.flip(ahead, axis=0)])  # (2, T, K + 1, B)
    ways = ops.stack([moves, ops.transpose(moves)])[..., None]  # where from, where to

    def step(score, state):
        after = score + _logsumexp(state[0][:, :, None] + ways, axis=1)  # (2, K + 1, B)
        return after, [after]

    first = ops.transpose(_outside(ops.sum(scores, axis=1)))  # (K + 1, B)
    sums, (last,) = over_time(step, both, [ops.stack([first, first])])
    sums = ops.transpose(sums, (0, 3, 1, 2))  # (2, B, T, K + 1)
    return sums[0], ops.flip(sums[1], axis=1), _logsumexp(last[0] + moves[:, -1:], axis=0)


def log_partition(scores, moves):
    """The log of the sum of exp(s(y)) over all paths y, log Z: `(B,)`.

    The gradient consists of marginals, which the loop of the forward pass has computed already:

        d log Z / d e_t[i] = P(y_t = i)        d log Z / d A[i, j] = sum_t P(y_t = i, y_{t+1} = j)

    They are the slopes of a linear function of the scores and moves, which is zero here. A custom gradient
    does the same, but TensorFlow keeps every graph that contains one until the process ends.
    """
    fixed = ops.stop_gradient(scores), ops.stop_gradient(moves)
    order, back = _words_first(fixed[0])
    words = _in_order(fixed[0], order)
    alpha, gamma, log_z = map(ops.stop_gradient, _forward_backward(words, fixed[1]))
    outside = _outside(alpha[:, :1])
    left = ops.concatenate([outside, alpha], axis=1) - log_z[:, None, None]
    right = ops.concatenate([gamma, outside], axis=1)
    pairs = ops.sum(ops.exp(left[..., None] + (fixed[1] + right[..., None, :])), axis=1)  # (B, K + 1, K + 1)
    posterior = _in_order(_posterior(words, alpha, gamma), back)
    tags = ops.sum(posterior * (scores - fixed[0]), axis=(1, 2))
    return log_z + tags + ops.sum(pairs * (moves - fixed[1]), axis=(1, 2))


def marginals(scores, moves):
    """P(y_t = i) under P(y) = exp(s(y)) / Z: `(B, T, K + 1)`."""
    order, back = _words_first(scores)
    words = _in_order(scores, order)
    alpha, gamma, _ = _forward_backward(words, moves)
    return _in_order(_posterior(words, alpha, gamma), back)


def _posterior(scores, alpha, gamma):
    """exp(alpha + gamma - e - log Z), normalised again because log Z of a long sentence is rounded."""
    return ops.softmax(alpha + gamma - scores, axis=-1)


def path_score(scores, moves, tags):
    """s(y) of given paths: int `(B, T)`, K at padding, to `(B,)`."""
    size = moves.shape[0]
    path = ops.one_hot(tags, size, dtype=scores.dtype)  # (B, T, K + 1)
    outside = ops.one_hot(ops.full_like(tags[:, :1], size - 1), size, dtype=scores.dtype)
    words = _in_order(path, _words_first(scores)[0])
    left = ops.concatenate([outside, words], axis=1)
    right = ops.concatenate([words, outside], axis=1)
    # How often each path makes each move, (B, K + 1, K + 1): exact, also where a GPU multiplies as TF32.
    counts = ops.matmul(ops.transpose(left, (0, 2, 1)), right)
    return ops.sum(counts * moves, axis=(1, 2)) + ops.sum(path * scores, axis=(1, 2))


def best_path(scores, moves):
    """The path of the highest score (Viterbi, 1967).

        gamma_t[i] = e_t[i] + max_j (A[i, j] + gamma_{t+1}[j])
        y_t = argmax_j (A[y_{t-1}, j] + gamma_t[j])

    A backward loop computes the best score from each tag on, and a forward loop takes the best tags, so that
    the tags form one path also if several paths are equally good. Among equals the lowest tag wins. Returns
    `(tags, score)`: int32 `(B, T)`, K at padding, and s of it, `(B,)`.
    """

    def value(score, state):
        after = score + ops.max(moves[..., None] + state[0], axis=1, initial=LOWEST)  # (K + 1, B)
        return after, [after]

    def choose(ahead, state):
        reached = ops.take(moves, state[0][:, 0], axis=0) + ahead  # (B, K + 1)
        tag = ops.cast(ops.top_k(reached, 1)[1], "int32")  # `ops.argmax` would add the sign of zeros
        return tag, [tag]

    order, back = _words_first(scores)
    words = _in_order(scores, order)
    last = ops.transpose(_outside(ops.sum(words, axis=1)))  # (K + 1, B)
    ahead, (first,) = over_time(value, ops.transpose(words, (2, 1, 0)), [last], backward=True)
    outside = ops.full_like(words[:, 0, :1], moves.shape[0] - 1, dtype="int32")
    tags, _ = over_time(choose, ops.transpose(ahead, (2, 1, 0)), [outside])
    tags = _in_order(ops.cast(tags, "int32"), back)[..., 0]
    return tags, ops.max(moves[-1][:, None] + first, axis=0, initial=LOWEST)
