"""Periods: the batches of the corpus' epochs, one after the other, whatever the period."""

import keras
import numpy as np
import pytest

from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.batches import TokenBatches
from keraszoo.training.periods import Periods


@pytest.fixture
def batches(both_subwords, train_pairs):
    corpus = ParallelCorpus.from_pairs(train_pairs[:60], *both_subwords)
    return TokenBatches(corpus, 64, seed=3)


def same(one, other):
    return all(map(np.array_equal, keras.tree.flatten(one), keras.tree.flatten(other)))


def test_periods_walk_through_the_epochs(batches):
    periods = Periods(batches, 4)
    count = len(batches)
    assert count > 4 and len(periods) == 4
    begin = periods.at_period()
    for period in range(5):
        begin.on_epoch_begin(period, None)
        for i in range(4):
            epoch, number = divmod(4 * period + i, count)
            assert periods.address(i) == (epoch, number)
            assert same(periods[i], batches.batch(epoch, number))


def test_without_steps_a_period_is_an_epoch(batches):
    periods = Periods(batches)
    periods.at_period().on_epoch_begin(2, None)
    assert len(periods) == len(batches) and periods.address(1) == (2, 1)


def test_before_training_begins_the_two_batches_that_differ_are_shown(batches):
    periods = Periods(batches, 4)
    periods.period = 1
    assert same(periods[0], batches.batch(0, 0)) and same(periods[1], batches.batch(0, 1))


def test_fit_sees_each_batch_once_in_its_order(batches, new_translator):
    class Spy(Periods):
        seen = []

        def __getitem__(self, i):
            if self._begun:
                self.seen.append(self.address(i))
            return super().__getitem__(i)

    from keraszoo.tasks.translator_training import checked_settings, compile_model

    model = new_translator().model
    compile_model(model, checked_settings({}))
    periods = Spy(batches, 3)
    model.fit(periods, epochs=3, shuffle=False, callbacks=[periods.at_period()], verbose=0)
    assert sorted(set(Spy.seen)) == [divmod(step, len(batches)) for step in range(9)]
