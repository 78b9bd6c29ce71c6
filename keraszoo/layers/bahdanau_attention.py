"""Additive attention with its own projections (Bahdanau, Cho and Bengio, 2015)."""

import keras
from keras import ops

from keraszoo.layers.attention import Attention
from keraszoo.layers.linear import linear
from keraszoo.layers.sizes import check_sizes


def additive_scores(queries, keys, v):
    """`v^T tanh(q_i + k_j)` of all pairs, over a `(B, T, S, U)` tensor.

    Args:
        queries: `(B, T, U)`, projected.
        keys: `(B, S, U)`, projected.
        v: `(U, 1)`.

    Returns:
        `(B, T, S)`.
    """
    return linear(ops.tanh(queries[:, :, None] + keys[:, None]), v)[..., 0]


@keras.saving.register_keras_serializable(package="keraszoo")
class BahdanauAttention(Attention):
    """Additive attention as in the paper's appendix A.1.2: a small feed-forward net scores each pair.

        e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j)        (W_a -> `W_q`, U_a -> `W_k`, v_a -> `v`)

    `U_a h_j` does not depend on i: `prepare` computes it once a sentence. The tanh is taken over a `(B, T, S,
    U)` tensor, which is what teacher forcing over all T at once costs; a decoder that steps has T = 1.

    Departures: none from the paper. `keras.layers.AdditiveAttention` has neither `W_a` nor `U_a`.

    Shapes: B batch, T queries, S values, D width of a value, U `units`.

    Args:
        units: U, the width of the hidden layer of the score.
        use_bias: add a bias inside the tanh. The paper has none.
        dropout: share of the attention weights dropped in training.

    Call arguments: as for `Attention`; `query` and `key` may have different widths.

    Returns:
        `(context, attention_weights)`: `(B, T, D)` and `(B, T, S)`.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:

    >>> import numpy as np
    >>> attention = BahdanauAttention(units=8)
    >>> context, attention_weights = attention(np.ones((2, 1, 3)), np.ones((2, 5, 4)))
    >>> tuple(context.shape), tuple(attention_weights.shape)
    ((2, 1, 4), (2, 1, 5))

    Reference: Bahdanau, Cho, Bengio: Neural Machine Translation by Jointly Learning to Align and Translate,
    2015, https://arxiv.org/abs/1409.0473.
    """

    def __init__(self, units, use_bias=False, dropout=0.0, **kwargs):
        super().__init__(dropout=dropout, **kwargs)
        check_sizes(units=units)
        self.units = units
        self.use_bias = use_bias

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = value_shape if key_shape is None else key_shape
        init = "glorot_uniform"
        self.W_q = self.add_weight(name="W_q", shape=(query_shape[-1], self.units), initializer=init)
        self.W_k = self.add_weight(name="W_k", shape=(key_shape[-1], self.units), initializer=init)
        self.v = self.add_weight(name="v", shape=(self.units, 1), initializer=init)
        self.b = (
            self.add_weight(name="b", shape=(self.units,), initializer="zeros") if self.use_bias else None
        )

    def prepare(self, value, key=None):
        return linear(value if key is None else key, self.W_k, self.b), value  # (B, S, U)

    def scores(self, query, keys):
        return additive_scores(linear(query, self.W_q), keys, self.v)  # (B, T, S)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "use_bias": self.use_bias}
