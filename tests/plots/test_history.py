"""The curves of runs: the figures stand where they belong, and what a run lacks is left out."""

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.evaluation import bleu_by_length
from keraszoo.plots import history_plot, length_plot

BLEU = {"steps": 60, "loss": [3, 2, 1.5], "val_loss": [2.5, 2, 2.2], "val_bleu": [1, 5, 4]}
F1 = {"steps": 40, "loss": [2, 1], "val_loss": [2, 1], "val_f1": [50, 60], "learning_rate": [1e-3, 5e-4]}
SOLE = {"steps": 10, "loss": [4.0], "val_bleu": None}


def lines(axes):
    return [(line.get_linestyle(), list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]


def test_one_run(tmp_path):
    figure = history_plot({"a": BLEU}, tmp_path / "history.png", title="$x$")
    loss, bleu = figure.axes
    assert (loss.get_ylabel(), bleu.get_ylabel()) == ("loss", "BLEU")
    assert lines(loss) == [
        ("--", [20, 40, 60], [3, 2, 1.5]),
        ("-", [20, 40, 60], [2.5, 2, 2.2]),
        ("None", [40], [2]),  # the dot of the best
    ]
    assert lines(bleu) == [("-", [20, 40, 60], [1, 5, 4]), ("None", [40], [5])]
    assert (tmp_path / "history.png").read_bytes().startswith(b"\x89PNG")


def test_several_runs_share_the_axes_of_their_figures():
    figure = history_plot({"a_$1$": BLEU, "b": F1, "c": SOLE})
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "BLEU", "F1", "learning rate"]
    assert [len(axes.lines) for axes in figure.axes] == [3 + 3 + 1, 2, 2, 1]
    colours = [{line.get_color() for line in axes.lines} for axes in figure.axes]
    assert len(colours[0]) == 3 and colours[2] == colours[3] != colours[1]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["a_$1$", "b", "c", "training data", "held-out data, best value"]
    figure.draw_without_rendering()


@pytest.mark.parametrize(
    "runs",
    [{}, {"a": None}, {"a": {"steps": 3}}, {"a": {"loss": []}}, {"a": {"loss": 0.5}}, {"a": {"loss": [1]}}],
)
def test_runs_without_a_history(runs):
    with pytest.raises(KerasZooError, match="a: has no history of a training|expected at least one run"):
        history_plot(runs)


def test_a_last_evaluation_that_came_early_and_figures_that_are_not_finite(tmp_path):
    figure = history_plot({"a": {"steps": 250, "steps_per_evaluation": 100, "loss": [3, 2, 1]}})
    assert lines(figure.axes[0]) == [("--", [100, 200, 250], [3, 2, 1])]
    run = {"steps": 20, "loss": [3, None], "val_loss": [None, 2.0], "val_bleu": [None, None]}
    loss, bleu = history_plot({"a": run}, tmp_path / "history.png").axes
    assert lines(loss)[-1] == ("None", [20], [2.0])
    assert len(lines(bleu)) == 1  # no best value


def test_letters_without_a_font_are_boxes_in_titles_and_legends():
    # Matplotlib would warn of each, and warnings are errors here.
    rare = "\U00016e60"  # Medefaidrin
    buckets = bleu_by_length(["a b"], ["a b"], ["a b"])
    for figure in (history_plot({rare: BLEU, "b": F1}, title=rare), length_plot({rare: buckets}, title=rare)):
        figure.draw_without_rendering()
