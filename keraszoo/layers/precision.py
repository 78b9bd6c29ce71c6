"""The precision of what half precision would spoil: softmaxes, sums, losses."""

import keras


def at_least_float32(dtype):
    """`"float32"` for half precision, `"float64"` for itself, where the backend has it.

    >>> at_least_float32("bfloat16"), at_least_float32("float16"), at_least_float32("float32")
    ('float32', 'float32', 'float32')
    """
    return keras.backend.result_type(dtype, "float32")
