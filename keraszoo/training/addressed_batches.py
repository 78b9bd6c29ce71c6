"""Batches with an address each, (seed, epoch, i), and a run's steps over them."""

import functools
import threading

import keras
import numpy as np

from keraszoo.errors import KerasZooError, check_at_least
from keraszoo.training.batch_plans import BudgetGrouping

PREFETCHED = 4  # batches made ahead of `fit`


class AddressedBatches(keras.utils.PyDataset):
    """Base class of batches for `fit` and `evaluate`: `batch(epoch, i)` is a pure function of its arguments.

    So a stopped run can resume at any step with the remaining batches (`Periods`). A subclass supplies
    `batch(epoch, i)` and `real_tokens(epoch, i)`. Every epoch has the same number of batches.

    Args:
        lengths, tokens, shapes: as for `BudgetGrouping`.
        seed, replicas, shuffle: as for `TokenBatches`.

    Attributes:
        epoch: the epoch of the batches `self[i]`. Settable. `on_epoch_end` increments it; see `at_epoch`.
    """

    def __init__(self, lengths, tokens, seed, replicas, shuffle, shapes):
        super().__init__()
        check_at_least(seed=(seed, 0), replicas=(replicas, 1))
        self.seed = seed
        self.replicas = replicas
        self.shuffle = shuffle
        self.shapes = shapes
        self._grouping = BudgetGrouping(lengths, tokens, replicas, shapes)
        self.epoch = 0
        self._plans = {}
        self._lock = threading.Lock()
        self._begun = False

    def batch(self, epoch, i):
        """Batch i of an epoch, as `fit` expects it: inputs, targets and sample weights.

        Raises:
            IndexError: no such batch.
        """
        raise NotImplementedError

    def real_tokens(self, epoch, i):
        """The number of tokens of batch i of an epoch, without padding."""
        raise NotImplementedError

    def indices(self, epoch, i):
        """The numbers of the sentences in batch i of an epoch, int32 (n,), in the order of its rows."""
        return self._address(epoch, i)[0]

    def shape(self, epoch, i):
        """The shape of batch i of an epoch: its rows, and the two lengths of its plan."""
        return self._address(epoch, i)[1]

    def at_epoch(self):
        """Returns a callback that sets `epoch` to the epoch of `fit`, for `fit(..., initial_epoch=...)`.

        Without it, `on_epoch_end` counts the epochs; but `fit` calls that once more before the first epoch if
        it builds the model from a batch (under a distribution strategy and on JAX).
        """
        return keras.callbacks.LambdaCallback(
            on_epoch_begin=lambda epoch, logs: setattr(self, "epoch", epoch)
        )

    def on_epoch_begin(self):
        """Called by `fit`; records that the epoch has begun."""
        self._begun = True

    def on_epoch_end(self):
        """Called by `fit`; moves to the next epoch if one had begun (`fit` starts with an end)."""
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
        """Returns the plan of an epoch, shuffled by a NumPy generator unless that is None."""
        return self._grouping.plan(generator)

    def _address(self, epoch, i):
        """The sentence numbers of a batch, and its shape."""
        if not 0 <= i < self._length:
            raise IndexError(f"batch {i} of {self._length}")
        plan = self._plan(epoch)
        indices = plan.order[plan.start[i] : plan.stop[i]]
        rows = -(-len(indices) // self.replicas) * self.replicas
        return indices, (rows, *plan.lengths[i].tolist())

    def _plan(self, epoch):
        """The plan of an epoch; two are kept, because threads may still read batches of the one before."""
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


class Periods(keras.utils.PyDataset):
    """An endless sequence of addressed batches, cut into periods of equal length: the epochs of `fit`.

    Period p holds the updates `p * updates` to `(p + 1) * updates - 1` of a run; update n uses batch `n %
    len(batches)` of the corpus' epoch `n // len(batches)`. A batch may come in `parts`, equal shares of its
    rows, for devices that cannot hold all of it: a step of `fit` is one part. The weights of a part are
    multiplied by the number of parts, so that losses have their usual size; `Adam` divides by it.

    Call `fit(periods.for_fit(), steps_per_epoch=len(periods), initial_epoch=period, shuffle=False)`. Keras
    then keeps one iterator for all periods.

    Args:
        batches: `AddressedBatches`.
        updates: updates in a period; `None`: as many as in an epoch of the corpus.
        period: number of the first period.
        skip: steps at the start of that period to leave out, because a stopped run has made them. `fit` must
            then end with this period.
        parts: shares of a batch; its rows must be a multiple of it.

    Attributes:
        period: the current period of `fit`; see `at_period`.

    Raises:
        KerasZooError: if nothing is left of the period.
    """

    num_batches = None  # tells Keras that there is no end

    def __init__(self, batches, updates=None, period=0, skip=0, parts=1):
        super().__init__()
        self.batches = batches
        self.updates = updates or len(batches)
        self.period = period
        self.skip = skip
        self.parts = parts
        if not 0 <= skip < self.updates * parts:
            raise KerasZooError(
                f"skip: expected a step of a period of {self.updates * parts}, from 0 on, got {skip}"
            )
        self._first = self.step(0)

    def __len__(self):
        """The number of steps of a period."""
        return self.updates * self.parts - self.skip

    def __getitem__(self, i):
        """The data of the i-th step of `fit`, counted across periods."""
        step = self._first + i
        return self._part(*self._address(step), step % self.parts)

    def step(self, i):
        """The number of the i-th step of the period, counted from the start of the run."""
        return self.period * self.updates * self.parts + self.skip + i

    def address(self, i):
        """(epoch, number) of the batch of the i-th step of the period."""
        return self._address(self.step(i))

    def real_tokens(self, i):
        """The real tokens of the i-th step of the period; of a batch in parts, an equal share."""
        return self.batches.real_tokens(*self.address(i)) / self.parts

    def at_period(self):
        """Returns the callback that sets `period` to the epoch of `fit`."""
        return keras.callbacks.LambdaCallback(
            on_epoch_begin=lambda epoch, logs: setattr(self, "period", epoch)
        )

    def for_fit(self):
        """Returns the data for `fit`: on TensorFlow a `tf.data.Dataset`, on other backends this object.

        Keras would make a dataset with autotuning, whose thread sleeps for up to a minute; the end of an
        iterator waits for it. Keras would also take an axis on which the first two batches agree for one of
        fixed length.
        """
        if keras.backend.backend() != "tensorflow":
            return self
        import tensorflow as tf

        specs = keras.tree.map_structure(
            lambda array: tf.TensorSpec([None] * array.ndim, array.dtype), self[0]
        )
        options = tf.data.Options()
        options.autotune.enabled = False
        dataset = tf.data.Dataset.from_generator(self.__iter__, output_signature=specs)
        return dataset.prefetch(PREFETCHED).with_options(options)

    def _address(self, step):
        return divmod(step // self.parts, len(self.batches))

    def _part(self, epoch, i, part):
        batch = self.batches.batch(epoch, i)
        if self.parts == 1:
            return batch
        rows = len(keras.tree.flatten(batch)[0]) // self.parts
        share = keras.tree.map_structure(lambda array: array[part * rows : (part + 1) * rows], batch)
        inputs, target, weight = share
        return inputs, target, weight * self.parts


def step_in_words(step, parts=1):
    """Names a step of `fit`, counted from 1, by the update it belongs to.

    Example:

    >>> step_in_words(1234567), step_in_words(7, parts=2), step_in_words(8, parts=2)
    ('step 1,234,567', 'step 4, part 1 of 2', 'step 4')
    """
    whole = f"step {-(-step // parts):,}"
    return whole if step % parts == 0 else f"{whole}, part {step % parts} of {parts}"
