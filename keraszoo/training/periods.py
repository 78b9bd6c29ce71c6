"""Evaluation every so many steps, in the terms of `fit`: an epoch of Keras is a period of steps."""

import keras


class Periods(keras.utils.PyDataset):
    """Addressed batches cut into periods of equal length, whatever the epochs of the corpus.

    Period p holds the steps p * steps to (p + 1) * steps - 1 of `batches`, counted from the start of the
    corpus' epoch 0.

    Args:
        batches: `TokenBatches`.
        steps: steps of a period; `None`: an epoch of the corpus.
    """

    def __init__(self, batches, steps=None):
        super().__init__()
        self.batches = batches
        self.steps = steps or len(batches)
        self.period = 0
        self._begun = False

    def __len__(self):
        return self.steps

    def __getitem__(self, i):
        if not self._begun and i < 2 and len(self.batches) > 1:
            return self.batches.batch(0, i)  # Keras learns from these two along which axes shapes vary
        return self.batches.batch(*self.address(i))

    def address(self, i):
        """(epoch, number) of the i-th batch of the period."""
        return divmod(self.period * self.steps + i, len(self.batches))

    def at_period(self):
        """The callback that sets `period` to the epoch that `fit` is in."""

        def begin(epoch, logs):
            self.period, self._begun = epoch, True

        return keras.callbacks.LambdaCallback(on_epoch_begin=begin)
