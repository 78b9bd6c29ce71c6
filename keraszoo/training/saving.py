"""Saves a run when it is due, and stops it in order after a signal."""

import signal
import time
import warnings

from keraszoo.errors import PresetError
from keraszoo.messages import say
from keraszoo.training.addressed_batches import step_in_words
from keraszoo.training.distribution import any_worker
from keraszoo.training.state import pack

ASK_EVERY = 8  # steps after which workers ask each other whether one of them received a signal


class Saver:
    """Saves a run after every period and, in it, every so many minutes or steps.

    On a full disk, training goes on: the last good checkpoint stays, and a warning is given. A run that has
    none ends. Without `checkpoints` nothing is saved, and without `signals` none ends the run. All workers of
    a strategy stop at the same step. `resumed` is the step of the checkpoint that the run resumes from, or
    None; `seconds` is the time spent in saving.
    """

    def __init__(self, checkpoints, settings, strategy, signals, resumed):
        self.checkpoints = checkpoints
        self.minutes, self.steps = settings.checkpoint_minutes, settings.checkpoint_steps
        self.parts = settings.accumulate
        self.any_worker = any_worker(strategy)
        self.signals = signals
        self.saved_step = resumed
        self.saved_at = time.monotonic()
        self.seconds = 0.0

    def agree(self, mine):
        """Whether the value is true for any worker; all of them must ask."""
        return bool(mine) if self.any_worker is None else self.any_worker(bool(mine))

    def told_to_stop(self, step=None):
        """Whether a signal came to any worker; within a period, workers ask each other at some steps."""
        if self.any_worker is not None and step is not None and step % ASK_EVERY:
            return False
        return self.agree(self.signals and self.signals.received)

    def is_due(self, step):
        """Whether the run is saved at this step of a period."""
        if self.checkpoints is None:
            return False
        if time.monotonic() - self.saved_at >= 60 * self.minutes:
            return True
        return self.steps is not None and step % (self.steps * self.parts) == 0

    def save(self, step, state):
        """Saves what `state()` returns, a nested dict of JSON values and arrays, unless the step is saved.

        Raises:
            PresetError: it cannot be saved, for another reason than a disk that became full.
        """
        if self.checkpoints is None or step == self.saved_step:
            return
        started = time.monotonic()
        try:
            self.checkpoints.save(step, *pack(state()))
            self.saved_step = step
        except PresetError as error:
            if self.saved_step is None or not isinstance(error.__cause__, OSError):
                raise
            made, last = (step_in_words(number, self.parts) for number in (step, self.saved_step))
            said = f"no checkpoint of {made}: {error}; the last good one is from {last}; training goes on"
            warnings.warn(said, stacklevel=2)
        self.saved_at = time.monotonic()
        self.seconds += self.saved_at - started

    def stop(self, step):
        """Reports where the run was stopped, and raises what ends a process after that signal."""
        self.agree(True)  # waits until the first worker has saved
        received = self.signals.received or signal.SIGTERM
        if self.saved_step == step:
            where = f"it is saved in {self.checkpoints.folder}; the same command resumes it"
        else:
            last = step_in_words(self.saved_step, self.parts)
            where = f"but it could not be saved; it resumes from {last}"
        say(f"{received.name}: stopped after {step_in_words(step, self.parts)}, {where}")
        if received == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + received)
