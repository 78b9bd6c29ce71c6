"""The reliability diagram: how often predictions of a probability are right."""

from keraszoo.errors import KerasZooError
from keraszoo.plots.curves import COLOURS, MARKERS, plain
from keraszoo.plots.figures import finish, fonts_for, new_figure


def reliability_plot(results, path=None, title=None):
    """Draws the share that is right by the mean probability of each bin, a line for each model.

    On the diagonal, predictions of a probability p are right with a frequency of p. The area of a point is in
    proportion to the number of its predictions.

    Args:
        results: dict from names to results of `keraszoo.evaluation.reliability`.
        path, title: as for `attention_heatmap`, like the result.

    Raises:
        KerasZooError: no results, or one without a prediction.

    Example:

    >>> from keraszoo.evaluation import reliability
    >>> figure = reliability_plot({"one": reliability([0.2, 0.9, 0.8], [False, True, True])})
    >>> figure.axes[0].get_xlabel()
    'probability'

    Reference: DeGroot and Fienberg: The Comparison and Evaluation of Forecasters, 1983; Guo et al. 2017,
    https://arxiv.org/abs/1706.04599, figure 1.
    """
    figure = new_figure()
    known = isinstance(results, dict) and results
    if not known or not all(any(group.count for group in bins) for bins in results.values()):
        raise KerasZooError("results: expected at least one model, each with at least one prediction")
    figure.set_size_inches(4.2, 4.0)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1)
    style, (names,), title = fonts_for([list(results)], title)
    for i, (name, bins) in enumerate(zip(names, results.values(), strict=True)):
        filled = [group for group in bins if group.count]
        points = [group.probability for group in filled], [group.accuracy for group in filled]
        colour, most = COLOURS[i % len(COLOURS)], max(group.count for group in filled)
        axes.plot(*points, color=colour, linewidth=1.2, label=name)
        sizes = [8 + 72 * group.count / most for group in filled]
        axes.scatter(*points, sizes, color=colour, marker=MARKERS[i % len(MARKERS)])
    plain(axes, "probability", "share that is right")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    for text in axes.legend(frameon=False, fontsize=8, loc="upper left").get_texts():
        text.set(**style)
    axes.set_title(title, fontsize=10, loc="left", **style)
    return finish(figure, path)
