"""The tab Layers: small computations by the layers themselves."""

import numpy as np
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.layers import KernelAttention, PositionalEncoding
from keraszoo.layers.masking import masked_softmax
from keraszoo.layers.positions import angles_of

EXAMPLES, GRID = 30, 101
POSITIONS, WIDTH = 40, 32


def kernel(request, models, progress):
    """Kernel regression on noisy examples of a curve; returns the estimate and the weights at one point."""
    draw = np.random.default_rng(1964)
    x = np.sort(draw.uniform(0, 10, EXAMPLES))
    y = np.sin(x) + 0.3 * x + draw.normal(0, 0.3, EXAMPLES)
    grid = np.append(np.linspace(0, 10, GRID), request.query)
    layer = KernelAttention(bandwidth=request.bandwidth)
    estimates, weights = (
        ops.convert_to_numpy(part)[0]
        for part in layer(*(part[None, :, None].astype("float32") for part in (grid, y, x)))
    )
    return {
        "x": _list(x),
        "y": _list(y),
        "grid": _list(grid[:-1]),
        "curve": _list(estimates[:-1, 0]),
        "estimate": float(estimates[-1, 0]),
        "weights": _list(weights[-1]),
    }


def positions(request, models, progress):
    """Positional encodings PE, and the matrix M of a shift: PE(pos + shift) = M PE(pos) for every pos."""
    layer = PositionalEncoding()
    where = np.arange(POSITIONS)
    encoding, shifted = (
        ops.convert_to_numpy(layer.encoding(where + shift, WIDTH)) for shift in (0, request.shift)
    )
    matrix = np.zeros((WIDTH, WIDTH))
    for i, angle in enumerate(ops.convert_to_numpy(angles_of([request.shift], WIDTH))[0]):
        sine, cosine = np.sin(angle), np.cos(angle)
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cosine, sine], [-sine, cosine]]
    error = np.abs(encoding @ matrix.T - shifted).max()
    return {"encoding": _list(encoding), "matrix": _list(matrix), "error": float(error)}


def softmax(request, models, progress):
    """The masked softmax of scores."""
    if len(request.scores) != len(request.mask):
        raise KerasZooError(f"mask: expected {len(request.scores)} entries, got {len(request.mask)}")
    weights = masked_softmax(ops.array([request.scores], "float32"), ops.array([request.mask]))
    return {"weights": _list(ops.convert_to_numpy(weights)[0])}


def _list(array):
    return np.round(np.asarray(array, "float64"), 5).tolist()
