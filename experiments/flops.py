"""Counts the floating-point operations of matrix products, as TensorFlow runs them one by one.

Elementwise functions, softmaxes and look-ups of embeddings are not counted. Compiled functions are not
looked into.
"""

import math

PRODUCTS = {
    "MatMul": "transpose_a",
    "BatchMatMul": "adj_x",
    "BatchMatMulV2": "adj_x",
    "BatchMatMulV3": "adj_x",
}


def counted_flops(function):
    """Runs a function and returns the operations of its matrix products, two for each multiplication.

    >>> from keras import ops
    >>> counted_flops(lambda: ops.matmul(ops.ones((2, 3)), ops.ones((3, 5))))
    60
    """
    from tensorflow.compat import as_str
    from tensorflow.python.framework import op_callbacks

    flops = 0

    def count(kind, inputs, attributes, outputs, op_name=None, graph=None):
        nonlocal flops
        kind = as_str(kind)
        options = dict(zip(map(as_str, attributes[::2]), attributes[1::2], strict=True))
        if kind in PRODUCTS:
            summed = inputs[0].shape[-2 if options[PRODUCTS[kind]] else -1]
            flops += 2 * math.prod(outputs[0].shape) * summed
        elif kind == "Einsum":
            sizes = {}
            terms = as_str(options["equation"]).partition("->")[0].split(",")
            for term, x in zip(terms, inputs, strict=True):
                sizes |= dict(zip(term, x.shape, strict=True))
            flops += 2 * math.prod(sizes.values()) * (len(terms) > 1)
        elif "Conv" in kind:
            raise NotImplementedError(f"{kind} is not counted")

    op_callbacks.add_op_callback(count)
    try:
        function()
    finally:
        op_callbacks.remove_op_callback(count)
    return flops
