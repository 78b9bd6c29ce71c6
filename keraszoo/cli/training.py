"""The commands `init` and `train`."""

import json
import os
from typing import Annotated

from typer import Argument, Option

from keraszoo.cli import console


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
