"""The position-wise feed-forward network (Vaswani et al., 2017, section 3.3)."""

import keras

from keraszoo.layers.dropout import Dropout
from keraszoo.layers.linear import linear


@keras.saving.register_keras_serializable(package="keraszoo")
class FeedForward(keras.layers.Layer):
    """The position-wise feed-forward network: two linear maps with a nonlinearity between, at every position
    alike.

        FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        (eq. 2)

    Args:
        hidden_dim: d_ff, the width between the two maps.
        activation: the nonlinearity; ReLU in the paper.
        dropout: share of the hidden units dropped in training. The paper has none here; tensor2tensor does.

    Call arguments:
        inputs: `(B, T, D)`.

    Returns:
        `(B, T, D)`.

    Example:

    >>> import numpy as np
    >>> tuple(FeedForward(hidden_dim=8)(np.ones((1, 2, 4))).shape)
    (1, 2, 4)

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, hidden_dim, activation="relu", dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.hidden_dim = hidden_dim
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        self.hidden_dropout = Dropout(dropout, dtype=self.dtype_policy) if dropout else None

    def build(self, inputs_shape):
        width, hidden = inputs_shape[-1], self.hidden_dim
        self.W_1 = self.add_weight(name="W_1", shape=(width, hidden), initializer="glorot_uniform")
        self.b_1 = self.add_weight(name="b_1", shape=(hidden,), initializer="zeros")
        self.W_2 = self.add_weight(name="W_2", shape=(hidden, width), initializer="glorot_uniform")
        self.b_2 = self.add_weight(name="b_2", shape=(width,), initializer="zeros")

    def call(self, inputs, training=None):
        hidden = self.activation(linear(inputs, self.W_1, self.b_1))  # (B, T, d_ff)
        if self.hidden_dropout is not None:
            hidden = self.hidden_dropout(hidden, training=training)
        return linear(hidden, self.W_2, self.b_2)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        activation = keras.activations.serialize(self.activation)
        own = {"hidden_dim": self.hidden_dim, "activation": activation, "dropout": self.dropout}
        return {**super().get_config(), **own}
