"""Several seeds of a recipe: where their outputs are, and which figures are compared."""

import os
from types import SimpleNamespace

import pytest

from keraszoo.errors import RecipeError
from keraszoo.recipes.runs import read_recipe
from keraszoo.recipes.seeds import run_seeds
from keraszoo.translation.recipe import Recipe


def test_outputs_are_next_to_the_recipe_and_averages_are_no_figure(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    text = "data: {train: {tsv: a}, validation: {tsv: a}}\noutput: runs/x/\n"
    (tmp_path / "recipe.yaml").write_text(text)
    figures = iter([{"val_bleu": 1.0, "averaged": 2.0}, {"val_bleu": 3.0}])
    written = []

    def run(recipe):
        os.makedirs(recipe.path(recipe.output))
        written.append(recipe.as_dict()["output"])
        return SimpleNamespace(metrics={"validation": next(figures)})

    monkeypatch.setattr("keraszoo.recipes.seeds.run_recipe", run)
    (figure,) = run_seeds(read_recipe(tmp_path / "recipe.yaml"), 2)
    summary = {"mean": 2.0, "deviation": pytest.approx(2**0.5), "values": [1.0, 3.0]}
    assert figure.name == "val_bleu" and figure.as_dict() == summary
    assert str(figure).split() == ["val_bleu", "2.00", "±", "1.41", "(1.00", "3.00)"]
    assert sorted(os.listdir(tmp_path / "runs")) == ["x_seed1", "x_seed2", "x_seeds.json"]
    assert written == ["runs/x_seed1", "runs/x_seed2"]  # no folder of this machine


def test_every_seed_is_checked_before_the_first_run(monkeypatch):
    monkeypatch.setattr("keraszoo.recipes.seeds.run_recipe", None)
    data, training = {"train": {"tsv": "a"}, "validation": {"tsv": "a"}}, {"seed": 2**32 - 1}
    with pytest.raises(RecipeError, match="expected less than 4294967296"):
        run_seeds(Recipe.from_dict({"data": data, "training": training, "output": "x"}), 2)
