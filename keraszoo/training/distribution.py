"""Training on several devices or machines: the strategy, and copies of a model on all of them."""

import contextlib
import functools
import os
import re

import keras

from keraszoo.errors import KerasZooError
from keraszoo.messages import say

BACKENDS = {"mirrored": "tensorflow", "workers": "tensorflow", "data_parallel": "jax"}
SEEDS_APART = 0x9E3779B1  # between replicas; an odd number, unlikely as the distance of two layers' seeds
# Words in TensorFlow's message when another worker does not answer; the same errors have local causes, too.
_OF_OTHERS = re.compile("collective|recv|socket|connect|peer|heartbeat|worker|coordination|rpc", re.I)


def make_strategy(name, replicas=None):
    """Makes the distribution strategy of a name.

    With each of them, every device holds the weights and computes on its share of the rows of a batch, and
    the gradients are summed.

    - `"mirrored"`: the GPUs of this machine. Without a GPU, the CPU is split into logical devices to try it
      out; that is no faster.
    - `"workers"`: all machines that the environment variable `TF_CONFIG` names, each running the same
      program.
    - `"data_parallel"`: the devices of this machine that JAX lists. `XLA_FLAGS` can split the CPU:
      `--xla_force_host_platform_device_count=2`.

    Args:
        name: one of these, or None.
        replicas: the number of devices of this machine; `None`: all GPUs, or two parts of the CPU; on JAX,
            all devices. For workers it must be None, since `TF_CONFIG` names them.

    Returns:
        A `tf.distribute.Strategy` or a `DataParallel`; None for None.

    Raises:
        KerasZooError: another name, a strategy of another backend, replicas of workers, fewer devices than
            replicas, no `TF_CONFIG`, or a CPU that cannot be split because TensorFlow has already computed
            something.
    """
    if name is None:
        if replicas not in (None, 1):
            raise KerasZooError(f"training.replicas: {replicas} of them need a training.strategy")
        return None
    if name not in BACKENDS:
        raise KerasZooError(f"training.strategy: expected one of {', '.join(BACKENDS)}, got {name!r}")
    if keras.backend.backend() != BACKENDS[name]:
        raise KerasZooError(
            f"training.strategy: {name} needs the backend {BACKENDS[name]}, it is {keras.backend.backend()}"
        )
    if name == "data_parallel":
        return DataParallel(replicas)
    if name == "workers":
        if replicas is not None:
            raise KerasZooError(
                f"training.replicas: TF_CONFIG names the workers, got {replicas}; leave it out"
            )
        return _workers()
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return _mirrored(tuple(_split_cpu(replicas or 2)))
    if replicas is not None and replicas > len(gpus):
        raise KerasZooError(
            f"training.replicas: expected at most {len(gpus)}, the number of GPUs: {replicas}"
        )
    return _mirrored(tuple(f"GPU:{i}" for i in range(replicas or len(gpus))))


class DataParallel:
    """`keras.distribution.DataParallel` with what is used here of a `tf.distribute.Strategy`."""

    def __init__(self, replicas):
        devices = keras.distribution.list_devices()
        if len(devices) < (replicas or 1):
            raise KerasZooError(
                f"training.replicas: expected at most {len(devices)}, the number of JAX devices: {replicas}; "
                "XLA_FLAGS=--xla_force_host_platform_device_count=N makes N of a CPU"
            )
        self.num_replicas_in_sync = replicas or len(devices)
        self.distribution = keras.distribution.DataParallel(
            devices=devices[: self.num_replicas_in_sync], auto_shard_dataset=False
        )

    def scope(self):
        return self.distribution.scope()


def scope_of_fit(strategy):
    """The context of `fit`: the distribution of JAX holds for it, too."""
    return strategy.scope() if isinstance(strategy, DataParallel) else contextlib.nullcontext()


def replicas_of(strategy):
    """The number of devices that share a batch."""
    return 1 if strategy is None else strategy.num_replicas_in_sync


@functools.cache
def _mirrored(devices):
    """One strategy for the same devices: the collective operations of two would get the same keys."""
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(devices)


def writes(strategy):
    """Whether this process writes files; of several workers, the chief does, or else worker 0."""
    if strategy is None or not shared_by_workers(strategy):
        return True
    resolver = strategy.cluster_resolver
    first = "chief" if "chief" in resolver.cluster_spec().jobs else "worker"
    return (resolver.task_type, resolver.task_id) == (first, 0)


def shared_by_workers(model):
    """Whether a model or a strategy is distributed over several processes, each with its own metrics."""
    resolver = getattr(getattr(model, "distribute_strategy", model), "cluster_resolver", None)
    return bool(resolver and resolver.cluster_spec().jobs)


@contextlib.contextmanager
def while_all_workers_live(strategy):
    """Turns TensorFlow's errors about a missing worker into a KerasZooError; others stay as they are."""
    if strategy is None or not shared_by_workers(strategy):
        yield
        return
    import tensorflow as tf

    kinds = ("Unavailable", "Aborted", "Cancelled", "DeadlineExceeded", "Internal", "FailedPrecondition")
    try:
        yield
    except tuple(getattr(tf.errors, f"{kind}Error") for kind in kinds) as error:
        if not _OF_OTHERS.search(str(error)):
            raise
        raise KerasZooError(
            f"another worker is gone ({_reason(error)}); start all of them again to resume the run"
        ) from error


def any_worker(strategy):
    """Makes a function of a bool that tells each worker whether it is True for any of them.

    All workers must call it, and wait for each other. None if there are no workers.
    """
    if strategy is None or not shared_by_workers(strategy):
        return None
    import tensorflow as tf

    @tf.function
    def count(mine):
        return strategy.reduce("SUM", strategy.run(tf.identity, (mine,)), axis=None)

    return lambda mine: bool(count(tf.constant(float(mine))) > 0)


def _reason(error):
    """The line of TensorFlow's message that says what happened; places in the code precede it."""
    places = ("Graph execution error", "Detected at", "File ")
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line and not line.startswith(places)), type(error).__name__)[:200]


@functools.cache
def _workers():
    """The strategy of this process' `TF_CONFIG`; there can only be one."""
    if not os.environ.get("TF_CONFIG"):
        raise KerasZooError(
            "training.strategy: the environment variable TF_CONFIG must name the workers; it is not set"
        )
    import tensorflow as tf

    try:
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        cluster = resolver.cluster_spec()
        tasks = [f"{job}:{place}" for job in cluster.jobs for place in cluster.job_tasks(job)]
        mine = f"{resolver.task_type} {resolver.task_id}"
        say(f"{mine} waits for all of {', '.join(tasks)}")
        return tf.distribute.MultiWorkerMirroredStrategy(resolver)
    except (ValueError, KeyError, RuntimeError) as error:
        raise KerasZooError(f"TF_CONFIG: {' '.join(str(error).split())}") from error


def _split_cpu(count):
    """The names of `count` logical CPU devices."""
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(cpu) or [cpu]) < count:
        parts = [tf.config.LogicalDeviceConfiguration()] * count
        try:
            tf.config.set_logical_device_configuration(cpu, parts)
        except RuntimeError:
            raise KerasZooError(
                f"training.replicas: the CPU cannot be split into {count} devices after TensorFlow has "
                "computed something; call make_strategy first"
            ) from None
    return [f"CPU:{i}" for i in range(count)]


def copy_in_scope(model, strategy):
    """Copies a built model with its weights, so that its variables live on all devices of a strategy.

    Its random-number generators have the same states on all devices, which a checkpoint stores once. Each
    device draws different numbers, the first one those of the model itself; on JAX, all together draw them.
    """
    kind = type(model)
    with strategy.scope():
        copy = type(kind.__name__, (_BuiltModel, kind), {}).from_config(model.get_config())
        copy.build()
        if getattr(model, "lora", None):
            copy.enable_lora(*model.lora)
    copy_variables(model, copy)
    for theirs, ours in zip(model.variables, copy.variables, strict=True):
        ours.trainable = theirs.trainable  # a layer that is frozen stays so
    if isinstance(strategy, DataParallel):
        return copy
    for layer in copy._flatten_layers():
        for generator in layer._seed_generators:
            generator.next = functools.partial(_seed_of_replica, generator.next)
    return copy


def _seed_of_replica(next_seed, ordered=True):
    """The next seed of a generator, int64 (2,), with the number of the replica added to its first half."""
    import tensorflow as tf

    seed, replica = next_seed(ordered), tf.distribute.get_replica_context()
    if replica is None:
        return seed
    number = tf.cast(replica.replica_id_in_sync_group, seed.dtype)
    return seed + tf.stack([number * SEEDS_APART, tf.zeros_like(number)])


def copy_variables(source, target):
    """Copies weights and states of random numbers to another model of the same class."""
    for theirs, ours in zip(source.variables, target.variables, strict=True):
        ours.assign(keras.ops.convert_to_numpy(theirs))


class _BuiltModel(keras.Model):
    """A model whose weights exist, so that `fit` need not build it from a batch.

    Under a strategy, Keras would build it from the mean of the replicas' shares of the first batch, which
    turns ids into floats. With several workers, that fails, and so does the mean of their logs.
    """

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        pass

    def make_train_function(self, force=False):
        if not shared_by_workers(self):
            return super().make_train_function(force)
        if self.train_function is not None and not force:
            return self.train_function
        import tensorflow as tf

        strategy = self.distribute_strategy

        @tf.function(reduce_retracing=True, autograph=False)
        def step(iterator):
            logs = strategy.run(self.train_step, args=(next(iterator),))
            return keras.tree.map_structure(lambda log: strategy.experimental_local_results(log)[0], logs)

        self.train_function = step
        return step
