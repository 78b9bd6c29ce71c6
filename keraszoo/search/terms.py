"""Terms that every hypothesis contains: beam search with dynamic beam allocation (Post and Vilar 2018).

A hypothesis contains a term as often as `str.count` would say, of ids: contiguous, and without overlap of one
term with itself. Two terms may overlap, so a term also meets those that it contains. The automaton of
Knuth, Morris and Pratt counts them: `"begun"` is how many ids of a term the hypothesis ends with.

The guarantee needs no beam: a hypothesis is dropped if the missing ids of its terms, one term after the
other, no longer fit in the maximum length, and the next id of each missing term is always among its
continuations. So of terms that fit, one hypothesis is always left.
"""

from keras import ops

from keraszoo.layers.rows import pick
from keraszoo.search.constraints import FORBIDDEN


def prepared(terms):
    """What a search knows of terms, int `(B, C, L)` filled up with -1: a dict of tensors `(B, ...)`.

    `ids` are the terms; `lengths` `(B, C)`; `earlier` `(B, C)` counts the equal terms before each, so the
    second of two equal terms is met by a second occurrence; `borders` `(B, C, L, L)`: whether a hypothesis
    that ends with the first p ids of a term also ends with its first q.
    """
    ids = ops.cast(terms, "int32")
    number, longest = ops.shape(ids)[1:]
    equal = ops.all(ids[:, :, None] == ids[:, None], axis=-1)  # (B, C, C)
    before = ops.arange(number)[:, None] > ops.arange(number)[None]
    p, q = ops.arange(longest)[:, None], ops.arange(longest)[None]
    shifted = ops.take(ids, ops.minimum(p + q, longest - 1), axis=2)  # (B, C, L, L), the id p places later
    differs = ops.cast(shifted != ids[:, :, None], "int32")
    agrees = ops.cumsum(differs, axis=-1) == differs  # in the first q ids
    agrees = ops.reshape(agrees, (-1, number, longest * longest))
    borders = ops.take(agrees, ops.maximum(p - q, 0) * longest + q, axis=2)
    return {
        "ids": ids,
        "lengths": ops.sum(ops.cast(ids >= 0, "int32"), axis=-1),
        "earlier": ops.sum(ops.cast(ops.logical_and(equal, before), "int32"), axis=-1),
        "borders": ops.logical_and(borders, q <= p),
    }


def nothing_met(terms, width):
    """The state of W empty hypotheses: int32 `begun` and `count`, `(B, W, C)`, and `missing` `(B, W)`."""
    zeros = ops.repeat(ops.zeros_like(terms["lengths"])[:, None], width, axis=1)
    return {"begun": zeros, "count": zeros, "missing": missing(terms, zeros, zeros)}


def missing(terms, begun, count):
    """How many ids `(B, ...)` are missing, if each missing term is written after the other.

    `begun` and `count` are `(B, ..., C)`. The term of which most has been written goes first.
    """
    shape = (-1, *[1] * (len(count.shape) - 2), ops.shape(count)[-1])
    lengths, earlier = (ops.reshape(terms[name], shape) for name in ("lengths", "earlier"))
    needed = count <= earlier
    total = ops.sum(ops.where(needed, lengths, 0), axis=-1)
    return total - ops.max(ops.where(needed, begun, 0), axis=-1)


def offered(terms, beam, logits, best, words, position, prefix=None):
    """Adds the next id of each missing term to the best words of each hypothesis, unless it is among them.

    Args:
        terms, beam: dicts of `prepared` and of the W hypotheses, `(B, W, ...)`.
        logits: `(B * W, V)`.
        best, words: the logits and ids `(B * W, K)` of the best words.
        position, prefix: as for `constrain`; where a prefix gives the next word, no other is added.

    Returns:
        `best` and `words`, `(B * W, K + C)`.
    """
    number, longest = ops.shape(terms["ids"])[1:]
    begun = ops.reshape(beam["begun"], (-1, number))  # (B W, C)
    width = beam["begun"].shape[1]
    ids = ops.reshape(ops.repeat(terms["ids"], width, axis=0), (-1, number, longest))
    following = ops.sum(ops.where(ops.arange(longest) == begun[..., None], ids, 0), axis=-1)
    needed = beam["count"] <= terms["earlier"][:, None]
    needed = ops.reshape(ops.logical_and(needed, terms["lengths"][:, None] > 0), (-1, number))
    there = ops.logical_and(words[:, None] == following[..., None], (best > FORBIDDEN / 2)[:, None])
    twice = ops.logical_and(following[:, :, None] == following[:, None], needed[:, None])
    twice = ops.logical_and(twice, ops.arange(number)[:, None] > ops.arange(number)[None])
    new = ops.logical_and(needed, ops.logical_not(ops.logical_or(ops.any(there, -1), ops.any(twice, -1))))
    if prefix is not None:
        given = ops.take(prefix, ops.minimum(position, ops.shape(prefix)[1] - 1), axis=1) >= 0
        given = ops.logical_and(given, position < ops.shape(prefix)[1])
        new = ops.logical_and(new, ops.logical_not(given)[:, None])
    following = ops.where(new, following, 0)
    more = ops.where(new, pick(logits, following), FORBIDDEN)
    return ops.concatenate([best, more], axis=1), ops.concatenate([words, following], axis=1)


def shared(terms, beam, choices, number, room, end_id):
    """Shares the places among continuations, and keeps what they have met.

    Args:
        terms, beam: as for `offered`.
        choices: dict of the continuations, K of each hypothesis, `(B, W * K)`.
        number: the number of places.
        room: how many words may follow.
        end_id: id of `</s>`.

    Returns:
        `(choices, places)`: the dict with the entries of `nothing_met`, where continuations without room for
        their terms do not exist; and int32 `(B, number)`, in order.
    """
    width = beam["missing"].shape[1]
    last = ops.reshape(choices["last"], (-1, width, ops.shape(choices["last"])[1] // width))
    begun, count = (
        ops.reshape(x, (-1, ops.shape(choices["last"])[1], ops.shape(x)[-1]))
        for x in after(terms, beam, last)
    )
    state = {"begun": begun, "count": count, "missing": missing(terms, begun, count)}
    fits = state["missing"] <= ops.where(choices["last"] == end_id, 0, room)
    choices = {**choices, **state, "exists": ops.logical_and(choices["exists"], fits)}
    number_of_ids = ops.shape(terms["ids"])[1] * ops.shape(terms["ids"])[2]
    keys = choices["log_prob"], choices["exists"], choices["missing"]
    return choices, shared_places(*keys, number, number_of_ids)


def after(terms, beam, words):
    """`begun` and `count`, `(B, W, K, C)`, of W hypotheses continued by words `(B, W, K)`."""
    number, longest = ops.shape(terms["ids"])[1:]
    places = ops.arange(ops.shape(terms["lengths"])[0] * number, dtype="int32") * longest
    places = ops.reshape(places, (-1, 1, number)) + beam["begun"]
    borders = ops.take(ops.reshape(terms["borders"], (-1, longest)), places, axis=0)[:, :, None]
    fits = ops.logical_and(borders, terms["ids"][:, None, None] == words[..., None, None])
    begun = ops.max(ops.where(fits, ops.arange(1, longest + 1, dtype="int32"), 0), axis=-1)
    complete = begun == terms["lengths"][:, None, None]
    count = beam["count"][:, :, None] + ops.cast(complete, "int32")
    return ops.where(complete, 0, begun), count


def shared_places(log_prob, exists, missing, number, most):
    """The places `(B, number)` of hypotheses `(B, M)` if the banks share the beam evenly.

    A bank holds the hypotheses that miss the same number of ids, 0 to `most`. The places go to the best
    hypothesis of each bank, of which least is missing first, then to the second of each, and so on: what a
    bank cannot use, the others get.
    """
    order = ops.argsort(ops.where(exists, -log_prob, float("inf")), axis=-1)
    exists, missing = pick((exists, missing), order)
    inside = ops.logical_and(missing[..., None] == ops.arange(most + 1, dtype="int32"), exists[..., None])
    inside = ops.cast(inside, "int32")  # (B, M, banks)
    rank = ops.sum(ops.cumsum(inside, axis=1) * inside, axis=-1) - 1
    worst = ops.shape(order)[1] * (most + 1)
    key = ops.where(exists, rank * (most + 1) + missing, worst)
    return pick(order, ops.top_k(-key, number)[1])
