"""One hypothesis a sentence: the likeliest word at every step, or one drawn at random."""

from keras import ops

from keraszoo.search.constraints import constrain
from keraszoo.search.hypotheses import Hypotheses
from keraszoo.search.loop import cache_lengths, run
from keraszoo.search.sampling import draw
from keraszoo.search.scoring import score_of
from keraszoo.search.state import attention_width, count_rows, written


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

    A sentence that has ended is frozen: what its row does afterwards is not recorded, so that a result does
    not depend on the other sentences of the batch.

    Args:
        step: a function of `(tokens, state)` that gives `(logits, state)`, such as `model.step`.
        state: a model's initial state, one row a sentence, with room for `lengths[0]` positions.
        options: `SearchOptions`.
        start_id: id of `<s>`.
        end_id: id of `</s>`.
        never: ids that are never written, such as padding and `<s>`.
        prefix: int `(B, P)`, tokens that each hypothesis must begin with; -1 leaves a position free.
        attention: return the attention weights too.
        lengths: stages of the cache, see `cache_lengths`.
        loop: what goes through the steps: `keraszoo.search.loop.run`, or a function with its arguments.
        numbers: int `(B,)`, for sampling: sentences of one number have the same luck; `None`: 0, 1, 2, ...

    Returns:
        `Hypotheses` with K = 1.

    Raises:
        KerasZooError: if attention weights or a coverage penalty are asked of a model that attends to
            nothing.

    Example:

    >>> import numpy as np
    >>> from keraszoo.search.options import SearchOptions
    >>> def say(tokens, state):  # a model that counts: after word n it says n + 1
    ...     return ops.one_hot((tokens + 1) % 5, 5) * 9, {**state, "position": state["position"] + 1}
    >>> state = {"memory": {}, "position": ops.zeros((), "int32"), "attention_weights": ops.zeros((1, 3))}
    >>> found = greedy_search(say, state, SearchOptions(beam_width=1, max_length=8), start_id=1, end_id=4)
    >>> ops.convert_to_numpy(found.tokens)[0, 0, :3].tolist()
    [2, 3, 4]
    """
    sentences, limit = count_rows(state), options.max_length
    track = attention or options.coverage_penalty > 0
    found = {
        "tokens": ops.full((sentences, limit), end_id, dtype="int32"),
        "last": ops.full((sentences,), start_id, dtype="int32"),
        "length": ops.zeros((sentences,), dtype="int32"),
        "log_prob": ops.zeros((sentences,), dtype="float32"),
        "live": ops.ones((sentences,), dtype="bool"),
    }
    if track:
        found["attention"] = ops.zeros((sentences, limit, attention_width(state)), dtype="float32")
    constants = {"memory": state["memory"], "number": ops.arange(sentences) if numbers is None else numbers}
    if prefix is not None:
        constants["prefix"] = prefix
    state = {key: part for key, part in state.items() if key != "memory"}

    def advance(found, state, constants):
        position, live = state["position"], found["live"]
        logits, state = step(found["last"], {**state, "memory": constants["memory"]})
        logits = ops.cast(logits, "float32")
        allowed = constrain(
            logits, found["tokens"], position, options, end_id, never, constants.get("prefix")
        )
        if options.sampling:
            last = draw(allowed, options, constants["number"], position)
        else:
            last = ops.cast(ops.argmax(allowed, axis=-1), "int32")
        last = ops.where(live, last, end_id)
        chosen = ops.take_along_axis(logits, last[:, None], axis=-1)[:, 0] - ops.logsumexp(logits, axis=-1)
        after = {
            "tokens": written(found["tokens"], position, last[:, None]),
            "last": last,
            "length": found["length"] + ops.cast(live, "int32"),
            "log_prob": found["log_prob"] + ops.where(live, chosen, 0.0),
            "live": ops.logical_and(live, last != end_id),
        }
        if track:
            weights = ops.where(live[:, None], state["attention_weights"], 0.0)[:, None]
            after["attention"] = written(found["attention"], position, weights)
        return after, {key: part for key, part in state.items() if key != "memory"}

    lengths = lengths or cache_lengths(limit)
    found = loop(advance, found, state, constants, lengths)
    mask = constants["memory"].get("memory_mask")
    score = score_of(found["log_prob"], found["length"], options, found.get("attention"), mask)

    def add(x):
        return x[:, None]

    weights = add(found["attention"]) if attention else None
    return Hypotheses(add(found["tokens"]), add(found["length"]), add(found["log_prob"]), add(score), weights)
