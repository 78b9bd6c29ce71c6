"""Adam whose update is the same on one device and on many, in one batch and in its parts."""

import keras
import numpy as np
from keras import ops

from keraszoo.errors import KerasZooError


@keras.saving.register_keras_serializable(package="keraszoo")
class Adam(keras.optimizers.Adam):
    """`keras.optimizers.Adam` for batches that are shared by replicas or come in parts.

        m <- m + (1 - beta_1) (g - m)        v <- v + (1 - beta_2) (g^2 - v)
        w <- w - rate sqrt(1 - beta_2^t) / (1 - beta_1^t) m / (sqrt(v) + epsilon)

    g is the sum of the gradients of all replicas and the mean of those of `accumulate` parts of a batch,
    measured and clipped when it is whole. Keras clips what each replica has, and lets its schedule count the
    parts; here t and the schedule count updates.

    A gradient that is not finite changes nothing: neither weights nor moments, then or later. `health` says
    that it came, and `gradient_norms` how large it was, weight by weight. Only where a `LossScale` has set
    `scaled` it is no failure: the whole batch, with all of its parts, is left out and not counted by t.

    Under TensorFlow the update of a weight is one operation, where Keras makes a dozen passes over m, v and
    w.

    Args: as for `keras.optimizers.Adam`, without `amsgrad` and `gradient_accumulation_steps`, and
        accumulate: parts of a batch, each a call, that make one update.

    Attributes:
        health: float32 (3,): length of the last gradient, of all weights after it, and its call, from 1. Once
            one of the lengths is not finite, it stays; where `scaled`, once that of the weights is not.
        gradient_norms: float32 (weights,): the length of the gradient of each.
        scaled: whether the loss is multiplied by a scale that gets smaller when gradients overflow.
        left_out: int, where `scaled`: batches that made no update.

    Raises:
        KerasZooError: an option that is not supported.

    Reference: Kingma, Ba: Adam: A Method for Stochastic Optimization, 2015, https://arxiv.org/abs/1412.6980.
    """

    def __init__(self, *args, accumulate=1, **kwargs):
        super().__init__(*args, **kwargs)
        if self.amsgrad or self.gradient_accumulation_steps:
            raise KerasZooError("Adam: amsgrad and gradient_accumulation_steps are not supported here")
        if accumulate > 1 and self.weight_decay:
            raise KerasZooError("Adam: weight_decay would be applied once a part: not with accumulate > 1")
        self.accumulate = accumulate
        self.scaled = False

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        # All replicas write the same numbers, each into its own copy.
        self.health = self.add_variable((3,), aggregation="only_first_replica", name="health")
        self.gradient_norms = self.add_variable(
            (len(variables),), aggregation="only_first_replica", name="gradient_norms"
        )
        self.sums = self.add_optimizer_variables(variables, "sum") if self.accumulate > 1 else []
        if self.scaled:
            self.left_out = self.add_variable(
                (), dtype="int", aggregation="only_first_replica", name="left_out"
            )

    def _clip_gradients(self, grads):
        return grads  # which are a replica's share of a part: clipped below, when they are whole

    def _get_current_learning_rate(self):
        if isinstance(self._learning_rate, keras.optimizers.schedules.LearningRateSchedule):
            return self._learning_rate(self._updates())
        return super()._get_current_learning_rate()

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        indices = [self._get_variable_index(variable) for variable in trainable_variables]
        call = ops.cast(self.iterations + 1, "float32")
        whole = ops.equal(ops.mod(self.iterations + 1, self.accumulate), 0)
        grads = over_replicas([_dense(grad) for grad in grads])
        if self.accumulate > 1:
            sums = [self.sums[i] for i in indices]
            grads = [read(so_far) + g / self.accumulate for so_far, g in zip(sums, grads, strict=True)]
            for so_far, grad in zip(sums, grads, strict=True):
                write(so_far, ops.where(whole, ops.zeros_like(grad), grad))

        squares = dict(zip(indices, map(_squared_norm, grads), strict=True))
        squares = ops.stack([squares.get(i, ops.zeros(())) for i in range(len(self._momentums))])
        norm = ops.sqrt(ops.sum(squares))
        before = read(self.health)
        healthy = ops.all(ops.isfinite(before[1:] if self.scaled else before))
        update = ops.logical_and(ops.logical_and(whole, healthy), ops.isfinite(norm))
        count = ops.cast(self._updates() + 1, "float32")
        powers = ops.power(self.beta_1, count), ops.power(self.beta_2, count)

        def move():
            for i, grad, variable in zip(
                indices, self._clipped(grads, norm), trainable_variables, strict=True
            ):
                self._move(
                    variable, self._momentums[i], self._velocities[i], grad, learning_rate, powers, update
                )
            return update

        _if(update, move)
        weights = ops.sqrt(sum(_squared_norm(read(variable)) for variable in trainable_variables))
        figures = (self.health, ops.stack([norm, weights, call])), (self.gradient_norms, ops.sqrt(squares))
        for variable, now in figures:
            write(variable, ops.where(healthy, ops.cast(now, "float32"), read(variable)))
        if self.scaled:
            lost = ops.logical_and(whole, ops.logical_not(update))
            write(self.left_out, read(self.left_out) + ops.cast(lost, self.left_out.dtype))

    def _updates(self):
        """How many updates there were."""
        batches = self.iterations // self.accumulate
        return batches - ops.cast(read(self.left_out), batches.dtype) if self.scaled else batches

    def _clipped(self, grads, norm):
        if not self.global_clipnorm:
            return super()._clip_gradients(grads)
        scale = ops.minimum(1.0, self.global_clipnorm / ops.maximum(norm, 1e-30))
        return [grad * ops.cast(scale, grad.dtype) for grad in grads]

    def _move(self, variable, m, v, grad, rate, powers, update):
        """One weight and its moments by one update; by none where `update` is `False`."""
        dtype = variable.dtype
        rate, grad, power_1, power_2 = (ops.cast(value, dtype) for value in (rate, grad, *powers))
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            tf.raw_ops.ResourceApplyAdam(
                var=variable.value.handle,
                m=m.value.handle,
                v=v.value.handle,
                beta1_power=power_1,
                beta2_power=power_2,
                lr=rate,
                beta1=self.beta_1,
                beta2=self.beta_2,
                epsilon=self.epsilon,
                grad=grad,
            )
            return
        weight, old_m, old_v = read(variable), read(m), read(v)
        new_m = old_m + (grad - old_m) * (1 - self.beta_1)
        new_v = old_v + (ops.square(grad) - old_v) * (1 - self.beta_2)
        step = rate * ops.sqrt(1 - power_2) / (1 - power_1) * new_m / (ops.sqrt(new_v) + self.epsilon)
        m.assign(ops.where(update, new_m, old_m))
        v.assign(ops.where(update, new_v, old_v))
        variable.assign(ops.where(update, weight - step, weight))

    def get_config(self):
        return {**super().get_config(), "accumulate": self.accumulate}


def innermost(optimizer):
    """The optimizer that moves the weights; in float16 Keras wraps it into one that scales the loss."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def largest_gradients(optimizer, count=5):
    """The weights whose gradients were the largest when `Adam` last measured them, those that are NaN first.

    Returns:
        List of (path of the weight, length), the largest first.
    """
    norms = ops.convert_to_numpy(optimizer.gradient_norms)
    order = np.argsort(np.where(np.isnan(norms), np.inf, norms), kind="stable")[::-1][:count]
    return [(optimizer._trainable_variables[i].path, float(norms[i])) for i in order]


def _if(condition, move):
    """Calls a function under TensorFlow only where a condition holds; elsewhere it sees to that itself."""
    if keras.backend.backend() != "tensorflow":
        move()
        return
    import tensorflow as tf

    tf.cond(condition, move, lambda: condition)


def over_replicas(grads):
    """The sums of the gradients of all replicas; as they are where there is one."""
    if keras.backend.backend() != "tensorflow":
        return grads
    import tensorflow as tf

    replica = tf.distribute.get_replica_context()
    if replica is None or replica.num_replicas_in_sync == 1:
        return grads
    return replica.all_reduce(tf.distribute.ReduceOp.SUM, grads)


def _dense(grad):
    """A gradient as one tensor; those of embeddings come as rows."""
    if keras.backend.backend() != "tensorflow":
        return grad
    import tensorflow as tf

    return tf.convert_to_tensor(grad)


def _squared_norm(values):
    """The squared length, in float32 at least."""
    dtype = keras.backend.result_type(values.dtype, "float32")
    if keras.backend.backend() != "tensorflow":
        return ops.sum(ops.square(ops.cast(values, dtype)))
    import tensorflow as tf

    return 2 * tf.nn.l2_loss(tf.cast(values, dtype))  # one pass, no copy


def read(variable):
    """The value of a variable; under TensorFlow that of this replica."""
    if keras.backend.backend() != "tensorflow":
        return variable.value
    import tensorflow as tf

    return tf.raw_ops.ReadVariableOp(resource=variable.value.handle, dtype=variable.dtype)


def write(variable, value):
    """Sets a variable; under TensorFlow that of this replica, without asking the others."""
    if keras.backend.backend() != "tensorflow":
        variable.assign(value)
        return
    import tensorflow as tf

    tf.raw_ops.AssignVariableOp(resource=variable.value.handle, value=tf.cast(value, variable.dtype))
