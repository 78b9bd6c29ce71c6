"""What the training of every task shares, once there are batches: the run, and the weights that are kept."""

import contextlib
import warnings

import keras

from keraszoo.errors import PresetError, RecipeError
from keraszoo.saving.model_directory import check_replaceable
from keraszoo.training.callbacks import BestWeights, LastWeights
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.distribution import make_strategy, writes
from keraszoo.training.optimizers import make_optimizer
from keraszoo.training.run import train


def rows_multiple(settings):
    """What the rows of a batch must be a multiple of: replicas times parts; pass it on as `replicas`."""
    strategy = make_strategy(settings.strategy, settings.replicas)
    return settings.accumulate * (1 if strategy is None else strategy.num_replicas_in_sync)


def writes_files(settings):
    """Whether this process writes the model: all do but the workers beside the first; see `writes`."""
    return writes(make_strategy(settings.strategy, settings.replicas))


@contextlib.contextmanager
def opened(checkpoints, identity, writing=True):
    """Checkpoints that are open, whatever was given; the run that is in them must have this identity.

    Args:
        checkpoints: a folder, deleted when the block ends well; open `Checkpoints` of somebody who sees to
            that; or None.
        identity: dict of what the run is about.
        writing: whether this process writes files.

    Returns:
        A context manager whose value is open `Checkpoints`, or None.
    """
    if checkpoints is None:
        yield None
    elif isinstance(checkpoints, Checkpoints):
        checkpoints.require(**identity)
        yield checkpoints
    else:
        with Checkpoints(checkpoints, identity, writes=writing).open() as own:
            yield own
            own.forget()


def begin(model, settings, directory=None, validated=True):
    """Checks what can be before hours of work, and seeds all that is random from here on.

    Args:
        model: of a task.
        settings: a `FitSection`.
        directory: where the model will be saved, or `None`.
        validated: whether there is something to validate by.

    Returns:
        `(replicas, shapes, jit_compile)`: what the rows of a batch are a multiple of, to how many lengths
        batches are padded, and whether XLA compiles the steps.

    Raises:
        PresetError: the directory is something else, which would be replaced.
        RecipeError: the model computes in another precision than the settings say; a setting that needs a
            validation without one; or `deterministic` on another backend than TensorFlow.
    """
    idle = None if validated else settings.given_of("patience", "monitor")
    if idle is not None:
        raise RecipeError(f"fit: {idle}: there is no validation")
    if directory is not None:
        check_replaceable(directory)
    if settings.precision != model.dtype_policy.name:
        raise RecipeError(
            f"fit: precision: the model is of {model.dtype_policy.name}, got {settings.precision}"
        )
    replicas = rows_multiple(settings)
    keras.utils.set_random_seed(settings.seed)
    if settings.deterministic:
        _make_deterministic()
    jit_compile = keras.backend.backend() == "jax" if settings.jit_compile is None else settings.jit_compile
    shapes = 16 if settings.shapes is None and jit_compile else settings.shapes
    return replicas, shapes, jit_compile


def _make_deterministic():
    if keras.backend.backend() != "tensorflow":
        raise RecipeError(
            "fit: deterministic: TensorFlow's; of JAX XLA_FLAGS=--xla_gpu_deterministic_ops=true"
        )
    import tensorflow as tf

    tf.config.experimental.enable_op_determinism()


def optimizer_of(model, settings):
    """The optimizer that a `FitSection` describes, for a model."""
    given = {key: value for key, value in settings.optimizer.model_dump().items() if value is not None}
    if given["schedule"] == "transformer":
        given["d_model"] = model.get_config().get("d_model")
        if given["d_model"] is None:
            kind = type(model).__name__
            raise RecipeError(f"fit: optimizer.schedule: transformer wants a d_model, which {kind} has not")
    return make_optimizer(**given, accumulate=settings.accumulate)


def fit_task(task, batches, settings, compile_model, held_out, directory, checkpoints, data, counted):
    """Trains the model of a translator or a tagger by `fit_and_choose`, and saves it as it gets better.

    Args:
        task: has `model`, `metrics` and `save_to_preset`.
        batches, settings, compile_model, held_out: as for `fit_and_choose`.
        directory: where it is saved, or `None`.
        checkpoints: a folder, where a run that stopped is taken up, and which is deleted in the end; or the
            open `Checkpoints` of somebody who sees to that; None: none.
        data: a digest of all that is trained on and judged by: a run on other data is not taken up.
        counted: what the tokens that were seen are called among the figures.

    Returns:
        The `keras.callbacks.History`.
    """

    def save(figures):
        if figures:
            held_out = {key: float(figures[key]) for key in figures if key.startswith(("val_", "averaged"))}
            task.metrics["validation"] = held_out
        task.save_to_preset(directory)

    writing = writes_files(settings)
    save = save if directory is not None and writing else None
    # Another number of devices, or of shapes, makes other batches, although the recipe is the same.
    cut = {"rows_multiple": batches.replicas, "shapes": batches.shapes}
    identity = {"training": settings.deciding(), "data": data, "batches": cut}
    with opened(checkpoints, identity, writing) as there:
        history, chosen = fit_and_choose(
            task.model, batches, settings, compile_model, held_out, save, directory, there
        )
        figures = {"steps": history.steps, counted: history.target_tokens, **history.history}
        task.metrics["training"] = figures
        if there is not None:
            figures["checkpoint_seconds"] = round(history.checkpoint_seconds, 3)
        if save is not None:
            save(chosen)
    return history


def fit_and_choose(
    model, batches, settings, compile_model, held_out=None, save=None, directory=None, checkpoints=None
):
    """Trains a model as a recipe's `training` section says, and leaves it with the weights that are best.

    Those are the weights of the best evaluation, or the mean of the last `average_last` where that is better.
    Without held-out data they are the mean, or the last.

    Args:
        model: built; trained in place.
        batches: `AddressedBatches`, whose rows are a multiple of `rows_multiple(settings)`.
        settings: a `FitSection` with a `monitor`.
        compile_model: called with a model, compiles it.
        held_out: a callback that adds figures to the logs, with `figures(model)`; None: no evaluation.
        save: called with the figures of an evaluation that is the best so far. A full disk ends nothing here.
        directory: where the model is saved; for the place of TensorBoard's files.
        checkpoints: an open `Checkpoints`, or None.

    Returns:
        `(history, figures)`: the `History` of `train`, and the figures of the weights that were chosen, {}
        where none were made.
    """
    strategy = make_strategy(settings.strategy, settings.replicas)
    if strategy is not None and settings.jit_compile:
        raise RecipeError("fit: `jit_compile: true` does not work with a `strategy`; leave it out")
    callbacks, best, last = [], None, LastWeights(settings.average_last)
    if held_out is not None:
        best = BestWeights(settings.monitor, settings.patience, save and (lambda logs: _try(save, logs)))
        callbacks += [held_out, best]
    if settings.average_last > 1:
        callbacks.append(last)
    if settings.tensorboard and writes(strategy):
        callbacks.append(keras.callbacks.TensorBoard(f"{directory or 'runs'}.logs", write_graph=False))
    steps = settings.epochs * len(batches)
    history = train(
        model,
        batches,
        compile_model,
        steps=steps if settings.steps is None else min(steps, settings.steps),
        steps_per_evaluation=settings.steps_per_evaluation,
        callbacks=callbacks,
        checkpoints=checkpoints,
        strategy=strategy,
        checkpoint_minutes=settings.checkpoint_minutes,
        checkpoint_steps=settings.checkpoint_steps,
    )
    return history, choose_weights(model, held_out, best, last)


def choose_weights(model, held_out, best, last):
    """Gives a model the best evaluation's weights or the mean of the last, whichever is better.

    Returns:
        Their figures, a dict; {} without held-out data.
    """
    if held_out is None:
        if last.kept:
            model.set_weights(last.mean())
        return {}
    if last.kept:
        model.set_weights(last.mean())
        averaged = held_out.figures(model)
        if best.is_better(averaged):
            return {**averaged, "averaged": len(last.kept)}
    model.set_weights(best.weights)
    return best.logs


def _try(save, logs):
    """Saves; where the disk refuses, says so: the weights are kept in memory, and saved in the end."""
    try:
        save(logs)
    except PresetError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        warnings.warn(f"the best model so far was not saved: {error}; training goes on", stacklevel=2)
