"""Attention heat maps, target words by source words: one, or a sheet of all heads of all layers."""

import numpy as np

from keraszoo.plots.figures import check_weights, finish, fonts_for, new_figure, word_labels

SMALLEST_FONT = 5  # points
WIDEST = 20  # inches, of a sheet
MANY = 30  # words; the axes of a single map are then labelled on all four sides


def attention_heatmap(source_tokens, target_tokens, attention_weights, path=None, title=None):
    """Draws which source words each target word attends to.

    A row is a target word, a column a source word, and the colour is the weight from 0 to 1. The picture
    grows with the number of words, up to about 24 inches; with more than some 200 words a side, not every
    word is labelled. Pictures do not use pyplot: there is no figure to close.

    Args:
        source_tokens: list of S str: words (see `merge_subwords`) or subword pieces.
            Pieces that continue a word are shown with a leading "·".
        target_tokens: list of T str.
        attention_weights: (T, S), from 0 to 1. With several heads, pass one or their mean.
        path: where to save the picture; the ending chooses the format, .png if there is none.
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
    return _drawn(source_tokens, target_tokens, attention_weights, path, title)


def attention_sheet(source_tokens, target_tokens, attention_weights, path=None, title=None):
    """Draws a heat map for each head of each layer: a row for each layer, the first at the top.

    Args:
        attention_weights: (L, H, T, S), as `Translator.align(..., heads=True)` returns it.
        source_tokens, target_tokens, path, title: as for `attention_heatmap`, like what it returns and
            raises.

    Example:

    >>> weights = np.full((2, 4, 2, 3), 1 / 3)  # two layers of four heads
    >>> figure = attention_sheet(["ein", "Hund", "bellt"], ["a", "dog"], weights)
    >>> [axes.get_title() for axes in figure.axes[:4]]
    ['head 1', 'head 2', 'head 3', 'head 4']
    """
    return _drawn(source_tokens, target_tokens, attention_weights, path, title, ("layers", "heads"))


def _drawn(source_tokens, target_tokens, attention_weights, path, title, sheet=()):
    """Draws a map, or those of the axes of a sheet, words at the left of each row and above each column."""
    figure = new_figure()
    labels = word_labels("source_tokens", source_tokens), word_labels("target_tokens", target_tokens)
    rows, columns = len(labels[1]), len(labels[0])
    meaning = " by ".join([*sheet, "target words", "source words"])
    weights = check_weights(attention_weights, (*sheet, rows, columns), meaning)
    style, (source_labels, target_labels), title = fonts_for(labels, title)
    weights = weights if sheet else weights[None, None]
    layers, heads = weights.shape[:2]
    single, longer = layers * heads == 1, max(heads * columns, layers * rows)
    # With more words, the cells of a map first shrink to the font, then it grows, then font and cells shrink.
    cell = max(min(0.34, 12 / longer), min(0.2, 24 / longer)) if single else min(0.16, WIDEST / longer)
    font = max(SMALLEST_FONT, min(10 if single else 8, 0.7 * 72 * cell))
    every = int(np.ceil(1.25 * font / 72 / cell))  # words from one label to the next
    letter = 0.62 * font / 72  # inches
    below, right = single and rows > MANY, single and columns > MANY
    beside = letter * max(map(len, target_labels)) * (1 + right)
    above = letter * max(map(len, source_labels)) * (1 + below) + (0.3 if title else 0)
    width, height = heads * (columns * cell + 0.1) + beside + 1.4, layers * (rows * cell + 0.1) + above + 0.7
    figure.set_size_inches(max(width, 3.2), max(height, 2.4))
    grid = figure.subplots(layers, heads, squeeze=False)
    for (layer, head), axes in np.ndenumerate(grid):
        image = axes.imshow(weights[layer, head], cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
        source, target = (source_labels if layer == 0 else []), (target_labels if head == 0 else [])
        axes.set_xticks(range(0, len(source), every), source[::every], rotation=90, fontsize=font, **style)
        axes.set_yticks(range(0, len(target), every), target[::every], fontsize=font, **style)
        axes.tick_params(labeltop=True, labelbottom=below, labelright=right)
        if cell > 0.1:  # lines between the cells
            axes.set_xticks(np.arange(1, columns) - 0.5, minor=True)
            axes.set_yticks(np.arange(1, rows) - 0.5, minor=True)
            axes.grid(which="minor", color="0.9", linewidth=0.6)
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_color("0.8")
        if heads > 1 and layer == 0:
            axes.set_title(f"head {head + 1}", fontsize=8)
        if not single and head == 0:
            axes.set_ylabel(f"layer {layer + 1}", fontsize=8)
    shrink = min(1, 3 / (rows * cell if single else height))
    bar = figure.colorbar(image, ax=grid, fraction=0.05, aspect=15, pad=0.03, shrink=shrink)
    bar.set_ticks([0, 0.5, 1], labels=["0", "0.5", "1"], fontsize=8, **style)
    bar.set_label("attention weight", fontsize=8, **style)
    bar.outline.set_edgecolor("0.8")
    figure.suptitle(title, fontsize=11, **style)
    return finish(figure, path)
