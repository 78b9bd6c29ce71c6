"""Picking hypotheses of sentences and writing their next words."""

import keras
from keras import ops

from keraszoo.layers.rows import take


def pick(parts, index):
    """`x[b, index[b, k]]` for all b and k, for each x `(B, M, ...)` of a nested structure.

    Args:
        parts: tensors `(B, M, ...)`, nested.
        index: int `(B, K)`, not negative.

    Returns:
        Tensors `(B, K, ...)`, nested alike.
    """
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
