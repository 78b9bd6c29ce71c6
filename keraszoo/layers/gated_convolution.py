"""A convolution over words with a gate for each output (Dauphin et al., 2016; Gehring et al., 2017)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes, require
from keraszoo.layers.kernel_options import Quantizable
from keraszoo.layers.weight_norm_dense import WeightNormDense


@keras.saving.register_keras_serializable(package="keraszoo")
class GatedConvolution(Quantizable):
    """A convolution over k neighbouring positions and a gated linear unit.

        [A_t ; B_t] = W [x_{t-(k-1)/2} ; ... ; x_{t+(k-1)/2}] + b        `W`, weight-normalised
        y_t = A_t * sigma(B_t)

    With `causal`, the window is x_{t-k+1}, ..., x_t. Positions outside the sentence and masked ones are zero.
    The window of each position is a row for one dense layer. So `quantize` and `enable_lora` reach W, and a
    decoder that steps calls the same layer.

    W starts as N(0, 4 (1 - dropout) / (k D)), which keeps the variance through the gate (section 3.5).

    Args:
        units: U, width of the outputs; W has 2 U columns.
        kernel_size: k, odd unless `causal`.
        causal: whether a position sees no later one.
        dropout: share of the inputs dropped in training.

    Call arguments:
        inputs: `(B, T, D)`.
        mask: bool `(B, T)`, `True` = a real position, anywhere; filled in by Keras, and passed on.

    Returns:
        `(B, T, U)`.

    Raises:
        ValueError: if a size is not a positive integer, or `kernel_size` is even and `causal` false.

    Example:

    >>> tuple(GatedConvolution(units=4)(ops.ones((1, 5, 3))).shape)
    (1, 5, 4)

    Reference: Gehring et al., 2017, https://arxiv.org/abs/1705.03122.
    """

    def __init__(self, units, kernel_size=3, causal=False, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units, kernel_size=kernel_size)
        require(causal or kernel_size % 2, "kernel_size must be odd unless causal", kernel_size=kernel_size)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.units = int(units)
        self.kernel_size = int(kernel_size)
        self.causal = causal
        self.dropout = dropout
        self.input_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        normal = keras.initializers.VarianceScaling(4 * (1 - dropout), "fan_in", "untruncated_normal")
        options = {"dtype": self.policy_of("W"), "trainable": self.trainable}
        self.W = WeightNormDense(2 * self.units, kernel_initializer=normal, **options, name="W")

    def build(self, inputs_shape):
        self.W.build((None, None, self.kernel_size * inputs_shape[-1]))

    def call(self, inputs, mask=None, training=None):
        x, k, length = self.input_dropout(inputs, training=training), self.kernel_size, ops.shape(inputs)[1]
        if mask is not None:
            x = ops.where(mask[..., None], x, 0.0)
        before = k - 1 if self.causal else k // 2
        x = ops.pad(x, ((0, 0), (before, k - 1 - before), (0, 0)))
        windows = ops.concatenate([x[:, i : i + length] for i in range(k)], axis=-1)  # (B, T, k D)
        return ops.glu(self.W(windows), axis=-1)

    def step(self, inputs, before):
        """One position of a causal layer.

        Args:
            inputs: `(N, D)`.
            before: `(N, k - 1, D)`, the inputs of the last k - 1 positions, zeros before the first.

        Returns:
            `(outputs, before)`: `(N, U)`, and what the next step reads.
        """
        window = ops.concatenate([before, inputs[:, None]], axis=1)  # (N, k, D)
        row = ops.reshape(window, (-1, self.kernel_size * inputs.shape[-1]))
        return ops.glu(self.W(row), axis=-1), window[:, 1:]
