"""What `fit` of a task does around `train`: it saves the model and notes its figures."""

import contextlib
import functools
import hashlib
import math
import warnings

import keras
import numpy as np

from keraszoo.errors import PresetError
from keraszoo.messages import say
from keraszoo.saving import model_directory
from keraszoo.tasks.fit_plan import arguments_of
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.distribution import writes
from keraszoo.training.loop import steps_of, train
from keraszoo.training.optimizers import optimizer_of

FEW_UPDATES = 50  # a run of fewer updates hardly learns anything


def fit_task(task, plan, batches, held_out, *, loss=None, data):
    """Trains the model of a task, saves it and notes its figures.

    Args:
        task: a `Task`.
        plan: a `FitPlan`.
        batches: `AddressedBatches`.
        held_out: object with `figures(model)`, or None.
        loss: as for `train`.
        data: dict of digests of everything that enters the run.

    Returns:
        The history that `train` returns.
    """
    settings, model, directory = plan.settings, task.model, plan.directory
    steps = steps_of(settings, batches)
    if steps < FEW_UPDATES and settings.steps is None:
        say(f"this run makes only {steps} update(s); train for more epochs or lower batch_tokens")
    keras.utils.set_random_seed(settings.seed)
    task.metrics, task.recipe = {}, plan.recipe  # without those of earlier weights
    optimizer = plan.optimizer or optimizer_of(settings, steps, model)
    saves = directory is not None and writes(plan.strategy)
    with opened(plan) as checkpoints, deterministic(settings.deterministic):
        if checkpoints is not None:
            checkpoints.require(
                model={"class": type(model).__name__, **arguments_of(model)},
                training=settings.deciding(),
                optimizer=_without_names(keras.saving.serialize_keras_object(optimizer)),
                data=data,
                batches={"rows_multiple": batches.replicas, "shapes": batches.shapes},
            )
        history = train(
            model,
            batches,
            settings,
            loss=loss,
            evaluate=held_out and held_out.figures,
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


@contextlib.contextmanager
def opened(plan):
    """Opens the folder of checkpoints of a run, and deletes it when the block ends without an error.

    Open `Checkpoints` stay open.
    """
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
    """Saves the best model so far.

    If the disk is full, or strange files have come into the directory, training goes on: the weights are
    kept in memory.
    """
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

    Example:

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
