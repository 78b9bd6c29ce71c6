"""Moving the hypotheses of a model's state about; `TranslationModel` says what a state holds."""

import keras
from keras import ops

from keraszoo.errors import KerasZooError

SHARED = ("memory", "cache", "position")


def count_rows(state):
    """N, how many rows a state has: an integer, or a scalar tensor where only the running graph knows."""
    part = next(part for key, part in sorted(state.items()) if key not in SHARED)
    return ops.shape(keras.tree.flatten(part)[0])[0]


def attention_width(state):
    """S, how many words the rows of a state attend to.

    Raises:
        KerasZooError: if the state is of a model that attends to nothing.
    """
    if "attention_weights" not in state:
        raise KerasZooError(
            "the model attends to nothing: it has no attention weights and no coverage penalty"
        )
    return ops.shape(state["attention_weights"])[1]


def select_rows(state, rows):
    """The state whose row n is row `rows[n]` of the given one, within the same sentence.

    Memory belongs to a sentence and the cache is found again through `"history"`: neither is moved.

    Args:
        state: a model's state.
        rows: int `(N,)`.

    Returns:
        A state of the same shapes.
    """
    take = keras.tree.map_structure
    return {
        key: part if key in SHARED else take(lambda x: ops.take(x, rows, axis=0), part)
        for key, part in state.items()
    }


def select_sentences(state, sentences, beam_width=1):
    """The state of some of the sentences, each with its `beam_width` rows.

    Args:
        state: a model's state.
        sentences: int `(B',)`.
        beam_width: W, rows of a sentence.

    Returns:
        A state of B' sentences.
    """
    rows = ops.reshape(sentences[:, None] * beam_width + ops.arange(beam_width), (-1,))

    def take(key, part):
        if key == "position":
            return part
        index = sentences if key in SHARED else rows
        return keras.tree.map_structure(lambda x: ops.take(x, index, axis=0), part)

    return {key: take(key, part) for key, part in state.items()}


def written(x, position, values, axis=1):
    """`x` with `values` at one position of an axis.

    Made of a comparison: TensorFlow compiles its own operation for this anew for every shape it meets.

    Args:
        x: `(..., L, ...)`.
        position: scalar int, where along `axis`.
        values: `(..., 1, ...)`.
        axis: of `x`, at least 0.

    Returns:
        A tensor like `x`.
    """
    here = ops.arange(ops.shape(x)[axis]) == position
    return ops.where(ops.reshape(here, (-1, *[1] * (len(x.shape) - axis - 1))), values, x)


def lengthen(state, extra):
    """The state with room for `extra` more positions in its cache, where the model keeps one.

    Args:
        state: a model's state.
        extra: how many positions, at least 0; a scalar tensor where only the running graph knows.

    Returns:
        A state with a longer `"cache"` and `"history"`.
    """
    if "cache" not in state:
        return state
    room = ((0, 0), (0, 0), (0, extra), (0, 0))
    cache = keras.tree.map_structure(lambda x: ops.pad(x, room), state["cache"])
    history = ops.pad(state["history"], ((0, 0), (0, extra)), constant_values=-1)
    return {**state, "cache": cache, "history": history}
