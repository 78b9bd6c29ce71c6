"""Selects and moves hypotheses in a model's state; `TranslationModel` documents the state."""

from functools import partial

import keras
from keras import ops

from keraszoo.errors import KerasZooError

SHARED = ("memory", "cache", "position")


def count_sentences(state, beam_width=1):
    """B, the number of sentences of a state: an integer, or a scalar tensor in a graph of any batch size.

    Raises:
        KerasZooError: the state has no tensor of rows, or other than `beam_width` rows for each sentence.
    """
    parts = keras.tree.flatten([part for key, part in sorted(state.items()) if key not in SHARED])
    if not parts:
        raise KerasZooError(
            f"a state needs a tensor with a row per hypothesis, in addition to {', '.join(SHARED)}"
        )
    rows = ops.shape(parts[0])[0]
    memory = [part for part in keras.tree.flatten(state["memory"]) if part is not None]
    sentences = ops.shape(memory[0])[0] if memory else rows // beam_width
    if isinstance(rows, int) and isinstance(sentences, int) and rows != sentences * beam_width:
        raise KerasZooError(
            f"the state has {rows} rows for {sentences} sentences and a beam of {beam_width}: make it by "
            f"initial_state(memory, beam_width={beam_width})"
        )
    return rows // beam_width


def attention_width(state):
    """S, the number of words that the rows of a state attend to.

    Raises:
        KerasZooError: if the model attends to nothing.
    """
    if "attention_weights" not in state:
        raise KerasZooError("the model attends to nothing, so a coverage penalty is impossible")
    return ops.shape(state["attention_weights"])[1]


def split_memory(state):
    """The memory of a state as the start of a dict of constants, and the rest of the state."""
    rest = {key: part for key, part in state.items() if key != "memory"}
    return {"memory": state["memory"]}, rest


def select_rows(state, rows):
    """The state whose row n is row `rows[n]` of the given one, of the same sentence; `rows` is int `(N,)`.

    Memory and cache are shared by the rows of a sentence and do not move: `"history"` maps rows to the cache.
    """
    return {key: part if key in SHARED else take(part, rows) for key, part in state.items()}


def select_sentences(state, sentences, beam_width=1):
    """The state of some of the sentences, int `(B',)`, each with its `beam_width` rows."""
    rows = ops.reshape(sentences[:, None] * beam_width + ops.arange(beam_width), (-1,))
    parts = {key: part for key, part in state.items() if key != "position"}
    chosen = {key: take(part, sentences if key in SHARED else rows) for key, part in parts.items()}
    return {**chosen, "position": state["position"]}


def written(x, position, values, axis=1):
    """`x` `(..., L, ...)` with `values` `(..., 1, ...)` at one position of an axis, which is at least 0.

    Uses a comparison, because TensorFlow's scatter update is compiled again for every new shape.
    """
    here = ops.arange(ops.shape(x)[axis]) == position
    return ops.where(ops.reshape(here, (-1, *[1] * (len(x.shape) - axis - 1))), values, x)


def lengthen(state, extra):
    """The state with room for `extra` more positions in `"cache"` and `"history"`, if it has them.

    `extra` is an integer or a scalar tensor, at least 0.
    """
    if "cache" not in state:
        return state
    room = ((0, 0), (0, 0), (0, extra), (0, 0))
    cache = keras.tree.map_structure(lambda x: ops.pad(x, room), state["cache"])
    history = ops.pad(state["history"], ((0, 0), (0, extra)), constant_values=-1)
    return {**state, "cache": cache, "history": history}


def with_room(state, length):
    """The state with room for at least `length` positions in its cache, if its size is known."""
    room = state["history"].shape[1] if "cache" in state else None
    return state if room is None or room >= length else lengthen(state, length - room)


def take(part, index):
    """Rows `index` of every tensor of a nested structure; indices are not negative."""
    gather = partial(ops.take, axis=0)
    if keras.backend.backend() == "tensorflow":  # `ops.take` has nine more operations, for negative indices
        import tensorflow as tf

        gather = tf.gather
    return keras.tree.map_structure(lambda x: gather(x, indices=index), part)


def take_of_rows(x, index):
    """`x[b, index[b, k]]` for all b and k, for x `(B, M, ...)` and int `(B, K)` indices."""
    rows, count = ops.shape(x)[:2]
    places = ops.arange(rows, dtype="int32")[:, None] * count + ops.cast(index, "int32")
    return take(ops.reshape(x, (rows * count, *ops.shape(x)[2:])), places)
