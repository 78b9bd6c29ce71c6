"""The multiplicative score of Shazeer et al. (2017): additive attention as a matrix product."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes
from keraszoo.layers.attention import Attention
from keraszoo.layers.kernel_options import KernelOptions


@keras.saving.register_keras_serializable(package="keraszoo")
class MultiplicativeAttention(KernelOptions, Attention):
    """Attention whose score is a product of two tanh; that of `BahdanauAttention` is the tanh of a sum.

        A(x_i, y_j) = sum_d V_d tanh((x_i U)_d) tanh((y_j W)_d)        (appendix G)

    with x the queries and y the keys. All scores are one matrix product, without a tensor `(B, T, S, units)`.
    `prepare` computes V_d tanh((y_j W)_d) once per sentence.

    Args:
        units: width of the projections.
        dropout, seed, kwargs: as for `Attention` and `KernelOptions`, whose options hold for `V`, too.

    Call arguments, outputs and errors: as for `Attention`; `query` and `key` may have different widths.

    Example:

    >>> context, weights = MultiplicativeAttention(units=8)(ops.ones((1, 2, 3)), ops.ones((1, 5, 4)))
    >>> tuple(context.shape), tuple(weights.shape)
    ((1, 2, 4), (1, 2, 5))

    Reference: Shazeer et al., 2017, https://arxiv.org/abs/1701.06538.
    """

    def __init__(self, units=None, **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units)
        self.units = int(units)
        self.U = self.dense(self.units, "U")
        self.W = self.dense(self.units, "W")
        self.V = self.dense(1, "V")

    def make_weights(self, query_shape, value_shape, key_shape):
        self.U.build(query_shape)
        self.W.build(key_shape)
        self.V.build((None, self.units))

    def prepare(self, value, key=None, positions=None):
        V = self.V(ops.eye(self.units, dtype=self.compute_dtype))[:, 0]  # called: it may be quantized
        return ops.tanh(self.W(value if key is None else key)) * V, value  # (B, S, units)

    def scores(self, query, keys):
        return ops.matmul(ops.tanh(self.U(query)), ops.swapaxes(keys, -1, -2))  # (B, T, S)
