"""Where a word stands, by turning it (Su et al., 2021)."""

from keras import ops

from keraszoo.layers.positions import angles_of


def rotate(x, positions, max_wavelength=10_000):
    """Turns each pair of coordinates by an angle that grows with the position.

        (x_i, x_{i + d/2}) -> (x_i cos a - x_{i + d/2} sin a, x_i sin a + x_{i + d/2} cos a)
        a = pos / max_wavelength^(2i / d)                                                       (eq. 15, 34)

    The product of a query turned by m and a key turned by n depends on n - m alone: attention sees how far
    words are from each other, not where they are, and no vector is added to them. The paper pairs neighbours,
    `x_{2i}` and `x_{2i+1}`; here the halves are paired, which is the same up to an order of the columns of
    the projections.

    Args:
        x: `(..., T, d)`, queries or keys of a head, d even.
        positions: int `(T,)`, or `(1,)` where all stand at one place.
        max_wavelength: as for `PositionalEncoding`.

    Returns:
        A tensor like `x`.

    Example:

    >>> import math
    >>> turned = rotate(ops.array([[1.0, 0.0], [1.0, 0.0]]), ops.array([0, 1]))
    >>> [round(math.atan2(y, x), 3) for x, y in ops.convert_to_numpy(turned).tolist()]
    [0.0, 1.0]

    Reference: Su et al.: RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    https://arxiv.org/abs/2104.09864.
    """
    angles = angles_of(positions, x.shape[-1], max_wavelength)  # (T or 1, d / 2)
    cosines, sines = (ops.cast(f(angles), x.dtype) for f in (ops.cos, ops.sin))
    first, second = ops.split(x, 2, axis=-1)
    return ops.concatenate([first * cosines - second * sines, first * sines + second * cosines], axis=-1)
