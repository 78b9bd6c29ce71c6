"""When a run is saved, and how it stops in order."""

import signal
import time
import warnings

import keras
import numpy as np

from keraszoo.errors import PresetError
from keraszoo.training.divergence import check_health, diverged
from keraszoo.training.evaluation_periods import step_in_words
from keraszoo.training.run_state import model_state, set_metrics, set_model_state

ASK_EVERY = 8  # steps after which workers ask each other whether one of them was told to stop


class Interrupted(BaseException):
    """A run that was asked to stop, and stopped between two steps.

    Attributes:
        signal: the `signal.Signals` that asked.
        step: how many steps were made.
        saved: the step of the newest checkpoint, or None.
    """

    def __init__(self, signal, step, saved):
        super().__init__(signal, step, saved)
        self.signal = signal
        self.step = step
        self.saved = saved


class Saving(keras.callbacks.Callback):
    """Saves a run after every evaluation and, between them, every so many minutes or steps.

    It acts where a step begins: what the step before made is there then, on every backend. A full disk ends
    nothing: the last good checkpoint stays, a warning is given, and the next one is tried when it is due.

    Args:
        checkpoints: the open `Checkpoints`, or None: nothing is saved.
        parts: name -> object with `get_state` and `set_state`, saved with the model.
        signals: `Signals`; when one came, the run is saved and `Interrupted` raised. None: left alone.
        any_worker: of that name, for the signals of other workers: all of them stop at the same step, when
            the first has saved it. None: there are none.
        minutes: between two checkpoints at most; `None`: only after evaluations.
        steps: the same in updates.

    Attributes:
        periods: the `Periods` that `fit` is given; settable.
        step: how many steps of `fit` were made; with parts, several of them make an update.
        over: whether the run has ended before its last step, out of patience.
        seconds: that were spent in saving.
    """

    async_safe = True

    def __init__(self, checkpoints, parts, signals=None, minutes=10.0, steps=None, any_worker=None):
        super().__init__()
        self.checkpoints = checkpoints
        self.parts = parts
        self.signals = signals
        self.any_worker = any_worker
        self.minutes = minutes
        self.steps = steps
        self.periods = None
        self.step = 0
        self.over = False
        self.seconds = 0.0
        self.saved_step = None
        self.saved_at = time.monotonic()
        self._metrics = None

    def take_up(self, model):
        """Gives a compiled model and the parts what the newest checkpoint holds, if there is one."""
        newest = self.checkpoints and self.checkpoints.newest
        if not newest:
            return
        set_model_state(model, newest.parts["model"])
        for name, part in self.parts.items():
            if name not in newest.parts:
                raise PresetError(f"{self.checkpoints.folder}: a run is in it that has no {name}")
            part.set_state(newest.parts[name])
        self._metrics = newest.parts["model"]
        self.step = self.saved_step = newest.step
        self.over, self.seconds = newest.parts["run"]["over"], newest.parts["run"]["seconds"]

    def on_epoch_begin(self, epoch, logs=None):
        if self._metrics is not None and self.periods.skip:  # `fit` has set the running metrics to zero
            set_metrics(self.model, self._metrics)
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
        self.step += 1  # no hook at a step's end: JAX calls those in threads of their own
        self.over = bool(self.model.stop_training)
        self._save()
        if self._told_to_stop(True):
            self._stop()

    def _told_to_stop(self, ask):
        mine = bool(self.signals and self.signals.received)
        if self.any_worker is None:
            return mine
        return ask and self.any_worker(mine)

    def _is_due(self):
        if self.checkpoints is None or self.step == self.saved_step:
            return False
        if self.minutes is not None and time.monotonic() - self.saved_at >= 60 * self.minutes:
            return True
        return self.steps is not None and self.step % (self.steps * self.periods.parts) == 0

    def _save(self):
        if self.checkpoints is None:
            return
        started = time.monotonic()
        step = self.step
        check_health(self.model, self.periods)
        parts = {name: part.get_state() for name, part in self.parts.items()}
        state = model_state(self.model)
        if not all(np.isfinite(array).all() for array in state["variables"]):
            raise diverged(self.periods, step, "the weights are not finite any more: nothing is saved")
        run = {"over": self.over, "seconds": self.seconds}
        try:
            self.checkpoints.save(step, {"model": state, "run": run, **parts})
            self.saved_step = step
        except PresetError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            last = (
                "there is none yet"
                if self.saved_step is None
                else f"the last good one is of {step_in_words(self.saved_step, self.periods.parts)}"
            )
            made = step_in_words(step, self.periods.parts)
            warnings.warn(f"no checkpoint of {made}: {error}; {last}; training goes on", stacklevel=2)
        self.saved_at = time.monotonic()
        self.seconds += self.saved_at - started

    def _stop(self):
        if self.any_worker is not None:
            self.any_worker(True)  # waits until the first worker has saved
        raise Interrupted(self.signals.received or signal.SIGTERM, self.step, self.saved_step)
