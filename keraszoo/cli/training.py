"""The commands `init` and `train`: from corpora to a recipe, and from a recipe to a model."""

import json
import os
from typing import Annotated, Literal

from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.errors import KerasZooError
from keraszoo.messages import one_line, show


def init(
    task: Annotated[Literal["translation", "tagging"], Argument(help="What the model does.")],
    folder: Annotated[str, Argument(metavar="FOLDER", help="The folder with the corpora.")],
    output: Annotated[
        str | None, Option(metavar="FILE", help="The recipe to write; recipe.yaml in FOLDER by default.")
    ] = None,
    languages: Annotated[
        str | None, Option(metavar="SOURCE-TARGET", help="Endings of the files' names, such as en-de.")
    ] = None,
):
    """Write a recipe for the corpora in a folder. Report their sizes, columns, tags and duplicates.

    Files are found by name: `train.en` and `train.de`, `val.*`, `test.*`, or `train.tsv`; for taggers
    `train.conll`, `dev.conll` and so on.
    """
    from keraszoo.tasks.new_recipe import write_recipe

    pair = None if languages is None else languages.split("-")
    if pair is not None and (task == "tagging" or len(pair) != 2):
        raise KerasZooError(f"--languages: expected two, such as en-de, for a translator; got {languages}")
    path = output or os.path.join(folder, "recipe.yaml")
    with console.results() as write:
        for line in write_recipe(task, folder, path, pair):
            show(one_line(line))
        write([path])
    console.hint("keraszoo", "train", path)


def train(
    recipe: Annotated[str, Argument(metavar="RECIPE", help="The recipe, a YAML file.")],
    set_: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="Change a value, e.g. training.seed=3; repeatable."),
    ] = None,
    output: Annotated[
        str | None, Option(metavar="DIRECTORY", help="Write here, not to the recipe's output.")
    ] = None,
    strategy: Annotated[
        str | None, Option(metavar="mirrored|workers", help="Train on all GPUs or on several machines.")
    ] = None,
    seeds: Annotated[
        int | None, Option(min=1, help="Train with this many seeds; print means and standard deviations.")
    ] = None,
):
    """Train a model from a recipe and write its directory.

    To resume a run that was interrupted, by Ctrl-C or otherwise, run the same command again.
    """
    from keraszoo.saving.model_directory import check_replaceable
    from keraszoo.tasks.recipe_runs import read_recipe, run_recipe

    overrides = list(set_ or [])
    if output is not None:
        overrides.append(f"output={json.dumps(os.path.abspath(output))}")
    if strategy is not None:
        overrides.append(f"training.strategy={json.dumps(strategy)}")
    checked = read_recipe(recipe, overrides)
    if seeds is None:
        console.check_output(checked.output, check_replaceable)
    with console.results() as write:
        console.import_tensorflow()
        if seeds is None:
            run_recipe(checked)
            write([checked.output])
            console.hint_at_use(checked.output, checked.task)
        else:
            from keraszoo.tasks.seeds import run_seeds

            write(run_seeds(recipe, overrides, seeds, report=lambda directory: write([directory])))
