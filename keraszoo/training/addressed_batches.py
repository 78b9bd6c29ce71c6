"""Batches that have an address each: (seed, epoch, i)."""

import functools
import threading

import keras
import numpy as np

from keraszoo.errors import KerasZooError


class AddressedBatches(keras.utils.PyDataset):
    """Base of what `fit` and `evaluate` are given: `batch(epoch, i)` is a pure function of the arguments.

    So a run that stopped is taken up at any step by asking for the batches that are still due (`Periods`). A
    subclass supplies `batch(epoch, i)` and `real_tokens(epoch, i)`, and groups its rows:
    `_new_plan(generator)` gives the `EpochPlan` of an epoch. Every epoch has the same number of batches.

    Call `fit(batches, shuffle=False)`: `fit` would otherwise draw another order of the batches, from a
    generator that knows no address.

    Args:
        seed: of the shuffling, not negative.
        replicas: the number of rows of every batch is a multiple of it; rows of padding with weight 0 fill it
            up.
        shuffle: `False` for validation: the same batches in the same order every epoch.

    Attributes:
        epoch: the epoch that `self[i]` takes its batches from. Settable. `on_epoch_end` moves it on; see
            `at_epoch`.
    """

    def __init__(self, seed=0, replicas=1, shuffle=True):
        super().__init__()
        self.seed = seed
        self.replicas = replicas
        self.shuffle = shuffle
        self.epoch = 0
        self._plans = {}
        self._lock = threading.Lock()
        self._begun = False

    def batch(self, epoch, i):
        """Batch i of an epoch, as `fit` takes it: inputs, what is to be predicted, and the weights of that.

        Raises:
            IndexError: no such batch.
        """
        raise TypeError(f"{type(self).__name__} is abstract: its kind of batches supplies batch.")

    def real_tokens(self, epoch, i):
        """The number of tokens that batch i of an epoch is weighed by; padding is none."""
        raise TypeError(f"{type(self).__name__} is abstract: its kind of batches supplies real_tokens.")

    def indices(self, epoch, i):
        """The numbers of the sentences in batch i of an epoch, int32 (n,), in the order of its rows."""
        return self._address(epoch, i)[0]

    def shape(self, epoch, i):
        """The shape of batch i of an epoch: its rows, and the two lengths of its plan."""
        return self._address(epoch, i)[1]

    def at_epoch(self):
        """A callback that sets `epoch` to the epoch that `fit` is in, for `fit(..., initial_epoch=...)`.

        Without it the epochs are counted by `on_epoch_end`; but `fit` calls that once more before the first
        epoch where it builds the model from a batch first (under a distribution strategy, and on JAX).
        """
        return keras.callbacks.LambdaCallback(
            on_epoch_begin=lambda epoch, logs: setattr(self, "epoch", epoch)
        )

    def on_epoch_begin(self):
        """Called by `fit`; notes that the epoch has begun."""
        self._begun = True

    def on_epoch_end(self):
        """Called by `fit`; moves on to the next epoch if one had begun (`fit` starts with an end)."""
        if self._begun:
            self.epoch += 1
        self._begun = False

    def __len__(self):
        return self._length

    def __getitem__(self, i):
        return self.batch(self.epoch, i)

    @functools.cached_property
    def _length(self):
        return len(self._plan(0).lengths)

    def _new_plan(self, generator):
        """The plan of an epoch, shuffled by a NumPy generator or, where there is none, not."""
        raise TypeError(f"{type(self).__name__} is abstract: its kind of batches supplies _new_plan.")

    def _address(self, epoch, i):
        """The sentence numbers of a batch, and its shape."""
        if not 0 <= i < self._length:
            raise IndexError(f"batch {i} of {self._length}")
        plan = self._plan(epoch)
        indices = plan.order[plan.start[i] : plan.stop[i]]
        rows = -(-len(indices) // self.replicas) * self.replicas
        return indices, (rows, *plan.lengths[i].tolist())

    def _plan(self, epoch):
        """The plan of an epoch; two are kept, because batches of one are still asked for in the next."""
        if epoch < 0:
            raise KerasZooError(f"epoch must not be negative, got {epoch}")
        key = int(epoch) if self.shuffle else 0
        with self._lock:
            if key not in self._plans:
                generator = np.random.default_rng([self.seed, key]) if self.shuffle else None
                for old in sorted(self._plans, key=lambda other: abs(other - key))[1:]:
                    del self._plans[old]
                self._plans[key] = self._new_plan(generator)
            return self._plans[key]


def check_at_least(least, **values):
    """Raises KerasZooError for the first value that is below its least; None is left alone."""
    for name, value in values.items():
        if value is not None and value < least[name]:
            raise KerasZooError(f"{name} must be at least {least[name]}, got {value}")
