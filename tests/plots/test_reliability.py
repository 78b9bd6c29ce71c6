"""The reliability diagram."""

import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.evaluation import reliability
from keraszoo.plots import reliability_plot


def test_points_are_the_bins(tmp_path):
    bins = reliability([0.15, 0.12, 0.95, 0.91, 0.99], [False, True, True, True, False])
    figure = reliability_plot({"one": bins, "two": bins[::-1]}, tmp_path / "picture.png", title="a title")
    assert (tmp_path / "picture.png").stat().st_size > 1000
    diagonal, line, other = figure.axes[0].lines
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert line.get_xydata() == pytest.approx(np.array([[0.135, 0.5], [0.95, 2 / 3]]))
    assert sorted(other.get_xydata().tolist()) == sorted(line.get_xydata().tolist())
    small, large = figure.axes[0].collections[0].get_sizes()
    assert small < large
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["one", "two"]


@pytest.mark.parametrize("results", [{}, [], {"one": []}])
def test_no_results(results):
    with pytest.raises(KerasZooError, match="expected at least one model"):
        reliability_plot(results)
