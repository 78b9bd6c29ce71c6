"""The keys and values of the words that a Transformer has written, a part of its state.

The hypotheses of a sentence share one cache `(B, H, L, W * d)` for each layer and kind: the keys (or values)
that the W rows of a sentence wrote at a position are side by side. `"history"` `(N, L)` says for each row and
position which row of the sentence wrote that word, -1 if none did. When a search gives a row another parent,
only its history changes, and the cache does not move.
"""

import keras
from keras import ops


def empty_cache(sentences, beam_width, length, layers, heads, width, dtype):
    """The cache with room for L = `length` positions, for H `heads` of d = `width`."""
    empty = ops.zeros((sentences, heads, length, beam_width * width), dtype=dtype)
    history = ops.full((sentences * beam_width, length), -1, dtype="int32")
    return {"cache": [[empty, empty] for _ in range(layers)], "history": history}


def lengthened_cache(state, extra):
    """The cache of a state with room for `extra` more positions."""
    room = (0, 0), (0, 0), (0, extra), (0, 0)
    cache = keras.tree.map_structure(lambda x: ops.pad(x, room), state["cache"])
    return {"cache": cache, "history": ops.pad(state["history"], room[1:3], constant_values=-1)}


def cache_axes(state):
    """The axes of the cache whose sizes vary during a search."""
    return {"cache": keras.tree.map_structure(lambda _: (0, 2), state["cache"]), "history": (0, 1)}


class CacheStep:
    """One step: the position of its rows, and the `history` after it."""

    def __init__(self, state, width):
        history, position = state["history"], state["position"]
        self.length, self.beam_width = ops.shape(history)[1], state["cache"][0][0].shape[3] // width
        rows, places = ops.arange(self.beam_width, dtype="int32"), ops.arange(self.length, dtype="int32")
        self.here = (places == position)[:, None]  # (L, 1)
        history = ops.reshape(history, (-1, self.beam_width, self.length))
        history = ops.where(self.here[:, 0], rows[:, None], history)  # (B, W, L)
        slots = history[..., None] == rows  # (B, W, L, W)
        self.history = ops.reshape(history, (-1, self.length))
        self.seen = ops.reshape(slots, (-1, self.beam_width, self.length * self.beam_width))
        self.positions = ops.reshape(position, (1,))
        self.key_positions = ops.repeat(places, self.beam_width)


class LayerCache:
    """The cache of one layer in a step: `kept`, `[keys, values]`, has the new position once `attend` ran."""

    def __init__(self, step, kept):
        self.step = step
        self.kept = kept

    def attend(self, attention, x):
        """Context and attention weights of W rows `(B, W, D)` over their own words so far."""
        step, kept = self.step, []
        for new, old in zip(attention.prepare(x, positions=step.positions), self.kept, strict=True):
            beside = ops.reshape(new, (-1, new.shape[1], 1, step.beam_width * new.shape[3]))
            kept.append(ops.where(step.here, beside, old))
        self.kept = kept
        slots = (-1, attention.num_heads, step.length * step.beam_width, attention.key_dim)
        return attention(
            x,
            prepared=[ops.reshape(part, slots) for part in kept],
            attention_mask=step.seen,
            positions=step.positions,
            key_positions=step.key_positions,
        )
