"""The training of a model: stock `fit`, period by period, that can stop at any step and resume exactly."""

import contextlib
import math
import sys
import time

import keras
import numpy as np

from keraszoo.errors import PresetError
from keraszoo.messages import say
from keraszoo.saving.entries import checked
from keraszoo.training.adam import LossScale, innermost
from keraszoo.training.addressed_batches import batches_in_parts
from keraszoo.training.callbacks import BetweenSteps, ProgressBar
from keraszoo.training.checkpoint_files import usable
from keraszoo.training.distribution import (
    copy_in_scope,
    copy_variables,
    make_strategy,
    scope_of_fit,
    while_all_workers_live,
)
from keraszoo.training.divergence import Diverged, check_health, diverged_at
from keraszoo.training.optimizers import optimizer_of
from keraszoo.training.saving import Saver
from keraszoo.training.signals import Signals
from keraszoo.training.state import Best, Progress, check_arrays, model_state, set_model_state, unpack


def train(
    model,
    batches,
    settings,
    *,
    loss,
    evaluate,
    callbacks=(),
    checkpoints=None,
    optimizer=None,
    save=None,
    verbose=None,
):
    """Trains a model in place.

    A period is the stretch between two evaluations: an epoch, or `steps_per_evaluation` updates. At the end
    the model has the weights of the best period, or the average of the last `average_last` if that scores
    better; without an evaluation, the average or the last weights.

    If there is a checkpoint, the run resumes from it; on a CPU it ends with exactly the same weights as an
    uninterrupted run. With checkpoints, SIGINT or SIGTERM end the run after the current step, once it is
    saved.

    Args:
        model: built by `model.build()`.
        batches: `AddressedBatches` whose rows are a multiple of the devices times `accumulate`.
        settings: a `FitSection`, the `training` section of a recipe.
        loss: of `compile`; None if the model has its own.
        evaluate: function of the model that returns a dict of figures, such as `val_loss`; None: no held-out
            data.
        callbacks: Keras callbacks, called as by `keras.Model.fit`, with the figures in the logs. The state of
            those with `get_state` and `set_state` is part of a checkpoint.
        checkpoints: open `Checkpoints`, or None.
        optimizer: a Keras optimizer; training uses a copy of it; None: the one that the settings describe.
        save: function of the figures of each period that is the best so far; None: nothing is called.
        verbose: as for `keras.Model.fit`; None: a progress bar on a terminal, else one line for each period.

    Returns:
        The `keras.callbacks.History` of the whole run, with the attributes `steps`, `target_tokens`,
        `chosen` (the figures of the weights that are kept), `elapsed` (seconds of earlier sessions) and
        `checkpoint_seconds`.

    Raises:
        Diverged: a loss, a gradient or a weight is not finite.
        KeyboardInterrupt, SystemExit: after SIGINT, or with code 143 after SIGTERM, once the run is saved.
        PresetError: the checkpoint is not one of this run.
    """
    strategy, parts = make_strategy(settings.strategy, settings.replicas), settings.accumulate
    started, history, stateful = time.monotonic(), keras.callbacks.History(), stateful_of(callbacks)
    length = parts * (settings.steps_per_evaluation or len(batches))
    last = parts * steps_of(settings, batches)
    optimizer = optimizer or optimizer_of(settings, last // parts, model)
    trained = compiled(model, strategy, settings, loss, optimizer)
    progress, metrics = resumed(trained, checkpoints, stateful, last, settings)
    goes_on = progress.step < last and not progress.over
    if goes_on and len(progress.periods) > progress.step // length:
        progress.reopen()  # the run was shorter, and ended within this period
    if progress.step:
        say(f"resuming after step {progress.step // parts:,} of {last // parts:,}")

    with contextlib.ExitStack() as stack:
        stack.enter_context(while_all_workers_live(strategy))
        stack.enter_context(batches_in_parts(trained, parts))
        signals = stack.enter_context(Signals()) if checkpoints else None
        saver = Saver(checkpoints, settings, strategy, signals, progress.step or None)
        shown = list(callbacks)
        if verbose is None and sys.stderr.isatty():
            verbose = 0
            bar = ProgressBar(
                last // parts, progress.step // parts, parts, lambda: best_score(progress, settings)
            )
            shown.append(stack.enter_context(bar))
        verbose = 2 if verbose is None else verbose
        told = keras.callbacks.CallbackList([*shown, history], add_progbar=verbose != 0, model=trained)
        told.set_params({"verbose": verbose, "epochs": -(-last // length), "steps": length})
        told.on_train_begin()
        at_once, told._async_train = told._async_train, False  # on JAX, `fit` calls them in threads
        history.epoch, history.history = progress.periods, progress.figures

        def share():
            if trained is not model:
                copy_variables(trained, model)

        def state(step, model):
            check_health(model, len(batches), parts)
            variables = model_state(model)
            if not all(np.isfinite(array).all() for array in variables["variables"]):
                raise diverged_at(
                    step, "the weights are no longer finite, and are not saved", len(batches), parts
                )
            elapsed = progress.elapsed + time.monotonic() - started
            now = {"step": step, "elapsed": elapsed, "seconds": progress.seconds + saver.seconds}
            kept = {name: callback.get_state() for name, callback in stateful.items()}
            best = progress.best and vars(progress.best)
            return {"model": variables, "callbacks": kept, "run": {**vars(progress), "best": best, **now}}

        while progress.step < last and not progress.over:
            period = progress.step // length
            steps = min(last, (period + 1) * length) - progress.step
            told.set_params({**told.params, "steps": steps})
            told.on_epoch_begin(period)
            running = metrics if progress.step % length else []
            between = BetweenSteps(batches, parts, progress.step, saver, state, running, told, at_once)
            data = batches.for_fit(progress.step, parts)
            try:
                with scope_of_fit(strategy):
                    fitted = trained.fit(
                        data, steps_per_epoch=steps, shuffle=False, callbacks=[between], verbose=0
                    )
                check_health(trained, len(batches), parts)
            except Diverged:
                share()
                raise
            share()
            logs = {name: float(values[-1]) for name, values in fitted.history.items()}
            if not math.isfinite(logs["loss"]):
                raise Diverged(f": the loss of period {period + 1} is {logs['loss']}")
            rate = float(keras.ops.convert_to_numpy(innermost(trained.optimizer).learning_rate))
            logs |= {"tokens_per_s": between.rate, "learning_rate": rate}
            progress.step, progress.over = between.step, trained.stop_training

            if evaluate is not None:
                figures = evaluate(model)
                logs |= figures
                if is_better(figures, progress.best, settings.monitor):
                    progress.best = Best(period=period, figures=figures, weights=model.get_weights())
                    if save is not None:
                        save(logs)
                patience = settings.patience or math.inf
                progress.over |= period - progress.best.period >= patience
            if settings.average_last > 1:
                progress.last = [*progress.last, model.get_weights()][-settings.average_last :]

            told.on_epoch_end(period, logs)
            progress.over = saver.agree(progress.over or trained.stop_training)
            saver.save(progress.step, lambda: state(progress.step, trained))
            if saver.told_to_stop():
                saver.stop(progress.step)
        told.on_train_end()
        if saver.told_to_stop():
            saver.stop(progress.step)

    share()
    model.history = history
    history.chosen = choose_weights(model, evaluate, progress, settings)
    history.steps, history.elapsed = progress.step // parts, progress.elapsed
    history.target_tokens = batches.tokens_of(history.steps)
    history.checkpoint_seconds = progress.seconds + saver.seconds
    return history


def steps_of(settings, batches):
    """The number of updates of a run."""
    steps = settings.epochs * len(batches)
    return steps if settings.steps is None else min(steps, settings.steps)


def uses_xla(settings):
    """Whether XLA compiles the steps."""
    return keras.backend.backend() == "jax" if settings.jit_compile is None else settings.jit_compile


def compiled(model, strategy, settings, loss, optimizer):
    """Compiles a model, or under a strategy a copy of it on all devices, and builds the optimizer."""

    def compile_model(model):
        copy = type(optimizer).from_config(optimizer.get_config())
        model.compile(copy, loss, jit_compile=uses_xla(settings))

    trained, scope = model, contextlib.nullcontext()
    with while_all_workers_live(strategy):
        compile_model(model)  # also for the evaluation
        if strategy is not None:
            trained, scope = copy_in_scope(model, strategy), strategy.scope()
        with scope:
            if trained is not model:
                compile_model(trained)
            trained.optimizer = LossScale.instead_of(trained.optimizer)
            trained.optimizer.build(trained.trainable_variables)
    return trained


def stateful_of(callbacks):
    """The callbacks with a state, by their place in the list."""
    return {str(i): callback for i, callback in enumerate(callbacks) if hasattr(callback, "get_state")}


def resumed(model, checkpoints, stateful, last, settings):
    """Restores a model and its callbacks from the newest checkpoint: (`Progress`, running metrics)."""
    if checkpoints is None:
        return Progress(), []
    checkpoints.check_room(sum(array.nbytes + 512 for some in model_state(model).values() for array in some))
    newest = checkpoints.newest()
    if newest is None:
        return Progress(), []
    with usable(checkpoints.folder, "run"):
        state = unpack(newest.arrays, newest.plain)
        progress = checked(Progress, state["run"], f"{checkpoints.folder}: run")
        if progress.step > last:
            said = f"after step {progress.step:,} of only {last:,}"
            raise PresetError(f"{checkpoints.folder}: the run in it is {said}")
        if progress.step != newest.step:
            raise PresetError(
                f"{checkpoints.folder}: after step {newest.step}, the run is at {progress.step}"
            )
        missing = stateful.keys() - state["callbacks"].keys()
        if missing:
            raise PresetError(f"{checkpoints.folder}: the run in it has no state of callback {min(missing)}")
        if progress.best is not None:
            check_arrays("best", model.weights, progress.best.weights)
            progress.best.figures[settings.monitor]  # it is compared with
        for weights in progress.last:
            check_arrays("last", model.weights, weights)
        metrics = [float(value) for value in state["model"].get("metrics", [])]
        set_model_state(model, state["model"])
        for name, callback in stateful.items():
            callback.set_state(state["callbacks"][name])
    return progress, metrics


def is_better(figures, best, monitor):
    """Whether figures are better than those of `Progress.best`.

    `monitor` is `"val_loss"`, lower is better, or a score such as `"val_bleu"`, higher is better. The loss
    decides between equal scores: BLEU is 0 until four words in a row are right.
    """

    def value(figures):
        loss = -figures.get("val_loss", 0.0)
        loss = -math.inf if math.isnan(loss) else loss
        return (loss,) if monitor == "val_loss" else (figures[monitor], loss)

    return best is None or value(figures) > value(best.figures)


def best_score(progress, settings):
    """The best value so far of the figure that selects the weights, or None."""
    return None if progress.best is None else progress.best.figures[settings.monitor]


def mean_weights(last):
    """The average of lists of weights; integers (states of generators) are those of the last list.

    The Transformer's paper averages the last checkpoints before it translates (section 6.1).
    """
    average = [np.mean(parts, axis=0, dtype="float64") for parts in zip(*last, strict=True)]
    return [
        (mean if np.issubdtype(old.dtype, np.floating) else old).astype(old.dtype)
        for mean, old in zip(average, last[-1], strict=True)
    ]


def choose_weights(model, evaluate, progress, settings):
    """Gives a model the weights of the best period, or the average of the last if that scores better.

    Returns the figures of these weights; {} without an evaluation.
    """
    if progress.last:
        model.set_weights(mean_weights(progress.last))
    if evaluate is None:
        return {}
    if progress.last:
        averaged = evaluate(model)
        if is_better(averaged, progress.best, settings.monitor):
            return {**averaged, "averaged": len(progress.last)}
    model.set_weights(progress.best.weights)
    return progress.best.figures
