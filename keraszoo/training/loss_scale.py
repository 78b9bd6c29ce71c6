"""The loss of a training in float16, multiplied so that small gradients do not vanish."""

import keras
from keras import ops

from keraszoo.training.adam import Adam, over_replicas, read, write


@keras.saving.register_keras_serializable(package="keraszoo")
class LossScale(keras.optimizers.LossScaleOptimizer):
    """`keras.optimizers.LossScaleOptimizer` for `Adam`, on one device and on many, in one batch and in parts.

    Gradients come multiplied by `dynamic_scale`. When one of any device is not finite, the scale is halved;
    after `dynamic_growth_steps` without that it is doubled. `Adam` is given every part of a batch, and leaves
    out a batch whole, if one of its parts overflows. Keras keeps that part from it, so that all later updates
    would be of parts of two batches; and of several devices it asks the first one alone.

    Args: as for `keras.optimizers.LossScaleOptimizer`.

    Reference: Micikevicius et al.: Mixed Precision Training, 2018, https://arxiv.org/abs/1710.03740.
    """

    def __init__(self, inner_optimizer, *args, **kwargs):
        super().__init__(inner_optimizer, *args, **kwargs)
        inner_optimizer.scaled = True

    @classmethod
    def instead_of(cls, optimizer):
        """The same for a `LossScaleOptimizer` of Keras around an `Adam`; any other optimizer as it is."""
        if type(optimizer) is not keras.optimizers.LossScaleOptimizer:
            return optimizer
        if not isinstance(optimizer.inner_optimizer, Adam):
            return optimizer
        return cls(optimizer.inner_optimizer, optimizer.initial_scale, optimizer.dynamic_growth_steps)

    def stateless_apply(self, optimizer_variables, grads, trainable_variables):
        return keras.optimizers.Optimizer.stateless_apply(
            self, optimizer_variables, grads, trainable_variables
        )

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            self.build(trainable_variables)
        (overflows,) = over_replicas([ops.cast(ops.logical_not(self.check_finite(grads)), "float32")])
        finite, scale, counted = ops.equal(overflows, 0), read(self.dynamic_scale), read(self.step_counter)
        grads = [None if grad is None else ops.divide(grad, scale) for grad in grads]
        self.inner_optimizer.apply(grads, trainable_variables)

        grows = ops.equal(counted, self.dynamic_growth_steps - 1)
        after = ops.where(finite, ops.where(grows, 2 * scale, scale), scale / 2)
        write(self.dynamic_scale, after)
        go_on = ops.logical_and(finite, ops.logical_not(grows))
        write(self.step_counter, ops.where(go_on, counted + 1, ops.zeros_like(counted)))
