"""Finds the step of a training whose gradient, weights or loss are not finite."""

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
        super().__init__(f"training diverged{message}; {ADVICE}")
        self.step = step
        self.address = address


def check_health(model, count, parts=1):
    """Raises `Diverged` if a model's `Adam` last measured a gradient or weights that are not finite.

    A finite loss proves nothing, since TensorFlow's fused kernels on a CPU turn NaN into 0. `Adam` applies no
    gradient that is not finite, so the weights stay those before the step, and it keeps the number of that
    step. In float16, such a gradient only halves the scale of the loss; the error occurs when the scale falls
    below 1. An epoch has `count` batches of `parts` each.
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
    raise diverged_at(int(call), what, count, parts)


def diverged_at(step, what, count, parts=1):
    """Makes the `Diverged` for a step of `fit`, counted from 1; with parts, several steps make an update."""
    epoch, number = divmod((step - 1) // parts, count)
    where = f" at {step_in_words(step, parts)}, batch {number} of epoch {epoch}"
    return Diverged(f"{where}: {what}", -(-step // parts), (epoch, number))
