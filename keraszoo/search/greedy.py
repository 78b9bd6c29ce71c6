"""Greedy search and sampling: one hypothesis per sentence."""

from keras import ops

from keraszoo.search.best_words import best_allowed
from keraszoo.search.constraints import constrain, words_of
from keraszoo.search.hypotheses import Hypotheses, score_of
from keraszoo.search.loop import cache_lengths, run
from keraszoo.search.sampling import draw
from keraszoo.search.state import (
    attention_width,
    count_sentences,
    split_memory,
    take_of_rows,
    with_room,
    written,
)


def greedy_search(
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
    numbers=None,
):
    """Greedy search, or sampling where `options.sampling` is set, until every sentence has written `</s>`.

    A sentence that has ended no longer changes, so its result does not depend on the other sentences of the
    batch.

    Args:
        step: a function of `(tokens, state)` that returns `(logits, state)`, such as `model.step`.
        state: a model's initial state, one row per sentence.
        options: `SearchOptions`.
        start_id: id of `<s>`.
        end_id: id of `</s>`.
        never: ids that are never written, such as padding and `<s>`.
        prefix: int `(B, P)`, tokens that each hypothesis begins with, filled up with -1.
        attention: whether to return attention weights.
        lengths: stages of the cache, see `cache_lengths`.
        loop: the function that repeats the steps: `keraszoo.search.loop.run`, or one with its arguments.
        numbers: int `(B,)`, seeds of the sentences for sampling; `None`: 0, 1, 2, ...

    Returns:
        `Hypotheses` with K = 1.

    Raises:
        KerasZooError: if attention weights or a coverage penalty are requested from a model that attends to
            nothing, or the state has another number of rows.

    Example:

    >>> import numpy as np
    >>> from keraszoo.search.options import SearchOptions
    >>> def say(tokens, state):  # a model that counts: after word n it says n + 1
    ...     return ops.one_hot((tokens + 1) % 5, 5) * 9, {**state, "position": state["position"] + 1}
    >>> state = {"memory": {}, "position": ops.zeros((), "int32"), "attention_weights": ops.zeros((1, 3))}
    >>> best = greedy_search(say, state, SearchOptions(beam_width=1, max_length=8), start_id=1, end_id=4)
    >>> ops.convert_to_numpy(best.tokens)[0, 0, :3].tolist()
    [2, 3, 4]
    """
    sentences, limit = count_sentences(state), options.max_length
    lengths = lengths or cache_lengths(limit)
    state, prefix = with_room(state, lengths[0]), words_of(prefix)
    track = attention or options.coverage_penalty > 0
    progress = {
        "tokens": ops.full((sentences, limit), end_id, dtype="int32"),
        "last": ops.full((sentences,), start_id, dtype="int32"),
        "length": ops.zeros((sentences,), dtype="int32"),
        "log_prob": ops.zeros((sentences,), dtype="float32"),
        "live": ops.ones((sentences,), dtype="bool"),
    }
    if track:
        progress["attention"] = ops.zeros((sentences, limit, attention_width(state)), dtype="float32")
    constants, state = split_memory(state)
    constants["number"] = ops.arange(sentences) if numbers is None else numbers
    if prefix is not None:
        constants["prefix"] = prefix

    def advance(progress, state, constants):
        position, live, tokens = state["position"], progress["live"], progress["tokens"]
        logits, state = step(progress["last"], {**state, "memory": constants["memory"]})
        logits = ops.cast(logits, "float32")
        rules = tokens, position, options, end_id, never, constants.get("prefix")
        if options.sampling:
            total = ops.logsumexp(logits, axis=1, keepdims=True)
            last = draw(constrain(logits, *rules), options, constants["number"], position)
        else:
            _, words, total = best_allowed(logits, 1, *rules)
            last = words[:, 0]
        last = ops.where(live, last, end_id)
        chosen = (take_of_rows(logits, last[:, None]) - total)[:, 0]
        after = {
            "tokens": written(tokens, position, last[:, None]),
            "last": last,
            "length": progress["length"] + ops.cast(live, "int32"),
            "log_prob": progress["log_prob"] + ops.where(live, chosen, 0.0),
            "live": ops.logical_and(live, last != end_id),
        }
        if track:
            weights = ops.where(live[:, None], state["attention_weights"], 0.0)[:, None]
            after["attention"] = written(progress["attention"], position, weights)
        return after, split_memory(state)[1]

    progress = loop(advance, progress, state, constants, lengths)
    mask = constants["memory"].get("memory_mask")
    length, log_prob, weights = (progress.get(key) for key in ("length", "log_prob", "attention"))
    score = score_of(log_prob, length, options, weights, mask)
    parts = [progress["tokens"], length, log_prob, score, *([weights] if attention else [])]
    return Hypotheses(*(part[:, None] for part in parts))
