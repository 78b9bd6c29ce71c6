"""Constraints on hypotheses, applied by setting the logits of forbidden words to a large negative value."""

from keras import ops

FORBIDDEN = -1e9  # finite, so that a row in which every word is forbidden still has a best word


def constrain(logits, tokens, position, options, end_id, never=(), prefix=None):
    """Forbids every word that would break a constraint.

    A prefix has priority: its words are allowed even if another constraint forbids them.

    Args:
        logits: `(N, V)`.
        tokens: int `(N, L)`, the hypotheses so far; columns from `position` on are ignored.
        position: scalar int, how many tokens there are.
        options: `SearchOptions`: `min_length` and `no_repeat_ngram` are used.
        end_id, never, prefix: as for `greedy_search`; the prefix is `(N, P)`.

    Returns:
        `(N, V)` logits.
    """
    given, vocabulary = logits, ops.arange(logits.shape[-1])
    for token in never:
        logits = ops.where(vocabulary == token, FORBIDDEN, logits)
    if options.kind.min_length:
        too_short = ops.logical_and(vocabulary == end_id, ops.less(position, options.min_length))
        logits = ops.where(too_short, FORBIDDEN, logits)
    if options.no_repeat_ngram:
        logits = _forbid_repeated(logits, tokens, position, options.no_repeat_ngram)
    if prefix is not None:
        prefix, length = ops.cast(prefix, "int32"), ops.shape(prefix)[1]
        forced = ops.take(prefix, ops.minimum(position, length - 1), axis=1)[:, None]  # (N, 1)
        forced = ops.where(position < length, forced, -1)
        logits = ops.where(forced < 0, logits, ops.where(vocabulary == forced, given, FORBIDDEN))
    return logits


def words_of(prefix):
    """A prefix of at least one column, or `None`."""
    return None if prefix is None or prefix.shape[1] == 0 else prefix


def _forbid_repeated(logits, tokens, position, n):
    """Forbids each word that would complete an n-gram that the hypothesis already contains.

    Compares the last n - 1 tokens with every earlier window of n - 1 tokens. Where they agree, the word that
    followed the window is forbidden.
    """
    rows, length = ops.shape(tokens)[0], tokens.shape[1]
    starts = ops.arange(length)  # of windows
    same = ops.broadcast_to((starts + n - 1 < position)[None], (rows, length))  # followed by a word
    for k in range(n - 1):
        mine = ops.take(tokens, ops.maximum(position - (n - 1) + k, 0), axis=1)[:, None]  # (N, 1)
        theirs = ops.take(tokens, ops.minimum(starts + k, length - 1), axis=1)  # (N, L)
        same = ops.logical_and(same, mine == theirs)
    followers = ops.take(tokens, ops.minimum(starts + n - 1, length - 1), axis=1)  # (N, L)
    followers = ops.where(same, followers, logits.shape[-1])  # one beyond the vocabulary: no word
    row = ops.broadcast_to(ops.arange(rows, dtype="int32")[:, None], (rows, length))
    places = ops.reshape(ops.stack([row, ops.cast(followers, "int32")], axis=-1), (-1, 2))  # (N L, 2)
    banned = ops.full((rows * length,), FORBIDDEN, dtype=logits.dtype)
    return ops.scatter_update(ops.pad(logits, ((0, 0), (0, 1))), places, banned)[:, :-1]
