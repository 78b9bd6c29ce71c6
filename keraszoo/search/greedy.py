"""Greedy search and sampling: one hypothesis per sentence."""

from keras import ops

from keraszoo.layers.rows import pick, written
from keraszoo.search.best_words import best_allowed
from keraszoo.search.constraints import constrain, words_of
from keraszoo.search.hypotheses import Hypotheses, score_of
from keraszoo.search.loop import cache_lengths, run, tracks_attention
from keraszoo.search.sampling import draw


def greedy_search(
    model,
    memory,
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
        model: a `TranslationModel`, or an object with its methods for stepping.
        memory: what the model's `encode` returned.
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
            nothing.

    Example:

    >>> from keraszoo.models import RNNSearch
    >>> from keraszoo.search.options import SearchOptions
    >>> model = RNNSearch(9, embedding_dim=4, units=4)
    >>> model.build()
    >>> memory = model.encode(ops.array([[4, 5, 3], [6, 3, 0]]))
    >>> best = greedy_search(model, memory, SearchOptions(beam_width=1, max_length=8), start_id=1, end_id=3)
    >>> tuple(best.tokens.shape)
    (2, 1, 8)
    """
    lengths = lengths or cache_lengths(options.max_length)
    track, limit = tracks_attention(model, options, attention), options.max_length
    mask, prefix = memory["memory_mask"], words_of(prefix)
    sentences, source = ops.shape(mask)
    progress = {
        "tokens": ops.full((sentences, limit), end_id, dtype="int32"),
        "last": ops.full((sentences,), start_id, dtype="int32"),
        "length": ops.zeros((sentences,), dtype="int32"),
        "log_prob": ops.zeros((sentences,), dtype="float32"),
        "live": ops.ones((sentences,), dtype="bool"),
        "number": ops.arange(sentences, dtype="int32") if numbers is None else numbers,
    }
    if track:
        progress["attention"] = ops.zeros((sentences, limit, source), dtype="float32")
    if prefix is not None:
        progress["prefix"] = prefix

    def advance(progress, state):
        position, live, tokens = state["position"], progress["live"], progress["tokens"]
        logits, state = model.step(progress["last"], state)
        logits = ops.cast(logits, "float32")
        rules = tokens, position, options, end_id, never, progress.get("prefix")
        if options.sampling:
            total = ops.logsumexp(logits, axis=1, keepdims=True)
            last = draw(constrain(logits, *rules), options, progress["number"], position)
        else:
            _, words, total = best_allowed(logits, 1, *rules)
            last = words[:, 0]
        last = ops.where(live, last, end_id)
        chosen = (pick(logits, last[:, None]) - total)[:, 0]
        after = {
            **progress,
            "tokens": written(tokens, position, last[:, None]),
            "last": last,
            "length": progress["length"] + ops.cast(live, "int32"),
            "log_prob": progress["log_prob"] + ops.where(live, chosen, 0.0),
            "live": ops.logical_and(live, last != end_id),
        }
        if track:
            weights = ops.where(live[:, None], state["attention_weights"], 0.0)[:, None]
            after["attention"] = written(progress["attention"], position, weights)
        return after, state

    progress = loop(advance, progress, model.initial_state(memory, 1, lengths[0]), model, lengths)
    length, log_prob, weights = (progress.get(key) for key in ("length", "log_prob", "attention"))
    score = score_of(log_prob, length, options, weights, mask)
    parts = [progress["tokens"], length, log_prob, score, *([weights] if attention else [])]
    return Hypotheses(*(part[:, None] for part in parts))
