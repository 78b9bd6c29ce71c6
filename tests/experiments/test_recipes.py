"""The recipes of `examples/` and `experiments/` can be read, and their models have the settings they name."""

from pathlib import Path

import pytest

from keraszoo.recipes.runs import read_recipe

RECIPES = sorted(Path(__file__).parents[2].glob("ex*/recipes/*.yaml"))


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_a_recipe_is_one(file, monkeypatch):
    for name in ("BACKBONE", "CORPUS", "VECTORS", "MULTI30K"):
        monkeypatch.setenv(name, "/data")
    read_recipe(file).model_class()
