"""Where a word stands, added to what it is: sinusoidal (Vaswani et al., 2017, section 3.5) or learned."""

import keras
from keras import ops

ADDED_POSITIONS = ("sinusoidal", "learned")  # to the words; the others are the attention's
POSITIONS = (*ADDED_POSITIONS, "rotary", "relative")


def angles_of(positions, width, max_wavelength=10_000):
    """`pos / max_wavelength^(2i / width)`, float32: int `(T,)` to `(T, width / 2)`."""
    exponents = ops.arange(0, width, 2, dtype="float32") / width
    rates = ops.power(float(max_wavelength), -exponents)  # (width / 2,)
    return ops.cast(positions, "float32")[:, None] * rates


@keras.saving.register_keras_serializable(package="keraszoo")
class PositionalEncoding(keras.layers.Layer):
    """Adds to each position sines and cosines of geometrically growing wavelengths.

        PE(pos, 2i) = sin(pos / max_wavelength^(2i / d_model))
        PE(pos, 2i + 1) = cos(pos / max_wavelength^(2i / d_model))

    They are computed from the positions, not stored, so that any length will do. For every shift k, PE(pos +
    k) is a fixed rotation of PE(pos), the same at every pos (section 3.5, "relative positioning").

    Args:
        layout: `"interleaved"`: sine and cosine alternate, as in the paper; `"halves"`: all sines, then all
            cosines, as tensor2tensor and its heirs have it. The two differ by a permutation of the axes.
        max_wavelength: 10,000 in the paper; wavelengths run from 2 pi to 2 pi times this.

    Call arguments:
        inputs: `(B, T, d_model)`, usually embeddings times sqrt(d_model).
        start: position of the first row of `inputs`: an integer or a scalar tensor. A decoder that steps
            passes its position.

    Returns:
        `(B, T, d_model)`: inputs + PE.

    Raises:
        ValueError: if `layout` is unknown, or d_model is odd.

    Example:

    >>> import numpy as np
    >>> encoded = PositionalEncoding()(np.zeros((1, 2, 4)))
    >>> np.round(keras.ops.convert_to_numpy(encoded)[0], 2).tolist()[0]
    [0.0, 1.0, 0.0, 1.0]

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, layout="interleaved", max_wavelength=10_000, **kwargs):
        super().__init__(**kwargs)
        if layout not in ("interleaved", "halves"):
            raise ValueError(f'layout must be "interleaved" or "halves". Received: layout={layout!r}')
        self.supports_masking = True
        self.layout = layout
        self.max_wavelength = max_wavelength

    def build(self, inputs_shape):
        if inputs_shape[-1] % 2:
            raise ValueError(f"d_model must be even. Received: inputs of shape {tuple(inputs_shape)}")

    def encoding(self, positions, d_model):
        """PE of the given positions, float32: `(T,)` to `(T, d_model)`."""
        angles = angles_of(positions, d_model, self.max_wavelength)
        sines, cosines = ops.sin(angles), ops.cos(angles)
        if self.layout == "halves":
            return ops.concatenate([sines, cosines], axis=-1)
        return ops.reshape(ops.stack([sines, cosines], axis=-1), (-1, d_model))  # (T, d_model)

    def call(self, inputs, start=0):
        positions = ops.arange(ops.shape(inputs)[1]) + start
        return inputs + ops.cast(self.encoding(positions, inputs.shape[-1]), inputs.dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "layout": self.layout, "max_wavelength": self.max_wavelength}


@keras.saving.register_keras_serializable(package="keraszoo")
class LearnedPositions(keras.layers.Layer):
    """Adds to each position a vector of its own, which is learned (Gehring et al., 2017).

        y_t = x_t + P[t]        P -> `P`

    A position that training never reached has a vector that nothing has taught; one beyond the table gets the
    table's last.

    Args:
        max_positions: rows of the table.

    Call arguments:
        inputs: `(B, T, d_model)`, usually embeddings times sqrt(d_model).
        start: position of the first row of `inputs`: an integer or a scalar tensor. A decoder that steps
            passes its position.

    Returns:
        `(B, T, d_model)`: inputs + P.

    Example:

    >>> import numpy as np
    >>> tuple(LearnedPositions(max_positions=7)(np.zeros((1, 2, 4))).shape)
    (1, 2, 4)

    Reference: Gehring et al.: Convolutional Sequence to Sequence Learning, 2017,
    https://arxiv.org/abs/1705.03122.
    """

    def __init__(self, max_positions, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(max_positions, int) or max_positions < 1:
            raise ValueError(f"max_positions must be a positive integer. Received: {max_positions!r}")
        self.supports_masking = True
        self.max_positions = max_positions

    def build(self, inputs_shape):
        initializer = keras.initializers.RandomNormal(stddev=0.02)
        self.P = self.add_weight(
            name="P", shape=(self.max_positions, inputs_shape[-1]), initializer=initializer
        )

    def encoding(self, positions, d_model=None):
        """P of the given positions: `(T,)` to `(T, d_model)`."""
        return ops.take(self.P, ops.minimum(positions, self.max_positions - 1), axis=0)

    def call(self, inputs, start=0):
        positions = ops.arange(ops.shape(inputs)[1]) + start
        return inputs + ops.cast(self.encoding(positions), inputs.dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "max_positions": self.max_positions}


def added_positions(positions, max_positions, **options):
    """The layer that adds one of `POSITIONS` to the words, with `options`; it adds nothing where attention
    does it. An unknown one is an error.
    """
    if positions not in POSITIONS:
        raise ValueError(f"positions must be one of {POSITIONS}. Received: {positions!r}")
    if positions == "sinusoidal":
        return PositionalEncoding(**options)
    if positions == "learned":
        return LearnedPositions(max_positions, **options)
    return keras.layers.Identity(**options)
