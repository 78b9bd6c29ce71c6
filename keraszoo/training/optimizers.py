"""Learning-rate schedules with a warm-up, and the optimizer that a recipe describes."""

import keras
from keras import ops

from keraszoo.errors import KerasZooError, check_at_least
from keraszoo.training.adam import Adam

WARMUP_STEPS = 4000  # Vaswani et al. 2017, section 5.3


@keras.saving.register_keras_serializable(package="keraszoo")
class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """Learning rate that rises linearly to a peak, then falls with the inverse square root of the step.

        lrate = peak * min(step / warmup_steps, sqrt(warmup_steps / step))

    The two branches meet at `step = warmup_steps`, where the rate is `peak`. Steps are counted from 1: Keras
    passes the number of updates made so far, 0 for the first update, and the schedule adds one. So the first
    update has a rate above 0.

    Args:
        peak: the highest learning rate, above 0.
        warmup_steps: the number of the update that uses it, at least 1.

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
        check_at_least(warmup_steps=(warmup_steps, 1.0))
        self.peak = peak
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        return self.peak * ops.minimum(step / self.warmup_steps, ops.sqrt(self.warmup_steps / step))

    def get_config(self):
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


def transformer_schedule(d_model, warmup_steps=WARMUP_STEPS, factor=1.0):
    """Returns the learning rate of the Transformer, an `InverseSquareRoot`.

        lrate = d_model^-0.5 * min(step_num^-0.5, step_num * warmup_steps^-1.5)          (3)

    times `factor`: its peak is `factor / sqrt(d_model * warmup_steps)`.

    Args:
        d_model: the width of the model.
        warmup_steps: the number of the update with the highest rate, at least 1.
        factor: multiplies the rate; the paper uses 1, small models often 2.

    Example:

    >>> schedule = transformer_schedule(d_model=512, warmup_steps=4000)
    >>> f"{float(schedule(3999)):.2e}"
    '6.99e-04'

    Reference: Vaswani et al.: Attention Is All You Need, 2017, section 5.3, https://arxiv.org/abs/1706.03762.
    """
    check_at_least(d_model=(d_model, 1.0), warmup_steps=(warmup_steps, 1.0))
    return InverseSquareRoot(factor / (d_model * warmup_steps) ** 0.5, warmup_steps)


def default_warmup(steps):
    """The warm-up of a run that does not state one: a tenth of its steps, at most 4,000."""
    return max(1, min(WARMUP_STEPS, steps // 10))


def optimizer_of(settings, steps, model):
    """Makes the optimizer that a `FitSection` describes, for a run of so many updates of a model."""
    width = model.get_config().get("d_model")
    return make_optimizer(settings.optimizer, steps, width, settings.accumulate)


def make_optimizer(options, steps, d_model=None, accumulate=1):
    """Makes the `Adam` that the `optimizer` section of a recipe describes.

    Without `warmup_steps`, the warm-up follows from the length of the run (`default_warmup`); the peak of the
    Transformer's schedule is then the one of 4,000 steps, so that a short warm-up does not raise it.

    Args:
        options: an `OptimizerSection`.
        steps: number of updates of the run.
        d_model: width of the model, which the Transformer's schedule reads.
        accumulate: parts of a batch that make one update; see `Adam`.

    Returns:
        An `Adam`.
    """
    warmup = options.warmup_steps or default_warmup(steps)
    peak = options.learning_rate
    if options.schedule == "constant":
        rate = peak
    elif options.schedule == "inverse_sqrt":
        rate = InverseSquareRoot(peak, warmup)
    elif options.schedule == "cosine":
        rate = keras.optimizers.schedules.CosineDecay(
            peak / warmup,  # of the first update
            max(1, steps - warmup),
            warmup_target=peak,
            warmup_steps=warmup,
        )
    else:
        peak = transformer_schedule(d_model, options.warmup_steps or WARMUP_STEPS, options.factor).peak
        rate = InverseSquareRoot(peak, warmup)
    return Adam(
        rate,
        options.beta_1,
        options.beta_2,
        options.epsilon,
        clipnorm=options.clipnorm,
        global_clipnorm=options.global_clipnorm,
        accumulate=accumulate,
        weight_decay=options.weight_decay or None,
        head_factor=(getattr(options, "head_learning_rate", None) or peak) / peak,
    )
