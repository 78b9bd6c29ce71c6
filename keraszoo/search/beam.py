"""Beam search."""

from keras import ops

from keraszoo.search.best_words import best_allowed
from keraszoo.search.constraints import FORBIDDEN, words_of
from keraszoo.search.hypotheses import Hypotheses, score_of
from keraszoo.search.loop import cache_lengths, run
from keraszoo.search.state import (
    attention_width,
    count_sentences,
    select_rows,
    split_memory,
    take_of_rows,
    with_room,
    written,
)

NEVER = -1e30  # the log-probability of a hypothesis that does not exist


def beam_search(
    step, state, options, start_id, end_id, never=(), prefix=None, attention=False, lengths=None, loop=run
):
    """The `options.num_hypotheses` best hypotheses of each sentence, with a beam of W = `options.beam_width`.

    Each step extends each of the W live hypotheses of a sentence by every word and looks at the best 2 W
    results. Those among the first W that end with `</s>` are finished: they no longer change, and are kept if
    they are among the W best finished ones by score. The best W that do not end stay live. Live hypotheses
    are compared by log-probability, since they have the same length, and finished ones by score.

    A sentence is done when W hypotheses are finished and no live one would score better than the best of them
    if its next word were a certain `</s>` that covers the rest of the source; or at the maximum length. (The
    common rule, to stop at W finished hypotheses, fails on sentences that the model is sure of: W short
    hypotheses of tiny probability end while the right one is still being written.) If fewer than K are
    finished, the best live ones follow, cut at the maximum length.

    Args, Returns, Raises: as for `greedy_search`, with K = `options.num_hypotheses`; the state has W rows per
    sentence. With W = 1 and no penalties the result equals greedy search; a beam as wide as the search space
    finds the best hypothesis.

    Example:

    >>> import numpy as np
    >>> from keraszoo.search.options import SearchOptions
    >>> def say(tokens, state):  # a model that counts: after word n it says n + 1
    ...     return ops.one_hot((tokens + 1) % 5, 5) * 9, {**state, "position": state["position"] + 1}
    >>> state = {"memory": {}, "position": ops.zeros((), "int32"), "attention_weights": ops.zeros((2, 3))}
    >>> best = beam_search(say, state, SearchOptions(beam_width=2, max_length=8), start_id=1, end_id=4)
    >>> ops.convert_to_numpy(best.tokens)[0, 0, :3].tolist()
    [2, 3, 4]
    """
    width, limit = options.beam_width, options.max_length
    sentences, lengths = count_sentences(state, width), lengths or cache_lengths(limit)
    state, prefix = with_room(state, lengths[0]), words_of(prefix)
    track = attention or options.coverage_penalty > 0
    source = attention_width(state) if track else None

    def full(shape, value, dtype="float32"):
        return ops.full((sentences, width, *shape), value, dtype=dtype)

    tokens = {"tokens": full((limit,), end_id, "int32")}
    if track:
        tokens["attention"] = full((limit, source), 0.0)
    first = ops.arange(width) == 0  # the rows of a sentence start equal: only one of them counts
    progress = {
        "beam": {
            **tokens,
            "last": full((), start_id, "int32"),
            "log_prob": ops.where(first, full((), 0.0), NEVER),
        },
        "finished": {
            **tokens,
            "length": full((), 0, "int32"),
            "log_prob": full((), NEVER),
            "score": full((), NEVER),
        },
        "count": ops.zeros((sentences,), dtype="int32"),
        "live": ops.ones((sentences,), dtype="bool"),
    }
    constants, state = split_memory(state)
    if prefix is not None:
        constants["prefix"] = prefix

    uncovered = options.replace(coverage_penalty=0.0)

    def rank(log_prob, length, weights, memory):
        mask = memory.get("memory_mask")
        return score_of(log_prob, length, options, weights, None if mask is None else mask[:, None])

    def advance(progress, state, constants):
        beam, live, position = progress["beam"], progress["live"], state["position"]
        batch = ops.shape(live)[0]
        logits, state = step(ops.reshape(beam["last"], (-1,)), {**state, "memory": constants["memory"]})
        logits = ops.cast(logits, "float32")  # (N, V)
        forced = None if prefix is None else ops.repeat(constants["prefix"], width, axis=0)
        tokens = ops.reshape(beam["tokens"], (-1, limit))

        # the best 2 W continuations: first of each row, then of each sentence
        some = min(2 * width, logits.shape[-1])
        best, word, total = best_allowed(
            logits, some, tokens, position, options, end_id, never, forced
        )  # (N, 2 W)
        best = ops.where(best > FORBIDDEN / 2, best - total, NEVER)
        best = ops.reshape(best, (-1, width, some)) + beam["log_prob"][:, :, None]
        number = min(2 * width, width * some)
        log_prob, place = ops.top_k(ops.reshape(best, (-1, width * some)), number)  # (B, 2 W)
        word = take_of_rows(ops.reshape(word, (-1, width * some)), place)
        parent = ops.cast(place // some, "int32")
        ends = ops.logical_and(word == end_id, log_prob > NEVER / 2)

        # their tokens and attention weights
        before = {"tokens": beam["tokens"]}
        if track:
            here = ops.reshape(state["attention_weights"], (-1, width, 1, source))
            before["attention"] = written(beam["attention"], position, here, axis=2)
        after = _take(before, parent)  # (B, 2 W, L, ...)
        after["tokens"] = written(after["tokens"], position, word[:, :, None], axis=2)

        # those that end among the first W are finished, unless the sentence was done before
        now = ops.logical_and(ends, ops.arange(number) < width)
        now = ops.logical_and(now, live[:, None])
        length = ops.full((batch, number), 0, dtype="int32") + position + 1
        score = rank(log_prob, length, after.get("attention"), constants["memory"])
        ended = {**after, "length": length, "log_prob": log_prob, "score": ops.where(now, score, NEVER)}
        pool = _joined(progress["finished"], ended)  # (B, 3 W, ...)
        best_score, keep = ops.top_k(pool["score"], width)
        count = progress["count"] + ops.sum(ops.cast(now, "int32"), axis=1)

        # the first W that do not end stay live
        log_prob, stay = ops.top_k(ops.where(ends, NEVER, log_prob), width)  # (B, W)
        beam = {**_take({**after, "last": word, "parent": parent}, stay), "log_prob": log_prob}
        parent = beam.pop("parent")
        origin = ops.reshape(ops.arange(batch, dtype="int32")[:, None] * width + parent, (-1,))
        hope = score_of(log_prob, position + 2, uncovered)  # its next word may cover all of the source
        goes_on = ops.logical_or(count < width, ops.max(hope, axis=1) > best_score[:, 0])
        live = ops.logical_and(live, goes_on)
        progress = {"beam": beam, "finished": _take(pool, keep), "count": count, "live": live}
        return progress, select_rows(split_memory(state)[1], origin)

    progress = loop(advance, progress, state, constants, lengths, width)
    beam, finished = progress["beam"], progress["finished"]
    del beam["last"]
    cut = rank(beam["log_prob"], limit, beam.get("attention"), constants["memory"])
    beam["score"] = ops.where(beam["log_prob"] > NEVER / 2, cut, NEVER)
    beam["length"] = ops.full_like(finished["length"], limit)
    return _best(beam, finished, options.num_hypotheses, end_id, attention)


def _best(beam, finished, number, end_id, attention):
    """The best hypotheses: finished ones by score, then live ones by the score that they are cut with."""
    score, order = ops.top_k(beam["score"], beam["score"].shape[1])
    # both are in order; every live hypothesis ranks behind every finished one
    behind = ops.where(score > NEVER / 2, NEVER / 4, NEVER)
    _, chosen = ops.top_k(ops.concatenate([finished["score"], behind], axis=1), number)  # (B, K)
    best = _take(_joined(finished, _take(beam, order)), chosen)
    exists = best["score"] > NEVER / 2

    def existing(name, otherwise):
        missing = (1,) * (len(best[name].shape) - 2)
        return ops.where(ops.reshape(exists, (*ops.shape(exists), *missing)), best[name], otherwise)

    return Hypotheses(
        tokens=existing("tokens", end_id),
        lengths=existing("length", 0),
        log_prob=existing("log_prob", -float("inf")),
        score=existing("score", -float("inf")),
        attention_weights=existing("attention", 0.0) if attention else None,
    )


def _joined(one, other):
    """Two dicts of hypotheses `(B, M, ...)` as one `(B, M + M', ...)`."""
    return {key: ops.concatenate([one[key], other[key]], axis=1) for key in one}


def _take(parts, index):
    """`x[b, index[b, k]]` for all b and k, for each x `(B, M, ...)` of a dict and int `(B, K)` indices."""
    return {key: take_of_rows(x, index) for key, x in parts.items()}
