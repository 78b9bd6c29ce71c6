"""When a run is saved, and how it stops in order."""

import time
import warnings

import keras
import numpy as np

from keraszoo.errors import PresetError
from keraszoo.training.guard import Diverged
from keraszoo.training.run_state import model_state, set_metrics, set_model_state


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
        minutes: between two checkpoints at most; `None`: only after evaluations.
        steps: the same in steps.

    Attributes:
        periods: the `Periods` that `fit` is given; settable.
        step: how many steps were made.
        over: whether the run has ended before its last step, out of patience.
        seconds: that were spent in saving.
    """

    async_safe = True

    def __init__(self, checkpoints, parts, signals=None, minutes=10.0, steps=None):
        super().__init__()
        self.checkpoints = checkpoints
        self.parts = parts
        self.signals = signals
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
        if self.signals and self.signals.received:
            self._save()
            self._stop()
        elif self._is_due():
            self._save()

    def on_train_batch_end(self, batch, logs=None):
        self.step = self.periods.step(batch) + 1

    def on_epoch_end(self, epoch, logs=None):
        self.over = bool(self.model.stop_training)
        self._save()
        if self.signals and self.signals.received:
            self._stop()

    def _is_due(self):
        if self.checkpoints is None or self.step == self.saved_step:
            return False
        if self.minutes is not None and time.monotonic() - self.saved_at >= 60 * self.minutes:
            return True
        return self.steps is not None and self.step % self.steps == 0

    def _save(self):
        if self.checkpoints is None:
            return
        started = time.monotonic()
        step = self.step
        parts = {name: part.get_state() for name, part in self.parts.items()}
        state = model_state(self.model)
        if not all(np.isfinite(array).all() for array in state["variables"]):
            raise Diverged(f"step {step}: the weights are not finite any more: nothing is saved", step)
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
                else f"the last good one is of step {self.saved_step}"
            )
            warnings.warn(f"no checkpoint of step {step}: {error}; {last}; training goes on", stacklevel=2)
        self.saved_at = time.monotonic()
        self.seconds += self.saved_at - started

    def _stop(self):
        raise Interrupted(self.signals.received, self.step, self.saved_step)
