"""Shared by all pictures: figures without a window, saving, checks of inputs, labels and fonts."""

import functools
import io
from pathlib import Path

import numpy as np

from keraszoo.errors import KerasZooError, check_texts
from keraszoo.saving.atomic import replace_file
from keraszoo.text.subwords import WORD_START

ROUNDING = 1e-2  # half precision sums to 1 within this
DOTS_PER_INCH = 150
LONGEST_LABEL = 24  # letters


def new_figure():
    """An empty `matplotlib.figure.Figure` without a window, which any notebook shows."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise KerasZooError("pictures need matplotlib: pip install matplotlib") from error
    figure = Figure(dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    figure._repr_png_ = functools.partial(_content, figure, "png")
    return figure


def _content(figure, format):
    content = io.BytesIO()
    figure.savefig(content, format=format, bbox_inches="tight")  # the layout may put labels outside
    return content.getvalue()


def check_picture(path):
    """Returns the `Path` of a picture, with the ending .png if there is none, or raises a KerasZooError."""
    path = Path(path)
    if path.name in ("", ".."):
        raise KerasZooError(f"{path}: cannot be drawn: expected the name of a file")
    path = path if path.suffix or path.exists() else path.with_suffix(".png")
    formats = sorted(new_figure().canvas.get_supported_filetypes())
    if path.suffix[1:].lower() not in formats:
        raise KerasZooError(f"{path}: cannot be drawn: expected an ending of {', '.join(formats)}")
    return path


def finish(figure, path=None):
    """Saves a picture if a path is given, completely or not at all, and returns the figure."""
    if path is None:
        return figure
    path = check_picture(path)
    try:
        content = _content(figure, path.suffix[1:])
    except (ValueError, RuntimeError) as error:  # RuntimeError: .pgf without LaTeX
        raise KerasZooError(f"{path}: cannot be drawn: {error}") from error
    with replace_file(path, folders=True) as file:
        file.write(content)
    return figure


def check_weights(attention_weights, shape, meaning):
    """Weights from 0 to 1 as a float32 array of a shape; a name in it stands for any length but 0."""
    try:
        weights = np.asarray(attention_weights).astype("float32")
    except (TypeError, ValueError) as error:
        raise KerasZooError(f"attention_weights: expected an array of numbers: {error}") from error
    lengths = zip(shape, weights.shape, strict=False)
    if weights.ndim != len(shape) or not all(have and want in (have, str(want)) for want, have in lengths):
        raise KerasZooError(f"attention_weights: expected shape {shape}, {meaning}, got {weights.shape}")
    if not np.isfinite(weights).all():
        raise KerasZooError("attention_weights: some are NaN or infinite")
    if weights.min() < -ROUNDING or weights.max() > 1 + ROUNDING:
        raise KerasZooError(
            f"attention_weights: expected values from 0 to 1, got {weights.min():g} to {weights.max():g}"
        )
    return weights


def word_labels(name, tokens):
    """Labels of the tokens of an argument: marks, blanks and control characters made visible, none long."""
    check_texts(tokens, name)
    if len(tokens) == 0:
        raise KerasZooError(f"{name}: expected at least one, got none")
    pieces = any(token.startswith(WORD_START) for token in tokens)
    labels = []
    for token in tokens:
        label = token.removeprefix(WORD_START)
        continues = pieces and label == token and not token.startswith("<")
        label = "".join(letter if letter.isprintable() else "\ufffd" for letter in "·" * continues + label)
        label = label if label.strip() else "\u2423"
        labels.append(label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…")
    return labels


def fonts_for(lists, title):
    """Chooses fonts that have all letters of lists of labels and of a title: `(style, lists, title)`.

    A letter without a font becomes an empty box; Matplotlib would draw the same, with a warning for each.
    """
    from matplotlib import font_manager

    def letters_of(path):
        try:
            return set(font_manager.get_font(path).get_charmap())
        except (OSError, RuntimeError, UnicodeDecodeError):  # coloured emoji have no outlines
            return set()

    missing = {ord(letter) for labels in (*lists, [title or ""]) for label in labels for letter in label}
    missing.discard(ord("\n"))  # a title may have two lines
    families = ["DejaVu Sans"]  # comes with matplotlib
    missing -= letters_of(font_manager.findfont("DejaVu Sans"))
    for font in sorted(font_manager.fontManager.ttflist, key=lambda font: (font.weight != 400, font.name)):
        if not missing:
            break
        if font.style == "normal" and font.name not in families and "Last Resort" not in font.name:
            covered = missing & letters_of(font.fname)
            if covered and covered <= letters_of(font_manager.findfont(font.name)):
                families.append(font.name)
                missing -= covered
    boxes = dict.fromkeys(missing, "\u25a1")
    lists = [[label.translate(boxes) for label in labels] for labels in lists]
    style = {"family": families, "parse_math": False, "usetex": False}
    return style, lists, title and title.translate(boxes)
