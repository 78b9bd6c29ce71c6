"""Adam and the course of its learning rate, as the papers had them."""

from keraszoo.training.adam import Adam
from keraszoo.training.schedules import InverseSquareRoot, TransformerSchedule


def make_optimizer(
    schedule="inverse_sqrt",
    learning_rate=7e-4,
    factor=1.0,
    warmup_steps=4000,
    d_model=None,
    beta_1=0.9,
    beta_2=0.98,
    epsilon=1e-9,
    clipnorm=None,
    accumulate=1,
):
    """Adam with one of three schedules.

    Args:
        schedule: `"transformer"` (Vaswani et al. 2017, eq. 3), `"inverse_sqrt"` or `"constant"`.
        learning_rate: the highest rate; of the last two schedules.
        factor: what the Transformer's schedule is multiplied by.
        warmup_steps: updates of linear growth; of the first two schedules.
        d_model: width of the model; of the first schedule.
        beta_1, beta_2, epsilon: Adam's; the defaults are the Transformer's.
        clipnorm: longest gradient, over all weights together; longer ones are scaled down.
        accumulate: parts of a batch that make one update; see `Adam`.

    Returns:
        An `Adam`.

    Raises:
        ValueError: if the schedule is unknown.

    Example:

    >>> optimizer = make_optimizer("constant", learning_rate=0.5)
    >>> float(optimizer.learning_rate)
    0.5
    """
    if schedule == "transformer":
        rate = TransformerSchedule(d_model, warmup_steps, factor)
    elif schedule == "inverse_sqrt":
        rate = InverseSquareRoot(learning_rate, warmup_steps)
    elif schedule == "constant":
        rate = learning_rate
    else:
        raise ValueError(f"Unknown schedule: {schedule!r}")
    return Adam(rate, beta_1, beta_2, epsilon, global_clipnorm=clipnorm, accumulate=accumulate)
