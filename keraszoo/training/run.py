"""A training run: stock `fit`, in periods, that can be stopped anywhere and goes on as if it had not been."""

import contextlib
import signal
import sys

import keras

from keraszoo.messages import say
from keraszoo.training.adam import innermost
from keraszoo.training.callbacks import KeepFreedMemory, Throughput, WholeHistory
from keraszoo.training.checkpointing import Interrupted, Saving
from keraszoo.training.distribution import (
    OnOneDevice,
    any_worker,
    copy_in_scope,
    copy_variables,
    while_all_workers_live,
)
from keraszoo.training.divergence import Diverged, Guard
from keraszoo.training.evaluation_periods import Periods, step_in_words
from keraszoo.training.loss_scale import LossScale
from keraszoo.training.signals import Signals

ALL_AGAIN = "start all of them again, and the run goes on"


def train(
    model,
    batches,
    compile_model,
    steps,
    steps_per_evaluation=None,
    callbacks=(),
    checkpoints=None,
    strategy=None,
    checkpoint_minutes=10.0,
    checkpoint_steps=None,
    verbose=None,
):
    """Trains a model by `fit`, an epoch of which is a period of `steps_per_evaluation` updates.

    With checkpoints, a run that is in them goes on where it stopped: on a CPU it ends with the very weights
    that it would have had. Ctrl-C or SIGTERM end it after the step in hand, saved.

    Args:
        model: built by `model.build()`; trained in place.
        batches: `AddressedBatches`; with a strategy or parts, their rows are a multiple of replicas x parts.
        compile_model: called with a model, compiles it; its optimizer should be `Adam` of this package, whose
            `accumulate` says in how many parts a batch comes.
        steps: updates in all.
        steps_per_evaluation: updates between two calls of `on_epoch_end`; `None`: an epoch of the corpus.
        callbacks: of Keras, called in this order at the end of a period. Their `model` is the one given, also
            where it is trained as a copy on several devices. The state of those with `get_state` and
            `set_state` is part of a checkpoint, under the name of their class.
        checkpoints: an open `Checkpoints`, or None.
        strategy: of `make_strategy`.
        checkpoint_minutes, checkpoint_steps: between two checkpoints in a period; see `Saving`.
        verbose: of `fit`; `None`: a bar in a terminal, else a line for each period.

    Returns:
        The `keras.callbacks.History` of the whole run, with `steps`, `target_tokens` and `checkpoint_seconds`
        as attributes.

    Raises:
        Diverged: a loss, a gradient or a weight is not finite.
        KeyboardInterrupt, SystemExit: after SIGINT, or with 143 after SIGTERM, when all is saved.
    """
    trained = model
    with while_all_workers_live(strategy, ALL_AGAIN):
        if strategy is not None:
            trained = copy_in_scope(model, strategy)
            compile_model(model)  # for callbacks that evaluate it
        with strategy.scope() if strategy is not None else contextlib.nullcontext():
            compile_model(trained)
            trained.optimizer = LossScale.instead_of(trained.optimizer)
            trained.optimizer.build(trained.trainable_variables)
    parts = getattr(innermost(trained.optimizer), "accumulate", 1)
    periods = Periods(batches, steps_per_evaluation, parts=parts)
    last = steps * parts

    history = WholeHistory()
    kept = {"history": history} | {
        type(callback).__name__.lower(): callback for callback in callbacks if hasattr(callback, "get_state")
    }
    theirs = callbacks if strategy is None else [OnOneDevice(model, callbacks)]
    with Signals() if checkpoints else contextlib.nullcontext() as signals:
        ask = any_worker(strategy) if checkpoints else None
        saving = Saving(checkpoints, kept, signals, checkpoint_minutes, checkpoint_steps, ask)
        saving.take_up(trained)
        if saving.step:
            say(f"going on from step {saving.step // parts:,} of {steps:,}")
        while saving.step < last and not saving.over:
            period, skip = divmod(saving.step, len(periods))
            saving.periods = part = Periods(batches, steps_per_evaluation, period, skip, parts)
            own = [part.at_period(), KeepFreedMemory(), Guard(part), Throughput(part, stop_at=last)]
            ends = [_end_of_fit(trained)] if skip else []
            try:
                with while_all_workers_live(strategy, ALL_AGAIN):
                    trained.fit(
                        part,
                        steps_per_epoch=len(part),
                        initial_epoch=period,
                        epochs=-(-last // len(periods)),
                        shuffle=False,
                        callbacks=[*own, *theirs, history, saving, *ends],
                        verbose=verbose if verbose is not None else 1 if sys.stderr.isatty() else 2,
                    )
            except Diverged:
                if strategy is not None:
                    copy_variables(trained, model)
                raise
            except Interrupted as stopped:
                _end(stopped, checkpoints, parts)
    if strategy is not None:
        copy_variables(trained, model)
    history.steps = saving.step // parts
    history.target_tokens = _real_tokens(batches, history.steps)
    history.checkpoint_seconds = saving.seconds
    return history


def _end_of_fit(model):
    """The callback that ends `fit` with its first period; after `Saving`, which asks who else wants that."""
    return keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: setattr(model, "stop_training", True)
    )


def _end(stopped, checkpoints, parts):
    """Says what became of a run that was asked to stop, and ends as one does after that signal."""
    if stopped.saved == stopped.step:
        where = f"it is saved in {checkpoints.folder}; the same command goes on from there"
    else:
        last = (
            "nothing is saved"
            if stopped.saved is None
            else f"it goes on from {step_in_words(stopped.saved, parts)}"
        )
        where = f"but it could not be saved: {last}"
    say(f"{stopped.signal.name}: stopped after {step_in_words(stopped.step, parts)}, {where}")
    if stopped.signal == signal.SIGINT:
        raise KeyboardInterrupt from None
    raise SystemExit(128 + stopped.signal) from None


def _real_tokens(batches, updates):
    """The real tokens of the first updates of a run; every epoch has as many."""
    epochs, rest = divmod(updates, len(batches))
    epoch = sum(batches.real_tokens(0, i) for i in range(len(batches))) if epochs else 0
    return epochs * epoch + sum(batches.real_tokens(epochs, i) for i in range(rest))
