"""The strip of words: all of them, none over another, the darkest where the weight is."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.image import imread

from keraszoo.errors import KerasZooError
from keraszoo.plots import attention_strip


def boxes(figure):
    return figure.axes[0].patches


def test_words_tags_and_colours(tmp_path):
    words, weights = ["Ada", "met", "Kurt", "Gödel"], [0.1, 0.0, 0.2, 0.7]
    figure = attention_strip(words, weights, ["B-PER", "O", "B-PER", "I-PER"], tmp_path / "a", title="t")
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == [*words, "PER", "PER"]
    darkness = [1 - np.mean(box.get_facecolor()[:3]) for box in boxes(figure)]
    assert np.argsort(darkness).tolist() == np.argsort(weights).tolist()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_neighbours_of_one_label_are_told_apart():
    words, tags = ["Ada", "Kurt", "Gödel", "met"], ["B-PER", "B-PER", "I-PER", "O"]
    axes = attention_strip(words, [0.25] * 4, tags).axes[0]
    ada, kurt, godel, _ = ((box.get_x(), box.get_x() + box.get_width()) for box in axes.patches)
    (one, end), (start, other) = (line.get_xdata() for line in axes.lines)
    assert ada[0] < one < end < ada[1] == kurt[0] < start < kurt[1] == godel[0] < other < godel[1]
    assert [text.get_position()[0] for text in axes.texts[4:]] == [sum(ada) / 2, (kurt[0] + godel[1]) / 2]


def test_an_entity_over_two_lines_is_underlined_in_both():
    words = [f"word{i}" for i in range(20)]
    axes = attention_strip(words, [0.05] * 20, ["B-LOC", *["I-LOC"] * 19]).axes[0]
    assert [text.get_text() for text in axes.texts[20:]] == ["LOC"] * 2
    for line, number in zip(axes.lines, (0, 1), strict=True):
        in_line = [box for box in axes.patches if box.get_y() == number]
        assert min(line.get_xdata()) < in_line[0].get_x() + 1 and number < line.get_ydata()[0] < number + 1
        assert max(line.get_xdata()) > in_line[-1].get_x()


@pytest.mark.parametrize("count", [1, 30])
def test_no_border_is_cut_off_and_nothing_reaches_the_edge(tmp_path, count):
    words, tags = [f"word{i}" for i in range(count)], ["B-LOC"] * count
    axes = attention_strip(words, np.full(count, 1 / count), tags, tmp_path / "a.png").axes[0]
    left, right = axes.get_xlim()
    assert all(left < box.get_x() and box.get_x() + box.get_width() < right for box in axes.patches)
    ink = imread(tmp_path / "a.png")[:, :, :3].min(axis=2) < 0.97
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    assert min(rows[0], columns[0], ink.shape[0] - rows[-1], ink.shape[1] - columns[-1]) >= 10


def test_long_sentences_go_on_in_further_lines():
    count = 60
    figure = attention_strip([f"word{i}" for i in range(count)], np.full(count, 1 / count))
    figure.draw_without_rendering()
    places = [(box.get_y(), box.get_x(), box.get_x() + box.get_width()) for box in boxes(figure)]
    assert places == sorted(places) and len({line for line, *_ in places}) > 3
    for (line, _, end), (next_line, start, _) in zip(places, places[1:], strict=False):
        assert next_line > line or start >= end - 1e-9
    for box, text in zip(boxes(figure), figure.axes[0].texts, strict=True):
        inside, around = text.get_window_extent(), box.get_window_extent()
        assert inside.x0 >= around.x0 - 1 and inside.x1 <= around.x1 + 1


def test_words_that_are_hard_to_draw():
    figure = attention_strip(["$x$", "\t", "😀", "x" * 99], [0.25] * 4)
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.axes[0].texts][0] == "$x$"


@pytest.mark.parametrize(
    ("words", "weights", "tags", "said"),
    [
        ([], [], None, "tokens: expected at least one"),
        (["a"], [0.1, 0.2], None, r"expected shape \(1,\), one for each token, got \(2,\)"),
        (["a"], [2.0], None, "expected values from 0 to 1"),
        (["a"], [1.0], ["PER"], "expected a tag"),
        (["a"], [1.0], ["O", "O"], "tags: expected one for each of 1 tokens, got 2"),
    ],
)
def test_what_cannot_be_drawn(words, weights, tags, said):
    with pytest.raises(KerasZooError, match=said):
        attention_strip(words, weights, tags)
