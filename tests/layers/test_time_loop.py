"""The loop over positions: masks, direction, types of states, gradients of what it closes over."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers.time_loop import over_time

to_numpy = ops.convert_to_numpy


def running_sum(x, state):
    total = state[0] + x
    return 2 * total, [total]


@pytest.mark.parametrize("backward", [False, True])
def test_outputs_stand_beside_their_inputs(backward):
    x = np.array([[[1.0], [10.0], [100.0]]], "float32")
    outputs, state = over_time(running_sum, x, [ops.zeros((1, 1))], backward=backward)
    sums = [222, 220, 200] if backward else [2, 22, 222]
    np.testing.assert_array_equal(to_numpy(outputs)[0, :, 0], sums)
    np.testing.assert_array_equal(to_numpy(state[0]), [[111]])


@pytest.mark.parametrize("backward", [False, True])
def test_padding_is_skipped(backward):
    x = np.array([[[1.0], [10.0], [7.0]], [[5.0], [7.0], [7.0]], [[7.0]] * 3], "float32")
    mask = np.array([[True, True, False], [True, False, False], [False] * 3])
    outputs, state = over_time(running_sum, x, [ops.zeros((3, 1))], mask, backward)
    sums = [22, 20, 0] if backward else [2, 22, 0]
    np.testing.assert_array_equal(to_numpy(outputs)[..., 0], [sums, [10, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(to_numpy(state[0]), [[11], [5], [0]])


def test_a_position_counts_exactly_where_the_numbers_are_of_half_precision():
    # 257 is no bfloat16: a position that were cast would stand still at 256
    x = ops.zeros((1, 300, 1), dtype="bfloat16")

    def step(x, state):
        (position,) = state
        return x + ops.cast(position % 7, "bfloat16"), [position + 1]

    outputs, _ = over_time(step, x, [ops.zeros((), dtype="int32")])
    actual = to_numpy(ops.cast(outputs, "float32"))[0, :, 0]
    np.testing.assert_array_equal(actual, np.arange(300) % 7)


def test_states_may_be_nested():
    def step(x, state):
        ((a, b),) = state
        return a["s"] + b, [[{"s": a["s"] + x}, b + 1]]

    start = [[{"s": ops.zeros((1, 1))}, ops.zeros((1, 1))]]
    outputs, _ = over_time(step, np.ones((1, 4, 1), "float32"), start)
    np.testing.assert_array_equal(to_numpy(outputs)[0, :, 0], [0, 2, 4, 6])


def test_what_a_step_closes_over_gets_its_gradient():
    # s_3 = a^2 x_1 + a x_2 + x_3, so that d s_3 / d a = 2 a x_1 + x_2
    class Decay(keras.layers.Layer):
        def build(self, shape):
            self.a = self.add_weight(name="a", shape=(), initializer=keras.initializers.Constant(3.0))

        def call(self, x):
            def step(x, state):
                total = self.a * state[0] + x
                return total, [total]

            return over_time(step, x, [ops.zeros_like(x[:, 0])])[0][:, -1]

    layer = Decay()
    model = keras.Sequential([layer])
    x = np.array([[[5.0], [7.0], [11.0]]], "float32")
    model.build((None, 3, 1))
    model.compile(keras.optimizers.SGD(1.0), loss=lambda y, actual: ops.sum(actual))
    model.train_on_batch(x, np.zeros((1, 1)))
    assert float(layer.a) == pytest.approx(3 - (2 * 3 * 5 + 7))
