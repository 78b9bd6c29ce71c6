"""Learning rates that rise first and then fall with the square root of the step."""

import keras
from keras import ops

from keraszoo.errors import KerasZooError


@keras.saving.register_keras_serializable(package="keraszoo")
class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """Rises linearly to a peak in a number of steps, then falls with the inverse square root of the step.

        lrate = peak * min(step / warmup_steps, sqrt(warmup_steps / step))

    The two branches meet at `step = warmup_steps`, where the rate is `peak`. Steps are counted from 1: Keras
    calls a schedule with the number of updates made so far, 0 for the first update, and one is added here. So
    no update is made with a rate of 0.

    Args:
        peak: the highest learning rate, above 0.
        warmup_steps: the number of the update that is made with it, at least 1.

    Returns:
        Called with a step: the learning rate, a float32 scalar.

    Raises:
        KerasZooError: if an argument is out of range.

    Example:

    >>> schedule = InverseSquareRoot(peak=0.5, warmup_steps=4)
    >>> [round(float(schedule(step)), 3) for step in (0, 1, 3, 15)]
    [0.125, 0.25, 0.5, 0.25]
    """

    def __init__(self, peak, warmup_steps):
        if not peak > 0:
            raise KerasZooError(f"peak: expected a learning rate above 0, got {peak}")
        if not warmup_steps >= 1:
            raise KerasZooError(f"warmup_steps: expected at least 1, got {warmup_steps}")
        self.peak = peak
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        return self.peak * ops.minimum(step / self.warmup_steps, ops.sqrt(self.warmup_steps / step))

    def get_config(self):
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


@keras.saving.register_keras_serializable(package="keraszoo")
class TransformerSchedule(InverseSquareRoot):
    """The learning rate of the Transformer.

        lrate = d_model^-0.5 * min(step_num^-0.5, step_num * warmup_steps^-1.5)          (3)

    times `factor`: the inverse-square-root schedule whose peak is `factor / sqrt(d_model * warmup_steps)`.
    The paper counts steps from 1; Keras passes 0 for the first update and one is added here, so the first
    rate is that of the paper's `step_num = 1`.

    Args:
        d_model: the width of the model.
        warmup_steps: the number of the update with the highest rate, at least 1.
        factor: multiplies the rate; 1 is the paper, small models often take 2.

    Returns:
        Called with a step: the learning rate, a float32 scalar.

    Raises:
        KerasZooError: if an argument is out of range.

    Example:

    >>> schedule = TransformerSchedule(d_model=512, warmup_steps=4000)
    >>> f"{float(schedule(3999)):.2e}"
    '6.99e-04'

    Reference: Vaswani et al.: Attention Is All You Need, 2017, section 5.3, https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, d_model, warmup_steps=4000, factor=1.0):
        if not d_model >= 1:
            raise KerasZooError(f"d_model: expected at least 1, got {d_model}")
        if not factor > 0:
            raise KerasZooError(f"factor: expected a number above 0, got {factor}")
        if not warmup_steps >= 1:
            raise KerasZooError(f"warmup_steps: expected at least 1, got {warmup_steps}")
        super().__init__(factor / (d_model * warmup_steps) ** 0.5, warmup_steps)
        self.d_model = d_model
        self.factor = factor

    def get_config(self):
        return {"d_model": self.d_model, "warmup_steps": self.warmup_steps, "factor": self.factor}
