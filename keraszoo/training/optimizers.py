"""Adam and the course of its learning rate, as the papers had them."""

import keras

from keraszoo.training.schedules import InverseSquareRoot, TransformerSchedule


@keras.saving.register_keras_serializable(package="keraszoo")
class Adam(keras.optimizers.Adam):
    """`keras.optimizers.Adam`, whose update is one operation a weight under TensorFlow.

        m <- m + (1 - beta_1) (g - m)        v <- v + (1 - beta_2) (g^2 - v)
        w <- w - rate sqrt(1 - beta_2^t) / (1 - beta_1^t) m / (sqrt(v) + epsilon)

    Keras writes this as a dozen passes over m, v and w; TensorFlow's own operation makes one. The numbers are
    the same.

    Args: as for `keras.optimizers.Adam`.

    Reference: Kingma, Ba: Adam: A Method for Stochastic Optimization, 2015, https://arxiv.org/abs/1412.6980.
    """

    def update_step(self, gradient, variable, learning_rate):
        if keras.backend.backend() != "tensorflow" or self.amsgrad:
            return super().update_step(gradient, variable, learning_rate)
        import tensorflow as tf

        index = self._get_variable_index(variable)
        m, v = self._momentums[index].value, self._velocities[index].value
        weight = variable.value if isinstance(variable, keras.Variable) else variable
        count = tf.cast(self.iterations + 1, weight.dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=weight.handle,
            m=m.handle,
            v=v.handle,
            beta1_power=tf.cast(self.beta_1, weight.dtype) ** count,
            beta2_power=tf.cast(self.beta_2, weight.dtype) ** count,
            lr=tf.cast(learning_rate, weight.dtype),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=tf.cast(tf.convert_to_tensor(gradient), weight.dtype),
        )


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
    return Adam(rate, beta_1, beta_2, epsilon, global_clipnorm=clipnorm)
