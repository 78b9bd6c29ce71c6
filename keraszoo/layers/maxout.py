"""Maxout (Goodfellow et al., 2013)."""

from keras import ops

from keraszoo.layers.arguments import require_shapes


def maxout(x):
    """The greater of each pair of neighbours: `(..., 2 K)` to `(..., K)`.

        t_k = max(x_{2k-1}, x_{2k})

    Raises:
        ValueError: if the width is odd.

    Example:

    >>> ops.convert_to_numpy(maxout(ops.array([[1, 3, 2, 0]]))).tolist()
    [[3, 2]]

    Reference: Goodfellow et al.: Maxout Networks, 2013, https://arxiv.org/abs/1302.4389.
    """
    require_shapes(x.shape[-1] % 2 == 0, "maxout takes pairs: the width must be even", x=tuple(x.shape))
    return ops.maximum(x[..., ::2], x[..., 1::2])
