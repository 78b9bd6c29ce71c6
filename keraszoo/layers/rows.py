"""Picking rows of tensors."""

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
