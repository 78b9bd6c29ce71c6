"""Several seeds of a recipe: where their outputs are, and which figures are compared."""

import os
from types import SimpleNamespace

import pytest

from keraszoo.tasks.seeds import run_seeds


@pytest.mark.parametrize("output", ["runs/x", "runs/x/"])
def test_outputs_are_next_to_the_recipe_and_averages_are_no_figure(tmp_path, monkeypatch, output):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    text = f"data: {{train: {{tsv: a}}, validation: {{tsv: a}}}}\noutput: {output}\n"
    (tmp_path / "recipe.yaml").write_text(text)
    figures = iter([{"val_bleu": 1.0, "averaged": 2.0}, {"val_bleu": 3.0}])
    written = []

    def run(recipe):
        os.makedirs(recipe.output)
        written.append(recipe.as_dict()["output"])
        return SimpleNamespace(metrics={"validation": next(figures)})

    monkeypatch.setattr("keraszoo.tasks.seeds.run_recipe", run)
    (figure,) = run_seeds(tmp_path / "recipe.yaml", [], 2)
    assert (figure.name, figure.values) == ("val_bleu", [1.0, 3.0])
    assert sorted(os.listdir(tmp_path / "runs")) == ["x_seed1", "x_seed2", "x_seeds.json"]
    assert written == ["runs/x_seed1", "runs/x_seed2"]  # no folder of this machine
