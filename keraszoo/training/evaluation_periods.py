"""The steps of a run, in the terms of `fit`: an epoch of Keras is a period of steps."""

import keras
import numpy as np

from keraszoo.errors import KerasZooError


class Periods(keras.utils.PyDataset):
    """Addressed batches without an end, cut into periods of equal length, whatever the epochs of the corpus.

    Period p holds the updates p * updates to (p + 1) * updates - 1 of a run; update n is made by batch `n %
    len(batches)` of the corpus' epoch `n // len(batches)`. A batch may come in `parts`, equal shares of its
    rows, for devices that cannot hold it whole: a step of `fit` is one part. The weights of a part are
    multiplied by the number of parts, so that losses have their usual size; `Adam` divides by it.

    Call `fit(periods, steps_per_epoch=len(periods), initial_epoch=period, shuffle=False)`. It then keeps one
    iterator from period to period: the end of one can wait for two seconds until a thread of TensorFlow's,
    which tunes the reading of data, has slept out.

    Args:
        batches: `TokenBatches`, or whatever has `batch(epoch, i)` and a length.
        updates: of a period; `None`: an epoch of the corpus.
        period: the one to begin with.
        skip: steps at the head of that period that are left out: those a stopped run had made. Then `fit`
            must end with it, and the next one be begun anew.
        parts: shares of a batch; its rows must be a multiple of it.

    Attributes:
        period: the one that `fit` is in; see `at_period`.

    Raises:
        KerasZooError: if nothing is left of the period.
    """

    num_batches = None  # for Keras: there is no end

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
        self._begun = False

    def __len__(self):
        """How many steps a period has."""
        return self.updates * self.parts - self.skip

    def __getitem__(self, i):
        """What the i-th step of `fit` is given, counted on from period to period.

        Under TensorFlow Keras first looks at two of them, and takes every axis but the first for one of fixed
        length in which they are alike. So until an epoch begins the second that is shown is the first one,
        longer along every other axis.
        """
        if not self._begun and i < 2:
            shown = self._part(0, 0, 0)
            return shown if i == 0 else keras.tree.map_structure(_longer, shown)
        step = self._first + i
        return self._part(*self._address(step), step % self.parts)

    def step(self, i):
        """The number of the i-th step of the period, counted from the start of the run."""
        return self.period * self.updates * self.parts + self.skip + i

    def address(self, i):
        """(epoch, number) of the batch that the i-th step of the period is given."""
        return self._address(self.step(i))

    def real_tokens(self, i):
        """The real tokens of the i-th step of the period; of a batch in parts, an equal share."""
        return self.batches.real_tokens(*self.address(i)) / self.parts

    def at_period(self):
        """The callback that sets `period` to the epoch that `fit` is in."""
        return keras.callbacks.LambdaCallback(
            on_epoch_begin=lambda epoch, logs: setattr(self, "period", epoch)
        )

    def on_epoch_begin(self):
        """Called by `fit`."""
        self._begun = True

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
    """A step of `fit`, counted from 1, as the update that it belongs to.

    >>> step_in_words(1234567), step_in_words(7, parts=2), step_in_words(8, parts=2)
    ('step 1,234,567', 'step 4, part 1 of 2', 'step 4')
    """
    whole = f"step {-(-step // parts):,}"
    return whole if step % parts == 0 else f"{whole}, part {step % parts} of {parts}"


def _longer(array):
    return np.pad(array, [(0, int(axis > 0)) for axis in range(array.ndim)])
