"""Attention without a query: which words of a sentence matter (Raffel and Ellis, 2015)."""

import keras
from keras import ops

from keraszoo.layers.attention import Attention
from keraszoo.layers.linear import linear
from keraszoo.layers.sizes import check_sizes


@keras.saving.register_keras_serializable(package="keraszoo")
class FeedForwardAttention(Attention):
    """A sentence as one vector, the mean of its states weighted by a small feed-forward net.

        e_j = v^T tanh(U h_j)        alpha_j = exp(e_j) / sum_k exp(e_k)        c = sum_j alpha_j h_j

    with h_j the values (U -> `U`, v -> `v`). The score is that of `BahdanauAttention` where the query is
    always the same. A tagger that wants the states themselves, each as loud as it matters, multiplies them by
    the weights: alpha_j h_j.

    Departures: the paper's experiments have one unit and a bias, e_j = tanh(w h_j + b), which bounds the
    scores by 1 and so the ratio of two weights by e^2; here v is on top, and the bias is `use_bias`.

    Shapes: B batch, S values, D width of a value, U `units`.

    Args:
        units: U, the width of the hidden layer of the score.
        use_bias: add a bias inside the tanh.
        dropout: share of the attention weights dropped in training.

    Call arguments:
        value: `(B, S, D)`.
        value_mask: bool `(B, S)`, `True` = attend; arrives by itself from `Embedding(mask_zero=True)`.
        mask: the same: Keras fills it in under this name where a layer has one input.
        training: whether dropout is on.

    Returns:
        `(context, attention_weights)`: `(B, D)` and `(B, S)`. Where everything is masked, both are zero.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:

    >>> import numpy as np
    >>> states = np.ones((2, 5, 4), "float32")
    >>> context, attention_weights = FeedForwardAttention(units=8)(states)
    >>> tuple(context.shape), tuple(attention_weights.shape)
    ((2, 4), (2, 5))
    >>> weighted = attention_weights[:, :, None] * states  # alpha_j h_j, (B, S, D)

    Reference: Raffel, Ellis: Feed-Forward Networks with Attention Can Solve Some Long-Term Memory Problems,
    2015, https://arxiv.org/abs/1512.08756.
    """

    def __init__(self, units, use_bias=False, dropout=0.0, **kwargs):
        super().__init__(dropout=dropout, **kwargs)
        check_sizes(units=units)
        self.units = units
        self.use_bias = use_bias

    def build(self, value_shape):
        init = "glorot_uniform"
        self.U = self.add_weight(name="U", shape=(value_shape[-1], self.units), initializer=init)
        self.v = self.add_weight(name="v", shape=(self.units, 1), initializer=init)
        self.b = (
            self.add_weight(name="b", shape=(self.units,), initializer="zeros") if self.use_bias else None
        )

    def prepare(self, value, key=None):
        return linear(value if key is None else key, self.U, self.b), value  # (B, S, U)

    def scores(self, query, keys):
        """`(B, 1, S)`: there is one query, and it is in the weights."""
        return linear(ops.tanh(keys), self.v)[:, None, :, 0]

    def call(self, value, value_mask=None, mask=None, training=None):
        value_mask = mask if value_mask is None else value_mask
        keys, values = self.prepare(value)
        context, weights = self.attend(None, keys, values, value_mask, training=training)
        return context[:, 0], weights[:, 0]

    def compute_mask(self, value, value_mask=None):
        return None, None

    def compute_output_shape(self, value_shape):
        return (value_shape[0], value_shape[-1]), (value_shape[0], value_shape[1])

    def get_config(self):
        return {**super().get_config(), "units": self.units, "use_bias": self.use_bias}
