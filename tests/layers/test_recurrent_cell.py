"""The cells against Keras' own layers."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import RecurrentStack
from keraszoo.layers.recurrent_cell import GATES, RecurrentCell

to_numpy = ops.convert_to_numpy
N, E, U = 3, 5, 7


def random_cell(kind):
    rng = np.random.default_rng(0)
    cell = RecurrentCell(U, kind)
    cell.build((None, E))
    for weight in cell.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return cell, rng


def keras_layer(cell, added=0):
    """Keras' layer of this kind with the same weights in its form, and something more in U s + b'."""
    options = {"return_sequences": True, "zero_output_for_mask": True}
    (W, b), (recurrent, *b_after) = map(to_numpy, cell.W.weights), map(to_numpy, cell.U.weights)
    b, b_after = (b, [part + added for part in b_after]) if b_after else (b + added, [])
    if cell.cell == "rnn":
        layer = keras.layers.SimpleRNN(U, **options)
    elif cell.cell == "lstm":
        layer = keras.layers.LSTM(U, use_cudnn=False, **options)
    else:
        layer = keras.layers.GRU(U, use_cudnn=False, reset_after=cell.cell == "gru_reset_after", **options)
        recurrent = recurrent if b_after else np.concatenate([recurrent, to_numpy(cell.U_s.kernel)], axis=1)
        b = np.stack([b, *b_after]) if b_after else b
    layer.build((None, None, E))
    layer.set_weights([W, recurrent, b])
    layer.supports_masking = True
    return layer


@pytest.mark.parametrize("kind", GATES)
def test_a_layer_of_cells_equals_the_layer_of_keras(agree, kind):
    cell, rng = random_cell(kind)
    x = rng.normal(size=(N, 11, E)).astype("float32")
    mask = np.arange(11) < np.array([11, 4, 0])[:, None]
    stack = RecurrentStack(U, kind)
    stack.build((None, None, E))
    stack.set_weights(cell.get_weights())
    agree(stack(x, mask=mask)[0], keras_layer(cell)(x, mask=mask))


@pytest.mark.parametrize("kind", GATES)
def test_a_context_is_added_to_the_recurrent_product(agree, kind):
    cell, rng = random_cell(kind)
    x, added = (rng.normal(size=(N, size)).astype("float32") for size in (E, cell.width))
    state = [rng.normal(size=(N, U)).astype("float32") for _ in range(cell.num_states)]
    tensors = [ops.convert_to_tensor(part) for part in (*state, added)]
    after = cell.advance(cell.project(x), tensors[:-1], tensors[-1])
    for n in range(N):
        layer = keras_layer(cell, added[n])
        layer.return_state = True
        _, *expected = layer(x[n : n + 1, None], initial_state=[part[n : n + 1] for part in state])
        agree([part[n : n + 1] for part in after], expected)


@pytest.mark.parametrize("kind", GATES)
def test_a_cell_works_in_the_rnn_layer_of_keras(agree, kind):
    cell, rng = random_cell(kind)
    x = rng.normal(size=(N, 4, E)).astype("float32")
    state = cell.as_state(None, N)
    for t in range(4):
        output, state = cell(x[:, t], state)
        assert output is state[0]
    outputs, *last = keras.layers.RNN(cell, return_state=True)(x)
    agree([outputs, *last], [output, *state])


@pytest.mark.parametrize("kind", GATES)
def test_options_of_kernels_and_biases_reach_all_of_them(kind):
    options = {"kernel_initializer": "ones", "kernel_regularizer": "l2", "bias_initializer": "ones"}
    cell = RecurrentCell(U, kind, **options)
    cell.build((None, E))
    assert all((to_numpy(weight) == 1).all() for weight in cell.weights)
    kernels = GATES[kind] * (E * U + U * U)
    assert sum(map(float, cell.losses)) == pytest.approx(0.01 * kernels, rel=1e-5)
    biases = 2 if kind == "gru_reset_after" else 1
    assert cell.count_params() == kernels + GATES[kind] * biases * U
    assert RecurrentCell.from_config(cell.get_config()).get_config() == cell.get_config()


def test_an_lstm_begins_by_remembering():
    cell = RecurrentCell(3, "lstm")
    cell.build((None, 2))
    np.testing.assert_array_equal(to_numpy(cell.W.bias), [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0])
