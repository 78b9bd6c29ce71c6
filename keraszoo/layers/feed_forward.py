"""The position-wise feed-forward network (Vaswani et al., 2017, section 3.3)."""

import keras

from keraszoo.layers.arguments import check_sizes
from keraszoo.layers.kernel_options import KernelOptions


@keras.saving.register_keras_serializable(package="keraszoo")
class FeedForward(KernelOptions):
    """The position-wise feed-forward network: the same two linear maps and nonlinearity at every position.

        FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        (eq. 2)

    Args:
        intermediate_dim: d_ff, the width between the two maps.
        activation: the nonlinearity; ReLU in the paper.
        dropout: share of the hidden units dropped in training. The paper has none here; tensor2tensor does.
        seed: seed of the dropout.
        kwargs: as for `KernelOptions`.

    Call arguments:
        inputs: `(..., D)`.

    Returns:
        `(..., D)`.

    Example:

    >>> tuple(FeedForward(intermediate_dim=8)(keras.ops.ones((1, 2, 4))).shape)
    (1, 2, 4)

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, intermediate_dim, activation="relu", dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        check_sizes(intermediate_dim=intermediate_dim)
        self.supports_masking = True
        self.intermediate_dim = int(intermediate_dim)
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        self.seed = seed
        self.W_1 = self.dense(self.intermediate_dim, "W_1", use_bias=True)
        self.hidden_dropout = keras.layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    def build(self, inputs_shape):
        self.input_spec = keras.layers.InputSpec(min_ndim=2, axes={-1: inputs_shape[-1]})
        self.W_2 = self.dense(inputs_shape[-1], "W_2", use_bias=True)
        self.W_1.build(inputs_shape)
        self.W_2.build((*inputs_shape[:-1], self.intermediate_dim))

    def call(self, inputs, training=None):
        hidden = self.activation(self.W_1(inputs))  # (B, T, d_ff)
        return self.W_2(self.hidden_dropout(hidden, training=training))
