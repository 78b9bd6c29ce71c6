"""The bidirectional encoder against the equations of GRU and LSTM, one sentence and one word at a time."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BidirectionalEncoder

to_numpy = ops.convert_to_numpy
B, S, D, U = 3, 5, 7, 11
LENGTHS = (5, 2, 0)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gru(x, state, kernel, recurrent, bias):
    """Bahdanau et al., A.1.1: s~ = tanh(W x + U [r s]), s' = (1 - z) s + z s~. Keras keeps 1 - z as its z."""
    (s,) = state
    keep, r = sigmoid(x @ kernel[:, : 2 * U] + s @ recurrent[:, : 2 * U] + bias[: 2 * U]).reshape(2, U)
    z = 1 - keep
    candidate = np.tanh(x @ kernel[:, 2 * U :] + (r * s) @ recurrent[:, 2 * U :] + bias[2 * U :])
    return ((1 - z) * s + z * candidate,)


def lstm(x, state, kernel, recurrent, bias):
    """c' = f c + i tanh(...), h' = o tanh(c'), with the gates i, f, o and the candidate of x and h."""
    h, c = state
    i, f, candidate, o = (x @ kernel + h @ recurrent + bias).reshape(4, U)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(candidate)
    return sigmoid(o) * np.tanh(c), c


CELLS = {"gru": (gru, 1), "lstm": (lstm, 2)}


def both_directions(cell, x, lengths, forward, backward):
    function, states = CELLS[cell]
    annotations, first_backward = np.zeros((len(x), x.shape[1], 2 * U)), np.zeros((len(x), U))
    for b, length in enumerate(lengths):
        state = (np.zeros(U),) * states
        for j in range(length):
            state = function(x[b, j], state, *forward)
            annotations[b, j, :U] = state[0]
        state = (np.zeros(U),) * states
        for j in reversed(range(length)):
            state = function(x[b, j], state, *backward)
            annotations[b, j, U:] = state[0]
        first_backward[b] = state[0]
    return annotations, first_backward


def random_encoder(cell, num_layers=1, **options):
    rng = np.random.default_rng(0)
    layer = BidirectionalEncoder(U, cell, num_layers, **options)
    layer(np.zeros((B, S, D)))
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return layer, rng.normal(size=(B, S, D)).astype("float32")


@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_equals_a_loop_over_words_with_rows_of_differing_lengths(cell, num_layers):
    layer, x = random_encoder(cell, num_layers)
    mask = np.arange(S) < np.array(LENGTHS)[:, None]
    expected = x
    for one in layer.layers:
        weights = [to_numpy(w) for w in one.get_weights()]
        expected, first = both_directions(cell, expected, LENGTHS, weights[:3], weights[3:])
    annotations, first_backward = layer(x, inputs_mask=mask)
    np.testing.assert_allclose(to_numpy(annotations), expected, atol=1e-5)
    np.testing.assert_allclose(to_numpy(first_backward), first, atol=1e-5)
    assert (to_numpy(annotations)[~mask] == 0).all()


@pytest.mark.parametrize("cell", CELLS)
def test_padding_changes_nothing(cell):
    layer, x = random_encoder(cell, 2)
    annotations, first = (to_numpy(y) for y in layer(x))
    longer = np.concatenate([x, np.full((B, 4, D), 1e3, "float32")], axis=1)
    mask = np.broadcast_to(np.arange(S + 4) < S, (B, S + 4))
    padded, padded_first = (to_numpy(y) for y in layer(longer, inputs_mask=mask))
    np.testing.assert_allclose(padded[:, :S], annotations, atol=1e-6)
    np.testing.assert_allclose(padded_first, first, atol=1e-6)


def test_one_word_by_eye():
    # Without weights every gate is 1/2 and the candidate tanh(b): one word makes half of it, two three
    # quarters of it, in each direction.
    layer = BidirectionalEncoder(1)
    layer(np.zeros((1, 2, 1)))
    for weight in layer.weights:
        weight.assign(np.arctanh([[0, 0, 0.8]]).ravel() if len(weight.shape) == 1 else np.zeros(weight.shape))
    annotations, first = layer(np.ones((1, 2, 1), "float32"))
    np.testing.assert_allclose(to_numpy(annotations), [[[0.4, 0.6], [0.6, 0.4]]], atol=1e-6)
    np.testing.assert_allclose(to_numpy(first), [[0.6]], atol=1e-6)


def test_the_mask_arrives_by_itself_and_goes_on_with_the_annotations():
    ids = np.array([[4, 2, 0, 0], [1, 3, 2, 5]])
    embedding = keras.layers.Embedding(6, D, mask_zero=True)
    layer = BidirectionalEncoder(U)
    arrived, _ = layer(embedding(ids))
    given, _ = layer(to_numpy(embedding(ids)), inputs_mask=ids != 0)
    np.testing.assert_array_equal(to_numpy(arrived), to_numpy(given))
    mask = ids != 0
    assert layer.compute_mask(None, mask)[0] is mask


def test_dropout_stands_between_layers_in_training_alone():
    layer, x = random_encoder("gru", 2, dropout=0.5)
    silent, noisy = to_numpy(layer(x)[0]), to_numpy(layer(x, training=True)[0])
    assert np.abs(silent - noisy).max() > 1e-3
    one_layer, _ = random_encoder("gru", 1, dropout=0.5)
    np.testing.assert_array_equal(to_numpy(one_layer(x)[0]), to_numpy(one_layer(x, training=True)[0]))


def test_a_cell_that_nobody_knows_is_an_error():
    with pytest.raises(ValueError, match=r"cell must be one of \['gru', 'lstm'\]. Received: cell='rnn'"):
        BidirectionalEncoder(3, cell="rnn")
