"""Batches with an address each, (seed, epoch, i), and the endless sequence of steps that `fit` reads."""

import contextlib
import functools
import threading

import keras
import numpy as np

from keraszoo.errors import KerasZooError, check_at_least
from keraszoo.training.batch_plans import BudgetGrouping

PREFETCHED = 4  # batches made ahead of `fit`


class AddressedBatches:
    """Base class of batches for `fit` and `evaluate`: `batch(epoch, i)` is a pure function of its arguments.

    So a stopped run can resume at any step with the remaining batches. A subclass supplies `batch(epoch, i)`
    and `real_tokens(epoch, i)`. Every epoch has the same number of batches, `len(self)`.

    Args:
        lengths, tokens, shapes: as for `BudgetGrouping`.
        seed, replicas, shuffle: as for `TokenBatches`.
    """

    def __init__(self, lengths, tokens, seed, replicas, shuffle, shapes):
        check_at_least(seed=(seed, 0), replicas=(replicas, 1))
        self.seed = seed
        self.replicas = replicas
        self.shuffle = shuffle
        self.shapes = shapes
        self._grouping = BudgetGrouping(lengths, tokens, replicas, shapes)
        self._plans = {}
        self._lock = threading.Lock()

    def batch(self, epoch, i):
        """Batch i of an epoch, as `fit` expects it; raises IndexError if there is no such batch."""
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

    def tokens_of(self, updates):
        """The real tokens of the first `updates` batches of a run; every epoch has equally many."""
        epochs, rest = divmod(updates, len(self))
        epoch = sum(self.real_tokens(0, i) for i in range(len(self))) if epochs else 0
        return epochs * epoch + sum(self.real_tokens(epochs, i) for i in range(rest))

    def for_fit(self, first=0, parts=1):
        """Returns the batches as one endless sequence, for `fit`.

        Call `fit(data, steps_per_epoch=len(batches), shuffle=False)`. Step n is batch `n % len(self)` of the
        epoch `n // len(self)`; `first` is the number of the first. A batch may come in `parts`, equal shares
        of its rows, for devices that cannot hold all of it: then a step of `fit` is one part. The weights of
        a part are multiplied by the number of parts, so that losses have their usual size; `Adam` divides.

        It is a `keras.utils.PyDataset`; on TensorFlow, a `tf.data.Dataset` of it. (There, Keras would make
        one with autotuning, whose thread sleeps for up to a minute; the end of an iterator waits for it. It
        would also take an axis on which the first two batches agree for one of fixed length.)
        """
        steps = _Steps(self, first, parts)
        if keras.backend.backend() != "tensorflow":
            return steps
        import tensorflow as tf

        specs = keras.tree.map_structure(
            lambda array: tf.TensorSpec([None] * array.ndim, array.dtype), steps[0]
        )
        options = tf.data.Options()
        options.autotune.enabled = False
        dataset = tf.data.Dataset.from_generator(steps.__iter__, output_signature=specs)
        return dataset.prefetch(PREFETCHED).with_options(options)

    def __len__(self):
        return self._length

    @functools.cached_property
    def _length(self):
        return len(self._plan(0).lengths)

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
                self._plans[key] = self._grouping.plan(generator)
            return self._plans[key]


class _Steps(keras.utils.PyDataset):
    """The steps of `fit`; see `AddressedBatches.for_fit`."""

    num_batches = None  # tells Keras that there is no end

    def __init__(self, batches, first, parts):
        super().__init__()
        self.batches = batches
        self.first = first
        self.parts = parts

    def __getitem__(self, i):
        update, part = divmod(self.first + i, self.parts)
        batch = self.batches.batch(*divmod(update, len(self.batches)))
        if self.parts == 1:
            return batch
        rows = len(keras.tree.flatten(batch)[0]) // self.parts
        share = keras.tree.map_structure(lambda array: array[part * rows : (part + 1) * rows], batch)
        inputs, target, weight = share
        return inputs, target, weight * self.parts


@contextlib.contextmanager
def batches_in_parts(model, parts):
    """Within it, layers of a model that sum over a batch, as `MixtureOfExperts`, take it in so many parts."""
    layers = [layer for layer in model._flatten_layers() if hasattr(layer, "parts")]
    try:
        for layer in layers:
            layer.parts = parts
        yield
    finally:
        for layer in layers:
            layer.parts = 1


def held_out_options(settings, longest):
    """The arguments of batches of held-out data whose longest sentence has this length.

    Each sentence has room, and on JAX, which compiles a program for each shape, there are few shapes.
    """
    shapes = (settings.shapes or 16) if keras.backend.backend() == "jax" else None
    return {"tokens": max(settings.batch_tokens, longest), "shuffle": False, "shapes": shapes}


def step_in_words(step, parts=1):
    """Names a step of `fit`, counted from 1, by the update it belongs to.

    >>> step_in_words(1234567), step_in_words(7, parts=2), step_in_words(8, parts=2)
    ('step 1,234,567', 'step 4, part 1 of 2', 'step 4')
    """
    whole = f"step {-(-step // parts):,}"
    return whole if step % parts == 0 else f"{whole}, part {step % parts} of {parts}"
