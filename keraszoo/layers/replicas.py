"""Sums over the replicas that share a batch, under a strategy of TensorFlow; on JAX, arrays are whole."""

import keras
from keras import ops


def _replica():
    """The context of this replica, or `None` if it has the whole batch."""
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    replica = tf.distribute.get_replica_context()
    return None if replica is None or replica.num_replicas_in_sync == 1 else replica


def over_replicas(x):
    """The sums of nested tensors over all replicas; with one replica, the tensors themselves."""
    replica = _replica()
    return x if replica is None else replica.all_reduce("SUM", x)


def valued_once(loss):
    """A loss that only the first replica of a process gives its value; the others give its gradient alone.

    They append to one list, of which Keras makes the loss of each: the later ones would count the earlier.
    """
    replica = _replica()
    if replica is None:
        return loss
    number = replica.replica_id_in_sync_group % len(replica.strategy.extended.worker_devices)
    return loss - ops.cast(number > 0, loss.dtype) * ops.stop_gradient(loss)
