"""What `fit` of a task does around `train`: checks its arguments, saves the model, notes its figures."""

import contextlib
import dataclasses
import functools
import hashlib
import importlib.util
import math
import warnings
from pathlib import Path

import keras
import numpy as np

from keraszoo.errors import PresetError, RecipeError
from keraszoo.messages import say
from keraszoo.saving import model_directory
from keraszoo.saving.atomic import check_room
from keraszoo.tasks.process import check_process
from keraszoo.tasks.task import arguments_of, check_readable
from keraszoo.training.adam import NO_EMA, innermost
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.distribution import make_strategy, replicas_of, writes
from keraszoo.training.loop import steps_of, train, uses_xla
from keraszoo.training.optimizers import optimizer_of

FEW_UPDATES = 50  # a run of fewer updates hardly learns anything
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

    `settings` is a `FitSection`; `checkpoints` a folder or open `Checkpoints`; `optimizer` is None for
    the one of the settings; `recipe` is saved with the model.
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
    """Checks the arguments of `fit` of a task, before hours of training, and returns a `FitPlan`.

    `section` is the `FitSection` class of `settings`, a dict. Raises RecipeError for an unusable argument.
    """
    check_process()
    settings = dict(settings)
    callbacks = [one for one in keras.tree.flatten(settings.pop("callbacks", None)) if one is not None]
    shown, recipe = settings.pop("verbose", None), settings.pop("recipe", None)
    given = isinstance(settings.get("optimizer"), keras.optimizers.Optimizer)
    optimizer = settings.pop("optimizer") if given else None
    checked = checked_settings(section, settings)
    plan = FitPlan(checked, directory, checkpoints, optimizer, callbacks, shown, recipe)
    _check(task, plan, validation)
    if checked.tensorboard and writes(plan.strategy):
        logs = f"{str(directory).rstrip('/')}.logs"
        callbacks.append(keras.callbacks.TensorBoard(logs, write_graph=False))
    return plan


def _lora_of(model):
    return {"lora": list(model.lora)} if getattr(model, "lora", None) else {}


def fit_task(task, plan, batches, evaluate, *, loss=None, data):
    """Trains the model of a task by a `FitPlan`, saves it and notes its figures; returns the history.

    `evaluate` and `loss` are as for `train`; `data` is a dict of digests of everything that enters the run.
    """
    settings, model, directory = plan.settings, task.model, plan.directory
    steps = steps_of(settings, batches)
    if steps < FEW_UPDATES and settings.steps is None:
        say(f"this run makes only {steps} update(s); train for more epochs or lower batch_tokens")
    keras.utils.set_random_seed(settings.seed)
    optimizer = plan.optimizer or optimizer_of(settings, steps, model)
    saves = directory is not None and writes(plan.strategy)
    with opened(plan) as checkpoints, deterministic(settings.deterministic):
        if checkpoints is not None:
            checkpoints.require(
                model={"class": type(model).__name__, **arguments_of(model), **_lora_of(model)},
                training=settings.deciding(),
                optimizer=_without_names(keras.saving.serialize_keras_object(optimizer)),
                data=data,
                batches={"rows_multiple": batches.replicas, "shapes": batches.shapes},
            )
        task.metrics, task.recipe = {}, plan.recipe  # without those of earlier weights
        history = train(
            model,
            batches,
            settings,
            loss=loss,
            evaluate=evaluate,
            callbacks=plan.callbacks,
            checkpoints=checkpoints,
            optimizer=optimizer,
            save=functools.partial(save_best, task, directory) if saves else None,
            verbose=plan.verbose,
        )
        task.metrics["training"] = {
            "steps": history.steps,
            "steps_per_evaluation": settings.steps_per_evaluation or len(batches),
            task.counted: history.target_tokens,
            **{name: [_finite(value) for value in values] for name, values in history.history.items()},
        }
        if checkpoints is not None:
            task.metrics["training"]["checkpoint_seconds"] = round(history.checkpoint_seconds, 3)
        note_validation(task, history.chosen)
        if saves:
            task.save_to_preset(directory)
    return history


def checked_settings(section, settings):
    """Makes a section of the settings of `fit`; raises RecipeError for an unusable one."""
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


@contextlib.contextmanager
def opened(plan):
    """Opens the checkpoints of a run unless they are open, and deletes them when it ends without an error."""
    if plan.checkpoints is None or isinstance(plan.checkpoints, Checkpoints):
        yield plan.checkpoints
        return
    with Checkpoints(plan.checkpoints, writes(plan.strategy)).open() as checkpoints:
        yield checkpoints
        checkpoints.forget()


@contextlib.contextmanager
def deterministic(asked):
    """Makes TensorFlow's operations on GPUs repeatable within the block, if asked."""
    if not asked:
        yield
        return
    import tensorflow as tf
    from tensorflow.python.framework import config

    before = config.is_op_determinism_enabled()
    tf.config.experimental.enable_op_determinism()
    try:
        yield
    finally:
        if not before:
            config.disable_op_determinism()


def save_best(task, directory, figures):
    """Saves the best model so far; if that fails, training goes on, since the weights are kept in memory."""
    note_validation(task, figures)
    replaceable = False
    try:
        model_directory.check_replaceable(directory)
        replaceable = True
        task.save_to_preset(directory)
    except PresetError as error:
        if replaceable and not isinstance(error.__cause__, OSError):
            raise
        warnings.warn(f"the best model so far was not saved: {error}; training goes on", stacklevel=2)


def note_validation(task, figures):
    """Keeps the finite figures of held-out data among the metrics of a task."""
    chosen = {
        key: float(value)
        for key, value in figures.items()
        if key.startswith(("val_", "averaged")) and math.isfinite(value)
    }
    if chosen:
        task.metrics["validation"] = chosen


def digest(parts):
    """The SHA-256 of str, bytes and arrays; each begins with its length, so that no two lists look alike.

    >>> digest(["a", "bc"]) == digest(["ab", "c"])
    False
    """
    whole = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        if not isinstance(content, bytes):
            content = np.ascontiguousarray(content).reshape(-1).view("uint8").data
        whole.update(len(content).to_bytes(8, "little"))
        whole.update(content)
    return whole.hexdigest()


def _finite(value):
    """A figure for JSON, which has no infinity: `None` then."""
    value = float(value)
    return value if math.isfinite(value) else None


def _without_names(config):
    """A configuration without the names that Keras counts up (`adam`, `adam_1`)."""
    if not isinstance(config, dict):
        return config
    return {key: _without_names(value) for key, value in config.items() if key != "name"}
