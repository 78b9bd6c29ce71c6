"""Encoder and decoder layers against NumPy written from the paper, post-norm and pre-norm."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BahdanauAttention, TransformerDecoderLayer, TransformerEncoderLayer
from keraszoo.layers.masking import Masked

to_numpy = ops.convert_to_numpy
B, T, S, H, D, F, M = 2, 3, 5, 2, 14, 11, 17
LENGTHS = (5, 3)


def norm(x, layer):
    deviation = x - x.mean(-1, keepdims=True)
    variance = (deviation**2).mean(-1, keepdims=True)
    return to_numpy(layer.gamma) * deviation / np.sqrt(variance + layer.epsilon) + to_numpy(layer.beta)


def attention(x, memory, allowed, layer):
    """One query, one head at a time; `allowed[t]` are the positions that query t of this sentence may see."""
    W = {name: to_numpy(getattr(layer, f"W_{name}").kernel) for name in "qkvo"}
    b = {name: to_numpy(getattr(layer, f"W_{name}").bias) for name in "qkvo"}
    q, k, v = x @ W["q"] + b["q"], memory @ W["k"] + b["k"], memory @ W["v"] + b["v"]
    width = D // H
    heads, weights = np.zeros((len(x), D)), np.zeros((H, len(x), len(memory)))
    for h in range(H):
        part = slice(h * width, (h + 1) * width)
        for t in range(len(x)):
            e = {s: math.exp(q[t, part] @ k[s, part] / math.sqrt(width)) for s in allowed[t]}
            for s in allowed[t]:
                weights[h, t, s] = e[s] / sum(e.values())
                heads[t, part] += weights[h, t, s] * v[s, part]
    return heads @ W["o"] + b["o"], weights


def feed_forward(x, layer):
    W_1, b_1, W_2, b_2 = (
        to_numpy(w) for w in (layer.W_1.kernel, layer.W_1.bias, layer.W_2.kernel, layer.W_2.bias)
    )
    return np.maximum(0, x @ W_1 + b_1) @ W_2 + b_2


def sublayer(x, function, layer_norm, pre_norm):
    if pre_norm:
        return x + function(norm(x, layer_norm))
    return norm(x + function(x), layer_norm)


def encode(layer, x, length, pre_norm):
    seen = [range(length)] * len(x)
    x = sublayer(
        x, lambda y: attention(y, y, seen, layer.self_attention)[0], layer.self_attention_norm, pre_norm
    )
    return sublayer(x, lambda y: feed_forward(y, layer.feed_forward), layer.feed_forward_norm, pre_norm)


def decode(layer, x, memory, length, pre_norm):
    past, weights = [range(t + 1) for t in range(len(x))], []

    def cross(y):
        context, alpha = attention(y, memory, [range(length)] * len(y), layer.cross_attention)
        weights.append(alpha)
        return context

    x = sublayer(
        x, lambda y: attention(y, y, past, layer.self_attention)[0], layer.self_attention_norm, pre_norm
    )
    x = sublayer(x, cross, layer.cross_attention_norm, pre_norm)
    x = sublayer(x, lambda y: feed_forward(y, layer.feed_forward), layer.feed_forward_norm, pre_norm)
    return x, weights[0]


def randomize(layer, rng):
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.4)


def encoder_and_data(pre_norm, **options):
    rng = np.random.default_rng(0)
    layer, x = (
        TransformerEncoderLayer(H, F, pre_norm, **options),
        rng.normal(size=(B, S, D)).astype("float32"),
    )
    layer(x)
    randomize(layer, rng)
    return layer, x, np.arange(S) < np.array(LENGTHS)[:, None]


def decoder_and_data(pre_norm, **options):
    rng = np.random.default_rng(0)
    x, memory = (rng.normal(size=s).astype("float32") for s in [(B, T, D), (B, S, M)])
    layer = TransformerDecoderLayer(H, F, pre_norm, **options)
    layer(x, memory)
    randomize(layer, rng)
    return layer, x, memory, np.arange(S) < np.array(LENGTHS)[:, None]


@pytest.mark.parametrize("pre_norm", [False, True])
def test_encoder_layer_equals_the_paper(pre_norm):
    layer, x, mask = encoder_and_data(pre_norm)
    outputs = to_numpy(layer(x, mask=mask))
    for b, length in enumerate(LENGTHS):
        expected = encode(layer, x[b], length, pre_norm)
        np.testing.assert_allclose(outputs[b], expected, atol=1e-5)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_decoder_layer_equals_the_paper(pre_norm):
    layer, x, memory, mask = decoder_and_data(pre_norm)
    outputs, weights = (to_numpy(y) for y in layer(x, memory, memory_mask=mask))
    for b, length in enumerate(LENGTHS):
        expected, alpha = decode(layer, x[b], memory[b], length, pre_norm)
        np.testing.assert_allclose(outputs[b], expected, atol=1e-5)
        np.testing.assert_allclose(weights[b], alpha, atol=1e-5)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_stepping_with_a_cache_equals_all_positions_at_once(pre_norm):
    layer, x, memory, mask = decoder_and_data(pre_norm)
    outputs, weights = (to_numpy(y) for y in layer(x, memory, memory_mask=mask))

    class Cache:  # that grows
        kept = []

        def attend(self, attention, x):
            self.kept.append(attention.prepare(x))
            prepared = [ops.concatenate(parts, axis=2) for parts in zip(*self.kept, strict=True)]
            return attention(x, prepared=prepared)

    prepared, cache = layer.prepare(memory), Cache()
    for t in range(T):
        output, where = layer(x[:, t : t + 1], memory_mask=mask, prepared=prepared, cache=cache)
        assert len(cache.kept) == t + 1
        np.testing.assert_allclose(to_numpy(output)[:, 0], outputs[:, t], atol=1e-5)
        np.testing.assert_allclose(to_numpy(where)[:, :, 0], weights[:, :, t], atol=1e-5)


PADDED = [[False, True, True], [True, False, True]]  # in front and inside


@pytest.mark.parametrize("pre_norm", [False, True])
def test_padding_anywhere_in_the_decoder_is_as_if_it_were_not_there(pre_norm):
    layer, x, memory, _ = decoder_and_data(pre_norm)
    outputs, weights = map(to_numpy, layer(x, memory, inputs_mask=np.array(PADDED)))
    for b, real in enumerate(PADDED):
        alone, where = map(to_numpy, layer(x[b : b + 1, real], memory[b : b + 1]))
        np.testing.assert_allclose(outputs[b, real], alone[0], atol=1e-5)
        np.testing.assert_allclose(weights[b][:, real], where[0], atol=1e-5)


def test_masks_are_passed_on_however_they_came():
    _, x, memory, _ = decoder_and_data(False)
    encoder, decoder, look = (
        TransformerEncoderLayer(H, F),
        TransformerDecoderLayer(H, F),
        BahdanauAttention(3),
    )
    mask = np.array(PADDED)
    masked = Masked()(ops.convert_to_tensor(x), mask=mask)
    for hidden in (
        encoder(x, mask=mask),
        encoder(masked),
        decoder(x, memory, inputs_mask=mask)[0],
        decoder(masked, memory)[0],
    ):
        _, weights = look(memory, hidden)
        assert (to_numpy(weights)[~np.broadcast_to(mask[:, None], weights.shape)] == 0).all()


def test_the_decoder_sees_no_later_word():
    layer, x, memory, _ = decoder_and_data(False)
    before = to_numpy(layer(x, memory)[0])
    changed = x.copy()
    changed[:, 2] += 3
    after = to_numpy(layer(changed, memory)[0])
    np.testing.assert_allclose(after[:, :2], before[:, :2], atol=1e-6)
    assert np.abs(after[:, 2] - before[:, 2]).max() > 1e-2


def test_padding_changes_nothing():
    layer, x, mask = encoder_and_data(True)
    longer = np.concatenate([x, np.full((B, 2, D), 50.0, "float32")], 1)
    padded = to_numpy(layer(longer, mask=np.pad(mask, ((0, 0), (0, 2)))))
    np.testing.assert_allclose(padded[:, :S], to_numpy(layer(x, mask=mask)), atol=1e-5)


def test_an_encoder_row_of_padding_and_a_decoder_row_without_memory_stay_finite():
    layer, x, _ = encoder_and_data(False)
    assert np.isfinite(to_numpy(layer(x, mask=np.zeros((B, S), bool)))).all()
    layer, x, memory, _ = decoder_and_data(False)
    outputs, weights = layer(x, memory, memory_mask=np.zeros((B, S), bool))
    assert np.isfinite(to_numpy(outputs)).all()
    assert (to_numpy(weights) == 0).all()


def test_masks_arrive_by_themselves_from_an_embedding():
    ids = np.array([[4, 2, 0, 0], [1, 3, 2, 5]])
    embedding = keras.layers.Embedding(6, D, mask_zero=True)
    encoder, decoder = TransformerEncoderLayer(H, F), TransformerDecoderLayer(H, F)
    plain = to_numpy(embedding(ids))
    arrived, given = encoder(embedding(ids)), encoder(plain, mask=ids != 0)
    np.testing.assert_array_equal(to_numpy(arrived), to_numpy(given))
    _, arrived = decoder(plain, embedding(ids))
    _, given = decoder(plain, plain, memory_mask=ids != 0)
    np.testing.assert_array_equal(to_numpy(arrived), to_numpy(given))
    assert (to_numpy(arrived)[0, :, :, 2:] == 0).all()


@pytest.mark.parametrize("which", ["dropout", "attention_dropout", "hidden_dropout"])
def test_each_dropout_works_in_training_alone(which):
    options = {"dropout": 0.0, "attention_dropout": 0.0, "hidden_dropout": 0.0, which: 0.5}
    layer, x, _ = encoder_and_data(False, **options)
    np.testing.assert_array_equal(to_numpy(layer(x)), to_numpy(layer(x, training=False)))
    assert np.abs(to_numpy(layer(x, training=True)) - to_numpy(layer(x))).max() > 1e-3


def test_dropouts_left_open_follow_the_first():
    layer = TransformerEncoderLayer(H, F, dropout=0.3)
    assert (layer.attention_dropout, layer.hidden_dropout) == (0.3, 0.3)
    layer = TransformerEncoderLayer(H, F, dropout=0.3, attention_dropout=0.0, hidden_dropout=0.1)
    assert (layer.attention_dropout, layer.hidden_dropout) == (0.0, 0.1)


def test_inputs_that_do_not_fit_are_errors():
    x = np.ones((B, S, D), "float32")
    encoder, decoder = TransformerEncoderLayer(H, F), TransformerDecoderLayer(H, F)
    for case in (
        lambda: encoder(x[:, 0]),
        lambda: encoder(x, mask=np.ones((B, S + 1), bool)),
        lambda: decoder(x[:, 0], x),
        lambda: decoder(x, x[:1]),
        lambda: decoder(x, x, memory_mask=np.ones((S, B), bool)),
    ):
        with pytest.raises(ValueError, match=r"(?s)shape.*\("):
            case()


@pytest.mark.parametrize("layer", [TransformerEncoderLayer, TransformerDecoderLayer])
def test_heads_must_divide_the_width(layer):
    x = np.ones((1, 2, 5), "float32")
    with pytest.raises(ValueError, match="multiple of num_heads. Received: width=5, num_heads=2"):
        layer(2, 3)(*([x] if layer is TransformerEncoderLayer else [x, x]))
