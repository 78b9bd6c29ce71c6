"""Which kind of recipe a file is, by its key `task`, and what trains from it."""

import importlib

from keraszoo.errors import RecipeError
from keraszoo.tasks.recipe_errors import suggestion
from keraszoo.tasks.recipe_file import read_yaml, set_value

# task: (module and class of the recipe, module and function of the run)
TASKS = {
    "translation": ("keraszoo.translation.recipe:Recipe", "keraszoo.translation.run:run_recipe"),
    "tagging": ("keraszoo.tagging.recipe:TaggerRecipe", "keraszoo.tagging.run:run_tagger_recipe"),
}


def read_recipe(path, overrides=()):
    """Reads a recipe of any task.

    Args:
        path: the file. One that does not say `task` is that of a translator, and must look so.
        overrides: strings such as `"training.seed=3"`.

    Returns:
        A `Recipe` or a `TaggerRecipe`.

    Raises:
        RecipeError: one line with every problem, see `BaseRecipe.read`; or an unknown task.
    """
    values, lines = read_yaml(path)
    for override in overrides:
        set_value(values, override, lines)
    if "task" not in values and _is_of_words_and_tags(values):
        raise RecipeError(
            f"{path}: task: missing; the recipe of a tagger says `task: tagging`, "
            "and that of a translator gives `data.train` as {source: FILE, target: FILE} or {tsv: FILE}"
        )
    task = values.get("task", "translation")
    if not isinstance(task, str) or task not in TASKS:
        hint = suggestion(task, list(TASKS))
        raise RecipeError(f"{lines.get(('task',), path)}: task: there is no {task!r}{hint}")
    return _named(TASKS[task][0]).read(path, overrides)


def _is_of_words_and_tags(values):
    """Whether a recipe that does not say its task has what only a tagger's has."""
    data = values.get("data")
    train = data.get("train") if isinstance(data, dict) else None
    return isinstance(train, (str, list)) or "vectors" in values or "tags" in values


def run(recipe):
    """Trains as a recipe of any task says; what comes back has the figures in `metrics`."""
    return _named(TASKS[recipe.task][1])(recipe)


def _named(place):
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)
