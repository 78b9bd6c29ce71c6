"""The linear map that the layers share."""

from keras import ops


def linear(x, kernel, bias=None):
    """X W + b over the last axis: one matrix product over all positions, the fastest form on a CPU."""
    y = ops.matmul(x, kernel)
    return y if bias is None else y + bias
