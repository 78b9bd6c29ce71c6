"""The attention over the words of one sentence: darker words have more weight."""

import itertools

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.plots.figures import check_weights, finish, fonts_for, new_figure, word_labels
from keraszoo.text.tag_schemes import spans

LINE = 90  # letters per line
FONT = 10  # points
LETTER, HEIGHT = 0.62 * FONT / 72, 0.42  # inches: the width of a letter, the height of a line of words
MARGIN = 0.9  # letters of space at either end of a word's box
GAP = 0.5  # letters between the end of a box and the end of the line under an entity


def attention_strip(tokens, attention_weights, tags=None, path=None, title=None):
    """Draws a sentence with each word's attention weight as its colour.

    The colours range from 0 to the largest weight of the sentence, which the scale shows. Entities are
    underlined and labelled. Long sentences continue on further lines. The function does not use pyplot.

    Args:
        tokens: list of T str.
        attention_weights: (T,), from 0 to 1.
        tags: list of T str, in IOB2, or `None`.
        path: where to save the picture; the ending chooses the format, .png if there is none.
        title: a line above the picture.

    Returns:
        The `matplotlib.figure.Figure`.

    Raises:
        KerasZooError: the lengths differ, a tag is not one of IOB2, the weights are not numbers from 0 to 1,
            there are no words, the picture cannot be saved, or matplotlib is not installed.

    Example:

    >>> figure = attention_strip(["Aspirin", "helps"], [0.9, 0.1], ["B-Chemical", "O"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['Aspirin', 'helps', 'Chemical']
    """
    figure = new_figure()
    words = word_labels("tokens", tokens)
    weights = check_weights(attention_weights, (len(words),), "one for each token")
    tags = ["O"] * len(words) if tags is None else tags
    if len(tags) != len(words):
        raise KerasZooError(f"tags: expected one for each of {len(words)} tokens, got {len(tags)}")
    entities = spans(tags, "IOB2")
    labels = [tag.partition("-")[2] for tag in tags]
    plain, (words, labels), title = fonts_for([words, labels], title)
    style = {"ha": "center", "va": "center", **plain}
    lines, places = _lay_out(words, labels)
    width = LETTER * max(place + size for place, size, _ in places)
    height = HEIGHT * lines * (1.6 if entities else 1)
    figure.set_size_inches(width + 1.1, height + (0.6 if title else 0.25))
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)  # inches

    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    axes = figure.add_subplot()
    scale = ScalarMappable(Normalize(0, max(float(weights.max()), 1e-9)), "Blues")
    for word, weight, (place, size, line) in zip(words, weights, places, strict=True):
        colour = scale.to_rgba(float(weight))
        axes.add_patch(Rectangle((place, line), size, 0.6, facecolor=colour, edgecolor="0.85", linewidth=0.6))
        ink = "white" if np.dot(colour[:3], (0.299, 0.587, 0.114)) < 0.5 else "black"
        axes.text(place + size / 2, line + 0.31, word, fontsize=FONT, color=ink, **style)
    for entity in entities:
        for line, start, end in _parts(places[entity.start : entity.end]):
            axes.plot([start + GAP, end - GAP], [line + 0.67] * 2, color="0.35", linewidth=1.2)
            label = labels[entity.start]
            axes.text((start + end) / 2, line + 0.82, label, fontsize=0.7 * FONT, color="0.35", **style)
    axes.set_xlim(-0.3, max(place + size for place, size, _ in places) + 0.3)
    axes.set_ylim(lines - (0 if entities else 0.35), -0.05)
    axes.set_axis_off()
    bar = figure.colorbar(scale, ax=axes, fraction=0.03, aspect=8, pad=0.01)
    bar.set_ticks([0, float(weights.max())], labels=["0", f"{weights.max():.2f}"], fontsize=8, **plain)
    bar.outline.set_edgecolor("0.8")
    if title:
        figure.suptitle(title, fontsize=11, **plain)
    return finish(figure, path)


def _lay_out(words, labels):
    """The number of lines, and for each word the start and length of its box, and its line."""
    places, place, line = [], 0.0, 0
    for word, label in zip(words, labels, strict=True):
        size = max(len(word), 0.75 * len(label)) + 2 * MARGIN
        if place and place + size > LINE:
            place, line = 0.0, line + 1
        places.append((place, size, line))
        place += size
    return line + 1, places


def _parts(places):
    """(line, start, end) of neighbouring words, for each line that they are on."""
    for line, some in itertools.groupby(places, key=lambda place: place[2]):
        some = list(some)
        yield line, some[0][0], some[-1][0] + some[-1][1]
