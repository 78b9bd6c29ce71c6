"""The picture of the papers' claim: BLEU against the length of the source, one line a model."""

from keraszoo.errors import KerasZooError
from keraszoo.plots.figures import new_figure, save_figure

MARKERS = "osD^vPX*"
# Told apart by those who see few colours, too (Wong 2011); beyond eight they begin again, with other markers.
COLOURS = ("#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#999999")
LETTER = 0.065  # inches, of the legend
SPREAD = 0.3  # of the space between two ranges: where the models' points stand side by side


def length_plot(results, path=None, title=None):
    """Draws BLEU by the length of the source, a line for each model.

    A point is a range of lengths, its bar the 95 % interval; below stands how many sentences there are. The
    models' points of a range stand side by side, so that bars do not hide each other. The legend has the
    models in the order in which their lines end, the best first. pyplot is not touched.

    Args:
        results: dict from the names of models to what `keraszoo.evaluation.bleu_by_length` returned, all for
            the same sources.
        path: where to save the picture; the ending chooses the format, .png if there is none.
        title: a line above the picture.

    Returns:
        The `matplotlib.figure.Figure`.

    Raises:
        KerasZooError: there is nothing to draw, the models' ranges differ, the picture cannot be saved, or
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
    axes.set_xticks(range(len(ranges)), [f"{label}\n{count:,}" for label, count in ranges], fontsize=8)
    axes.set_xlabel("words of the source, and number of sentences", fontsize=9)
    axes.set_ylabel("BLEU", fontsize=9)
    axes.set_ylim(bottom=0)
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    _legend(axes, results)
    if title:
        axes.set_title(title, fontsize=10, loc="left", parse_math=False)
    if path is not None:
        save_figure(figure, path)
    return figure


def _common_ranges(results):
    """`[(label, number of sentences), ...]`, which all models must share."""
    if not isinstance(results, dict) or not results or not all(results.values()):
        raise KerasZooError("results: expected at least one model, each with at least one range of lengths")
    shared, first = None, next(iter(results))
    for name, buckets in results.items():
        ranges = [(bucket.label, bucket.sentences) for bucket in buckets]
        shared = ranges if shared is None else shared
        if ranges != shared:
            raise KerasZooError(
                f"results: {name!r} was scored on other ranges of lengths than {first!r}: "
                f"{ranges!r:.60}, not {shared!r:.60}"
            )
    return shared


def _legend(axes, results):
    """The names beside the lines' ends, in their order, the markers without bars."""
    lines, names = axes.get_legend_handles_labels()
    ends = [buckets[-1].bleu.score for buckets in results.values()]
    order = sorted(range(len(ends)), key=lambda i: -ends[i])
    legend = axes.legend(
        [lines[i][0] for i in order],
        [names[i] for i in order],
        loc="center left",
        bbox_to_anchor=(1, 0.5),
        frameon=False,
        fontsize=8,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
