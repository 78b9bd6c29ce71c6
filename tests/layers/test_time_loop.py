"""The loop over positions: types of states, and gradients of what a step closes over.

Its masks and directions are those of `RecurrentStack` and the decoders.
"""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers.time_loop import over_time

to_numpy = ops.convert_to_numpy


def test_a_position_counts_exactly_where_the_numbers_are_of_half_precision():
    # 257 is no bfloat16: a position that were cast would stand still at 256
    x = ops.zeros((1, 300, 1), dtype="bfloat16")

    def step(x, state):
        s, position = state
        return x + ops.cast(position % 7, "bfloat16"), (s + 0.5, position + 1)

    outputs, state = over_time(step, x, (ops.zeros((1, 1)), ops.zeros((), dtype="int32")))
    assert [keras.backend.standardize_dtype(part.dtype) for part in state] == ["float32", "int32"]
    assert (float(state[0][0, 0]), int(state[1])) == (150.0, 300)
    actual = to_numpy(ops.cast(outputs, "float32"))[0, :, 0]
    np.testing.assert_array_equal(actual, np.arange(300) % 7)


def test_what_a_step_closes_over_gets_its_gradient():
    # s_3 = a^2 x_1 + a x_2 + x_3, so that d s_3 / d a = 2 a x_1 + x_2
    class Decay(keras.layers.Layer):
        def build(self, shape):
            self.a = self.add_weight(name="a", shape=(), initializer=keras.initializers.Constant(3.0))

        def call(self, x):
            def step(x, state):
                total = self.a * state + x
                return total, total

            return over_time(step, x, ops.zeros_like(x[:, 0]))[0][:, -1]

    layer = Decay()
    model = keras.Sequential([layer])
    x = np.array([[[5.0], [7.0], [11.0]]], "float32")
    model.build((None, 3, 1))
    model.compile(keras.optimizers.SGD(1.0), loss=lambda y, actual: ops.sum(actual))
    model.train_on_batch(x, np.zeros((1, 1)))
    assert float(layer.a) == pytest.approx(3 - (2 * 3 * 5 + 7))
