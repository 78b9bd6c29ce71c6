"""The commands `init`, `train` and `plot-runs`: corpora, recipes and runs."""

import json
import os
from typing import Annotated, Literal

from typer import Argument, Option

from keraszoo.cli import console, translator
from keraszoo.cli.console import Beam, Model
from keraszoo.errors import KerasZooError
from keraszoo.messages import one_line, say, show
from keraszoo.registry import WITH_RECIPES

Set = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Change a value, e.g. training.seed=3; repeatable."),
]
Output = Annotated[str | None, Option(metavar="DIRECTORY", help="Write here, not to the recipe's output.")]


def init(
    task: Annotated[Literal[*WITH_RECIPES], Argument(help="What the model does.")],
    folder: Annotated[str, Argument(metavar="FOLDER", help="The folder with the corpora.")],
    output: Annotated[
        str | None, Option(metavar="FILE", help="The recipe to write; recipe.yaml in FOLDER by default.")
    ] = None,
    languages: Annotated[
        str | None, Option(metavar="SOURCE-TARGET", help="Endings of the files' names, such as en-de.")
    ] = None,
):
    """Write a recipe for the corpora in a folder. Report their sizes, columns, tags, duplicates and faults.

    Files are found by name: `train.en` and `train.de`, `english.txt` and `german.txt`, `val.*`, `test.*`, or
    `train.tsv`; for taggers `train.conll`, `dev.conll` and so on. The recipe begins with an included model if
    one is near, and its comments say why.
    """
    from keraszoo.recipes.init import write_recipe

    pair = None if languages is None else languages.split("-")
    if task == "tagging":
        console.refuse(task, languages=pair)
    if pair is not None and (len(pair) != 2 or pair[0] == pair[1]):
        raise KerasZooError(f"--languages: expected two, such as en-de, got {languages}")
    path = output or os.path.join(folder, "recipe.yaml")
    if output is not None:
        console.check_output(output, folders=False)
    with console.results() as write:
        console.import_keras()
        for line in write_recipe(task, folder, path, pair):
            show(one_line(line))
        write([path])
    console.hint("keraszoo", "train", path)


def pairs(
    source: Annotated[
        str, Argument(metavar="SOURCE", help="Source sentences, or lines of source TAB target.")
    ],
    output: Annotated[
        str, Option(metavar="FOLDER", help="Where train.tsv, val.tsv and test.tsv are written.")
    ],
    target: Annotated[
        str | None, Argument(metavar="[TARGET]", help="Their translations, one per line.")
    ] = None,
    validation: Annotated[int, Option(min=0, help="Source sentences held out for validation.")] = 0,
    test: Annotated[int, Option(min=0, help="Source sentences held out for the test.")] = 0,
):
    """Clean pairs of sentences, and hold some out.

    Unifies spelling (Unicode, spaces, apostrophes) and drops blank and repeated pairs. All translations of a
    source sentence are in the same file.
    """
    from keraszoo.text.lines import write_lines
    from keraszoo.text.parallel import clean_pairs, read_pairs, split_pairs

    files = {name: os.path.join(output, f"{name}.tsv") for name in ("test", "val", "train")}
    for file in files.values():
        console.check_output(file)
        if os.path.exists(file):
            raise KerasZooError(f"{file}: exists already and is not overwritten")
    kept, counts = clean_pairs(read_pairs(source, target))
    try:
        parts = split_pairs(kept, test, validation)
    except ValueError as error:
        raise KerasZooError(f"{source}: {error}") from None
    os.makedirs(output, exist_ok=True)
    with console.results() as write:
        say(", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count))
        for file, part in zip(files.values(), parts, strict=True):
            if part:
                write_lines(file, map("\t".join, part))
                write([file])
    console.hint("keraszoo", "init", "translation", output)


def train(
    recipe: Annotated[str, Argument(metavar="RECIPE", help="The recipe, a YAML file.")],
    set_: Set = None,
    output: Output = None,
    strategy: Annotated[
        str | None,
        Option(
            metavar="mirrored|workers|data_parallel",
            help="Train on all GPUs, on several machines, or on all devices of JAX.",
        ),
    ] = None,
    seeds: Annotated[
        int | None, Option(min=1, help="Train with this many seeds; print means and standard deviations.")
    ] = None,
):
    """Train a model from a recipe and write its directory.

    To resume a run that was interrupted, by Ctrl-C or otherwise, run the same command again.
    """
    from keraszoo.recipes.runs import read_recipe, run_recipe
    from keraszoo.recipes.seeds import recipes_of_seeds, run_seeds
    from keraszoo.saving.model_directory import check_replaceable

    overrides = _overrides(set_, output)
    if strategy is not None:
        overrides.append(f"training.strategy={json.dumps(strategy)}")
    checked = read_recipe(recipe, overrides)
    output = checked.path(checked.output)
    if seeds is not None:
        console.check_output(f"{output}_seeds.json")
    for one in [checked] if seeds is None else recipes_of_seeds(checked, seeds):
        console.check_output(one.path(one.output), check_replaceable)
    with console.results() as write:
        console.import_keras()
        if seeds is None:
            run_recipe(checked)
            write([output])
            console.hint_at_use(output, checked.task)
        else:
            write(run_seeds(checked, seeds, report=lambda directory: write([directory])))


def plot_runs(
    runs: Annotated[list[str], Argument(metavar="RUNS", help="Directories that `keraszoo train` wrote.")],
    output: Annotated[str, Option(metavar="PICTURE", help="The .png, .svg or .pdf to write.")] = "runs.png",
):
    """Compare runs in one picture: loss, BLEU or F1, and learning rate."""
    from keraszoo.plots import history_plot
    from keraszoo.plots.figures import check_picture
    from keraszoo.saving import model_directory
    from keraszoo.shipping import shipped

    console.check_output(output)
    output = check_picture(output)
    metrics = {run: model_directory.read_description(shipped.find(run)).metrics for run in runs}
    with console.results() as write:
        history_plot({run: figures.get("training") for run, figures in metrics.items()}, output)
        write([output])


def distil(
    teacher: Model,
    recipe: Annotated[str, Option(metavar="RECIPE", help="The recipe of the student, a YAML file.")],
    set_: Set = None,
    output: Output = None,
    beam_width: Beam = None,
    engine: translator.Engine = "keras",
):
    """Train a translator on the translations of a larger one, its teacher.

    The teacher translates the training sources of the recipe; its translations are kept in the folder
    OUTPUT.distilled. The same command resumes a run that was interrupted.
    """
    from keraszoo.recipes.file import with_ending
    from keraszoo.recipes.runs import make_devices, read_recipe, run_recipe
    from keraszoo.saving.model_directory import check_replaceable

    checked = read_recipe(recipe, _overrides(set_, output))
    if checked.task != "translation":
        raise KerasZooError(f"{recipe}: expected the recipe of a translator, got one for {checked.task}")
    directory = checked.path(checked.output)
    console.check_output(directory, check_replaceable)
    search = {} if beam_width is None else {"beam_width": beam_width}
    if checked.training.strategy == "workers":
        wanted = "keraszoo train on what distil wrote, data.train: {tsv: OUTPUT.distilled/pairs.tsv}"
        raise KerasZooError(f"training.strategy: distil has one process; use {wanted}")
    with console.results() as write:
        console.import_keras()
        from keraszoo.translation.distillation import distil

        make_devices(checked)
        distil(checked, translator.load(teacher, engine), teacher, **search)
        train = type(checked.data.train)(tsv=with_ending(checked.output, ".distilled/pairs.tsv"))
        data = checked.data.model_copy(update={"train": train})
        run_recipe(checked.model_copy(update={"data": data}))
        write([directory])
    console.hint_at_use(directory, checked.task)


def _overrides(given, output):
    """The values that replace those of a recipe."""
    moved = [] if output is None else [f"output={json.dumps(output)}"]
    return [*(given or []), *moved]
