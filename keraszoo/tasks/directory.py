"""What the directories of all tasks share: one model with its figures, recipe, facts and card."""

import keras

import keraszoo
from keraszoo.errors import PresetError
from keraszoo.saving import model_directory, model_facts
from keraszoo.saving.weights import save_weights
from keraszoo.shipping import shipped

WEIGHTS = "model.weights.h5"
NOT_STORED = ("name", "trainable", "dtype", "allowed")  # of a model's arguments


def write(kind, task, directory, facts, config, files, dtype=None, model=None):
    """Writes `config.json`, weights, figures, a card and files of the task's own.

    Args:
        kind: what the directory is for, the `task` of its `config.json`.
        task: has `model`, `metrics`, `about` and, perhaps, `recipe`.
        directory: where to; see `model_directory.write_directory`.
        facts: what the program knows of the model; see `keraszoo.saving.model_facts`.
        config: dict of further entries of `config.json`.
        files: dict of further files.
        dtype: of the stored weights, see `save_weights`; it stands in `config.json` too.
        model: dict of further entries of the model's part.
    """
    arguments = {key: value for key, value in task.model.get_config().items() if key not in NOT_STORED}
    entries = {
        "task": kind,
        "model": {"class": type(task.model).__name__, "config": arguments, **(model or {})},
        **config,
        "versions": {"keraszoo": keraszoo.__version__, "keras": keras.__version__},
        "about": {**facts, **task.about},
    }
    recipe = getattr(task, "recipe", None)
    entries |= {} if dtype is None else {"weights_dtype": dtype}
    entries |= {} if recipe is None else {"recipe": recipe}
    common = {
        "config.json": entries,
        WEIGHTS: lambda path: save_weights(task.model, path, dtype),
        "metrics.json": task.metrics,
        model_facts.CARD: model_facts.card(entries["about"], task.metrics),
    }
    model_directory.write_directory(directory, {**common, **files})


def find(name, kind):
    """The checked directory of this name or path; PresetError if it is for something else."""
    directory = model_directory.read_directory(shipped.find(name))
    if directory.config.get("task") != kind:
        came = directory.config.get("task")
        raise PresetError(f"{directory.path}: expected a directory for {kind}, got one for {came!r}")
    return directory


def filled(task, directory):
    """A task whose model was made from a directory, with the weights and all else that stands there."""
    directory.load_weights(task.model)
    task.metrics = directory.metrics
    task.about = model_facts.kept(directory)
    if hasattr(task, "recipe"):
        task.recipe = directory.config.get("recipe")
    return task
