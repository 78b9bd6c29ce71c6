"""Reads a recipe of any task, and runs it: a run can be stopped at any time and resumed by the same call."""

import contextlib
import json
import os
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

from keraszoo.errors import KerasZooError, PresetError, RecipeError
from keraszoo.messages import say, show, suggestion
from keraszoo.recipes.file import VARIABLE, read_values
from keraszoo.registry import TASKS, WITH_RECIPES, load
from keraszoo.saving import manifest
from keraszoo.shipping import shipped

# The files that a run begins with, in addition to its corpora.
BEGINS_WITH = (
    *("vectors.file", "model.start_from"),
    *("subwords.model", "subwords.source_model", "subwords.target_model"),
)


def read_recipe(path, overrides=()):
    """Reads a recipe of any task.

    Args:
        path: the file. Without the key `task` it must be a recipe of a translator.
        overrides: strings such as `"training.seed=3"`.

    Returns:
        A `Recipe` or a `TaggerRecipe`.

    Raises:
        RecipeError: one line with every problem, as `BaseRecipe.read`; or an unknown task.
    """
    values, lines = read_values(path, overrides)
    if "task" not in values and _looks_like_tagging(values):
        raise RecipeError(
            f"{path}: task: missing; the recipe of a tagger says `task: tagging`, "
            "and that of a translator gives `data.train` as {source: FILE, target: FILE} or {tsv: FILE}"
        )
    task = values.get("task", "translation")
    if task not in WITH_RECIPES:
        hint = suggestion(task, WITH_RECIPES)
        raise RecipeError(f"{lines.get(('task',), path)}: task: there is no {task!r}{hint}")
    return load(TASKS[task].recipe).from_values(values, lines, str(path))


def make_devices(recipe):
    """Returns the strategy of a recipe. It splits a CPU, and workers meet, before anything is computed."""
    from keraszoo.training.distribution import make_strategy

    return make_strategy(recipe.training.strategy, recipe.training.replicas)


def run_recipe(recipe):
    """Trains a model as a recipe says and writes its directory.

    The run can be stopped at any time, even by `kill -9`: its checkpoints are in the folder
    `<output>.checkpoints`, and the next call resumes from the newest one. When the run is over, a note in
    that folder says so, and the next call only loads the model; a recipe with more epochs or steps goes on
    from its last checkpoint. If matplotlib is installed, the curves of the run are in `<output>.history.png`.

    Args:
        recipe: a recipe of any task.

    Returns:
        The `Translator` or `EntityTagger`, with the figures of the run in `metrics`.

    Raises:
        KerasZooError: unusable values in the recipe, corpora or vectors; or `<output>.checkpoints` belongs to
            a run of another recipe.
        KeyboardInterrupt, SystemExit: after SIGINT, or with 143 after SIGTERM, once the run is saved.
    """
    from keraszoo.training.checkpoints import Checkpoints
    from keraszoo.training.distribution import writes

    strategy, output = make_devices(recipe), recipe.path(recipe.output)
    checkpoints = Checkpoints(f"{output}.checkpoints", writes(strategy))
    with checkpoints.open():
        checkpoints.require(recipe=_deciding(recipe), **_contents(recipe))
        finished = checkpoints.finished
        if finished is None or finished.get("length") != _length(recipe) or not Path(output).exists():
            return _run(recipe, checkpoints)
        # The paths of a recipe are compared as written. A stopped run also compares its data.
        checkpoints.compare(finished.get("variables", {}), _variables(recipe))
    say(f"this run is finished; delete {checkpoints.folder} to repeat it")
    return load(TASKS[recipe.task].kind).from_preset(output)


def _deciding(recipe):
    """What decides a run, of its recipe. It may be moved, described in other words, or get longer."""
    deciding = {**recipe.as_dict(), "training": recipe.training.deciding()}
    del deciding["output"], deciding["about"]
    overrides = sorted(deciding["model"]["overrides"].items())  # as a list: each of them counts
    return {**deciding, "model": {**deciding["model"], "overrides": overrides}}


def _length(recipe):
    return {"epochs": recipe.training.epochs, "steps": recipe.training.steps}


def product_speed(precision, size=1024):
    """Returns the GFLOP/s of a product of two square matrices on the device that trains."""
    from keras import ops

    matrix, seconds = ops.ones((size, size), precision), []
    for _ in range(4):  # the first one is a warm-up
        started = time.perf_counter()
        float(ops.cast(ops.matmul(matrix, matrix)[0, 0], "float32"))
        seconds.append(time.perf_counter() - started)
    return 2 * size**3 / min(seconds[1:]) / 1e9


def _warn_if_slow(precision):
    """Warns if half precision takes longer than float32: CPUs without such instructions emulate it."""
    half = precision.removeprefix("mixed_")
    ratio = 1.0 if half == "float32" else product_speed("float32", 512) / product_speed(half, 512)
    if ratio > 1.5:
        said = f"training.precision: {half} is {ratio:.0f} times slower than float32 on this machine"
        warnings.warn(f"{said}; float32 learns as well and is faster here", stacklevel=2)


def _run(recipe, checkpoints):
    started, output = time.perf_counter(), recipe.path(recipe.output)
    _warn_if_slow(recipe.training.precision)
    task, train, validation, test = load(TASKS[recipe.task].prepare)(recipe, checkpoints)
    task.about = dict(recipe.about)
    settings = {**recipe.training.model_dump(), "recipe": recipe.as_dict()}
    history = task.fit(train, validation, output, checkpoints, **settings)
    task.metrics["training"]["seconds"] = round(history.elapsed + time.perf_counter() - started, 1)
    if test is not None:
        scores = task.evaluate(*test)
        task.metrics["test"] = scores.as_dict()
        show(scores)
    if checkpoints.writes:
        task.save_to_preset(output)
    checkpoints.finish(steps=history.steps, length=_length(recipe), variables=_variables(recipe))
    if checkpoints.writes and find_spec("matplotlib"):
        _draw(task.metrics["training"], output)
    return task


def _contents(recipe):
    """What a recipe begins with besides its corpora: the SHA-256 of vectors, subwords and a trained model."""
    digests = {}
    for key in BEGINS_WITH:
        section, _, name = key.partition(".")
        text = getattr(getattr(recipe, section, None), name, None)
        if text is None:
            continue
        as_place = recipe.path if name.endswith("_model") else recipe.preset
        with contextlib.suppress(PresetError):  # the run reports what it cannot read, if it needs it
            place = shipped.find(as_place(text))
            is_directory = place.is_dir()
            digest = manifest.read_manifest(place)["sha256"] if is_directory else manifest.file_digest(place)
            digests[f"content of {key}"] = digest
    return digests


def _variables(recipe):
    """The environment variables in the paths of a recipe, with their values."""
    names = {match["name"] for match in VARIABLE.finditer(json.dumps(recipe.as_dict()))}
    return {name: os.environ.get(name) for name in sorted(names)}


def _draw(figures, output):
    """Draws the curves of a finished run. A picture that cannot be written is no error."""
    from keraszoo.plots import history_plot

    try:
        history_plot({output: figures}, f"{output}.history.png", title=Path(output).name)
    except KerasZooError as error:
        say(f"there is no picture of the run: {error}")


def _looks_like_tagging(values):
    """Whether a recipe without a task has keys that only a tagger's has."""
    data = values.get("data")
    train = data.get("train") if isinstance(data, dict) else None
    return isinstance(train, (str, list)) or "vectors" in values or "tags" in values
