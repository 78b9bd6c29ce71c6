"""Additive attention with its own projections (Bahdanau, Cho and Bengio, 2015)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes
from keraszoo.layers.attention import Attention
from keraszoo.layers.linear import linear


def additive_scores(queries, keys, v):
    """Returns `v^T tanh(q_i + k_j)` of all pairs, over a `(B, T, S, U)` tensor.

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

    `U_a h_j` does not depend on i: `prepare` computes it once per sentence. The tanh is taken over a tensor
    of shape `(B, T, S, U)`; this is the cost of teacher forcing over all T at once. A decoder that steps has
    T = 1.

    Departures: none from the paper. `keras.layers.AdditiveAttention` has neither `W_a` nor `U_a`.

    Shapes: B batch, T queries, S values, D width of a value, U `units`.

    Args:
        units: U, the width of the hidden layer of the score.
        dropout: share of the attention weights dropped in training.
        seed: seed of the dropout.
        kernel_initializer, kernel_regularizer, kernel_constraint: of `W_q`, `W_k` and `v`, as for
            `keras.layers.Dense`.

    Call arguments: as for `Attention`; `query` and `key` may have different widths.

    Returns:
        `(context, attention_weights)`: `(B, T, D)` and `(B, T, S)`; for a query `(B, width)`, `(B, D)` and
        `(B, S)`.

    Raises:
        ValueError: if `units` is not a positive integer, or for inputs as in `Attention`.

    Example:

    One step of a decoder, whose state is the query. `memory_mask` is `True` at real words.

    >>> import numpy as np
    >>> attention = BahdanauAttention(units=8)
    >>> state, memory = np.ones((2, 3), "float32"), np.ones((2, 5, 4), "float32")
    >>> memory_mask = np.array([[True] * 5, [True, True, False, False, False]])
    >>> context, attention_weights = attention(state, memory, value_mask=memory_mask)
    >>> tuple(context.shape), ops.convert_to_numpy(attention_weights)[1].tolist()
    ((2, 4), [0.5, 0.5, 0.0, 0.0, 0.0])

    All steps at once, in a model that stock `compile` and `fit` train. The mask of the source arrives from
    its embedding.

    >>> source, target_in = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    >>> embed = keras.layers.Embedding(9, 4, mask_zero=True)
    >>> memory, *state = keras.layers.LSTM(6, return_sequences=True, return_state=True)(embed(source))
    >>> hidden = keras.layers.LSTM(6, return_sequences=True)(embed(target_in), initial_state=state)
    >>> context, _ = BahdanauAttention(units=8)(hidden, memory)
    >>> logits = keras.layers.Dense(9)(keras.layers.Concatenate()([context, hidden]))
    >>> model = keras.Model((source, target_in), logits)
    >>> model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    Reference: Bahdanau, Cho, Bengio: Neural Machine Translation by Jointly Learning to Align and Translate,
    2015, https://arxiv.org/abs/1409.0473.
    """

    weight_kinds = {"kernel": "glorot_uniform"}

    def __init__(self, units, dropout=0.0, seed=None, **kwargs):
        super().__init__(dropout, seed, **kwargs)
        check_sizes(units=units)
        self.units = units

    def make_weights(self, query_shape, value_shape, key_shape):
        self.W_q = self.new_weight("W_q", (query_shape[-1], self.units))
        self.W_k = self.new_weight("W_k", (key_shape[-1], self.units))
        self.v = self.new_weight("v", (self.units, 1))

    def prepare(self, value, key=None):
        return linear(value if key is None else key, self.W_k), value  # (B, S, U)

    def scores(self, query, keys):
        return additive_scores(linear(query, self.W_q), keys, self.v)  # (B, T, S)
