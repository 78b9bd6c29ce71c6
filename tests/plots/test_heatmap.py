"""The heat map: read back from the pixels, and words that try to be something else."""

import sys

import matplotlib
import ml_dtypes
import numpy as np
import pytest
from matplotlib.font_manager import findfont, get_font
from matplotlib.image import imread

from keraszoo.errors import KerasZooError
from keraszoo.plots import attention_heatmap, attention_sheet


def random_weights(rows, columns):
    return np.random.default_rng(0).dirichlet(np.ones(columns), size=rows)


def axis_labels(figure):
    """The words on the source axis and on the target axis."""
    axes = figure.axes[0]
    return tuple(
        [tick.label1.get_text() for tick in axis.get_major_ticks()] for axis in (axes.xaxis, axes.yaxis)
    )


def test_words_stand_on_their_axes_and_colours_are_the_weights():
    weights = random_weights(4, 3)
    source, target = ["ein", "Hund", "bellt"], ["a", "dog", "barks", "."]
    figure = attention_heatmap(source, target, weights)
    assert axis_labels(figure) == (source, target)
    axes = figure.axes[0]
    figure.canvas.draw()
    picture = np.asarray(figure.canvas.buffer_rgba()) / 255
    colours = matplotlib.colormaps["Blues"]
    for t, s in np.ndindex(4, 3):
        x, y = axes.transData.transform((s, t))  # the middle of the cell; row 0 is the upper one
        pixel = picture[picture.shape[0] - 1 - int(y), int(x), :3]
        np.testing.assert_allclose(pixel, colours(weights[t, s])[:3], atol=0.02)
    assert axes.transData.transform((0, 0))[1] > axes.transData.transform((0, 3))[1]
    assert figure.axes[1].get_ylabel() == "attention weight" and figure.axes[1].get_ylim() == (0, 1)


@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 1), (6, 90), pytest.param(250, 400, marks=pytest.mark.slow)]
)
def test_pictures_of_all_shapes_are_drawn_without_warnings(tmp_path, rows, columns):
    source, target = [f"source{s}" for s in range(columns)], [f"target{t}" for t in range(rows)]
    weights = random_weights(rows, columns)
    figure = attention_heatmap(source, target, weights, tmp_path / "a.png", title="title")
    height, width = imread(tmp_path / "a.png").shape[:2]
    assert max(height, width) < 4500
    for axis, words in zip(axis_labels(figure), (source, target), strict=True):
        assert set(axis) <= set(words)
        assert len(axis) == len(words) or len(words) > 200


def test_labels_never_overlap_and_lie_in_the_picture(tmp_path):
    for count in (5, 10, 20, 120):
        words = [f"word{i}" for i in range(count)]
        figure = attention_heatmap(words, words, random_weights(count, count), tmp_path / "a.png")
        boxes = [tick.label1.get_window_extent() for tick in figure.axes[0].yaxis.get_major_ticks()]
        assert all(below.y1 <= above.y0 + 0.5 for above, below in zip(boxes, boxes[1:], strict=False))
        picture = imread(tmp_path / "a.png")
        assert all(edge.min() == 1 for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]))


def test_long_sentences_are_labelled_on_both_sides():
    def shown(count):
        words = [str(i) for i in range(count)]
        axes = attention_heatmap(words, words, random_weights(count, count)).axes[0]
        return {side: axes.xaxis.get_tick_params()[side] for side in ("labeltop", "labelbottom")}

    assert shown(10) == {"labeltop": True, "labelbottom": False}
    assert shown(50) == {"labeltop": True, "labelbottom": True}


def test_words_are_never_formulas_and_letters_that_no_font_has_are_boxes(tmp_path):
    words = ["$x_1$", "$\\frac{", "a$b$c", "\\n", "_", "50%", "{}", "#"]
    figure = attention_heatmap(words, words, random_weights(8, 8), title="$\\frac{1}$")
    figure.draw_without_rendering()
    assert axis_labels(figure) == (words, words)
    words = ["猫が", "😀", "مرحبا", "क्षि", "\U000e0041", "\U0010fffd", "é"]
    figure = attention_heatmap(words, ["x"], random_weights(1, 7), tmp_path / "a.png", title="猫")
    labels = axis_labels(figure)[0]
    assert labels[5] in ("\u25a1", "\ufffd") and labels[6] == "é"
    for label, word in zip(labels[:3], words, strict=False):
        assert label in (word, "\u25a1" * len(word), "\ufffd")


def test_a_font_that_has_the_letters_is_found_among_those_installed():
    """DejaVu Sans lacks a letter that one of the STIX fonts has; both come with matplotlib."""
    own, sizes = (get_font(findfont(name)).get_charmap() for name in ("DejaVu Sans", "STIXSizeFourSym"))
    letter = chr(min(set(sizes) - set(own)))
    figure = attention_heatmap([letter], ["x"], [[1]])
    figure.draw_without_rendering()
    assert axis_labels(figure)[0] == [letter]


def test_subword_marks_blanks_controls_and_endless_words_are_made_readable():
    figure = attention_heatmap(["▁ein", "und", "▁", "</s>"], ["one", "and", "▁", "<s>"], random_weights(4, 4))
    assert axis_labels(figure)[0] == ["ein", "·und", "\u2423", "</s>"]
    plain = attention_heatmap(["ein", "und"], ["one", "and"], random_weights(2, 2))
    assert axis_labels(plain)[0] == ["ein", "und"]
    figure = attention_heatmap(["", " ", "a\tb\x00", "x" * 500], ["\u202eevil"], random_weights(1, 4))
    assert axis_labels(figure)[0] == ["\u2423", "\u2423", "a\ufffdb\ufffd", "x" * 23 + "…"]
    assert axis_labels(figure)[1] == ["\ufffdevil"]


def test_pyplot_is_not_touched(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it would fail
    before = dict(matplotlib.rcParams)
    attention_heatmap(["a"], ["b"], [[1.0]])
    assert dict(matplotlib.rcParams) == before


def test_weights_of_half_precision_are_a_little_outside_of_0_and_1():
    weights = np.array([[1.004, -0.001]]).astype(ml_dtypes.bfloat16)
    assert attention_heatmap(["a", "b"], ["c"], weights).axes


@pytest.mark.parametrize(
    ("source", "target", "weights", "message"),
    [
        (["a", "b"], ["x"], [[1.0], [0.0]], r"expected shape \(1, 2\), .* got \(2, 1\)"),
        (["a"], ["x"], [[[1.0]]], r"got \(1, 1, 1\)"),
        (["a", "b"], ["x"], [[1.5, 0]], r"from 0 to 1, got 0 to 1.5"),
        (["a", "b"], ["x"], [[-0.5, 1]], r"from 0 to 1, got -0.5 to 1"),
        (["a"], ["x"], [[np.nan]], "NaN or infinite"),
        (["a"], ["x"], [["one"]], "expected an array of numbers"),
        ("a", ["x"], [[1]], r"source_tokens: expected a list of str, got a str, 'a'"),
        (["a"], [3], [[1]], r"target_tokens\[0\]: expected a str, got int, 3"),
        ([], ["x"], [[]], r"source_tokens: expected at least one"),
    ],
)
def test_what_cannot_be_drawn_is_refused(source, target, weights, message):
    with pytest.raises(KerasZooError, match=message):
        attention_heatmap(source, target, weights)


def test_where_pictures_go(tmp_path):
    attention_heatmap(["a"], ["b"], [[1.0]], tmp_path / "new" / "plain")
    attention_heatmap(["a"], ["b"], [[1.0]], str(tmp_path / "new" / "drawing.svg"))
    names = sorted(item.name for item in (tmp_path / "new").iterdir())
    assert names == ["drawing.svg", "plain.png"]
    assert (tmp_path / "new" / "plain.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(KerasZooError, match=r"a.words: cannot be drawn: expected an ending of .*pdf"):
        attention_heatmap(["a"], ["b"], [[1.0]], tmp_path / "new" / "a.words")
    with pytest.raises(KerasZooError, match=r"cannot be written: (Not a directory|File exists)"):
        attention_heatmap(["a"], ["b"], [[1.0]], tmp_path / "new" / "plain.png" / "a.png")
    assert sorted(item.name for item in (tmp_path / "new").iterdir()) == names
    for path in ("", "..", "/"):
        with pytest.raises(KerasZooError, match="expected the name of a file"):
            attention_heatmap(["a"], ["b"], [[1.0]], path)


def test_missing_packages_and_programs_are_named(tmp_path, monkeypatch):
    def missing(*_, **__):
        raise RuntimeError("'xelatex' not found")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", missing)
    with pytest.raises(KerasZooError, match="cannot be drawn: 'xelatex' not found"):
        attention_heatmap(["a"], ["b"], [[1.0]], path=tmp_path / "a.pgf")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(KerasZooError, match=r"pip install matplotlib"):
        attention_heatmap(["a"], ["b"], [[1.0]])


def test_a_sheet_has_a_map_for_each_head_of_each_layer(tmp_path):
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 4, 5))
    source, target = ["a", "b", "$c$"], ["v", "w", "x", "y", "z"]
    figure = attention_sheet(source, target, weights, tmp_path / "a.png", title="one\ntwo")
    *maps, bar = figure.axes
    assert len(maps) == 8 and bar.get_ylim() == (0, 1)
    assert [axes.get_title() for axes in maps] == [f"head {h}" for h in (1, 2, 3, 4)] + [""] * 4
    assert [axes.get_ylabel() for axes in maps] == ["layer 1", "", "", "", "layer 2", "", "", ""]
    picture, colours = imread(tmp_path / "a.png"), matplotlib.colormaps["Blues"]
    for i, axes in enumerate(maps):
        for t, s in np.ndindex(5, 3):
            x, y = axes.transData.transform((s, t))
            pixel = picture[picture.shape[0] - 1 - int(y), int(x), :3]
            np.testing.assert_allclose(pixel, colours(weights[i // 4, i % 4, t, s])[:3], atol=0.02)
        assert [label.get_text() for label in axes.get_xticklabels()] == (source if i < 4 else [])
        assert [label.get_text() for label in axes.get_yticklabels()] == ([] if i % 4 else target)


@pytest.mark.parametrize("shape", [(), (5, 3), (4, 5, 3), (2, 4, 3, 5), (0, 4, 5, 3)])
def test_a_sheet_of_another_shape(shape):
    with pytest.raises(KerasZooError, match="layers by heads by target words by source words"):
        attention_sheet(["a", "b", "c"], list("vwxyz"), np.zeros(shape))
    with pytest.raises(KerasZooError, match="expected an array of numbers"):
        attention_sheet(["a", "b"], ["c"], [[[[0.5, 0.5]], [[0.5]]]])
