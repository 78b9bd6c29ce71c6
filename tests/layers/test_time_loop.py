"""The loop over positions: masks, direction, types of states, gradients of what it closes over."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers.time_loop import over_time

to_numpy = ops.convert_to_numpy


def running_sum(x, state):
    return 2 * (state + x), state + x


@pytest.mark.parametrize("backward", [False, True])
def test_outputs_stand_beside_their_inputs(backward):
    x = np.array([[[1.0], [10.0], [100.0]]], "float32")
    outputs, state = over_time(running_sum, x, ops.zeros((1, 1)), backward=backward)
    sums = [222, 220, 200] if backward else [2, 22, 222]
    np.testing.assert_array_equal(to_numpy(outputs)[0, :, 0], sums)
    np.testing.assert_array_equal(to_numpy(state), [[111]])


@pytest.mark.parametrize("backward", [False, True])
def test_padding_is_skipped(backward):
    x = np.array([[[1.0], [10.0], [7.0]], [[5.0], [7.0], [7.0]], [[7.0]] * 3], "float32")
    mask = np.array([[True, True, False], [True, False, False], [False] * 3])
    outputs, state = over_time(running_sum, x, ops.zeros((3, 1)), mask, backward)
    sums = [22, 20, 0] if backward else [2, 22, 0]
    np.testing.assert_array_equal(to_numpy(outputs)[..., 0], [sums, [10, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(to_numpy(state), [[11], [5], [0]])


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


@pytest.mark.parametrize("backward", [False, True])
def test_inputs_outputs_and_states_may_be_nested(backward):
    def step(x, state):
        count, (matrix, *_) = state["count"], state["matrices"]
        after = {"count": count + 1, "matrices": (matrix + x["matrix"],)}
        return [x["word"] * 10 + count[:, None], {"sum": after["matrices"][0]}], after

    rng = np.random.default_rng(0)
    words, matrices = rng.integers(0, 9, (2, 4, 1), "int32"), rng.normal(size=(2, 4, 3, 5)).astype("float32")
    state = {"count": ops.zeros((2,), dtype=words.dtype), "matrices": (ops.zeros((2, 3, 5)),)}
    mask = np.array([[True] * 4, [True, False, True, False]])
    inputs = {"word": words, "matrix": matrices}
    (numbers, sums), last = over_time(step, inputs, state, mask, backward)
    for b in range(2):
        count, total = 0, np.zeros((3, 5))
        for t in reversed(range(4)) if backward else range(4):
            if not mask[b, t]:
                assert not to_numpy(numbers)[b, t].any() and not to_numpy(sums["sum"])[b, t].any()
                continue
            assert int(numbers[b, t, 0]) == 10 * words[b, t, 0] + count
            count, total = count + 1, total + matrices[b, t]
            np.testing.assert_allclose(to_numpy(sums["sum"])[b, t], total, atol=1e-6)
        assert int(last["count"][b]) == count
        np.testing.assert_allclose(to_numpy(last["matrices"][0])[b], total, atol=1e-6)


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
