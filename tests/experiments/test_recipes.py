"""The recipes of `examples/` and `experiments/` can be read, and their models have the settings they name."""

import re
import shlex
from pathlib import Path

import pytest

from keraszoo.recipes.runs import read_recipe

RECIPES = sorted(Path(__file__).parents[2].glob("ex*/recipes/*.yaml"))


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_a_recipe_is_one(file, monkeypatch):
    for name in ("BACKBONE", "CORPUS", "VECTORS", "MULTI30K"):
        monkeypatch.setenv(name, "/data")
    read_recipe(file).model_class()


@pytest.mark.parametrize(
    "file", [file for file in RECIPES if "examples" in file.parts], ids=lambda file: file.stem
)
def test_the_command_of_an_example_names_all_files(file):
    (command,) = re.findall(r"^#   (keraszoo train (?:.*\\\n)*.*)$", file.read_text(), re.MULTILINE)
    words = shlex.split(command.replace("\\\n#", ""))
    overrides = [value for option, value in zip(words, words[1:], strict=False) if option == "--set"]
    recipe = read_recipe(file, overrides)
    parts = [getattr(recipe.data, name) for name in ("train", "validation", "test")]
    texts = [part if isinstance(part, list) else vars(part).values() for part in parts if part is not None]
    places = [Path(recipe.path(text)) for of_part in texts for text in of_part if text is not None]
    assert places and file.parent not in [place.parent for place in places]
