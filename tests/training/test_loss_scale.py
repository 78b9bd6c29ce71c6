"""The scale of the loss in float16, with `Adam`, against plain arithmetic."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.training.adam import Adam, LossScale

BAD = np.array([1.0, np.inf], "float32")


def moved(optimizer, gradients):
    """A weight after so many calls of an optimizer, each with a gradient."""
    weight = keras.Variable(np.array([1.0, -2.0], "float32"))
    optimizer.build([weight])
    for gradient in gradients:
        optimizer.apply([ops.convert_to_tensor(gradient)], [weight])
    return ops.convert_to_numpy(weight)


def drawn(count):
    return list(np.random.default_rng(0).normal(size=(count, 2)).astype("float32"))


@pytest.mark.parametrize("bad", [[0], [1], [0, 1], [0, 3], [2, 5]])
def test_a_batch_of_which_a_part_overflows_is_left_out_whole(bad):
    parts = drawn(8)
    optimizer = LossScale(Adam(0.1, accumulate=2), initial_scale=1024.0)
    scale, given = 1024.0, []
    for i, part in enumerate(parts):
        given.append(BAD if i in bad else part * scale)
        scale = scale / 2 if i in bad else scale
    step = moved(optimizer, given)
    whole = [sum(parts[i : i + 2]) / 2 for i in range(0, 8, 2) if i not in bad and i + 1 not in bad]
    np.testing.assert_allclose(step, moved(Adam(0.1), whole), rtol=1e-6)
    assert float(optimizer.dynamic_scale) == scale
    assert int(optimizer.iterations) == len(whole)
    assert int(optimizer.inner_optimizer.left_out) == 4 - len(whole)


def test_the_scale_grows_after_so_many_steps_without_overflow():
    optimizer = LossScale(Adam(0.1), initial_scale=4.0, dynamic_growth_steps=3)
    one = np.ones(2, "float32")
    moved(optimizer, [one, one, BAD, one, one, one, one])
    assert float(optimizer.dynamic_scale) == 4.0 / 2 * 2 and int(optimizer.step_counter) == 1


def test_the_schedule_counts_updates():
    rates = []

    class Noted(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            rates.append(int(step))
            return 0.1

    one = np.ones(2, "float32")
    moved(LossScale(Adam(Noted())), [one, BAD, BAD, one, one])
    assert [rates[-5:][i] for i in (0, 1, 2, 3, 4)] == [0, 1, 1, 1, 2]


def test_it_takes_the_place_of_keras_own():
    adam = Adam(0.1)
    scaled = LossScale.instead_of(keras.optimizers.LossScaleOptimizer(adam, 8.0, 5))
    assert type(scaled) is LossScale and scaled.inner_optimizer is adam and adam.scaled
    assert (scaled.initial_scale, scaled.dynamic_growth_steps) == (8.0, 5)
    others = scaled, adam, keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    assert all(LossScale.instead_of(other) is other for other in others)
    again = LossScale.from_config(scaled.get_config())
    assert again.inner_optimizer.scaled and again.initial_scale == 8.0
