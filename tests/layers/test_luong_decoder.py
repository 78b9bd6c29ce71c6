"""The decoder that attends after its recurrence; its equations are in tests/models/test_equations.py."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BahdanauAttention, LuongAttention, LuongDecoder

to_numpy = ops.convert_to_numpy
B, T, S, D, E, U, R = 2, 5, 7, 3, 11, 13, 5
LENGTHS = (7, 4)
MASK = np.arange(S) < np.array(LENGTHS)[:, None]


def random_decoder(**options):
    options = {"cell": "lstm", "num_layers": 2, "readout_dim": R, **options}
    decoder = LuongDecoder(LuongAttention("general"), U, **options)
    decoder(np.zeros((B, T, E)), np.zeros((B, S, D)))
    rng = np.random.default_rng(0)
    for weight in decoder.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    inputs, memory = (rng.normal(size=s).astype("float32") for s in [(B, T, E), (B, S, D)])
    start = keras.tree.map_structure(
        lambda x: ops.convert_to_tensor(rng.normal(size=x.shape).astype("float32")),
        decoder.stack.as_state(None, B),
    )
    return decoder, inputs, memory, start


@pytest.mark.parametrize("input_feeding", [True, False])
def test_dropout_between_layers_works_in_training_alone(input_feeding):
    decoder, inputs, memory, start = random_decoder(dropout=0.5, input_feeding=input_feeding)
    silent = to_numpy(decoder(inputs, memory, start)[0])
    np.testing.assert_array_equal(silent, to_numpy(decoder(inputs, memory, start, training=False)[0]))
    assert np.abs(to_numpy(decoder(inputs, memory, start, training=True)[0]) - silent).max() > 1e-3


@pytest.mark.parametrize("input_feeding", [True, False])
def test_the_state_of_a_keras_layer_is_that_of_one_layer(agree, input_feeding):
    memory, *state = keras.layers.LSTM(4, return_sequences=True, return_state=True)(np.ones((4, S, D)))
    decoder, inputs = LuongDecoder(BahdanauAttention(3), 4, input_feeding=input_feeding), np.ones((4, T, E))
    agree(decoder(inputs, memory, state), decoder(inputs, memory, initial_state=tuple(state)))
    agree(decoder(inputs, memory), decoder(inputs, memory, decoder.stack.as_state(None, 4)))


@pytest.mark.parametrize("input_feeding", [True, False])
def test_padding_of_the_inputs_at_any_place_changes_no_word(agree, input_feeding):
    decoder, inputs, memory, start = random_decoder(input_feeding=input_feeding)
    expected = [to_numpy(x) for x in decoder(inputs, memory, start, memory_mask=MASK)]
    places, mask = [1, 2, 4, 5, 7], np.zeros((B, 9), bool)
    spread, mask[:, places] = np.zeros((B, 9, E), "float32"), True
    spread[:, places] = inputs
    for given in ({"inputs": keras.layers.Masking()(spread)}, {"inputs": spread, "inputs_mask": mask}):
        outputs, weights = decoder(**given, memory=memory, initial_state=start, memory_mask=MASK)
        agree([to_numpy(x)[:, places] for x in (outputs, weights)], expected)
        pooled = keras.layers.GlobalAveragePooling1D()(outputs)  # the mask goes on
        agree(pooled, expected[0].mean(1))
