"""Scaled dot-product attention (Vaswani et al., 2017, section 3.2.1)."""

import math

import keras
from keras import ops

from keraszoo.layers.arguments import require_shapes
from keraszoo.layers.attention import Attention


@keras.saving.register_keras_serializable(package="keraszoo")
class ScaledDotProductAttention(Attention):
    """Dot products of queries and keys, scaled so that their variance does not grow with the width.

        Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V        (eq. 1)

    Args:
        scale: the factor on the scores; `None`: 1 / sqrt(d_k). `1.0` gives Luong's `dot`.
        dropout, seed, kwargs: as for `Attention`.

    Call arguments, outputs and errors: as for `Attention`; queries and keys have one width, d_k.

    Example:

    >>> context, weights = ScaledDotProductAttention()(ops.ones((1, 2, 4)), ops.ones((1, 3, 4)))
    >>> tuple(context.shape), tuple(weights.shape)
    ((1, 2, 4), (1, 2, 3))

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, scale=None, **kwargs):
        super().__init__(**kwargs)
        self.scale = scale

    def make_weights(self, query_shape, value_shape, key_shape):
        fits = query_shape[-1] == key_shape[-1]
        wanted = "Dot products need queries and keys of one width"
        require_shapes(fits, wanted, query=query_shape, key=key_shape)

    def scores(self, query, keys):
        query = query * (1 / math.sqrt(keys.shape[-1]) if self.scale is None else self.scale)
        return ops.matmul(query, ops.swapaxes(keys, -1, -2))  # (B, T, S)
