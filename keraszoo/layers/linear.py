"""Maps over the last axis that the layers share: linear, and maxout (Goodfellow et al., 2013)."""

from keras import ops


def linear(x, kernel, bias=None):
    """X W + b over the last axis: one matrix product over all positions, the fastest form on a CPU.

    The gradient of the bias is a product with ones, which sums rows several times faster than a reduction.
    The weights are copied because a custom gradient takes no variables. They are cast to the dtype of x
    because a decoder that steps is called outside of `__call__`, where Keras does not cast them.

    Args:
        x: `(..., D)`.
        kernel: W, `(D, E)`.
        bias: b, `(E,)`, or `None`.

    Returns:
        `(..., E)`.
    """
    kernel = ops.cast(ops.copy(kernel), x.dtype)
    rows = ops.reshape(x, (-1, x.shape[-1]))
    if bias is None:
        rows = ops.matmul(rows, kernel)
    else:
        rows = _affine(rows, kernel, ops.cast(ops.copy(bias), x.dtype))
    return ops.reshape(rows, (*ops.shape(x)[:-1], kernel.shape[-1]))


@ops.custom_gradient
def _affine(rows, kernel, bias):
    def grad(*upstreams, upstream=None):
        (upstream,) = upstreams if upstream is None else (upstream,)
        ones = ops.ones((1, ops.shape(rows)[0]), dtype=upstream.dtype)
        return (
            ops.matmul(upstream, ops.transpose(kernel)),
            ops.matmul(ops.transpose(rows), upstream),
            ops.matmul(ones, upstream)[0],
        )

    return ops.matmul(rows, kernel) + bias, grad


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
    if x.shape[-1] % 2:
        raise ValueError(f"maxout takes pairs: the width must be even. Received: x.shape={tuple(x.shape)}")
    return ops.maximum(x[..., ::2], x[..., 1::2])
