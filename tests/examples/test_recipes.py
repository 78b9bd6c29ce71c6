"""The recipes in `examples/recipes`: they are read, and their models have the settings that they name."""

from pathlib import Path

import pytest

from keraszoo.tasks.model_names import model_classes
from keraszoo.tasks.recipe_runs import read_recipe

RECIPES = sorted((Path(__file__).parents[2] / "examples" / "recipes").glob("*.yaml"))


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_a_recipe_is_one(file, monkeypatch):
    for name in ("CORPUS", "VECTORS", "MULTI30K"):
        monkeypatch.setenv(name, "/data")
    recipe = read_recipe(file)
    recipe.check_model(model_classes(recipe.task)[recipe.model.name])
