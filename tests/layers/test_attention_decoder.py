"""The attention decoder against the paper's equations, one sentence and one word at a time."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import (
    AttentionDecoder,
    BahdanauAttention,
    LuongAttention,
    LuongDecoder,
    MultiHeadAttention,
    ScaledDotProductAttention,
)

to_numpy = ops.convert_to_numpy
B, T, S, D, E, U, A = 2, 3, 5, 7, 11, 13, 17
LENGTHS = (5, 3)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gru(y, c, state, W, C, b, recurrent, U_s):
    """A.1.1: s~ = tanh(W y + U [r s] + C c), s' = (1 - z) s + z s~. Cho, and Keras, keep 1 - z as their z."""
    (s,) = state
    x = y @ W + c @ C + b
    keep, r = sigmoid(x[: 2 * U] + s @ recurrent).reshape(2, U)
    candidate = np.tanh(x[2 * U :] + (r * s) @ U_s)
    return (keep * s + (1 - keep) * candidate,)


def lstm(y, context, state, W, C, b, recurrent):
    h, c = state
    i, f, candidate, o = (y @ W + context @ C + h @ recurrent + b).reshape(4, U)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(candidate)
    return sigmoid(o) * np.tanh(c), c


CELLS = {"gru": gru, "lstm": lstm}


def loop(cell, inputs, memory, first, W_q, W_k, v, *weights):
    """c_i = attention(s_{i-1}, memory), s_i = f(s_{i-1}, y_{i-1}, c_i), over the words alone."""
    states, contexts = np.zeros((B, T, U)), np.zeros((B, T, D))
    alphas = np.zeros((B, T, S))
    for b, length in enumerate(LENGTHS):
        state = (first[b],) if cell == "gru" else (first[b], np.zeros(U))
        for i in range(T):
            scores = [
                float((v.T @ np.tanh(W_q.T @ state[0] + W_k.T @ memory[b, j]))[0]) for j in range(length)
            ]
            alphas[b, i, :length] = np.exp(scores) / np.sum(np.exp(scores))
            contexts[b, i] = sum(alphas[b, i, j] * memory[b, j] for j in range(length))
            state = CELLS[cell](inputs[b, i], contexts[b, i], state, *weights)
            states[b, i] = state[0]
    return np.concatenate([states, contexts], -1), alphas


@pytest.fixture(params=CELLS)
def decoder(request):
    layer = AttentionDecoder(BahdanauAttention(A), U, cell=request.param)
    layer(np.zeros((B, T, E)), np.zeros((B, S, D)))
    rng = np.random.default_rng(0)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return layer


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    inputs, memory, first = (rng.normal(size=s).astype("float32") for s in [(B, T, E), (B, S, D), (B, U)])
    return inputs, memory, first, np.arange(S) < np.array(LENGTHS)[:, None]


def expected_of(decoder, inputs, memory, first):
    attention, cell = decoder.attention, decoder.cell
    layers = [attention.W_q, attention.W_k, attention.v, cell.W, decoder.C]
    weights = [*(layer.kernel for layer in layers), cell.W.bias, cell.U.kernel]
    weights += [cell.U_s.kernel] if cell.cell == "gru" else []
    return loop(cell.cell, inputs, memory, first, *map(to_numpy, weights))


def test_equals_a_loop_over_words(decoder, data):
    inputs, memory, first, mask = data
    outputs = decoder(inputs, memory, decoder.initial_state(ops.convert_to_tensor(first)), memory_mask=mask)
    for mine, expected in zip(outputs, expected_of(decoder, inputs, memory, first), strict=True):
        np.testing.assert_allclose(to_numpy(mine), expected, atol=1e-5)


def test_the_initial_state_is_as_in_a_keras_rnn(decoder, data):
    inputs, memory, first, _ = data
    zero, first = np.zeros((B, U), "float32"), ops.convert_to_tensor(first)
    listed = [first] if decoder.cell.cell == "gru" else [first, zero]
    for given, same in ((None, zero), (first, listed)):
        one = to_numpy(decoder(inputs, memory, given)[0])
        np.testing.assert_array_equal(one, to_numpy(decoder(inputs, memory, same)[0]))


def test_stepping_gives_the_same_and_the_attention_weights(decoder, data):
    inputs, memory, first, mask = data
    outputs, alphas = expected_of(decoder, inputs, memory, first)
    state, prepared = decoder.initial_state(ops.convert_to_tensor(first)), decoder.prepare(memory)
    for i in range(T):
        output, weights, state = decoder.step(inputs[:, i], state, prepared, i, mask)
        np.testing.assert_allclose(to_numpy(output), outputs[:, i], atol=1e-5)
        np.testing.assert_allclose(to_numpy(weights), alphas[:, i], atol=1e-5)
        np.testing.assert_allclose(to_numpy(state[0]), outputs[:, i, :U], atol=1e-5)


def test_rows_of_one_sentence_share_its_memory(decoder, data):
    _, memory, _, mask = data
    rng = np.random.default_rng(2)
    rows = 3
    inputs, first = (rng.normal(size=s).astype("float32") for s in [(B * rows, E), (B * rows, U)])
    start = decoder.initial_state(ops.convert_to_tensor(first))
    together = decoder.step(inputs, start, decoder.prepare(memory), 0, mask)
    repeated = decoder.prepare(np.repeat(memory, rows, 0))
    apart = decoder.step(inputs, start, repeated, 0, np.repeat(mask, rows, 0))
    for one, other in zip(keras.tree.flatten(together), keras.tree.flatten(apart), strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), atol=1e-5)


def test_padding_of_the_memory_changes_nothing(decoder, data):
    inputs, memory, first, mask = data
    start = decoder.initial_state(ops.convert_to_tensor(first))
    plain = decoder(inputs, memory, start, memory_mask=mask)
    longer = np.concatenate([memory, np.full((B, 4, D), 1e3, "float32")], 1)
    padded = decoder(inputs, longer, start, memory_mask=np.pad(mask, ((0, 0), (0, 4))))
    np.testing.assert_allclose(to_numpy(plain[0]), to_numpy(padded[0]), atol=1e-5)
    weights = np.pad(to_numpy(plain[1]), ((0, 0), (0, 0), (0, 4)))
    np.testing.assert_allclose(weights, to_numpy(padded[1]), atol=1e-5)


def test_a_sentence_without_words_has_contexts_of_zero(decoder, data):
    inputs, memory, first, mask = data
    start = decoder.initial_state(ops.convert_to_tensor(first))
    outputs, weights = map(to_numpy, decoder(inputs, memory, start, memory_mask=mask & [[True], [False]]))
    assert (outputs[1, :, U:] == 0).all() and (weights[1] == 0).all()
    assert np.isfinite(outputs).all()


def test_the_mask_of_the_memory_arrives_by_itself(decoder, data):
    inputs, _, first, _ = data
    ids = np.array([[4, 2, 0, 0], [1, 3, 2, 5]])
    embedding = keras.layers.Embedding(6, D, mask_zero=True)
    start = decoder.initial_state(ops.convert_to_tensor(first))
    arrived = decoder(inputs, embedding(ids), start)
    given = decoder(inputs, to_numpy(embedding(ids)), start, memory_mask=ids != 0)
    for one, other in zip(arrived, given, strict=True):
        np.testing.assert_array_equal(to_numpy(one), to_numpy(other))


def test_any_attention_whose_weights_are_of_one_head_will_do(data):
    inputs, memory, _, mask = data
    decoder = AttentionDecoder(ScaledDotProductAttention(), units=D)
    outputs, _ = decoder(inputs, memory, ops.convert_to_tensor(memory[:, 0]), memory_mask=mask)
    scores = np.einsum("bd,bsd->bs", memory[:, 0], memory) / np.sqrt(D)
    weights = np.where(mask, np.exp(scores), 0)
    expected = np.einsum("bs,bsd->bd", weights / weights.sum(-1, keepdims=True), memory)
    np.testing.assert_allclose(to_numpy(outputs)[:, 0, D:], expected, atol=1e-5)


@pytest.mark.parametrize("window", ["monotonic", "predictive"])
def test_the_position_reaches_an_attention_with_a_window(data, window):
    inputs, memory, first, mask = data
    decoder = AttentionDecoder(LuongAttention("general", window, half_width=1), units=U, cell="rnn")
    start = decoder.initial_state(ops.convert_to_tensor(first))
    outputs, forced = decoder(inputs, memory, start, memory_mask=mask)
    state, prepared = start, decoder.prepare(memory)
    for i in range(T):
        output, weights, state = decoder.step(inputs[:, i], state, prepared, i, mask)
        np.testing.assert_allclose(to_numpy(output), to_numpy(outputs)[:, i], atol=1e-5)
        np.testing.assert_allclose(to_numpy(weights), to_numpy(forced)[:, i], atol=1e-5)
        if window == "monotonic":
            near = np.abs(np.arange(S) - i) <= 1
            np.testing.assert_array_equal(to_numpy(weights) > 0, near & mask)


@pytest.mark.parametrize("kind", [AttentionDecoder, LuongDecoder])
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


@pytest.mark.parametrize("built", [False, True])
def test_shapes_that_do_not_fit_are_named(decoder, data, built):
    new = decoder if built else AttentionDecoder(BahdanauAttention(3), U)
    inputs, memory = data[0], data[1]
    with pytest.raises(ValueError, match=r"\(batch, length, width\), of one batch size"):
        new(np.concatenate([inputs, inputs]), memory)
    with pytest.raises(ValueError, match="memory_mask must be .batch, memory length.|value_mask must be"):
        new(inputs, memory, memory_mask=np.ones((B, S + 1), bool))
    if built:
        with pytest.raises(
            ValueError,
            match="of one batch size. Received: inputs.shape=",
        ):
            new(inputs[:, 0], memory)


def test_what_does_not_fit_is_named():
    inputs, memory = np.ones((B, T, E)), np.ones((B, S, D))
    with pytest.raises(ValueError, match="must have weights .B, T, S.. Received: attention='MultiHead"):
        AttentionDecoder(MultiHeadAttention(2, 4), U)
    with pytest.raises(ValueError, match="must be a list of 1 x .2, 4.. Received: shapes=.*7"):
        AttentionDecoder(BahdanauAttention(3), 4)(inputs, memory, np.ones((B, 7)))
    with pytest.raises(ValueError, match="must be a list of 2 x .2, 4."):
        AttentionDecoder(BahdanauAttention(3), 4, cell="lstm")(inputs, memory, [np.ones((B, 4))])
