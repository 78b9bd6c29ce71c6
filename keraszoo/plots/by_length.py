"""BLEU against the length of the source, one line per model: the figure of the papers on attention."""

from keraszoo.errors import KerasZooError
from keraszoo.plots.figures import finish, fonts_for, new_figure, plain_axes

MARKERS = "osD^vPX*"
# Colours for colour-blind readers (Wong 2011); beyond eight models they repeat with other markers.
COLOURS = ("#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#999999")
LETTER = 0.065  # inches, of the legend
SPREAD = 0.3  # the share of the space between two ranges over which the models' points are spread


def length_plot(results, path=None, title=None):
    """Draws BLEU by the length of the source, a line for each model.

    A point is a range of lengths, and its bar the 95 % interval; the axis shows the number of sentences. The
    points of a range are drawn next to each other, so that bars do not overlap. The legend lists the models
    in the order of their last points, the best first. The function does not use pyplot.

    Args:
        results: dict from the names of models to results of `keraszoo.evaluation.bleu_by_length`, all for the
            same sources.
        path: where to save the picture; the ending chooses the format, .png if there is none.
        title: a line above the picture.

    Returns:
        The `matplotlib.figure.Figure`.

    Raises:
        KerasZooError: no results, ranges that differ between models, the picture cannot be saved, or
            matplotlib is not installed.

    Example:

    >>> from keraszoo.evaluation import bleu_by_length
    >>> sources = ["a b c d", "a b c d e f g h"] * 2
    >>> results = {"copy": bleu_by_length(sources, sources, sources, width=4, fewest=1)}
    >>> figure = length_plot(results)
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['1–4\\n2', '5–8\\n2']
    """
    figure = new_figure()
    ranges = _common_ranges(results)
    names = 0.7 + LETTER * max(map(len, results))  # inches that the legend takes
    figure.set_size_inches(0.8 + max(3.4, 0.9 * len(ranges)) + names, 3.8)
    axes = figure.add_subplot()
    for i, (name, buckets) in enumerate(results.items()):
        shift = SPREAD * ((i + 0.5) / len(results) - 0.5)
        axes.errorbar(
            [number + shift for number in range(len(ranges))],
            [bucket.bleu.score for bucket in buckets],
            yerr=[bucket.margin for bucket in buckets],
            label=name,
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],
            markersize=4.5,
            linewidth=1.4,
            elinewidth=0.8,
        )
    axes.set_xticks(range(len(ranges)), [f"{label}\n{count:,}" for label, count in ranges])
    plain_axes(axes, "words of the source, and number of sentences", "BLEU")
    axes.set_ylim(bottom=0)
    lines, last = axes.containers, [buckets[-1].bleu.score for buckets in results.values()]
    order = sorted(range(len(last)), key=lambda i: -last[i])
    style, (names,), title = fonts_for([list(results)], title)
    box = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False, "fontsize": 8}
    legend = axes.legend([lines[i][0] for i in order], [names[i] for i in order], **box)
    for text in legend.get_texts():
        text.set(**style)
    if title:
        axes.set_title(title, fontsize=10, loc="left", **style)
    return finish(figure, path)


def _common_ranges(results):
    """`[(label, number of sentences), ...]`; raises KerasZooError unless all models share them."""
    if not isinstance(results, dict) or not results or not all(results.values()):
        raise KerasZooError("results: expected at least one model, each with at least one range of lengths")
    ranges = {name: [(b.label, b.sentences) for b in buckets] for name, buckets in results.items()}
    first, shared = next(iter(ranges.items()))
    for name, own in ranges.items():
        if own != shared:
            raise KerasZooError(
                f"results: {name!r} and {first!r} have other ranges: {own!r:.60}, {shared!r:.60}"
            )
    return shared
