"""Saves a run at its checkpoints, restores it, and stops it in order after a signal."""

import itertools
import os
import signal
import threading
import time
import warnings

import keras
import numpy as np
from keras import ops

from keraszoo.errors import PresetError
from keraszoo.messages import say
from keraszoo.training.addressed_batches import step_in_words
from keraszoo.training.checkpoint_files import usable
from keraszoo.training.distribution import any_worker, shared_by_workers
from keraszoo.training.divergence import check_health, diverged

ASK_EVERY = 8  # steps after which workers ask each other whether one of them received a signal


class SaveCheckpoints(keras.callbacks.Callback):
    """Saves a run after every evaluation and, between them, every so many minutes or steps.

    It acts at the beginning of a step, when the results of the step before exist on every backend. On a full
    disk, training goes on: the last good checkpoint stays, and a warning is given. A run that has none ends.

    Args:
        run: the `Run`: its open checkpoints (None: nothing is saved), how often to save, and its strategy.
        parts: name -> object with `get_state` and `set_state`, saved with the model.
        signals: `Signals`; after one, the run is saved and ends with KeyboardInterrupt or SystemExit. None:
            ignored. With several workers, all of them stop at the same step.

    Attributes:
        periods: the `Periods` that `fit` reads; settable.
        step: number of steps of `fit` made; with parts, several of them make an update.
        over: whether the run has ended before its last step, for want of improvement.
        seconds: time spent in saving.
        earlier: how long the earlier sessions of the run trained, in seconds.
    """

    async_safe = True

    def __init__(self, run, parts, signals=None):
        super().__init__()
        self.checkpoints = run.checkpoints
        self.minutes, self.steps = run.settings.checkpoint_minutes, run.settings.checkpoint_steps
        self.any_worker = any_worker(run.strategy)
        self.parts = parts
        self.signals = signals
        self.periods = None
        self.step = 0
        self.over = False
        self.seconds = self.earlier = 0.0
        self.started = time.monotonic()
        self.saved_step = None
        self.saved_at = time.monotonic()
        self._metrics = None

    def restore(self, model):
        """Restores a compiled model and the parts from the newest checkpoint, if there is one."""
        newest = self.checkpoints and self.checkpoints.newest
        if not newest:
            return
        for name in ("model", "run", *self.parts):
            if name not in newest.parts:
                raise PresetError(f"{self.checkpoints.folder}: the run in it has no {name}")
        with usable(self.checkpoints.folder, "run"):
            set_model_state(model, newest.parts["model"])
            for name, part in self.parts.items():
                part.set_state(newest.parts[name])
            self._metrics = newest.parts["model"].get("metrics", [])
            self.step = self.saved_step = newest.step
            kept = newest.parts["run"]
            self.over = bool(kept["over"])
            self.seconds, self.earlier = float(kept["seconds"]), float(kept["elapsed"])

    def check_room(self, model):
        """Raises DataError if no checkpoint could be saved: a run must not find out at its end."""
        if self.checkpoints is not None:
            arrays = itertools.chain.from_iterable(model_state(model).values())
            self.checkpoints.check_room(sum(array.nbytes + 512 for array in arrays))  # and its name

    def on_epoch_begin(self, epoch, logs=None):
        if self._metrics and self.periods.skip:  # `fit` has reset the running metrics
            for variable, array in zip(self.model.metrics_variables, self._metrics, strict=False):
                variable.assign(array)
        self._metrics = None

    def on_train_batch_begin(self, batch, logs=None):
        self.step = self.periods.step(batch)
        if self.step % (self.periods.updates * self.periods.parts) == 0:
            return  # the period before was saved at its end
        if self._told_to_stop(self.step % ASK_EVERY == 0):
            self._save()
            self._stop()
        elif self._is_due():
            self._save()

    def on_epoch_end(self, epoch, logs=None):
        self.step += 1  # not at the end of each step: JAX calls that hook in a thread of its own
        self.over = bool(self.model.stop_training)
        if self.any_worker is not None:  # if a callback stops one worker, all of them stop
            self.model.stop_training = self.over = self.any_worker(self.over)
        self._save()
        self.stop_if_told()

    def stop_if_told(self):
        """Ends the run if a signal came, at a place that all workers reach."""
        if self._told_to_stop(True):
            self._stop()

    def _told_to_stop(self, ask):
        mine = bool(self.signals and self.signals.received)
        if self.any_worker is None:
            return mine
        return ask and self.any_worker(mine)

    def _is_due(self):
        if time.monotonic() - self.saved_at >= 60 * self.minutes:
            return True
        return self.steps is not None and self.step % (self.steps * self.periods.parts) == 0

    def _save(self):
        if self.checkpoints is None or self.step == self.saved_step:
            return
        started = time.monotonic()
        check_health(self.model, self.periods)
        parts = {name: part.get_state() for name, part in self.parts.items()}
        state = model_state(self.model)
        if not all(np.isfinite(array).all() for array in state["variables"]):
            raise diverged(self.periods, self.step, "the weights are no longer finite, and are not saved")
        try:
            elapsed = self.earlier + started - self.started
            run = {"over": self.over, "seconds": self.seconds, "elapsed": elapsed}
            self.checkpoints.save(self.step, {"model": state, "run": run, **parts})
            self.saved_step = self.step
        except PresetError as error:
            if self.saved_step is None or not isinstance(error.__cause__, OSError):
                raise
            made, last = (step_in_words(n, self.periods.parts) for n in (self.step, self.saved_step))
            said = f"no checkpoint of {made}: {error}; the last good one is from {last}; training goes on"
            warnings.warn(said, stacklevel=2)
        self.saved_at = time.monotonic()
        self.seconds += self.saved_at - started

    def _stop(self):
        """Reports where the run was stopped, and ends as a process does after that signal."""
        if self.any_worker is not None:
            self.any_worker(True)  # waits until the first worker has saved
        received, parts = self.signals.received or signal.SIGTERM, self.periods.parts
        if self.saved_step == self.step:
            where = f"it is saved in {self.checkpoints.folder}; the same command resumes it"
        else:
            where = f"but it could not be saved; it resumes from {step_in_words(self.saved_step, parts)}"
        say(f"{received.name}: stopped after {step_in_words(self.step, parts)}, {where}")
        if received == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + received)


def model_state(model):
    """Returns everything in a compiled model that decides how its training continues.

    Args:
        model: a compiled model whose optimizer is built.

    Returns:
        Dict of lists of NumPy arrays: weights and states of random numbers, the optimizer's variables and
        running metrics. The metrics of several workers are left out, since each has only a share.
    """
    variables = _variables(model)
    if not shared_by_workers(model):
        variables["metrics"] = model.metrics_variables
    # Copies, since the variables keep changing.
    return {
        name: [np.array(ops.convert_to_numpy(variable)) for variable in some]
        for name, some in variables.items()
        if some
    }


def set_model_state(model, state):
    """Restores what `model_state` returned, all of it or nothing, except for the running metrics.

    Raises:
        PresetError: the state belongs to another model.
    """
    variables = {name: some for name, some in _variables(model).items() if some}
    for name, some in variables.items():
        shapes = [tuple(variable.shape) for variable in some]
        stored = [array.shape for array in state.get(name, [])]
        if shapes != stored:
            raise PresetError(
                f"a checkpoint of another model: {name}: expected {len(shapes)} arrays, got {len(stored)}"
                + next((f", {b} for {a}" for a, b in zip(shapes, stored, strict=False) if a != b), "")
            )
    for name, some in variables.items():
        for variable, array in zip(some, state[name], strict=True):
            variable.assign(array)


def _variables(model):
    return {"variables": model.variables, "optimizer": model.optimizer.variables}


class Signals:
    """Records SIGINT and SIGTERM during a block instead of letting them end the process.

    A second signal ends the process at once. Outside the main thread, where Python delivers no signals,
    nothing is recorded.

    Attributes:
        received: the first signal, or None.

    Example:

    >>> with Signals() as signals:
    ...     os.kill(os.getpid(), signal.SIGTERM)
    ...     signals.received.name
    'SIGTERM'
    """

    def __init__(self):
        self.received = None
        self._before = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for kind in (signal.SIGINT, signal.SIGTERM):
                self._before[kind] = signal.signal(kind, self._note)
        return self

    def __exit__(self, *error):
        for kind, handler in self._before.items():
            signal.signal(kind, handler)
        self._before = {}

    def _note(self, number, frame):
        if self.received is not None:
            self.__exit__()
            os.kill(os.getpid(), number)
        self.received = self.received or signal.Signals(number)
