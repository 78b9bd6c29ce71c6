"""Adam and loss scaling that give the same update on one device and on many, for whole batches and parts."""

import keras
from keras import ops

from keraszoo.errors import KerasZooError

HEAD = {"head", "crf"}
NO_EMA = "use_ema is not supported: a resumed run would go on from the average; average_last averages weights"


@keras.saving.register_keras_serializable(package="keraszoo")
class Adam(keras.optimizers.Adam):
    """`keras.optimizers.Adam` for batches that replicas share or that come in parts.

        m <- m + (1 - beta_1) (g - m)        v <- v + (1 - beta_2) (g^2 - v)
        w <- w - rate weight_decay w - rate sqrt(1 - beta_2^t) / (1 - beta_1^t) m / (sqrt(v) + epsilon)

    g sums the gradients of all replicas and of all places of a word, and averages those of the `accumulate`
    parts of a batch. It is measured, clipped and squared once it is complete: Keras clips each replica's
    share, and on TensorFlow squares that of each place, so that the first update moves a word with n places
    sqrt(n) times as far. t and the schedule count updates.

    A gradient that is not finite changes neither weights nor moments. `health` records that it occurred, and
    all later updates are skipped, too, so that the weights stay those before the failure. If a `LossScale`
    has set `scaled`, it is no failure: the whole batch, with all its parts, is skipped and t does not count
    it.

    Args:
        args, kwargs: as for `keras.optimizers.Adam`, without `amsgrad`, `gradient_accumulation_steps` and
            `use_ema`. `weight_decay` leaves out biases, vectors (such as the weights of normalisation)
            and skipped updates.
        accumulate: number of parts of a batch, each a call, that make one update.
        head_factor: factor on the learning rate of layers called `head` or `crf`.

    Attributes:
        health: float32 (3,): the norm of the last gradient, the norm of all weights after it, and the number
            of the call, from 1. It keeps its values once one of the norms is not finite (if `scaled`, once
            the norm of the weights is not).
        scaled: whether the loss is multiplied by a scale that decreases when gradients overflow.
        left_out: int, if `scaled`: number of batches that made no update.

    Raises:
        KerasZooError: an option that is not supported.

    Reference: Kingma, Ba: Adam: A Method for Stochastic Optimization, 2015, https://arxiv.org/abs/1412.6980;
        Loshchilov, Hutter: Decoupled Weight Decay Regularization, 2019, https://arxiv.org/abs/1711.05101.
    """

    def __init__(self, *args, accumulate=1, head_factor=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        if self.amsgrad or self.gradient_accumulation_steps:
            raise KerasZooError("Adam: amsgrad and gradient_accumulation_steps are not supported here")
        if self.use_ema:
            raise KerasZooError(f"Adam: {NO_EMA}")
        self.accumulate = accumulate
        self.head_factor = head_factor
        self.scaled = False

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        # All replicas write the same numbers, each to its own copy.
        self.health = self.add_variable((3,), aggregation="only_first_replica", name="health")
        self.sums = self.add_optimizer_variables(variables, "sum") if self.accumulate > 1 else []
        if self.scaled:
            self.left_out = self.add_variable(
                (), dtype="int", aggregation="only_first_replica", name="left_out"
            )

    def _clip_gradients(self, grads):
        return grads  # one replica's share of a part; the complete gradient is clipped below

    def _apply_weight_decay(self, variables):
        pass  # part of the update below

    @property
    def iterations(self):
        """The number of updates so far, as Keras counts them with `gradient_accumulation_steps`."""
        batches = self._iterations if self.accumulate == 1 else self._iterations // self.accumulate
        return batches - ops.cast(read(self.left_out), batches.dtype) if self.scaled else batches

    def _get_current_learning_rate(self):
        if isinstance(self._learning_rate, keras.optimizers.schedules.LearningRateSchedule):
            return self._learning_rate(self.iterations)
        return super()._get_current_learning_rate()

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        indices = [self._get_variable_index(variable) for variable in trainable_variables]
        call = ops.cast(self._iterations + 1, "float32")
        whole = ops.equal(ops.mod(self._iterations + 1, self.accumulate), 0)
        grads = over_replicas([_dense(grad) for grad in grads])
        if self.accumulate > 1:
            sums = [self.sums[i] for i in indices]
            grads = [read(so_far) + g / self.accumulate for so_far, g in zip(sums, grads, strict=True)]
            for so_far, grad in zip(sums, grads, strict=True):
                self.assign(so_far, ops.where(whole, ops.zeros_like(grad), grad))

        norm = ops.sqrt(sum(map(_squared_norm, grads)))
        before = read(self.health)
        healthy = ops.all(ops.isfinite(before[1:] if self.scaled else before))
        update = ops.logical_and(ops.logical_and(whole, healthy), ops.isfinite(norm))

        def move():
            for variable, grad in zip(trainable_variables, self._clipped(grads, norm), strict=True):
                in_head = self.head_factor != 1 and not HEAD.isdisjoint(variable.path.split("/"))
                rate = learning_rate * self.head_factor if in_head else learning_rate
                if self.weight_decay and len(variable.shape) > 1 and not variable.path.endswith("bias"):
                    decay = ops.cast(rate * self.weight_decay, variable.dtype)
                    self.assign_sub(variable, decay * read(variable))
                self.update_step(grad, variable, rate)
            return update

        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            tf.cond(update, move, lambda: update)
        else:
            state = [*trainable_variables, *self._momentums, *self._velocities]
            kept = [ops.copy(variable.value) for variable in state]
            move()
            for variable, old in zip(state, kept, strict=True):
                variable.assign(ops.where(update, variable.value, old))
        weights = ops.sqrt(sum(_squared_norm(read(variable)) for variable in trainable_variables))
        now = ops.cast(ops.stack([norm, weights, call]), "float32")
        self.assign(self.health, ops.where(healthy, now, before))
        if self.scaled:
            lost = ops.logical_and(whole, ops.logical_not(update))
            self.assign(self.left_out, read(self.left_out) + ops.cast(lost, self.left_out.dtype))

    # Keras' `update_step` writes by these; on TensorFlow, each replica writes to its own copy only.

    def assign(self, variable, value):
        write(variable, value)

    def assign_add(self, variable, value):
        write(variable, read(variable) + value)

    def assign_sub(self, variable, value):
        write(variable, read(variable) - value)

    def _clipped(self, grads, norm):
        if not self.global_clipnorm:
            return super()._clip_gradients(grads)
        scale = ops.minimum(1.0, self.global_clipnorm / ops.maximum(norm, 1e-30))
        return [grad * ops.cast(scale, grad.dtype) for grad in grads]

    def get_config(self):
        return {**super().get_config(), "accumulate": self.accumulate, "head_factor": self.head_factor}


def innermost(optimizer):
    """The optimizer that updates the weights; in float16, Keras wraps it in one that scales the loss."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def over_replicas(grads):
    """Sums the gradients over all replicas; with one replica, returns them unchanged."""
    if keras.backend.backend() != "tensorflow":
        return grads
    import tensorflow as tf

    replica = tf.distribute.get_replica_context()
    if replica is None or replica.num_replicas_in_sync == 1:
        return grads
    return replica.all_reduce(tf.distribute.ReduceOp.SUM, grads)


def _dense(grad):
    """A gradient as one dense tensor; gradients of embeddings arrive as rows."""
    if keras.backend.backend() != "tensorflow":
        return grad
    import tensorflow as tf

    return tf.convert_to_tensor(grad)


def _squared_norm(values):
    """The squared norm, computed in float32 or wider."""
    dtype = keras.backend.result_type(values.dtype, "float32")
    if keras.backend.backend() != "tensorflow":
        return ops.sum(ops.square(ops.cast(values, dtype)))
    import tensorflow as tf

    return 2 * tf.nn.l2_loss(tf.cast(values, dtype))  # one pass, no copy


def read(variable):
    """The value of a variable; on TensorFlow, this replica's value."""
    if keras.backend.backend() != "tensorflow":
        return variable.value
    import tensorflow as tf

    return tf.raw_ops.ReadVariableOp(resource=variable.value.handle, dtype=variable.dtype)


def write(variable, value):
    """Assigns to a variable; on TensorFlow, only to this replica's copy."""
    if keras.backend.backend() != "tensorflow":
        variable.assign(value)
        return
    import tensorflow as tf

    tf.raw_ops.AssignVariableOp(resource=variable.value.handle, value=tf.cast(value, variable.dtype))


@keras.saving.register_keras_serializable(package="keraszoo")
class LossScale(keras.optimizers.LossScaleOptimizer):
    """`keras.optimizers.LossScaleOptimizer` for `Adam`, for several devices and for batches in parts.

    Gradients arrive multiplied by `dynamic_scale`. If the gradient of any device is not finite, the scale is
    halved; after `dynamic_growth_steps` without overflow it is doubled. `Adam` receives every part of a batch
    and skips the whole batch if one part overflows. Keras would withhold that part, so that later updates
    would mix parts of two batches, and it checks the first device only.

    Args: as for `keras.optimizers.LossScaleOptimizer`.

    Reference: Micikevicius et al.: Mixed Precision Training, 2018, https://arxiv.org/abs/1710.03740.
    """

    def __init__(self, inner_optimizer, *args, **kwargs):
        super().__init__(inner_optimizer, *args, **kwargs)
        inner_optimizer.scaled = True

    @classmethod
    def instead_of(cls, optimizer):
        """Replaces Keras' `LossScaleOptimizer` around our `Adam`; returns any other optimizer unchanged."""
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
