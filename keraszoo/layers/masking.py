"""Masks: the masked softmax, the masks it takes, and a mask on the output of a layer."""

import functools

import keras
import numpy as np
from keras import ops

from keraszoo.layers.arguments import require

LOWEST = -3e38  # a score; fits float32


def at_least_float32(dtype):
    """The dtype of computations that half precision would spoil: softmaxes, sums, losses.

    >>> at_least_float32("bfloat16"), at_least_float32("float64")
    ('float32', 'float64')
    """
    return keras.backend.result_type(dtype, "float32")


def masked_softmax(scores, mask=None):
    """Softmax over the last axis that gives a masked position a weight of exactly zero.

        weights_j = exp(scores_j) [mask_j] / sum_k exp(scores_k) [mask_k]

    A row in which everything is masked gives weights of zero (Keras' own layers disagree here).
    Half-precision scores are normalised in float32.

    Args:
        scores: `(..., S)`, floating point.
        mask: bool, broadcastable to `scores`, `True` = keep; `None` keeps all.

    Returns:
        Attention weights of the shape and dtype of `scores`, in [0, 1]; a row sums to 1, or to 0 if all of it
        is masked.

    Example:

    >>> weights = masked_softmax(ops.zeros((1, 4)), ops.array([[True, True, False, False]]))
    >>> ops.convert_to_numpy(weights).tolist()
    [[0.5, 0.5, 0.0, 0.0]]
    """
    dtype = scores.dtype
    scores = ops.cast(scores, at_least_float32(dtype))
    if mask is None:
        return ops.cast(_softmax(scores), dtype)
    mask = as_bool(mask)
    weights = _softmax(ops.where(mask, scores, LOWEST))
    return ops.cast(ops.where(mask, weights, 0.0), dtype)


def _softmax(scores):
    """Keras' softmax warns about an axis of length 1, which a source of one word has."""
    return ops.ones_like(scores) if scores.shape[-1] == 1 else ops.softmax(scores, axis=-1)


def as_bool(mask):
    """A mask as a bool tensor, or a ValueError if it holds numbers other than 0 and 1 that a graph knows.

    >>> as_bool(ops.array([0.0, -1e9]))
    Traceback (most recent call last):
    ValueError: A mask must be bool, True = keep, not numbers that are added to scores. Received: ...
    """
    mask = ops.convert_to_tensor(mask)
    if keras.backend.standardize_dtype(mask.dtype) == "bool":
        return mask
    try:
        numbers = ops.convert_to_numpy(mask)
    except (RuntimeError, TypeError):  # a symbol of TensorFlow or PyTorch, or of JAX
        numbers = np.zeros(())
    fits = np.isin(numbers, (0, 1)).all()
    require(fits, "A mask must be bool, True = keep, not numbers that are added to scores", mask=numbers)
    return ops.cast(mask, "bool")


def all_masks(*masks, heads=False):
    """The conjunction of masks `(T, S)`, `(B, T, S)` or, with heads, `(B, H, T, S)`; `None` masks nothing."""
    masks = [as_bool(mask) for mask in masks if mask is not None]
    masks = [mask[:, None] if heads and len(mask.shape) == 3 else mask for mask in masks]
    return functools.reduce(ops.logical_and, masks) if masks else None


@keras.saving.register_keras_serializable(package="keraszoo")
class Masked(keras.layers.Layer):
    """Returns its input with a mask that Keras passes on: to the next layer, or to the loss.

    A layer with several inputs passes on the mask of its first input by itself only if that mask came with
    the tensor, and on JAX Keras drops the mask that a subclassed model computes.

    Call arguments:
        inputs: a tensor `(B, T, ...)`, which is returned.
        mask: bool `(B, T)`, `True` = keep; `None`: that of the inputs.

    Example:

    >>> logits = Masked()(keras.ops.zeros((1, 2, 3), "float32"), mask=keras.ops.array([[True, False]]))
    >>> loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> round(float(loss(keras.ops.array([[1, 0]]), logits)), 4)  # log 3, the mean over one position
    1.0986
    """

    def __init__(self, **kwargs):
        super().__init__(**{"autocast": False, **kwargs})
        self.supports_masking = True
        self.built = True  # it has no weights; `Model.quantize` looks at it

    def call(self, inputs, mask=None):
        return inputs
