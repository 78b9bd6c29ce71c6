"""What all pictures share: a figure without a window, a file written whole, and inputs that can be drawn."""

import io
from pathlib import Path

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.saving.whole_file import whole_file

ROUNDING = 1e-2  # half precision sums to 1 within this
DOTS_PER_INCH = 150


def new_figure():
    """An empty `matplotlib.figure.Figure` that no window knows of.

    Raises:
        KerasZooError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise KerasZooError("pictures need matplotlib: pip install matplotlib") from error
    figure = Figure(dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure, path):
    """Writes a picture, all of it or nothing: see `whole_file`.

    Args:
        figure: a `matplotlib.figure.Figure`.
        path: the ending chooses the format, .png if there is none. Missing folders are made.

    Raises:
        KerasZooError: an ending that is no format, or a disk that refuses.
    """
    path = Path(path)
    if not path.suffix:
        path = path.with_suffix(".png")
    content = io.BytesIO()
    try:
        figure.savefig(content, format=path.suffix[1:])
    except ValueError as error:
        raise KerasZooError(f"{path}: cannot be drawn: {error}") from error
    with whole_file(path, folders=True) as file:
        file.write(content.getvalue())


def check_tokens(name, tokens):
    """Tokens as a list; KerasZooError, which names the argument, if they are not str or none at all."""
    if not isinstance(tokens, (list, tuple)) or not all(isinstance(token, str) for token in tokens):
        raise KerasZooError(f"{name}: expected a list of str, got {tokens!r:.60}")
    if not tokens:
        raise KerasZooError(f"{name}: expected at least one, got none")
    return list(tokens)


def check_weights(attention_weights, shape, meaning):
    """Weights as a float32 array of a shape; KerasZooError if they are not that, or not from 0 to 1."""
    try:
        weights = np.asarray(attention_weights).astype("float32")
    except (TypeError, ValueError) as error:
        raise KerasZooError(f"attention_weights: expected an array of numbers: {error}") from error
    if weights.shape != shape:
        raise KerasZooError(f"attention_weights: expected shape {shape}, {meaning}, got {weights.shape}")
    if not np.isfinite(weights).all():
        raise KerasZooError("attention_weights: some are NaN or infinite")
    if weights.min() < -ROUNDING or weights.max() > 1 + ROUNDING:
        raise KerasZooError(
            f"attention_weights: expected values from 0 to 1, got {weights.min():g} to {weights.max():g}"
        )
    return weights
