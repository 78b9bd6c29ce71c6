"""The course of training runs: loss, score and learning rate by updates."""

import itertools

from keraszoo.errors import KerasZooError
from keraszoo.plots.by_length import COLOURS
from keraszoo.plots.figures import finish, fonts_for, new_figure, plain_axes

SCORES = {"val_bleu": "BLEU", "val_f1": "F1"}


def history_plot(runs, path=None, title=None):
    """Draws the loss, the score of the held-out data and the learning rate of one or more runs.

    Dashed lines are of the training data, solid ones of the held-out data, with a dot at the best value. The
    function does not use pyplot.

    Args:
        runs: dict from names to the `metrics["training"]` of tasks: `steps` and lists of one value for each
            evaluation, `loss` and, if there are, `val_loss`, `val_bleu` or `val_f1`, and `learning_rate`.
        path: where to save the picture; the ending chooses the format, .png if there is none.
        title: a line above the picture.

    Returns:
        The `matplotlib.figure.Figure`.

    Raises:
        KerasZooError: no runs, or one without a history; the picture cannot be saved, or matplotlib is not
            installed.

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
    panels = {"loss": {"loss": "--", "val_loss": "-"}}
    panels |= {label: {key: "-"} for key, label in SCORES.items()} | {"learning rate": {"learning_rate": "-"}}
    panels = {
        label: styles
        for label, styles in panels.items()
        if any(run.get(key) for run in runs.values() for key in styles)
    }
    figure.set_size_inches(3.6 * len(panels), 3.4 + 0.2 * len(runs))
    grid = figure.subplots(1, len(panels), sharex=True, squeeze=False)[0]
    for axes, (label, styles) in zip(grid, panels.items(), strict=True):
        for run, colour in zip(runs.values(), itertools.cycle(COLOURS)):
            for key, style in styles.items():
                _draw(axes, run, key, {"color": colour, "linestyle": style})
        axes.set_xlim(left=0)
        if label != "loss":
            axes.set_ylim(bottom=0)
        plain_axes(axes, "updates", label)
    grid[-1].ticklabel_format(axis="y", scilimits=(-3, 4))
    style, (names,), title = fonts_for([list(runs)], title)
    _legend(figure, runs, names, style)
    if title:
        figure.suptitle(title, fontsize=10, **style)
    return finish(figure, path)


def _draw(axes, run, key, style):
    """Draws one series and, of the held-out data, a dot at its best value."""
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
    """Names the runs by colour, and the two kinds of data by the style of their lines."""
    from matplotlib.lines import Line2D

    lines = (
        [Line2D([], [], color=colour, label=name) for name, colour in zip(names, itertools.cycle(COLOURS))]
        if len(runs) > 1
        else []
    )
    lines += [Line2D([], [], color="0.4", linestyle="--", label="training data")]
    if any(key.startswith("val_") for run in runs.values() for key in run):
        lines += [Line2D([], [], color="0.4", marker="o", markersize=4.5, label="held-out data, best value")]
    legend = figure.legend(
        handles=lines, loc="outside lower left", frameon=False, fontsize=8, ncols=2 if len(runs) == 1 else 1
    )
    for text in legend.get_texts():
        text.set(**style)
