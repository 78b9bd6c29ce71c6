"""Beam search."""

from keras import ops

from keraszoo.layers.rows import pick, written
from keraszoo.search import terms as with_terms
from keraszoo.search.best_words import best_allowed
from keraszoo.search.constraints import FORBIDDEN, words_of
from keraszoo.search.hypotheses import Hypotheses, length_penalty, score_of
from keraszoo.search.loop import cache_lengths, run, tracks_attention

LOWEST = -float("inf")


def beam_search(
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
    terms=None,
):
    """The `options.num_hypotheses` best hypotheses of each sentence, with a beam of W = `options.beam_width`.

    Each step does three things. `expand` extends each of the W live hypotheses of a sentence by every word
    and keeps the best 2 W. `finish` takes those among the first W that end with `</s>`: they no longer
    change, and are kept if they are among the W best finished ones by score. `prune` keeps the best W that do
    not end: they stay live. Live hypotheses are compared by log-probability, since they have the same length,
    and finished ones by score.

    A sentence is done when W hypotheses are finished and no live one would score better than the best of them
    if its next word were a certain `</s>` that covers the rest of the source; or at the maximum length. (The
    common rule, to stop at W finished hypotheses, fails where W short hypotheses of tiny probability end
    while the right one is still being written.) If fewer than K are finished, the best live ones follow, cut.

    With `terms`, every hypothesis contains those of its sentence, for any W, if the ids of all of them fit in
    the maximum length, after the prefix; otherwise there is none. `keraszoo.search.terms` defines "contains".
    The next id of each missing term is among the continuations of a hypothesis, even one that `never` or
    `no_repeat_ngram` forbids; `</s>` comes after the last term. The hypotheses that miss the same number of
    ids form a bank, and the banks share the 2 W and the W places evenly (dynamic beam allocation, Post and
    Vilar 2018). A sentence with terms is done when W hypotheses are finished.

    Args, Returns, Raises: as for `greedy_search`, with K = `options.num_hypotheses`, and

        terms: int `(B, C, L)`, ids that each hypothesis contains, filled up with -1. Two equal terms of a
            sentence occur twice.

    With W = 1 and no penalties the result equals greedy search; a beam as wide as the search space finds the
    best hypothesis, also with terms.

    Example:

    >>> from keraszoo.models import RNNSearch
    >>> from keraszoo.search.options import SearchOptions
    >>> model = RNNSearch(9, embedding_dim=4, units=4)
    >>> model.build()
    >>> memory, options = model.encode(ops.array([[4, 5, 3]])), SearchOptions(beam_width=2, max_length=8)
    >>> tuple(beam_search(model, memory, options, start_id=1, end_id=3).tokens.shape)
    (1, 1, 8)

    Reference: Post and Vilar: Fast Lexically Constrained Decoding with Dynamic Beam Allocation for Neural
    Machine Translation, 2018, https://aclanthology.org/N18-1119.
    """
    width, limit = options.beam_width, options.max_length
    lengths, track = lengths or cache_lengths(limit), tracks_attention(model, options, attention)
    mask, prefix = memory["memory_mask"], words_of(prefix)
    sentences, source = ops.shape(mask)

    def full(value, dtype="float32", shape=()):
        return ops.full((sentences, width, *shape), value, dtype=dtype)

    empty = {"tokens": full(end_id, "int32", (limit,)), "log_prob": full(0.0)}
    if track:
        empty["attention"] = full(0.0, shape=(limit, source))
    first = ops.broadcast_to(ops.arange(width) == 0, (sentences, width))  # the others would be its copies
    progress = {
        "beam": {**empty, "exists": first, "last": full(start_id, "int32")},
        "finished": {**empty, "exists": full(False, "bool"), "length": full(0, "int32"), "score": full(0.0)},
        "live": ops.ones((sentences,), dtype="bool"),
        "memory_mask": mask,
    }
    if prefix is not None:
        progress["prefix"] = prefix
    if terms is not None:
        progress["terms"] = with_terms.prepared(terms)
        progress["beam"] |= with_terms.nothing_met(progress["terms"], width)

    def advance(progress, state):
        beam, live, position = progress["beam"], progress["live"], state["position"]
        logits, state = model.step(ops.reshape(beam["last"], (-1,)), state)
        looks = ops.reshape(state["attention_weights"], (-1, width, 1, source)) if track else None
        forced = None if prefix is None else ops.repeat(progress["prefix"], width, axis=0)
        rules = options, end_id, never, forced
        logits = ops.cast(logits, "float32")
        extended = expand(beam, logits, looks, position, rules, progress.get("terms"))
        extended["ends"] = ops.logical_and(extended["exists"], extended["last"] == end_id)
        finished = finish(progress["finished"], extended, live, position, options, progress["memory_mask"])
        beam, parents = prune(extended, width)
        goes_on = has_hope(beam, finished, position, options, progress.get("terms"))
        origin = ops.arange(ops.shape(live)[0], dtype="int32")[:, None] * width + parents
        state = model.select_rows(state, ops.reshape(origin, (-1,)))
        live = ops.logical_and(live, goes_on)
        return {**progress, "beam": beam, "finished": finished, "live": live}, state

    state = model.initial_state(memory, width, lengths[0])
    progress = loop(advance, progress, state, model, lengths, width)
    return _results(progress["finished"], progress["beam"], options, mask, end_id, attention)


def expand(beam, logits, looks, position, rules, terms=None):
    """The best 2 W continuations of the live hypotheses of each sentence, in order.

    `beam` is a dict of W hypotheses, tensors `(B, W, ...)`; `logits` float32 `(B * W, V)`; `looks` the
    attention weights of this step, `(B, W, 1, S)`, or `None`; `rules` the last arguments of `best_allowed`;
    `terms` what `keraszoo.search.terms` prepared, or `None`. The result has one more word, `"last"`, and
    int32 `"parent"`, the place of the hypothesis it extends.
    """
    width, limit = beam["tokens"].shape[1:]
    some = min(2 * width, logits.shape[-1])  # no sentence takes more words of one row
    number = min(2 * width, width * some)
    tokens = ops.reshape(beam["tokens"], (-1, limit))
    best, words, total = best_allowed(logits, some, tokens, position, *rules)  # (B W, 2 W)
    if terms is not None:
        best, words = with_terms.offered(terms, beam, logits, best, words, position, rules[-1])
        some = ops.shape(words)[1]  # 2 W + C
    log_prob = ops.reshape(best - total, (-1, width, some)) + beam["log_prob"][:, :, None]
    allowed = ops.reshape(best > FORBIDDEN / 2, (-1, width, some))
    exists = ops.logical_and(allowed, beam["exists"][:, :, None])
    choices = {"last": words, "log_prob": log_prob, "exists": exists}
    choices = {key: ops.reshape(x, (-1, width * some)) for key, x in choices.items()}
    if terms is None:
        place = best_places(choices["log_prob"], choices["exists"], number)  # (B, 2 W)
    else:
        choices, place = with_terms.shared(terms, beam, choices, number, limit - position - 1, rules[1])
    parent = ops.cast(place // some, "int32")
    before = {"tokens": beam["tokens"]}
    if looks is not None:
        before["attention"] = written(beam["attention"], position, looks, axis=2)
    after = {**pick(before, parent), **pick(choices, place), "parent": parent}
    after["tokens"] = written(after["tokens"], position, after["last"][:, :, None], axis=2)
    return after


def finish(finished, extended, live, position, options, memory_mask):
    """The W best finished hypotheses: the earlier ones, and those among the first W that now end."""
    width = finished["tokens"].shape[1]
    length = ops.zeros_like(extended["last"]) + position + 1
    now = ops.arange(extended["last"].shape[1]) < width
    now = ops.logical_and(ops.logical_and(extended["ends"], now), live[:, None])
    score = scored(extended, length, options, memory_mask)
    pool = _joined(finished, {**extended, "length": length, "score": score, "exists": now})  # (B, 3 W, ...)
    return pick(pool, best_places(pool["score"], pool["exists"], width))


def prune(extended, width):
    """The first W hypotheses that do not end, and int32 `(B, W)`, their parents."""
    goes_on = ops.logical_and(extended["exists"], ops.logical_not(extended["ends"]))
    order = -ops.arange(goes_on.shape[1], dtype="float32")
    beam = pick({**extended, "exists": goes_on}, best_places(order, goes_on, width))
    del beam["ends"]
    return beam, beam.pop("parent")


def has_hope(beam, finished, position, options, terms=None):
    """Bool `(B,)`: fewer than W hypotheses are finished, or a live one may still score better than all.

    The second does not count with terms: filler would spread the cost of an unlikely term over more words.
    """
    # with this word and `</s>`, which may cover all of the source
    hope = beam["log_prob"] / length_penalty(position + 2, options)
    hope = ops.max(ops.where(beam["exists"], hope, LOWEST), axis=1)
    full = ops.all(finished["exists"], axis=1)
    better = hope > finished["score"][:, 0]
    if terms is not None:
        better = ops.logical_and(better, ops.all(terms["lengths"] == 0, axis=1))
    better = ops.logical_or(ops.logical_not(full), better)
    return ops.logical_and(ops.any(beam["exists"], axis=1), better)


def scored(hypotheses, length, options, memory_mask):
    """The scores `(B, M)` of hypotheses."""
    weights = hypotheses.get("attention")
    return score_of(hypotheses["log_prob"], length, options, weights, memory_mask[:, None])


def best_places(keys, exists, number):
    """The places `(B, number)` of the greatest keys `(B, M)`, in order; those that do not exist come last."""
    return ops.top_k(ops.where(exists, keys, LOWEST), number)[1]


def _joined(one, other):
    """Two dicts of hypotheses `(B, M, ...)` as one `(B, M + M', ...)`, with the keys of the first."""
    return {key: ops.concatenate([one[key], other[key]], axis=1) for key in one}


def _results(finished, beam, options, memory_mask, end_id, attention):
    """The best hypotheses: the finished ones by score, then the live ones, cut, by score."""
    width, number = options.beam_width, options.num_hypotheses
    score = scored(beam, options.max_length, options, memory_mask)
    cut = {**beam, "score": score, "length": ops.full_like(finished["length"], options.max_length)}
    every = _joined(finished, pick(cut, best_places(score, beam["exists"], width)))
    first = -ops.arange(2 * width, dtype="float32")
    best = pick(every, best_places(first, every["exists"], number))  # (B, K)

    def existing(name, otherwise):
        more = (1,) * (len(best[name].shape) - 2)
        return ops.where(ops.reshape(best["exists"], (-1, number, *more)), best[name], otherwise)

    return Hypotheses(
        tokens=existing("tokens", end_id),
        lengths=existing("length", 0),
        log_prob=existing("log_prob", LOWEST),
        score=existing("score", LOWEST),
        attention_weights=existing("attention", 0.0) if attention else None,
    )
