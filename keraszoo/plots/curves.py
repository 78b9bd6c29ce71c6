"""Curves: BLEU by the length of the source, and the course of training."""

import itertools

from keraszoo.errors import KerasZooError
from keraszoo.plots.figures import finish, fonts_for, new_figure

MARKERS = "osD^vPX*"
# Colours for colour-blind readers (Wong 2011); beyond eight models they repeat with other markers.
COLOURS = ("#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#999999")
PANELS = {
    "loss": {"loss": "--", "val_loss": "-"},
    "BLEU": {"val_bleu": "-"},
    "F1": {"val_f1": "-"},
    "learning rate": {"learning_rate": "-"},
}
LETTER = 0.065  # inches, of the legend
SPREAD = 0.3  # the share of the space between two ranges over which the models' points are spread


def length_plot(results, path=None, title=None):
    """Draws BLEU by the length of the source, a line for each model: the figure of the papers on attention.

    A point is a range of lengths, and its bar the 95 % interval; the axis shows the number of sentences. The
    legend lists the models in the order of their last points, the best first.

    Args:
        results: dict from the names of models to results of `keraszoo.evaluation.bleu_by_length`, all for the
            same sources.
        path, title: as for `attention_heatmap`, like the result.

    Raises:
        KerasZooError: no results, or ranges that differ between models.

    Example:

    >>> from keraszoo.evaluation import bleu_by_length
    >>> sources = ["a b c d", "a b c d e f g h"] * 2
    >>> results = {"copy": bleu_by_length(sources, sources, sources, width=4, fewest=1)}
    >>> figure = length_plot(results)
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['1–4\\n2', '5–8\\n2']
    """
    figure = new_figure()
    if not isinstance(results, dict) or not results or not all(results.values()):
        raise KerasZooError("results: expected at least one model, each with at least one range of lengths")
    ranges, *others = ([(b.label, b.sentences) for b in buckets] for buckets in results.values())
    if any(other != ranges for other in others):
        raise KerasZooError(f"results: the ranges of {', '.join(map(repr, results))} differ")
    names = 0.7 + LETTER * max(map(len, results))  # inches that the legend takes
    figure.set_size_inches(0.8 + max(3.4, 0.9 * len(ranges)) + names, 3.8)
    axes = figure.add_subplot()
    for i, (name, buckets) in enumerate(results.items()):
        shift = SPREAD * ((i + 0.5) / len(results) - 0.5)
        axes.errorbar(
            [number + shift for number in range(len(ranges))],
            [bucket.bleu.score for bucket in buckets],
            [bucket.margin for bucket in buckets],
            label=name,
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],
            markersize=4.5,
            linewidth=1.4,
            elinewidth=0.8,
        )
    axes.set_xticks(range(len(ranges)), [f"{label}\n{count:,}" for label, count in ranges])
    plain(axes, "words of the source, and number of sentences", "BLEU")
    axes.set_ylim(bottom=0)
    lines, last = axes.containers, [buckets[-1].bleu.score for buckets in results.values()]
    order = sorted(range(len(last)), key=lambda i: -last[i])
    style, (names,), title = fonts_for([list(results)], title)
    box = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False, "fontsize": 8}
    legend = axes.legend([lines[i][0] for i in order], [names[i] for i in order], **box)
    for text in legend.get_texts():
        text.set(**style)
    axes.set_title(title, fontsize=10, loc="left", **style)
    return finish(figure, path)


def history_plot(runs, path=None, title=None):
    """Draws the loss, the score of the held-out data and the learning rate of one or more runs, by updates.

    Dashed lines are of the training data, solid ones of the held-out data, with a dot at the best value.

    Args:
        runs: dict from names to the `metrics["training"]` of tasks: `steps` and lists of one value for each
            evaluation, `loss` and, if there are, `val_loss`, `val_bleu` or `val_f1`, and `learning_rate`.
        path, title: as for `attention_heatmap`, like the result.

    Raises:
        KerasZooError: no runs, or one without a history.

    Example:

    >>> run = {"steps": 200, "loss": [3.0, 2.0], "val_loss": [2.5, 2.4], "val_bleu": [10.0, 9.0]}
    >>> figure = history_plot({"one": run})
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['loss', 'BLEU']
    """
    figure = new_figure()
    for name, run in runs.items():
        known = isinstance(run, dict) and isinstance(run.get("steps"), (int, float))
        if not known or not isinstance(run.get("loss"), list) or not run["loss"]:
            raise KerasZooError(f"{name}: has no history of a training")
    if not runs:
        raise KerasZooError("expected at least one run, got none")
    panels = [
        label for label in PANELS if any(run.get(key) for run in runs.values() for key in PANELS[label])
    ]
    figure.set_size_inches(3.6 * len(panels), 3.4 + 0.2 * len(runs))
    grid = figure.subplots(1, len(panels), sharex=True, squeeze=False)[0]
    for axes, label in zip(grid, panels, strict=True):
        for run, colour in zip(runs.values(), itertools.cycle(COLOURS)):
            for key, style in PANELS[label].items():
                _draw(axes, run, key, {"color": colour, "linestyle": style})
        axes.set_xlim(left=0)
        if label != "loss":
            axes.set_ylim(bottom=0)
        plain(axes, "updates", label)
    grid[-1].ticklabel_format(axis="y", scilimits=(-3, 4))
    style, (names,), title = fonts_for([list(runs)], title)
    _legend(figure, runs, names, style)
    figure.suptitle(title, fontsize=11, **style)
    return finish(figure, path)


def _draw(axes, run, key, style):
    values = run.get(key)
    if not values:
        return
    every = run.get("steps_per_evaluation", run["steps"] / len(values))
    updates = [min(every * (i + 1), run["steps"]) for i in range(len(values))]  # the last one may come early
    axes.plot(updates, values, linewidth=1.4, marker="." if len(values) == 1 else None, **style)
    finite = [value for value in values if value is not None]
    if key.startswith("val_") and finite:
        best = values.index(min(finite) if key == "val_loss" else max(finite))
        axes.plot(updates[best], values[best], "o", color=style["color"], markersize=4.5)


def _legend(figure, runs, names, style):
    from matplotlib.lines import Line2D

    several = len(runs) > 1
    entries = [(name, {"color": colour}) for name, colour in zip(names * several, itertools.cycle(COLOURS))]
    entries.append(("training data", {"color": "0.4", "linestyle": "--"}))
    if any(key.startswith("val_") for run in runs.values() for key in run):
        entries.append(("held-out data, best value", {"color": "0.4", "marker": "o", "markersize": 4.5}))
    lines = [Line2D([], [], label=label, **looks) for label, looks in entries]
    place = {"loc": "outside lower left", "frameon": False, "fontsize": 8, "ncols": 1 if several else 2}
    for text in figure.legend(handles=lines, **place).get_texts():
        text.set(**style)


def plain(axes, x, y):
    """Names the axes and leaves out what a curve does not need."""
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
