"""Periods: the batches of the corpus' epochs, one after the other, for any length of a period."""

import keras
import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.addressed_batches import Periods
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.token_batches import TokenBatches

needs_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a tf.data.Dataset")


@pytest.fixture
def batches(both_subwords, train_pairs):
    corpus = ParallelCorpus.from_pairs(train_pairs[:60], *both_subwords)
    return TokenBatches(corpus, 64, seed=3)


def same(one, other):
    return all(map(np.array_equal, keras.tree.flatten(one), keras.tree.flatten(other)))


def test_periods_walk_through_the_epochs(batches):
    periods = Periods(batches, 4)
    count = len(batches)
    assert count > 4 and len(periods) == 4 and periods.num_batches is None
    begin = periods.at_period()
    for period in range(5):
        begin.on_epoch_begin(period, None)
        for i in range(4):
            epoch, number = divmod(4 * period + i, count)
            assert periods.address(i) == (epoch, number)
            assert same(periods[4 * period + i], batches.batch(epoch, number))


def test_without_updates_a_period_is_an_epoch(batches):
    periods = Periods(batches)
    periods.at_period().on_epoch_begin(2, None)
    assert len(periods) == len(batches) and periods.address(1) == (2, 1)


def test_a_run_is_taken_up_in_the_middle_of_a_period(batches):
    count = len(batches)
    periods = Periods(batches, period=2, skip=3)
    assert len(periods) == count - 3 and periods.step(0) == 2 * count + 3
    for i in range(2 * count):
        assert same(periods[i], batches.batch(*divmod(2 * count + 3 + i, count)))


@needs_tensorflow
def test_fit_may_see_batches_of_any_shape_and_no_thread_tunes(batches):
    dataset = Periods(batches, 4, period=1, skip=1).for_fit()
    for spec, array in zip(
        keras.tree.flatten(dataset.element_spec), keras.tree.flatten(batches.batch(0, 5)), strict=True
    ):
        assert spec.shape.as_list() == [None] * array.ndim and spec.dtype == array.dtype
    assert not dataset.options().autotune.enabled  # its thread sleeps, and the end of an iterator waits


def test_parts_are_shares_of_a_batch_and_weigh_as_much(batches, both_subwords, train_pairs):
    corpus = ParallelCorpus.from_pairs(train_pairs[:60], *both_subwords)
    batches = TokenBatches(corpus, 128, seed=3, replicas=2)
    periods = Periods(batches, 2, parts=2)
    first, second = (keras.tree.flatten(periods[i]) for i in range(2))
    *inputs, weight = keras.tree.flatten(batches.batch(0, 0))
    assert len(periods) == 4 and periods.address(3) == (0, 1)
    for whole, one, other in zip(inputs, first, second, strict=False):
        np.testing.assert_array_equal(whole, np.concatenate([one, other]))
    np.testing.assert_array_equal(2 * weight, np.concatenate([first[-1], second[-1]]))


def test_fit_sees_each_batch_once_in_its_order(batches, new_translator):
    class Spy(Periods):
        seen = []

        def __iter__(self):
            self.seen.clear()  # an iterator begins again
            return super().__iter__()

        def __getitem__(self, i):
            self.seen.append(i)
            return super().__getitem__(i)

    model = new_translator().model
    model.compile("sgd", TokenCrossentropy(), run_eagerly=True, jit_compile=False)
    periods = Spy(batches, 3)
    model.fit(
        periods.for_fit(),
        epochs=3,
        steps_per_epoch=3,
        shuffle=False,
        callbacks=[periods.at_period()],
        verbose=0,
    )
    assert Spy.seen[:9] == list(range(9))


def test_nothing_left_of_a_period_is_an_error(batches):
    with pytest.raises(KerasZooError, match="skip: expected a step of a period of 4, from 0 on, got 4"):
        Periods(batches, 4, skip=4)
