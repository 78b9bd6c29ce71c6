"""Pictures of attention."""

import contextlib
import io
import os
import secrets
from pathlib import Path

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.text.words import WORD_START

ROUNDING = 1e-2  # half precision sums to 1 within this
SMALLEST_FONT, LARGEST_FONT = 5, 10  # points
LONGEST_LABEL = 24  # letters
MANY = 30  # words; the axes are then labelled on all four sides
DOTS_PER_INCH = 150


def attention_heatmap(source_tokens, target_tokens, attention_weights, path=None, title=None):
    """Draws which source words each target word attends to.

    A row is a target word, a column a source word, the colour the weight from 0 to 1. The picture grows with
    the number of words, up to about 24 inches: some 200 words a side, beyond which not every one is written.
    pyplot is not touched: there is no window, and no figure that somebody must close.

    Args:
        source_tokens: list of S str: words (see `keraszoo.text.words.merge_subwords`) or subword pieces, of
            which those that continue a word are shown with a leading "·".
        target_tokens: list of T str.
        attention_weights: (T, S), from 0 to 1. Of several heads, pass one or their mean.
        path: where to save the picture; the ending chooses the format, .png if there is none. Missing
            folders are made.
        title: a line above the picture.

    Returns:
        The `matplotlib.figure.Figure`.

    Raises:
        KerasZooError: shapes do not fit, weights are not numbers from 0 to 1, there are no words, the picture
            cannot be saved, or matplotlib is not installed.

    Example:

    >>> weights = [[0.9, 0.1, 0.0], [0.2, 0.1, 0.7]]
    >>> figure = attention_heatmap(["ein", "Hund", "bellt"], ["a", "dog"], weights)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['a', 'dog']
    """
    figure = new_figure()
    source_tokens = check_tokens("source_tokens", source_tokens)
    target_tokens = check_tokens("target_tokens", target_tokens)
    shape = len(target_tokens), len(source_tokens)
    weights = check_weights(attention_weights, shape, "target words by source words")
    labels = word_labels(source_tokens), word_labels(target_tokens)
    families, (source_labels, target_labels), title = fitting_fonts(labels, title)
    rows, columns = weights.shape
    cell, font, every = _sizes(max(rows, columns))
    letter = 0.62 * font / 72  # inches
    beside = letter * max(map(len, target_labels)) * (2 if columns > MANY else 1)
    above = letter * max(map(len, source_labels)) * (2 if rows > MANY else 1) + (0.3 if title else 0)
    size = max(columns * cell + beside + 1.5, 3.2), max(rows * cell + above + 0.8, 2.4)
    style = {"family": families, "parse_math": False, "usetex": False}

    figure.set_size_inches(size)
    axes = figure.add_subplot()
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks(range(0, columns, every), source_labels[::every], rotation=90, fontsize=font, **style)
    axes.set_yticks(range(0, rows, every), target_labels[::every], fontsize=font, **style)
    axes.tick_params(labeltop=True, labelbottom=rows > MANY, labelright=columns > MANY)
    if cell > 0.1:  # lines between the cells
        axes.set_xticks(np.arange(1, columns) - 0.5, minor=True)
        axes.set_yticks(np.arange(1, rows) - 0.5, minor=True)
        axes.grid(which="minor", color="0.9", linewidth=0.6)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_color("0.8")
    shrink = min(1.0, 3 / (rows * cell))
    bar = figure.colorbar(image, ax=axes, fraction=0.05, aspect=15, pad=0.03, shrink=shrink)
    bar.set_ticks([0, 0.5, 1], labels=["0", "0.5", "1"], fontsize=8, **style)
    bar.set_label("attention weight", fontsize=8, **style)
    bar.outline.set_edgecolor("0.8")
    if title:
        figure.suptitle(title, fontsize=11, **style)
    if path is not None:
        save_figure(figure, path)
    return figure


def new_figure():
    """An empty `matplotlib.figure.Figure` that no window knows of.

    Raises:
        KerasZooError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise KerasZooError("pictures need matplotlib: pip install 'keraszoo[plot]'") from error
    figure = Figure(dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure, path):
    """Writes a picture beside its place and renames it in, so that no half picture is left.

    Args:
        figure: a `matplotlib.figure.Figure`.
        path: the ending chooses the format, .png if there is none. Missing folders are made.

    Raises:
        KerasZooError: an ending that is no format, or a disk that refuses.
    """
    path = Path(path)
    if not path.suffix:
        path = path.with_suffix(".png")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    content = io.BytesIO()
    try:
        figure.savefig(content, format=path.suffix[1:])
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content.getvalue())
        os.replace(temporary, path)
    except ValueError as error:
        raise KerasZooError(f"{path}: cannot be drawn: {error}") from error
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise KerasZooError(f"{path}: cannot be written: {error.strerror}") from error


def _sizes(words):
    """Chooses, for the longer side: inches a cell, points of the font, every how many words one is written.

    With more words the cells first shrink to the font, then the picture grows, then font and cells shrink.
    """
    cell = max(min(0.34, 12 / words), min(0.2, 24 / words))
    font = max(SMALLEST_FONT, min(LARGEST_FONT, 0.7 * 72 * cell))
    return cell, font, int(np.ceil(1.25 * font / 72 / cell))


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


def word_labels(tokens):
    """How tokens are written: subword marks, blanks and control characters made visible, the longest cut."""
    pieces = any(token.startswith(WORD_START) for token in tokens)
    labels = []
    for token in tokens:
        label = token.removeprefix(WORD_START)
        if pieces and label == token and not token.startswith("<"):
            label = "·" + label
        label = "".join(letter if letter.isprintable() else "\ufffd" for letter in label)
        label = label if label.strip() else "\u2423"
        labels.append(label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…")
    return labels


def fitting_fonts(lists, title):
    """Chooses the fonts that have the letters; a letter that none has becomes an empty box.

    Matplotlib would draw such a box, too, but with a warning for each.

    Args:
        lists: of lists of labels.
        title: str or None.

    Returns:
        Names of fonts, the lists and the title.
    """
    from matplotlib import font_manager

    def letters_of(path):
        try:
            return set(font_manager.get_font(path).get_charmap())
        except (OSError, RuntimeError, UnicodeDecodeError):  # coloured emoji, for example, have no outlines
            return set()

    missing = {ord(letter) for labels in (*lists, [title or ""]) for label in labels for letter in label}
    missing.discard(ord("\n"))  # a title may have two lines
    families = ["DejaVu Sans"]  # comes with matplotlib
    missing -= letters_of(font_manager.findfont("DejaVu Sans"))
    for font in sorted(font_manager.fontManager.ttflist, key=lambda font: (font.weight != 400, font.name)):
        if not missing:
            break
        if font.style == "normal" and font.name not in families and "Last Resort" not in font.name:
            found = missing & letters_of(font.fname)
            if found and found <= letters_of(font_manager.findfont(font.name)):
                families.append(font.name)
                missing -= found
    boxes = dict.fromkeys(missing, "\u25a1")
    lists = [[label.translate(boxes) for label in labels] for labels in lists]
    return families, lists, title.translate(boxes) if title else None
