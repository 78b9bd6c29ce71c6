"""The decoder that attends after its recurrence, against the paper's equations, word by word."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BahdanauAttention, LuongAttention, LuongDecoder

to_numpy = ops.convert_to_numpy
B, T, S, D, E, U, R = 2, 5, 7, 3, 11, 13, 5
LENGTHS = (7, 4)
MASK = np.arange(S) < np.array(LENGTHS)[:, None]


def random_decoder(window=None, **options):
    options = {"cell": "lstm", "num_layers": 2, "readout_dim": R, **options}
    decoder = LuongDecoder(LuongAttention("general", window, half_width=2), U, **options)
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


def loop(decoder, inputs, memory, start):
    """h_t = stack([y; h~_{t-1}]), c_t over the real words, h~_t = tanh(W_c [c_t; h_t]), row by row."""
    readouts, alphas = np.zeros((B, T, R)), np.zeros((B, T, S))
    W_a, W_c = to_numpy(decoder.attention.W_a.kernel), to_numpy(decoder.W_c.kernel)
    for b, length in enumerate(LENGTHS):
        state = keras.tree.map_structure(lambda x, b=b: x[b : b + 1], start)
        fed = np.zeros((1, R), "float32")
        for t in range(T):
            projected = to_numpy(decoder.stack.cells[0].project(inputs[b : b + 1, t]))
            if decoder.input_feeding:
                projected = projected + fed @ to_numpy(decoder.C.kernel)
            hidden, state = decoder.stack.step(ops.convert_to_tensor(projected), state)
            hidden = to_numpy(hidden)[0]
            seen = [s for s in range(length) if decoder.attention.window is None or abs(s - t) <= 2]
            e = np.array([np.exp(memory[b, s] @ W_a @ hidden) for s in seen])
            alphas[b, t, seen] = e / e.sum()
            context = alphas[b, t] @ memory[b]
            fed = np.tanh(np.concatenate([context, hidden]) @ W_c)[None].astype("float32")
            readouts[b, t] = fed[0]
    return readouts, alphas


@pytest.mark.parametrize("window", [None, "monotonic"])
@pytest.mark.parametrize("input_feeding", [True, False])
def test_the_call_and_the_steps_equal_a_loop_over_words(agree, input_feeding, window):
    decoder, inputs, memory, start = random_decoder(window, input_feeding=input_feeding)
    assert (decoder.C is not None) == input_feeding
    readouts, alphas = loop(decoder, inputs, memory, start)
    agree(decoder(inputs, memory, start, memory_mask=MASK), (readouts, alphas))
    state, prepared = decoder.initial_state(start), decoder.prepare(memory)
    for t in range(T):
        position = ops.convert_to_tensor(t, "int32")
        readout, weights, state = decoder.step(inputs[:, t], state, prepared, position, MASK)
        agree((readout, weights), (readouts[:, t], alphas[:, t]))


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
