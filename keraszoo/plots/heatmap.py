"""Attention heat maps, target words by source words: one, or a sheet of all heads of all layers."""

import numpy as np

from keraszoo.plots.figures import check_weights, finish, fonts_for, new_figure, word_labels

SMALLEST_FONT, LARGEST_FONT = 5, 10  # points
WIDEST = 20  # inches, of a sheet
MANY = 30  # words; the axes are then labelled on all four sides


def attention_heatmap(source_tokens, target_tokens, attention_weights, path=None, title=None):
    """Draws which source words each target word attends to.

    A row is a target word, a column a source word, and the colour is the weight from 0 to 1. The picture
    grows with the number of words, up to about 24 inches; with more than some 200 words a side, not every
    word is labelled. The function does not use pyplot: it opens no window, and there is no figure to close.

    Args:
        source_tokens: list of S str: words (see `merge_subwords`) or subword pieces.
            Pieces that continue a word are shown with a leading "·".
        target_tokens: list of T str.
        attention_weights: (T, S), from 0 to 1. With several heads, pass one or their mean.
        path: where to save the picture; the ending chooses the format, .png if there is none. Missing folders
            are created.
        title: a line above the picture.

    Returns:
        The `matplotlib.figure.Figure`.

    Raises:
        KerasZooError: the shapes do not match, the weights are not numbers from 0 to 1, there are no words,
            the picture cannot be saved, or matplotlib is not installed.

    Example:

    >>> weights = [[0.9, 0.1, 0.0], [0.2, 0.1, 0.7]]
    >>> figure = attention_heatmap(["ein", "Hund", "bellt"], ["a", "dog"], weights)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['a', 'dog']
    """
    figure = new_figure()
    source_labels = word_labels("source_tokens", source_tokens)
    target_labels = word_labels("target_tokens", target_tokens)
    shape = len(target_labels), len(source_labels)
    weights = check_weights(attention_weights, shape, "target words by source words")
    style, (source_labels, target_labels), title = fonts_for([source_labels, target_labels], title)
    rows, columns = weights.shape
    cell, font, every = _sizes(max(rows, columns))
    letter = 0.62 * font / 72  # inches
    beside = letter * max(map(len, target_labels)) * (2 if columns > MANY else 1)
    above = letter * max(map(len, source_labels)) * (2 if rows > MANY else 1) + (0.3 if title else 0)
    size = max(columns * cell + beside + 1.5, 3.2), max(rows * cell + above + 0.8, 2.4)

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
    return finish(figure, path)


def _sizes(words):
    """Chooses, for the longer side: inches per cell, font size in points, and the step between labels.

    With more words, the cells first shrink to the font, then the picture grows, then font and cells shrink.
    """
    cell = max(min(0.34, 12 / words), min(0.2, 24 / words))
    font = max(SMALLEST_FONT, min(LARGEST_FONT, 0.7 * 72 * cell))
    return cell, font, int(np.ceil(1.25 * font / 72 / cell))


def attention_sheet(source_tokens, target_tokens, attention_weights, path=None, title=None):
    """Draws a heat map for each head of each layer: a row for each layer, the first at the top.

    The words stand at the left of each row and above each column of maps.

    Args:
        source_tokens: list of S str.
        target_tokens: list of T str.
        attention_weights: (L, H, T, S), as `Translator.align(..., heads=True)` returns it.
        path, title: as for `attention_heatmap`.

    Returns:
        The `matplotlib.figure.Figure`.

    Raises:
        KerasZooError: as `attention_heatmap`.

    Example:

    >>> weights = np.full((2, 4, 2, 3), 1 / 3)  # two layers of four heads
    >>> figure = attention_sheet(["ein", "Hund", "bellt"], ["a", "dog"], weights)
    >>> [axes.get_title() for axes in figure.axes[:4]]
    ['head 1', 'head 2', 'head 3', 'head 4']
    """
    figure = new_figure()
    source_labels = word_labels("source_tokens", source_tokens)
    target_labels = word_labels("target_tokens", target_tokens)
    try:
        layers, heads = (*np.shape(attention_weights)[:2], 0, 0)[:2]
    except ValueError:  # ragged lists, which `check_weights` refuses
        layers = heads = 0
    shape = layers or 1, heads or 1, len(target_labels), len(source_labels)
    weights = check_weights(attention_weights, shape, "layers by heads by target words by source words")
    style, (source_labels, target_labels), title = fonts_for([source_labels, target_labels], title)
    rows, columns = weights.shape[2:]
    cell = min(0.16, WIDEST / (heads * columns), WIDEST / (layers * rows))  # inches
    font = max(SMALLEST_FONT, min(8, 0.7 * 72 * cell))
    every = int(np.ceil(1.25 * font / 72 / cell))
    letter = 0.62 * font / 72  # inches
    beside, above = (letter * max(map(len, some)) for some in (target_labels, source_labels))
    size = heads * (columns * cell + 0.1) + beside + 1.2, layers * (rows * cell + 0.1) + above + 0.8

    figure.set_size_inches(size)
    grid = figure.subplots(layers, heads, squeeze=False)
    for (layer, head), axes in np.ndenumerate(grid):
        image = axes.imshow(weights[layer, head], cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_color("0.8")
        if layer == 0:
            axes.set_title(f"head {head + 1}", fontsize=8)
            axes.set_xticks(range(0, columns, every), source_labels[::every], rotation=90, **style)
        if head == 0:
            axes.set_ylabel(f"layer {layer + 1}", fontsize=8)
            axes.set_yticks(range(0, rows, every), target_labels[::every], **style)
        axes.tick_params(labeltop=True, labelbottom=False, length=0, labelsize=font)
    bar = figure.colorbar(image, ax=grid, fraction=0.05, aspect=15, pad=0.02, shrink=min(1, 3 / size[1]))
    bar.set_ticks([0, 0.5, 1], labels=["0", "0.5", "1"], fontsize=8, **style)
    bar.outline.set_edgecolor("0.8")
    if title:
        figure.suptitle(title, fontsize=11, **style)
    return finish(figure, path)
