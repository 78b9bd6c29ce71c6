"""The bidirectional encoder against its cells, one sentence and one word at a time."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BidirectionalEncoder

to_numpy = ops.convert_to_numpy
B, S, D, U = 3, 5, 7, 11
MASK = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], "bool")  # padding anywhere


def both_directions(encoder, i, x):
    """Layer i of the encoder, by its cells alone."""
    annotations, first_backward = np.zeros((B, S, 2 * U)), np.zeros((B, U))
    for b, words in enumerate(np.flatnonzero(row) for row in MASK):
        for stacks, order, part in (
            (encoder.left_to_right, words, slice(U)),
            (encoder.right_to_left, words[::-1], slice(U, None)),
        ):
            cell = stacks[i].cells[0]
            state = cell.as_state(None, 1)
            for j in order:
                _, state = cell(x[b, j : j + 1].astype("float32"), state)
                annotations[b, j, part] = to_numpy(state[0])[0]
        first_backward[b] = to_numpy(state[0])[0]
    return annotations, first_backward


@pytest.mark.parametrize(("cell", "num_layers"), [("gru", 2), ("lstm", 1), ("lstm", 2)])
def test_equals_a_loop_over_words_with_padding_anywhere(agree, cell, num_layers):
    rng = np.random.default_rng(0)
    encoder = BidirectionalEncoder(U, cell, num_layers)
    encoder(np.zeros((B, S, D)))
    for weight in encoder.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    x = rng.normal(size=(B, S, D)).astype("float32")
    expected = x
    for i in range(num_layers):
        expected, first = both_directions(encoder, i, expected)
    garbage = np.where(MASK[..., None], x, 1e3).astype("float32")
    agree(encoder(garbage, mask=MASK), (expected, first))
    agree(encoder(x[:1])[0], expected[:1])
