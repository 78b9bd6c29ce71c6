"""BLEU by length as a picture: points where the figures are, and none without its sentences."""

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.evaluation import LengthBucket, Score
from keraszoo.plots import length_plot


def buckets(*scores, counts=(300, 200, 50)):
    ranges = zip(scores, counts, strict=False)
    return [
        LengthBucket(10 * i + 1, 10 * i + 10, count, Score("BLEU", score, "signature"), margin=2.0)
        for i, (score, count) in enumerate(ranges)
    ]


def test_points_bars_and_counts(tmp_path):
    results = {"fixed $vector$": buckets(30.0, 20.0, 5.0), "_attention": buckets(32.0, 31.0, 30.0)}
    figure = length_plot(results, tmp_path / "new" / "plot", title="50 % of $x_1$")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1–10\n300", "11–20\n200", "21–30\n50"]
    for container, parts in zip(axes.containers, results.values(), strict=True):
        line, _, (bars,) = container
        assert list(line.get_ydata()) == [bucket.bleu.score for bucket in parts]
        assert [round(x) for x in line.get_xdata()] == [0, 1, 2]
        ends = [(bucket.bleu.score - 2, bucket.bleu.score + 2) for bucket in parts]
        assert [tuple(bar[:, 1]) for bar in bars.get_segments()] == ends
    first, second = (container[0].get_xdata() for container in axes.containers)
    assert all(a < b for a, b in zip(first, second, strict=True))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["_attention", "fixed $vector$"]
    assert axes.get_ylim()[0] == 0 and axes.get_title(loc="left") == "50 % of $x_1$"
    assert (tmp_path / "new" / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_a_dozen_models_look_different():
    figure = length_plot({f"model {i}": buckets(20.0 + i, 10.0) for i in range(12)})
    looks = [(line.get_color(), line.get_marker()) for line, *_ in figure.axes[0].containers]
    assert len(set(looks)) == 12


def test_long_names_and_few_ranges_leave_nothing_out_of_the_picture():
    figure = length_plot({f"a model of a very long name indeed, number {i}": buckets(9.0) for i in range(3)})
    figure.draw_without_rendering()
    (axes,) = figure.axes
    for part in (axes.get_legend(), axes.xaxis.label, axes.yaxis.label):
        box = part.get_window_extent()
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
    assert axes.get_window_extent().width / figure.dpi > 2.5


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ({}, "at least one model"),
        ({"a": []}, "each with at least one range"),
        ({"a": buckets(1.0), "b": buckets(1.0, counts=(299,))}, "the ranges of 'a', 'b' differ"),
    ],
)
def test_what_cannot_be_drawn_is_refused(results, message):
    with pytest.raises(KerasZooError, match=message):
        length_plot(results)
