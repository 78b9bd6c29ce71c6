"""Stops a training at the step whose gradient, weights or loss are not finite."""

import keras
import numpy as np
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.training.adam import innermost
from keraszoo.training.addressed_batches import step_in_words

ADVICE = "take a lower learning rate or a global_clipnorm"


class Diverged(KerasZooError):
    """A loss, a gradient or a weight that is not finite.

    Attributes:
        step: the update at fault, counted from 1; None if unknown.
        address: (epoch, number) of its batch; None if unknown.
    """

    def __init__(self, message, step=None, address=None):
        super().__init__(message)
        self.step = step
        self.address = address


class StopIfDiverged(keras.callbacks.Callback):
    """Stops at a gradient, a weight or a loss that is not finite, before anything is saved.

    `Adam` measures every gradient and all weights: a finite loss proves nothing, since TensorFlow's fused
    kernels on a CPU turn NaN into 0. It applies no such gradient, so the weights stay those before the step.

    TensorFlow is checked at every step, other backends at every sixteenth; the error names the exact step in
    either case. In float16, a gradient that is not finite only halves the scale of the loss; the error occurs
    when the scale falls below 1.

    Args:
        periods: the `Periods` that `fit` reads.
    """

    async_safe = True

    def __init__(self, periods):
        super().__init__()
        self.periods = periods
        # Steps between checks: JAX computes ahead, and a check makes it wait.
        self.every = 1 if keras.backend.backend() == "tensorflow" else 16

    def on_train_batch_begin(self, batch, logs=None):
        if batch and batch % self.every == 0:
            check_health(self.model, self.periods)

    def on_epoch_end(self, epoch, logs=None):
        check_health(self.model, self.periods)
        if not np.isfinite(logs["loss"]):
            raise Diverged(f"training diverged: the loss of period {epoch + 1} is {logs['loss']}; {ADVICE}")


def check_health(model, periods):
    """Checks what a model's `Adam` last measured.

    Args:
        model: compiled.
        periods: the `Periods` of its training.

    Raises:
        Diverged: a gradient or a weight is not finite, or the scale of the loss is below 1.
    """
    scale = float(ops.convert_to_numpy(getattr(model.optimizer, "dynamic_scale", 1.0)))
    optimizer = innermost(model.optimizer)
    if not hasattr(optimizer, "health"):
        return
    gradient, weights, call = map(float, ops.convert_to_numpy(optimizer.health))
    if not np.isfinite(weights):
        what = f"the weights are no longer finite (gradient {gradient:.3g})"
    elif scale < 1:
        what = f"no gradient is finite, even at a loss scale of {scale:.3g}; the weights are those before it"
    elif not np.isfinite(gradient) and not optimizer.scaled:
        what = f"the norm of its gradient is {gradient}; the weights are those before it"
    else:
        return
    raise diverged(periods, int(call), what)


def diverged(periods, step, what):
    """Makes the `Diverged` for a step of `fit`, counted from 1; with parts, several steps make an update."""
    epoch, number = divmod((step - 1) // periods.parts, len(periods.batches))
    where = f"{step_in_words(step, periods.parts)}, batch {number} of epoch {epoch}"
    message = f"training diverged at {where}: {what}; {ADVICE}"
    return Diverged(message, -(-step // periods.parts), (epoch, number))
