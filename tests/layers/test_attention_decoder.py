"""What decoders that attend share; tests/models/test_equations.py has their equations, word by word."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import AttentionDecoder, BahdanauAttention, LuongAttention, LuongDecoder

to_numpy = ops.convert_to_numpy
B, T, S, D, E, U, A = 3, 3, 5, 7, 11, 13, 17
LENGTHS = (5, 3, 0)
MASK = np.arange(S) < np.array(LENGTHS)[:, None]


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    return [rng.normal(size=s).astype("float32") for s in [(B, T, E), (B, S, D), (B, U)]]


UNFED = partial(LuongDecoder, input_feeding=False)


@pytest.mark.parametrize("make", [AttentionDecoder, LuongDecoder, UNFED])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_initial_state_is_as_in_a_keras_rnn(agree, make, cell, data):
    decoder, (inputs, memory, first) = make(BahdanauAttention(A), U, cell), data
    zero, first = np.zeros((B, U), "float32"), ops.convert_to_tensor(first)
    listed = [first, zero] if cell == "lstm" else [first]
    for given, same in ((None, zero), (first, listed), (tuple(listed), listed)):
        agree(decoder(inputs, memory, given), decoder(inputs, memory, same))


@pytest.fixture(params=[AttentionDecoder, LuongDecoder])
def kind(request):
    return request.param


def test_rows_of_one_sentence_share_its_memory(agree, kind, data):
    decoder, memory, rows = kind(LuongAttention("general", "monotonic", 1), U, cell="lstm"), data[1], 3
    decoder(*data[:2])
    rng = np.random.default_rng(2)
    inputs, first = (rng.normal(size=(B * rows, size)).astype("float32") for size in (E, U))
    state = decoder.initial_state([ops.convert_to_tensor(first)] * 2)
    together = decoder.step(inputs, state, decoder.prepare(memory), 2, MASK)
    repeated = decoder.prepare(np.repeat(memory, rows, 0))
    agree(together, decoder.step(inputs, state, repeated, 2, np.repeat(MASK, rows, 0)))


def test_the_mask_of_the_memory_arrives_by_itself(agree, kind, data):
    ids = np.array([[4, 2, 0, 0], [1, 3, 2, 5], [1, 0, 0, 0]])
    embedding, decoder = keras.layers.Embedding(6, D, mask_zero=True), kind(BahdanauAttention(A), U)
    arrived = decoder(data[0], embedding(ids))
    agree(arrived, decoder(data[0], to_numpy(embedding(ids)), memory_mask=ids != 0))


@pytest.mark.parametrize("window", ["monotonic", "predictive"])
def test_the_position_reaches_an_attention_with_a_window(agree, data, window):
    inputs, memory, first = data
    decoder = AttentionDecoder(LuongAttention("general", window, half_width=1), units=U, cell="rnn")
    state = decoder.initial_state(ops.convert_to_tensor(first))
    outputs, forced = map(to_numpy, decoder(inputs, memory, state, memory_mask=MASK))
    prepared = decoder.prepare(memory)
    for i in range(T):
        output, weights, state = decoder.step(inputs[:, i], state, prepared, i, MASK)
        agree((output, weights), (outputs[:, i], forced[:, i]))
        if window == "monotonic":
            near = np.abs(np.arange(S) - i) <= 1
            np.testing.assert_array_equal(to_numpy(weights) > 0, near & MASK)


def test_dropout_of_the_attention_differs_from_position_to_position(kind):
    # Every word of the memory is a vector of its own with the same weight: the context shows what was kept.
    decoder = kind(LuongAttention("general", dropout=0.5, kernel_initializer="zeros"), U, cell="rnn")
    inputs, memory = np.zeros((B, 20, E), "float32"), np.stack([np.eye(50, dtype="float32")] * B)
    decoder(inputs, memory)
    decoder.C.kernel.assign(np.zeros(decoder.C.kernel.shape))  # nothing else differs
    outputs, weights = map(to_numpy, decoder(inputs, memory, training=True))
    np.testing.assert_allclose(weights, 1 / 50, rtol=1e-6)
    if kind is AttentionDecoder:
        kept = outputs[..., U:] * 50
        np.testing.assert_allclose(kept, np.where(kept > 1, 2, 0), atol=1e-5)
        assert abs(kept.mean() - 1) < 0.1
    assert len({row.tobytes() for row in outputs.reshape(B * 20, -1)}) == B * 20
    same = to_numpy(decoder(inputs, memory)[0])
    np.testing.assert_array_equal(same, np.broadcast_to(same[:1, :1], same.shape))
    symbols = keras.Input((None, E)), keras.Input((None, 50))  # and in a compiled training step
    model = keras.Model(symbols, decoder(*symbols)[0])
    model.compile("sgd", "mse")
    assert np.isfinite(model.fit((inputs, memory), outputs, verbose=0).history["loss"]).all()


def test_a_half_precision_decoder_may_have_an_attention_in_full_precision(kind):
    x = np.ones((B, T, D), "float32")
    outputs = kind(LuongAttention(), D, dtype="mixed_bfloat16")(x, x)
    assert {keras.backend.standardize_dtype(output.dtype) for output in outputs} == {"bfloat16"}


def random_decoder(data, **options):
    """A deep decoder with random weights, and a state to begin with."""
    decoder = LuongDecoder(LuongAttention("general"), U, "lstm", num_layers=2, readout_dim=5, **options)
    decoder(*data[:2])
    rng = np.random.default_rng(0)
    for weight in decoder.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return decoder, list(ops.convert_to_tensor(rng.normal(size=(4, B, U)).astype("float32")))


@pytest.mark.parametrize("input_feeding", [True, False])
def test_dropout_between_layers_of_a_luong_decoder_works_in_training_alone(data, input_feeding):
    decoder, start = random_decoder(data, dropout=0.5, input_feeding=input_feeding)
    silent, quiet, noisy = (to_numpy(decoder(*data[:2], start, training=on)[0]) for on in (None, False, True))
    np.testing.assert_array_equal(silent, quiet)
    assert np.abs(noisy - silent).max() > 1e-3


@pytest.mark.parametrize("input_feeding", [True, False])
def test_padding_of_the_inputs_at_any_place_changes_no_word(agree, data, input_feeding):
    (decoder, start), (inputs, memory, _) = random_decoder(data, input_feeding=input_feeding), data
    expected = [to_numpy(x) for x in decoder(inputs, memory, start, memory_mask=MASK)]
    places, mask = [1, 2, 4], np.zeros((B, 6), bool)
    spread, mask[:, places] = np.zeros((B, 6, E), "float32"), True
    spread[:, places] = inputs
    for given in ({"inputs": keras.layers.Masking()(spread)}, {"inputs": spread, "inputs_mask": mask}):
        outputs, weights = decoder(**given, memory=memory, initial_state=start, memory_mask=MASK)
        agree([to_numpy(x)[:, places] for x in (outputs, weights)], expected)
        pooled = keras.layers.GlobalAveragePooling1D()(outputs)  # the mask goes on
        agree(pooled, expected[0].mean(1))
