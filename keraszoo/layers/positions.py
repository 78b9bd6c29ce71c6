"""Positions of words: added to them (sinusoidal, learned) or read by attention (rotary, relative)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes, require_shapes, shapes_fit
from keraszoo.layers.configured_layer import ConfiguredLayer
from keraszoo.layers.masking import at_least_float32

POSITIONS = ("sinusoidal", "learned", "rotary", "relative")  # the last two are read by attention


def in_order(positions, x):
    """Positions as int32, T or one; `None`: those of the rows of x `(..., T, width)`, 0 to T - 1."""
    if positions is None:
        return ops.arange(ops.shape(x)[-2], dtype="int32")
    positions = ops.cast(ops.convert_to_tensor(positions), "int32")
    shape, length = tuple(positions.shape), x.shape[-2]
    fits = shape == (1,) or shapes_fit(shape, (length,))
    require_shapes(fits, f"positions must be ({length or 'length'},) or (1,)", positions=shape)
    return positions


def angles_of(positions, width, max_wavelength=10_000, dtype="float32"):
    """`pos / max_wavelength^(2i / width)`: int `(T,)` to `(T, width / 2)`."""
    exponents = ops.arange(0, width, 2, dtype=dtype) / width
    rates = ops.power(ops.cast(max_wavelength, dtype), -exponents)  # (width / 2,)
    return ops.cast(positions, dtype)[:, None] * rates


class _AddedPositions(ConfiguredLayer):
    """Base of the layers that add a vector, `encoding(positions, d_model)`, to each position on axis -2."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(min_ndim=2)

    def call(self, inputs, positions=None):
        encoding = self.encoding(in_order(positions, inputs), inputs.shape[-1])
        return inputs + ops.cast(encoding, inputs.dtype)


@keras.saving.register_keras_serializable(package="keraszoo")
class PositionalEncoding(_AddedPositions):
    """Adds to each position sines and cosines of geometrically growing wavelengths.

        PE(pos, 2i) = sin(pos / max_wavelength^(2i / d_model))
        PE(pos, 2i + 1) = cos(pos / max_wavelength^(2i / d_model))        (Vaswani et al., 2017, section 3.5)

    Any length is possible. For every shift k, PE(pos + k) is a fixed rotation of PE(pos).

    Args:
        max_wavelength: 10,000 in the paper; wavelengths run from 2 pi to 2 pi times this.

    Call arguments:
        inputs: `(..., T, d_model)`, usually embeddings times sqrt(d_model); d_model is even.
        positions: int `(T,)`, or `(1,)` if all share one, as in a step of a decoder; `None`: 0 to T - 1.

    Returns:
        `(..., T, d_model)`: inputs + PE.

    Example:

    >>> import numpy as np
    >>> encoded = PositionalEncoding()(np.zeros((1, 2, 4)))
    >>> np.round(keras.ops.convert_to_numpy(encoded)[0], 2).tolist()[0]
    [0.0, 1.0, 0.0, 1.0]

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, max_wavelength=10_000, **kwargs):
        super().__init__(**kwargs)
        self.max_wavelength = max_wavelength

    def build(self, inputs_shape):
        require_shapes(inputs_shape[-1] % 2 == 0, "d_model must be even", inputs=inputs_shape)

    def encoding(self, positions, d_model):
        """PE of the positions, int `(T,)`, at least in float32: `(T, d_model)`."""
        dtype = at_least_float32(self.compute_dtype)
        angles = angles_of(positions, d_model, self.max_wavelength, dtype)
        pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)  # (T, d_model / 2, 2)
        return ops.reshape(pairs, (-1, d_model))  # (T, d_model)


@keras.saving.register_keras_serializable(package="keraszoo")
class LearnedPositions(_AddedPositions):
    """Adds a learned vector to each position (Gehring et al., 2017).

        y_t = x_t + P[t]        P -> `P`

    Positions beyond the `max_positions` rows of the table get its last vector.

    Args:
        max_positions: rows of the table.
        initializer: of P; `None`: N(0, 0.02^2).

    Call arguments and returns: as for `PositionalEncoding`.

    Example:

    >>> tuple(LearnedPositions(max_positions=7)(ops.zeros((1, 2, 4))).shape)
    (1, 2, 4)

    Reference: Gehring et al., 2017, https://arxiv.org/abs/1705.03122.
    """

    def __init__(self, max_positions, initializer=None, **kwargs):
        super().__init__(**kwargs)
        check_sizes(max_positions=max_positions)
        self.max_positions = int(max_positions)
        self.initializer = keras.initializers.get(initializer or keras.initializers.RandomNormal(stddev=0.02))

    def build(self, inputs_shape):
        shape = self.max_positions, inputs_shape[-1]
        self.P = self.add_weight(name="P", shape=shape, initializer=self.initializer)

    def encoding(self, positions, d_model):
        """P of the positions, `(T, d_model)`."""
        return ops.take(self.P, ops.minimum(positions, self.max_positions - 1), axis=0)


def added_positions(positions, max_positions, **options):
    """Returns the layer that adds positions, one of `POSITIONS`; an identity if attention reads them."""
    check_choices(POSITIONS, positions=positions)
    if positions == "sinusoidal":
        return PositionalEncoding(**options)
    if positions == "learned":
        return LearnedPositions(max_positions, **options)
    return keras.layers.Identity(**options)


def rotate(x, positions):
    """Rotary positions: turns each pair of coordinates by an angle that grows with the position.

        (x_i, x_{i + d/2}) -> (x_i cos a - x_{i + d/2} sin a, x_i sin a + x_{i + d/2} cos a)
        a = pos / 10000^(2i / d)                                                                (eq. 15, 34)

    The product of a query turned by m and a key turned by n depends only on n - m. The paper pairs the
    neighbours `x_{2i}` and `x_{2i+1}`; here the halves are paired, which is the same up to the order of the
    columns of the projections. `x` is `(..., T, d)`, d even; `positions` are int `(T,)` or `(1,)`.

    >>> import math
    >>> turned = rotate(ops.array([[1.0, 0.0], [1.0, 0.0]]), ops.array([0, 1]))
    >>> [round(math.atan2(y, x), 3) for x, y in ops.convert_to_numpy(turned).tolist()]
    [0.0, 1.0]

    Reference: Su et al., 2021, https://arxiv.org/abs/2104.09864.
    """
    dtype = at_least_float32(x.dtype)
    angles = angles_of(in_order(positions, x), x.shape[-1], dtype=dtype)  # (T, d / 2)
    cosines, sines = ops.cast(ops.cos(angles), x.dtype), ops.cast(ops.sin(angles), x.dtype)
    first, second = ops.split(x, 2, axis=-1)
    return ops.concatenate([first * cosines - second * sines, first * sines + second * cosines], axis=-1)


def relative_vectors(vectors, positions, key_positions):
    """Relative positions: the vector of the distance between each query and each key.

        a_ij = w_clip(j - i, k)
        clip(x, k) = max(-k, min(k, x))                        (Shaw et al., 2018, section 3.2)

    `vectors` are w, `(2 k + 1, d)`, `positions` i, int `(T,)` or `(1,)`, and `key_positions` j, int `(S,)`.
    The result is a, `(T or 1, S, d)`, the same for all sentences and heads.

    >>> vectors = ops.convert_to_tensor([[-1.0], [0.0], [1.0]])  # k = 1
    >>> ops.convert_to_numpy(relative_vectors(vectors, ops.arange(2), ops.arange(4)))[..., 0].tolist()
    [[0.0, 1.0, 1.0, 1.0], [-1.0, 0.0, 1.0, 1.0]]

    Reference: Shaw, Uszkoreit, Vaswani, 2018, https://arxiv.org/abs/1803.02155.
    """
    largest = vectors.shape[0] // 2
    distances = key_positions[None, :] - positions[:, None]  # (T or 1, S)
    return ops.take(vectors, ops.clip(distances, -largest, largest) + largest, axis=0)


def times_vectors(x, vectors):
    """x_i a_i, `(B, H, T, p)` times `(T or 1, p, q)`: `(B, H, T, q)`; one product if there is one a."""
    vectors = ops.cast(vectors, x.dtype)
    if vectors.shape[0] == 1:
        return ops.matmul(x, vectors[0])
    return ops.einsum("bhtp,tpq->bhtq", x, vectors)
