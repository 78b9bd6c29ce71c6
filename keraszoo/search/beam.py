"""Beam search."""

from keras import ops

from keraszoo.search.constraints import FORBIDDEN, constrain
from keraszoo.search.hypotheses import Hypotheses
from keraszoo.search.loop import cache_lengths, run
from keraszoo.search.scoring import score_of
from keraszoo.search.state import attention_width, count_rows, select_rows, written

NEVER = -1e30  # the log-probability of a hypothesis that does not exist


def beam_search(
    step,
    state,
    options,
    start_id,
    end_id,
    never=(),
    prefix=None,
    attention=False,
    lengths=None,
    loop=run,
):
    """The `options.num_hypotheses` best hypotheses of each sentence, by a beam of W = `options.beam_width`.

    At every step each of the W live hypotheses of a sentence is continued by every word, and the best 2 W of
    these are looked at. Those among the first W that end with `</s>` are finished: they are frozen and kept
    if they are among the W best finished ones by score. The best W that do not end live on. Live hypotheses
    compete by log-probability (they are of one length), finished ones by score.

    A sentence is done when W hypotheses have been finished and no live one, if the next word were a certain
    `</s>`, would score better than the best of them; or at the maximum length. (To stop at W alone, as is
    often done, loses the sentences that a model is sure of: W short hypotheses of hardly any probability end
    while the right one is still being written.) Where fewer than K have been finished, the best live ones
    follow, cut at the maximum length.

    Args, Returns, Raises: as for `greedy_search`, with K = `options.num_hypotheses`; the state has W rows a
    sentence. With one row and no penalties the result is greedy search's; a beam as wide as the space finds
    the best hypothesis there is.

    Example:

    >>> import numpy as np
    >>> from keraszoo.search.options import SearchOptions
    >>> def say(tokens, state):  # a model that counts: after word n it says n + 1
    ...     return ops.one_hot((tokens + 1) % 5, 5) * 9, {**state, "position": state["position"] + 1}
    >>> state = {"memory": {}, "position": ops.zeros((), "int32"), "attention_weights": ops.zeros((2, 3))}
    >>> found = beam_search(say, state, SearchOptions(beam_width=2, max_length=8), start_id=1, end_id=4)
    >>> ops.convert_to_numpy(found.tokens)[0, 0, :3].tolist()
    [2, 3, 4]
    """
    width, limit = options.beam_width, options.max_length
    sentences = count_rows(state) // width
    track = attention or options.coverage_penalty > 0
    source = attention_width(state) if track else None

    def full(shape, value, dtype="float32"):
        return ops.full((sentences, width, *shape), value, dtype=dtype)

    first = ops.arange(width) == 0  # at first the rows of a sentence are alike: only one of them counts
    found = {
        "tokens": full((limit,), end_id, "int32"),
        "last": full((), start_id, "int32"),
        "log_prob": ops.where(first, full((), 0.0), NEVER),
        "finished_tokens": full((limit,), end_id, "int32"),
        "finished_log_prob": full((), NEVER),
        "finished_length": full((), 0, "int32"),
        "finished_score": full((), NEVER),
        "count": ops.zeros((sentences,), dtype="int32"),
        "live": ops.ones((sentences,), dtype="bool"),
    }
    if track:
        found["attention"] = full((limit, source), 0.0)
        found["finished_attention"] = full((limit, source), 0.0)
    constants = {"memory": state["memory"]}
    if prefix is not None:
        constants["prefix"] = prefix
    state = {key: part for key, part in state.items() if key != "memory"}

    def rank(log_prob, length, weights, memory):
        mask = memory.get("memory_mask")
        return score_of(log_prob, length, options, weights, None if mask is None else mask[:, None])

    def advance(found, state, constants):
        position, live = state["position"], found["live"]
        batch = ops.shape(live)[0]
        logits, state = step(ops.reshape(found["last"], (-1,)), {**state, "memory": constants["memory"]})
        logits = ops.cast(logits, "float32")  # (N, V)
        total = ops.logsumexp(logits, axis=-1, keepdims=True)
        words = None if prefix is None else ops.repeat(constants["prefix"], width, axis=0)
        tokens = ops.reshape(found["tokens"], (-1, limit))
        logits = constrain(logits, tokens, position, options, end_id, never, words)

        # the best 2 W continuations: first of each row, then of each sentence
        some = min(2 * width, logits.shape[-1])
        best, word = ops.top_k(logits, some)  # (N, 2 W)
        best = ops.where(best > FORBIDDEN / 2, best - total, NEVER)
        best = ops.reshape(best, (-1, width, some)) + found["log_prob"][:, :, None]
        number = min(2 * width, width * some)
        log_prob, place = ops.top_k(ops.reshape(best, (-1, width * some)), number)  # (B, 2 W)
        word = ops.take_along_axis(ops.reshape(ops.cast(word, "int32"), (-1, width * some)), place, axis=1)
        parent = ops.cast(place // some, "int32")
        ends = ops.logical_and(word == end_id, log_prob > NEVER / 2)

        # their tokens, and where they looked
        history = _take(found["tokens"], parent)  # (B, 2 W, L)
        history = written(history, position, word[:, :, None], axis=2)
        seen = None
        if track:
            here = ops.reshape(state["attention_weights"], (-1, width, 1, source))
            seen = written(found["attention"], position, here, axis=2)
            seen = _take(seen, parent)  # (B, 2 W, L, S)

        # those that end among the first W are finished, unless the sentence was done before
        now = ops.logical_and(ends, ops.arange(number) < width)
        now = ops.logical_and(now, live[:, None])
        length = ops.full((batch, number), 0, dtype="int32") + position + 1
        score = ops.where(now, rank(log_prob, length, seen, constants["memory"]), NEVER)
        pool = ops.concatenate([found["finished_score"], score], axis=1)  # (B, 3 W)
        pool_score, keep = ops.top_k(pool, width)

        def merge(name, new):
            return _take(ops.concatenate([found[name], new], axis=1), keep)

        after = {
            "finished_tokens": merge("finished_tokens", history),
            "finished_log_prob": merge("finished_log_prob", log_prob),
            "finished_length": merge("finished_length", length),
            "finished_score": pool_score,
            "count": found["count"] + ops.sum(ops.cast(now, "int32"), axis=1),
        }

        # the first W that do not end live on
        alive = ops.where(ends, NEVER, log_prob)
        log_prob, stay = ops.top_k(alive, width)  # (B, W)
        parent = ops.take_along_axis(parent, stay, axis=1)
        origin = ops.reshape(ops.arange(batch, dtype="int32")[:, None] * width + parent, (-1,))
        after.update(
            tokens=_take(history, stay),
            last=ops.take_along_axis(word, stay, axis=1),
            log_prob=log_prob,
        )
        if track:
            after["finished_attention"] = merge("finished_attention", seen)
            after["attention"] = _take(seen, stay)
        hope = rank(log_prob, position + 2, after.get("attention"), constants["memory"])
        goes_on = ops.logical_or(after["count"] < width, ops.max(hope, axis=1) > pool_score[:, 0])
        after["live"] = ops.logical_and(live, goes_on)
        state = select_rows({key: part for key, part in state.items() if key != "memory"}, origin)
        return after, state

    found = loop(advance, found, state, constants, lengths or cache_lengths(limit), width)
    cut = rank(found["log_prob"], limit, found.get("attention"), constants["memory"])
    return _best(found, cut, options, end_id, attention)


def _best(found, cut, options, end_id, attention):
    """The K best: finished hypotheses by score, then live ones, cut at the maximum length, by `cut`."""
    finished = found["finished_score"]
    exists = found["log_prob"] > NEVER / 2
    cut, by_score = ops.top_k(ops.where(exists, cut, NEVER), options.beam_width)
    # both are in order; every live hypothesis ranks behind every finished one
    behind = ops.where(cut > NEVER / 2, NEVER / 4, NEVER)
    _, order = ops.top_k(ops.concatenate([finished, behind], axis=1), options.num_hypotheses)  # (B, K)

    def pick(done, live):
        return _take(ops.concatenate([done, live], axis=1), order)

    def pick_of(done, live):
        return pick(found[done], _take(found[live], by_score))

    length = ops.full_like(found["finished_length"], options.max_length)
    score = pick(finished, cut)
    exists = score > NEVER / 2
    tokens = pick_of("finished_tokens", "tokens")
    weights = pick_of("finished_attention", "attention") if attention else None
    return Hypotheses(
        tokens=ops.where(exists[:, :, None], tokens, end_id),
        lengths=ops.where(exists, pick(found["finished_length"], length), 0),
        log_prob=ops.where(exists, pick_of("finished_log_prob", "log_prob"), -float("inf")),
        score=ops.where(exists, score, -float("inf")),
        attention_weights=None if weights is None else ops.where(exists[:, :, None, None], weights, 0.0),
    )


def _take(x, index):
    """`x[b, index[b, k]]` for all b, k: `(B, M, ...)` and int `(B, K)` to `(B, K, ...)`."""
    shape = ops.shape(x)
    flat = ops.reshape(x, (shape[0] * shape[1], *shape[2:]))
    offset = ops.arange(shape[0], dtype="int32")[:, None] * shape[1]
    return ops.take(flat, offset + ops.cast(index, "int32"), axis=0)
