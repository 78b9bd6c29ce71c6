"""The reliability diagram: accuracy against probability."""

from keraszoo.plots.figures import finish, fonts_for, new_figure, plain_axes


def reliability_plot(bins, path=None, title=None):
    """Draws the accuracy of each bin of probabilities, and the diagonal of perfect calibration.

    Args:
        bins: the result of `keraszoo.evaluation.reliability`.
        path: where to save the picture; the ending chooses the format, .png if there is none.
        title: a line above the picture.

    Returns:
        The `matplotlib.figure.Figure`.

    Raises:
        KerasZooError: the picture cannot be saved, or matplotlib is not installed.

    Example:

    >>> from keraszoo.evaluation import reliability
    >>> figure = reliability_plot(reliability([0.2, 0.9], [False, True], bins=2))
    >>> [float(bar.get_height()) for bar in figure.axes[0].patches]
    [0.0, 1.0]
    """
    figure = new_figure()
    figure.set_size_inches(4.2, 4)
    axes = figure.add_subplot()
    drawn = [group for group in bins if group.count]
    lows, widths = [group.low for group in drawn], [group.high - group.low for group in drawn]
    heights = [group.accuracy for group in drawn]
    axes.bar(lows, heights, widths, align="edge", color="#56b4e9", edgecolor="white")
    axes.plot([0, 1], [0, 1], color="0.3", linewidth=1, linestyle="--")
    for group in drawn:
        middle = (group.low + group.high) / 2
        axes.annotate(f"{group.count:,}", (middle, 0.01), ha="center", fontsize=7, rotation=90)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    plain_axes(axes, "probability, and number of predictions", "share that is right")
    style, _, title = fonts_for([], title)
    if title:
        axes.set_title(title, fontsize=10, loc="left", **style)
    return finish(figure, path)
