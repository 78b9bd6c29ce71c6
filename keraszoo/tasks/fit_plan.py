"""The arguments of `fit` of a task, checked before hours of training."""

import dataclasses
import importlib.util
from pathlib import Path

import keras

from keraszoo import models
from keraszoo.errors import PresetError, RecipeError
from keraszoo.saving import model_directory
from keraszoo.saving.atomic import check_room
from keraszoo.saving.model_config import check_arguments
from keraszoo.tasks.process import check_process
from keraszoo.training.adam import NO_EMA, innermost
from keraszoo.training.distribution import make_strategy, replicas_of, writes
from keraszoo.training.loop import uses_xla

NOT_STORED = ("name", "trainable", "dtype", "allowed")  # arguments of a model
# Arguments of `keras.Model.fit` that are called otherwise here.
OF_KERAS = {
    "validation_data": "pass the held-out data as `validation`",
    "validation_split": "pass the held-out data as `validation`",
    "batch_size": "a batch is a number of tokens, `batch_tokens`",
    "steps_per_epoch": "an evaluation takes place every `steps_per_evaluation` updates",
    "learning_rate": 'it is part of the optimizer, `optimizer={"learning_rate": 1e-3}`',
}


@dataclasses.dataclass(frozen=True)
class FitPlan:
    """The checked arguments of `fit`, and what follows from them.

    Attributes:
        settings: a `FitSection`, the `training` section of a recipe.
        directory: where the model is saved, or None.
        checkpoints: a folder, open `Checkpoints`, or None.
        optimizer: a Keras optimizer, or None: the one of the settings.
        callbacks: list of Keras callbacks.
        verbose: of `train`.
        recipe: dict that is saved with the model, or None.
    """

    settings: object
    directory: object = None
    checkpoints: object = None
    optimizer: object = None
    callbacks: list = dataclasses.field(default_factory=list)
    verbose: object = None
    recipe: dict | None = None

    @property
    def strategy(self):
        """The distribution strategy, or None on one device."""
        return make_strategy(self.settings.strategy, self.settings.replicas)

    @property
    def batch_options(self):
        """Arguments of `TokenBatches` and `TagBatches`: seed, a multiple of the rows, number of lengths."""
        settings = self.settings
        shapes = 16 if settings.shapes is None and uses_xla(settings) else settings.shapes
        rows = settings.accumulate * replicas_of(self.strategy)
        return {"seed": settings.seed, "replicas": rows, "shapes": shapes}


def plan_fit(task, section, validation, directory, checkpoints, settings):
    """Checks the arguments of `fit` of a task, before hours of training.

    Args:
        task: a `Task`.
        section: the `FitSection` class of its settings.
        validation, directory, checkpoints: as for `Translator.fit`.
        settings: dict of its other arguments.

    Returns:
        A `FitPlan`.

    Raises:
        RecipeError: an unusable argument.
    """
    check_process()
    optimizer = settings.get("optimizer")
    given = isinstance(optimizer, keras.optimizers.Optimizer)
    apart = {"callbacks", "verbose", "recipe", *(["optimizer"] if given else [])}
    callbacks = [one for one in keras.tree.flatten(settings.get("callbacks")) if one is not None]
    plan = FitPlan(
        checked_settings(section, {name: value for name, value in settings.items() if name not in apart}),
        directory,
        checkpoints,
        optimizer if given else None,
        callbacks,
        settings.get("verbose"),
        settings.get("recipe"),
    )
    _check(task, plan, validation)
    if plan.settings.tensorboard and writes(plan.strategy):
        logs = f"{str(directory).rstrip('/')}.logs"
        callbacks.append(keras.callbacks.TensorBoard(logs, write_graph=False))
    return plan


def checked_settings(section, settings):
    """Makes a section of the settings of `fit`.

    Raises:
        RecipeError: an unknown setting, or one out of range.
    """
    for name, advice in OF_KERAS.items():
        if name in settings and name not in section.model_fields:
            raise RecipeError(f"fit: there is no setting {name}: {advice}")
    return section.checked(settings)


def _check(task, plan, validation):
    model, settings = task.model, plan.settings
    for callback in plan.callbacks:
        if not isinstance(callback, keras.callbacks.Callback):
            raise RecipeError(f"fit: callbacks: expected Keras callbacks, got {callback!r:.40}")
    unused = None if validation is not None else settings.given_of("patience", "monitor")
    if unused is not None:
        raise RecipeError(f"fit: {unused} has no effect without validation data")
    if plan.directory is not None:
        check_output(model, plan.directory)
        try:
            check_readable(model)
        except PresetError as error:
            raise RecipeError(f"model: {error}") from None
        kept = getattr(plan.checkpoints, "folder", plan.checkpoints)
        if kept is not None and Path(kept).resolve().is_relative_to(Path(plan.directory).resolve()):
            raise RecipeError(f"fit: checkpoints: expected a folder outside of directory, {plan.directory}")
    if settings.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise RecipeError("fit: tensorboard is needed: pip install 'keraszoo[tensorboard]'")
    if settings.tensorboard and plan.directory is None:
        raise RecipeError("fit: tensorboard needs a directory: its logs are written to DIRECTORY.logs")
    policy = model.dtype_policy.name
    if settings.precision != policy:
        raise RecipeError(f"fit: precision: the model has {policy}, got {settings.precision}")
    if plan.optimizer is None:
        kind = type(model).__name__
        if settings.optimizer.schedule == "transformer" and "d_model" not in model.get_config():
            raise RecipeError(f"fit: optimizer.schedule: transformer needs a d_model, which {kind} lacks")
    else:
        inner = innermost(plan.optimizer)
        if inner.use_ema:
            raise RecipeError(f"fit: optimizer: {NO_EMA}")
        parts = getattr(inner, "accumulate", 1)
        if parts != settings.accumulate:
            raise RecipeError(
                f"fit: accumulate: expected {parts}, as the optimizer has it, got {settings.accumulate}"
            )
    if settings.deterministic and keras.backend.backend() != "tensorflow":
        raise RecipeError(
            "fit: deterministic needs TensorFlow; JAX has XLA_FLAGS=--xla_gpu_deterministic_ops=true"
        )


def check_output(model, directory):
    """Raises KerasZooError if a model could not be saved to a directory when its training is over."""
    model_directory.check_replaceable(directory)
    size = sum(keras.ops.convert_to_numpy(weight).nbytes for weight in model.weights)
    check_room(directory, size, size)


def check_readable(model):
    """Raises PresetError if a model could be saved, but not be read again; a user's class never can."""
    kind, arguments = type(model), arguments_of(model)
    if getattr(models, kind.__name__, None) is kind and "models" not in arguments:
        check_arguments(kind, arguments)


def arguments_of(model):
    """The arguments of a model that decide what it computes."""
    arguments = {key: value for key, value in model.get_config().items() if key not in NOT_STORED}
    if model.members() != [model]:
        arguments["models"] = [
            {"class": type(member).__name__, "config": arguments_of(member)} for member in model.members()
        ]
    return arguments
