"""The linear map over the last axis."""

from keras import ops

from keraszoo.layers.maxout import maxout  # noqa: F401


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
