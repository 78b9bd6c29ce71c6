"""Additive attention with its own projections (Bahdanau, Cho and Bengio, 2015)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes
from keraszoo.layers.attention import Attention
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import at_least_float32


@keras.saving.register_keras_serializable(package="keraszoo")
class BahdanauAttention(KernelOptions, Attention):
    """Additive attention as in the paper's appendix A.1.2: a small feed-forward net scores each pair.

        e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j)        (W_a -> `W_q`, U_a -> `W_k`, v_a -> `v`)

    or, with `normalize`, where g starts at 1 / sqrt(units) and b, the bias of `W_k`, at 0:

        e_ij = g v_a^T / |v_a| tanh(W_a s_{i-1} + U_a h_j + b)

    `U_a h_j` does not depend on i: `prepare` computes it once per sentence. The tanh is taken over a tensor
    `(B, T, S, units)`, the cost of teacher forcing over all T at once. A decoder that steps has T = 1.

    Departures: none from the paper. `keras.layers.AdditiveAttention` has neither `W_a` nor `U_a`.

    Args:
        units: width of the hidden layer of the score.
        normalize: learn the norm of v_a as a number g, and add a bias.
        dropout, seed, kwargs: as for `Attention` and `KernelOptions`.

    Call arguments, outputs and errors: as for `Attention`; `query` and `key` may have different widths.

    Example:

    One step of a decoder, whose state is the query. `memory_mask` is `True` at real words.

    >>> attention = BahdanauAttention(units=8)
    >>> state, memory = ops.ones((2, 3), "float32"), ops.ones((2, 5, 4), "float32")
    >>> memory_mask = ops.array([[True] * 5, [True, True, False, False, False]])
    >>> context, attention_weights = attention(state, memory, value_mask=memory_mask)
    >>> tuple(context.shape), ops.convert_to_numpy(attention_weights)[1].tolist()
    ((2, 4), [0.5, 0.5, 0.0, 0.0, 0.0])

    References: Bahdanau, Cho, Bengio, 2015, https://arxiv.org/abs/1409.0473; Salimans, Kingma, 2016,
    https://arxiv.org/abs/1602.07868.
    """

    def __init__(self, units=None, *, normalize=False, **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units)
        self.units = int(units)
        self.normalize = normalize
        self.W_q = self.dense(self.units, "W_q")
        self.W_k = self.dense(self.units, "W_k", use_bias=normalize)
        self.v = self.dense(1, "v")

    def make_weights(self, query_shape, value_shape, key_shape):
        self.W_q.build(query_shape)
        self.W_k.build(key_shape)
        self.v.build((None, self.units))
        if self.normalize:
            initializer = keras.initializers.Constant(self.units**-0.5)
            self.g = self.add_weight(name="g", shape=(), initializer=initializer)

    def prepare(self, value, key=None, positions=None):
        return self.W_k(value if key is None else key), value  # (B, S, U)

    def scores(self, query, keys):
        hidden = ops.tanh(self.W_q(query)[:, :, None] + keys[:, None])  # (B, T, S, U)
        scores = self.v(hidden)[..., 0]  # (B, T, S)
        return scores * self._factor(scores.dtype) if self.normalize else scores

    def _factor(self, dtype):
        """The factor g / |v|; a call finds the v in use, adapted or quantized."""
        full = at_least_float32(dtype)
        norm = ops.norm(ops.cast(self.v(ops.eye(self.units, dtype=dtype)), full))
        return ops.cast(ops.cast(self.g, full) / norm, dtype)
