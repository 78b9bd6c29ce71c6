"""Maps over the last axis that the layers share: linear, and maxout (Goodfellow et al., 2013)."""

from keras import ops

from keraszoo.layers.arguments import require_shapes


def linear(x, kernel, bias=None):
    """X W + b over the last axis: one matrix product over all positions, the fastest form on a CPU.

    `ops.add` becomes TensorFlow's BiasAdd, whose gradient sums rows faster than that of `+`. The weights are
    cast to the dtype of x because a decoder that steps is called outside of `__call__`, where Keras does not
    cast them.

    Args:
        x: `(..., D)`.
        kernel: W, `(D, E)`.
        bias: b, `(E,)`, or `None`.

    Returns:
        `(..., E)`.
    """
    kernel = ops.cast(kernel, x.dtype)
    rows = ops.matmul(ops.reshape(x, (-1, x.shape[-1])), kernel)
    if bias is not None:
        rows = ops.add(rows, ops.cast(bias, x.dtype))
    return ops.reshape(rows, (*ops.shape(x)[:-1], kernel.shape[-1]))


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
