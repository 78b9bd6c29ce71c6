"""Picking rows of tensors, and writing a column."""

from functools import partial

import keras
from keras import ops


def take(part, rows):
    """The rows `rows`, int `(N,)` and not negative, of every tensor of a nested structure.

    >>> ops.convert_to_numpy(take({"x": ops.array([[1, 2], [3, 4]])}, ops.array([1, 1]))["x"]).tolist()
    [[3, 4], [3, 4]]
    """
    gather = partial(ops.take, axis=0)
    if keras.backend.backend() == "tensorflow":  # `ops.take` has nine more operations, for negative indices
        import tensorflow as tf

        gather = tf.gather
    return keras.tree.map_structure(lambda x: gather(x, indices=rows), part)


def pick(parts, index):
    """`x[b, index[b, k]]` for each x `(B, M, ...)` of a nested structure and int `(B, K)`: `(B, K, ...)`."""
    rows, count = ops.shape(keras.tree.flatten(parts)[0])[:2]
    places = ops.arange(rows, dtype="int32")[:, None] * count + ops.cast(index, "int32")

    def flat(x):
        return ops.reshape(x, (rows * count, *ops.shape(x)[2:]))

    return take(keras.tree.map_structure(flat, parts), places)


def written(x, position, values, axis=1):
    """`x` `(..., L, ...)` with `values` `(..., 1, ...)` at one position of an axis, which is at least 0.

    Uses a comparison, because TensorFlow's scatter update is compiled again for every new shape.
    """
    here = ops.arange(ops.shape(x)[axis], dtype="int32") == position
    return ops.where(ops.reshape(here, (-1, *[1] * (len(x.shape) - axis - 1))), values, x)
