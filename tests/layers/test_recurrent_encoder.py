"""The bidirectional encoder against its cells, one sentence and one word at a time."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BidirectionalEncoder

to_numpy = ops.convert_to_numpy
B, S, D, U = 3, 5, 7, 11
LENGTHS = (5, 2, 0)
CELLS = ("gru", "lstm")


def both_directions(layer, i, x, lengths):
    """Layer i of the encoder, by its cells alone."""
    annotations, first_backward = np.zeros((len(x), x.shape[1], 2 * U)), np.zeros((len(x), U))
    directions = layer.left_to_right[i].cells[0], layer.right_to_left[i].cells[0]
    for b, length in enumerate(lengths):
        for cell, order, part in zip(
            directions, (range(length), reversed(range(length))), (slice(U), slice(U, None)), strict=True
        ):
            state = cell.as_state(None, 1)
            for j in order:
                _, state = cell(x[b, j : j + 1].astype("float32"), state)
                annotations[b, j, part] = to_numpy(state[0])[0]
        first_backward[b] = to_numpy(state[0])[0]
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
    for i in range(num_layers):
        expected, first = both_directions(layer, i, expected, LENGTHS)
    annotations, first_backward = layer(x, mask=mask)
    np.testing.assert_allclose(to_numpy(annotations), expected, atol=1e-5)
    np.testing.assert_allclose(to_numpy(first_backward), first, atol=1e-5)
    assert (to_numpy(annotations)[~mask] == 0).all()


@pytest.mark.parametrize("cell", CELLS)
def test_padding_changes_nothing(cell):
    layer, x = random_encoder(cell, 2)
    annotations, first = (to_numpy(y) for y in layer(x))
    longer = np.concatenate([x, np.full((B, 4, D), 1e3, "float32")], axis=1)
    mask = np.broadcast_to(np.arange(S + 4) < S, (B, S + 4))
    padded, padded_first = (to_numpy(y) for y in layer(longer, mask=mask))
    np.testing.assert_allclose(padded[:, :S], annotations, atol=1e-6)
    np.testing.assert_allclose(padded_first, first, atol=1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_padding_may_be_at_any_place(cell):
    layer, x = random_encoder(cell, 2)
    annotations, first = (to_numpy(y) for y in layer(x))
    for places in ([4, 5, 6, 7, 8], [0, 2, 3, 6, 7]):
        spread, mask = np.full((B, 9, D), 1e3, "float32"), np.zeros((B, 9), bool)
        spread[:, places], mask[:, places] = x, True
        padded, padded_first = (to_numpy(y) for y in layer(spread, mask=mask))
        np.testing.assert_allclose(padded[:, places], annotations, atol=1e-6)
        np.testing.assert_allclose(padded_first, first, atol=1e-6)
        assert (padded[~mask] == 0).all()


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
