"""Stacks of recurrent layers: depth, direction, padding, steps."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BidirectionalEncoder, RecurrentStack
from keraszoo.layers.recurrent_cell import GATES

to_numpy = ops.convert_to_numpy
B, T, E, U = 3, 5, 7, 11
LENGTHS = (5, 2, 0)
MASK = np.arange(T) < np.array(LENGTHS)[:, None]


def random_stack(kind, num_layers=2, make=RecurrentStack, **options):
    rng = np.random.default_rng(0)
    stack = make(U, kind, num_layers, **options)
    stack.build((None, None, E))
    for weight in stack.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.4)
    return stack, rng.normal(size=(B, T, E)).astype("float32")


def flat(state):
    return [to_numpy(x) for x in keras.tree.flatten(state)]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_equals_its_cells_word_by_word(kind, backward):
    stack, x = random_stack(kind, backward=backward)
    outputs, state = stack(x, inputs_mask=MASK)
    for b, length in enumerate(LENGTHS):
        states = [cell.first_state(ops.zeros((1, U))) for cell in stack.cells]
        for t in reversed(range(length)) if backward else range(length):
            below = x[b, t][None]
            for i, cell in enumerate(stack.cells):
                states[i] = cell(below, states[i])
                below = states[i][0]
            np.testing.assert_allclose(to_numpy(outputs)[b, t], to_numpy(below)[0], atol=1e-5)
        assert (to_numpy(outputs)[b, length:] == 0).all()
        for actual, expected in zip(flat(state), flat(states), strict=True):
            np.testing.assert_allclose(actual[b], expected[0], atol=1e-5)


@pytest.mark.parametrize("kind", GATES)
def test_backward_is_forward_over_the_reversed_words(kind):
    backward, x = random_stack(kind, backward=True)
    forward, _ = random_stack(kind)
    outputs, state = backward(x, inputs_mask=MASK)
    for b, length in enumerate(LENGTHS[:2]):
        turned, last = forward(x[b : b + 1, :length][:, ::-1])
        np.testing.assert_allclose(to_numpy(outputs)[b, :length], to_numpy(turned)[0, ::-1], atol=1e-5)
        for actual, expected in zip(flat(state), flat(last), strict=True):
            np.testing.assert_allclose(actual[b], expected[0], atol=1e-5)


@pytest.mark.parametrize("backward", [False, True])
def test_padding_changes_nothing(backward):
    stack, x = random_stack("lstm", backward=backward)
    outputs, state = stack(x)
    longer = np.concatenate([x, np.full((B, 4, E), 1e3, "float32")], axis=1)
    padded, padded_state = stack(longer, inputs_mask=np.broadcast_to(np.arange(T + 4) < T, (B, T + 4)))
    np.testing.assert_allclose(to_numpy(padded)[:, :T], to_numpy(outputs), atol=1e-6)
    for a, b in zip(flat(padded_state), flat(state), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("kind", GATES)
def test_stepping_equals_a_whole_sequence_from_a_given_state(kind):
    stack, x = random_stack(kind)
    _, start = stack(x[:, ::-1])
    outputs, last = stack(x, start)
    state = start
    for t in range(T):
        output, state = stack.step(stack.cells[0].project(x[:, t]), state)
        np.testing.assert_allclose(to_numpy(output), to_numpy(outputs)[:, t], atol=1e-5)
    for a, b in zip(flat(state), flat(last), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("make", [RecurrentStack, BidirectionalEncoder])
def test_the_mask_arrives_by_itself_and_goes_on(make):
    ids = np.array([[4, 2, 0, 0], [1, 3, 2, 5]])
    embedding = keras.layers.Embedding(6, E, mask_zero=True)
    stack, _ = random_stack("gru", make=make)
    arrived, _ = stack(embedding(ids))
    given, _ = stack(to_numpy(embedding(ids)), inputs_mask=ids != 0)
    np.testing.assert_array_equal(to_numpy(arrived), to_numpy(given))
    mask = ids != 0
    assert stack.compute_mask(None, mask)[0] is mask


@pytest.mark.parametrize("make", [RecurrentStack, BidirectionalEncoder])
def test_dropout_stands_between_layers_in_training_alone(make):
    stack, x = random_stack("lstm", dropout=0.5, make=make)
    silent, noisy = to_numpy(stack(x)[0]), to_numpy(stack(x, training=True)[0])
    assert np.abs(silent - noisy).max() > 1e-3
    one_layer, _ = random_stack("lstm", 1, dropout=0.5, make=make)
    np.testing.assert_array_equal(to_numpy(one_layer(x)[0]), to_numpy(one_layer(x, training=True)[0]))


@pytest.mark.parametrize("make", [RecurrentStack, BidirectionalEncoder])
def test_a_mask_of_another_length_is_an_error(make):
    for length in (2, 4):
        with pytest.raises(ValueError, match="inputs_mask must be .batch, length.. Received"):
            make(5)(np.ones((2, 3, 4), "float32"), inputs_mask=np.ones((2, length), bool))


@pytest.mark.parametrize("sizes", [{"units": 0}, {"units": -3}, {"units": 3, "num_layers": 0}])
def test_sizes_must_be_positive_integers(sizes):
    with pytest.raises(ValueError, match="(units|num_layers) must be a positive integer. Received: "):
        RecurrentStack(**sizes)
