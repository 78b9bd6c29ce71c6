"""The position-wise feed-forward network (Vaswani et al., 2017, section 3.3)."""

import keras

from keraszoo.layers.arguments import WeightedLayer, check_sizes
from keraszoo.layers.dropout import Dropout
from keraszoo.layers.linear import linear


@keras.saving.register_keras_serializable(package="keraszoo")
class FeedForward(WeightedLayer):
    """The position-wise feed-forward network: the same two linear maps and nonlinearity at every position.

        FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        (eq. 2)

    Args:
        intermediate_dim: d_ff, the width between the two maps.
        activation: the nonlinearity; ReLU in the paper.
        dropout: share of the hidden units dropped in training. The paper has none here; tensor2tensor does.
        seed: seed of the dropout.
        kernel_initializer, kernel_regularizer, kernel_constraint: of `W_1` and `W_2`, as for
            `keras.layers.Dense`.
        bias_initializer, bias_regularizer, bias_constraint: of `b_1` and `b_2`.

    Call arguments:
        inputs: `(B, T, D)`.

    Returns:
        `(B, T, D)`.

    Raises:
        ValueError: if `intermediate_dim` is not a positive integer.

    Example:

    >>> import numpy as np
    >>> tuple(FeedForward(intermediate_dim=8)(np.ones((1, 2, 4))).shape)
    (1, 2, 4)

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, intermediate_dim, activation="relu", dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        check_sizes(intermediate_dim=intermediate_dim)
        self.supports_masking = True
        self.intermediate_dim = intermediate_dim
        self.activation = keras.activations.get(activation)
        self.hidden_dropout = Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    def build(self, inputs_shape):
        width, hidden = inputs_shape[-1], self.intermediate_dim
        self.input_spec = keras.layers.InputSpec(min_ndim=2, axes={-1: width})
        self.W_1 = self.new_weight("W_1", (width, hidden))
        self.b_1 = self.new_weight("b_1", (hidden,), "bias")
        self.W_2 = self.new_weight("W_2", (hidden, width))
        self.b_2 = self.new_weight("b_2", (width,), "bias")

    def call(self, inputs, training=None):
        hidden = self.activation(linear(inputs, self.W_1, self.b_1))  # (B, T, d_ff)
        return linear(self.hidden_dropout(hidden, training=training), self.W_2, self.b_2)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):  # an activation may be a layer
        return {**super().get_config(), "activation": keras.activations.serialize(self.activation)}
