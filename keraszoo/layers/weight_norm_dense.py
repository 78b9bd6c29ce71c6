"""A dense layer whose columns have learned norms (Salimans and Kingma, 2016)."""

import keras
from keras import ops

from keraszoo.layers.masking import at_least_float32


@keras.saving.register_keras_serializable(package="keraszoo")
class WeightNormDense(keras.layers.Dense):
    """`keras.layers.Dense` with weight normalisation: each column learns its norm and its direction.

        y = x W + b        W_j = g_j v_j / |v_j|        (eq. 2; W_j, v_j: column j; v -> `kernel`, g -> `g`)

    g starts as the norms of v, so that W starts as what `kernel_initializer` draws. Quantized, the layer
    keeps W alone: it is then a `Dense`.

    Args and call arguments: as for `keras.layers.Dense`.

    Returns:
        `(..., units)`.

    Example:

    >>> layer = WeightNormDense(2, kernel_initializer="ones")
    >>> layer.build((None, 4))
    >>> _ = layer.g.assign([1.0, 6.0])
    >>> ops.convert_to_numpy(layer(ops.ones((1, 4)))).tolist()  # columns of 4 equal numbers
    [[2.0, 12.0]]

    Reference: Salimans, Kingma, 2016, https://arxiv.org/abs/1602.07868.
    """

    def build(self, input_shape):
        super().build(input_shape)
        if self.quantization_mode is None:
            norms = _norms(self._kernel, self.variable_dtype)
            self.g = self.add_weight(name="g", shape=(self.units,), initializer=lambda *_, **__: norms)

    def call(self, inputs, training=None):
        outputs = ops.matmul(inputs, self.kernel)
        outputs = outputs * ops.cast(self._factors(), outputs.dtype)
        outputs = outputs if self.bias is None else ops.add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def _factors(self):
        """The factors g / |v|, `(units,)`, at least in float32."""
        dtype = at_least_float32(self.compute_dtype)
        return ops.cast(self.g, dtype) / _norms(self.kernel, dtype)

    def quantize(self, mode=None, type_check=True, config=None):
        """As in Keras, of W."""
        factors = self._factors()
        for weight in (self._kernel, *([self.lora_kernel_b] if self.lora_enabled else [])):
            weight.assign(weight * factors)
        super().quantize(mode, type_check=False, config=config)
        self._untrack_variable(self.g)

    @property
    def variable_serialization_spec(self):
        spec = super().variable_serialization_spec
        return {**spec, None: [*spec[None], "g"]}


def _norms(kernel, dtype):
    return ops.sqrt(ops.sum(ops.square(ops.cast(kernel, dtype)), axis=0))
