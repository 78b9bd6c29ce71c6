"""Dropout: the share, the mean, independence of the draws, and nothing outside training."""

import inspect

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import Dropout

to_numpy = ops.convert_to_numpy


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_drops_its_share_and_keeps_the_mean(rate):
    number = 100_000
    dropped = to_numpy(Dropout(rate, seed=0)(np.ones((100, 1000), "float32"), training=True))
    levels = round(rate * 256)
    assert set(np.unique(dropped)) == {0.0, np.float32(256 / (256 - levels))}
    deviation = (levels / 256 * (1 - levels / 256) / number) ** 0.5
    assert (dropped == 0).mean() == pytest.approx(levels / 256, abs=4 * deviation)
    assert levels / 256 == pytest.approx(rate, abs=1 / 512)


def test_four_numbers_of_one_draw_are_independent():
    # 16 patterns of four neighbours at a half, each as frequent as the others (15 degrees of freedom, 99.9 %)
    dropped = to_numpy(Dropout(0.5, seed=0)(np.ones((20_000, 4), "float32"), training=True)) > 0
    counts = np.bincount(dropped @ [8, 4, 2, 1], minlength=16)
    assert (((counts - 1250) ** 2) / 1250).sum() < 37.7


@pytest.mark.parametrize("shape", [(1,), (3, 5, 7), (0, 4), (2, 0)])
def test_any_shape(shape):
    x = np.random.default_rng(0).normal(size=shape).astype("float32") + 9
    dropped = to_numpy(Dropout(0.5)(x, training=True))
    assert dropped.shape == shape
    np.testing.assert_allclose(dropped[dropped != 0], 2 * x[dropped != 0])


def test_a_shape_of_noise_is_broadcast_as_in_keras():
    x = np.ones((3, 50, 4), "float32")
    theirs = inspect.signature(keras.layers.Dropout.__init__).parameters
    assert list(inspect.signature(Dropout.__init__).parameters) == list(theirs)
    for shape, axes in (((None, 1, None), 1), ((3, 50, 1), 2)):
        layer = Dropout(0.5, shape, 7)
        dropped = to_numpy(layer(x, training=True))
        assert (dropped.max(axes) == dropped.min(axes)).all() and 0 < (dropped == 0).mean() < 1
    assert layer.rate == 0.5 and Dropout.from_config(layer.get_config()).noise_shape == shape


def test_nothing_outside_training_nor_at_a_rate_of_zero():
    x = np.ones((50,), "float32")
    for layer, training in ((Dropout(0.5), False), (Dropout(0.5), None), (Dropout(0.0), True)):
        np.testing.assert_array_equal(to_numpy(layer(x, training=training)), x)


def test_a_seed_gives_the_same_draws_and_calls_differ():
    x = np.ones((64,), "float32")
    one, other = Dropout(0.5, seed=3), Dropout(0.5, seed=3)
    first, second = to_numpy(one(x, training=True)), to_numpy(one(x, training=True))
    np.testing.assert_array_equal(first, to_numpy(other(x, training=True)))
    assert (first != second).any()


def test_the_gradient_passes_where_numbers_were_kept():
    # y = w x dropped: after one step of SGD on the sum of y, w has moved by the mask
    inputs = keras.Input((1,))
    scale = keras.layers.EinsumDense("bi,ij->bj", output_shape=64, kernel_initializer="ones")
    model = keras.Model(inputs, Dropout(0.5, seed=1)(scale(inputs)))
    model.compile(keras.optimizers.SGD(1.0), lambda true, y: ops.sum(y, axis=-1), run_eagerly=True)
    mask = to_numpy(Dropout(0.5, seed=1)(np.ones((1, 64), "float32"), training=True))
    model.train_on_batch(np.ones((1, 1), "float32"), np.zeros((1, 64), "float32"))
    np.testing.assert_allclose(to_numpy(scale.kernel), 1 - mask, atol=1e-6)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2])
def test_a_rate_outside_its_range_is_an_error(rate):
    with pytest.raises(ValueError, match=rf"rate must be in \[0, 1\). Received: rate={rate}"):
        Dropout(rate)
