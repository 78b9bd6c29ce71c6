"""The picture of an attention over the words of a sentence: the words themselves, darker where it looked."""

import itertools

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.plots.figures import check_tokens, check_weights, new_figure, save_figure
from keraszoo.plots.labels import fitting_fonts, word_labels
from keraszoo.text.tag_schemes import spans

LINE = 90  # letters, before the words go on in the next line
FONT = 10  # points
LETTER, HEIGHT = 0.62 * FONT / 72, 0.42  # inches: the width of a letter, the height of a line of words
BESIDE = 0.9  # letters of space in the box of a word, at either end
GAP = 0.5  # letters between the box's end and that of the line under an entity


def attention_strip(tokens, attention_weights, tags=None, path=None, title=None):
    """Draws a sentence whose words are the darker the more attention lay on them.

    The colours go from nothing to the greatest weight of the sentence, which the scale names. An entity is
    underlined from its first to its last word, its label below. Long sentences go on in further lines. pyplot
    is not touched.

    Args:
        tokens: list of T str.
        attention_weights: (T,), from 0 to 1.
        tags: list of T str, in IOB2, or `None`.
        path: where to save the picture; the ending chooses the format, .png if there is none.
        title: a line above the picture.

    Returns:
        The `matplotlib.figure.Figure`.

    Raises:
        KerasZooError: lengths do not fit, a tag is none, weights are not numbers from 0 to 1, there are no
            words, the picture cannot be saved, or matplotlib is not installed.

    Example:

    >>> figure = attention_strip(["Aspirin", "helps"], [0.9, 0.1], ["B-Chemical", "O"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['Aspirin', 'helps', 'Chemical']
    """
    figure = new_figure()
    words = word_labels(check_tokens("tokens", tokens))
    weights = check_weights(attention_weights, (len(words),), "one for each token")
    tags = ["O"] * len(words) if tags is None else tags
    if len(tags) != len(words):
        raise KerasZooError(f"tags: expected one for each of {len(words)} tokens, got {len(tags)}")
    entities = spans(tags, "IOB2")
    labels = [tag.partition("-")[2] for tag in tags]
    families, (words, labels), title = fitting_fonts([words, labels], title)
    plain = {"family": families, "parse_math": False, "usetex": False}
    style = {"ha": "center", "va": "center", **plain}
    lines, places = _lay_out(words, labels)
    width = LETTER * max(place + size for place, size, _ in places)
    height = HEIGHT * lines * (1.6 if entities else 1)
    figure.set_size_inches(width + 1.1, height + (0.6 if title else 0.25))
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)  # inches: nothing stands at the very edge

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
    if path is not None:
        save_figure(figure, path)
    return figure


def _lay_out(words, labels):
    """The number of lines, and for each word where its box begins, its length, and the line it stands in."""
    places, place, line = [], 0.0, 0
    for word, label in zip(words, labels, strict=True):
        size = max(len(word), 0.75 * len(label)) + 2 * BESIDE
        if place and place + size > LINE:
            place, line = 0.0, line + 1
        places.append((place, size, line))
        place += size
    return line + 1, places


def _parts(places):
    """(line, start, end) of neighbouring words, for each of the lines that they stand in."""
    for line, some in itertools.groupby(places, key=lambda place: place[2]):
        some = list(some)
        yield line, some[0][0], some[-1][0] + some[-1][1]
