"""Encoder and decoder layers as the paper puts their parts together, post-norm and pre-norm."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BahdanauAttention, TransformerDecoderLayer, TransformerEncoderLayer
from keraszoo.layers.masking import Masked

to_numpy = ops.convert_to_numpy
B, T, S, H, D, F, M = 3, 3, 5, 2, 14, 11, 17
LENGTHS = (5, 3, 0)
MASK = np.arange(S) < np.array(LENGTHS)[:, None]


def norm(x, layer):
    deviation = x - x.mean(-1, keepdims=True)
    variance = (deviation**2).mean(-1, keepdims=True)
    return to_numpy(layer.gamma) * deviation / np.sqrt(variance + layer.epsilon) + to_numpy(layer.beta)


def feed_forward(x, layer):
    (W_1, b_1), (W_2, b_2) = layer.W_1.get_weights(), layer.W_2.get_weights()
    return np.maximum(0, x @ W_1 + b_1) @ W_2 + b_2


def sublayer(x, function, layer_norm, pre_norm):
    if pre_norm:
        return x + function(norm(x, layer_norm))
    return norm(x + function(x), layer_norm)


def by_the_paper(layer, x, memory, length):
    """One sentence through an encoder layer, or with a memory through a decoder layer."""
    seen, weights = np.arange(S) < length, []

    def attend(attention, y, memory, seen):
        mask = np.broadcast_to(seen, (1, len(y), len(memory)))
        context, alpha = attention(y[None], memory[None], attention_mask=mask)
        weights.append(alpha[0])
        return to_numpy(context)[0]

    def attend_to_itself(y):
        return attend(layer.self_attention, y, y, seen if memory is None else np.tri(T, dtype=bool))

    def attend_to_memory(y):
        return attend(layer.cross_attention, y, memory, seen)

    x = sublayer(x, attend_to_itself, layer.self_attention_norm, layer.pre_norm)
    if memory is not None:
        x = sublayer(x, attend_to_memory, layer.cross_attention_norm, layer.pre_norm)
    x = sublayer(x, lambda y: feed_forward(y, layer.feed_forward), layer.feed_forward_norm, layer.pre_norm)
    return x if memory is None else (x, weights[1])


def made(kind, *widths, **options):
    """A layer with random weights, and inputs of these lengths and widths."""
    rng = np.random.default_rng(0)
    layer, inputs = kind(H, F, **options), [rng.normal(size=(B, *s)).astype("float32") for s in widths]
    layer(*inputs)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.4)
    return layer, *inputs


@pytest.fixture(params=[False, True])
def pre_norm(request):
    return request.param


def test_encoder_layer_equals_the_paper(agree, pre_norm):
    layer, x = made(TransformerEncoderLayer, (S, D), pre_norm=pre_norm)
    outputs = layer(x, mask=MASK)
    for b, length in enumerate(LENGTHS):
        agree(outputs[b], by_the_paper(layer, x[b], None, length))


def test_decoder_layer_equals_the_paper(agree, pre_norm):
    layer, x, memory = made(TransformerDecoderLayer, (T, D), (S, M), pre_norm=pre_norm)
    outputs, weights = layer(x, memory, memory_mask=MASK)
    for b, length in enumerate(LENGTHS):
        agree((outputs[b], weights[b]), by_the_paper(layer, x[b], memory[b], length))


def test_stepping_with_a_cache_equals_all_positions_at_once(agree, pre_norm):
    layer, x, memory = made(TransformerDecoderLayer, (T, D), (S, M), pre_norm=pre_norm)
    outputs, weights = (to_numpy(y) for y in layer(x, memory, memory_mask=MASK))

    class Cache:  # that grows
        kept = []

        def attend(self, attention, x):
            self.kept.append(attention.prepare(x))
            prepared = [ops.concatenate(parts, axis=2) for parts in zip(*self.kept, strict=True)]
            return attention(x, prepared=prepared)

    prepared, cache = layer.prepare(memory), Cache()
    for t in range(T):
        actual = layer(x[:, t : t + 1], memory_mask=MASK, prepared=prepared, cache=cache)
        assert len(cache.kept) == t + 1
        agree(actual, (outputs[:, t : t + 1], weights[:, :, t : t + 1]))


PADDED = np.array([[False, True, True], [True, False, True], [True, True, True]])  # in front and inside


def test_padding_anywhere_in_the_decoder_is_as_if_it_were_not_there(agree, pre_norm):
    layer, x, memory = made(TransformerDecoderLayer, (T, D), (S, M), pre_norm=pre_norm)
    outputs, weights = map(to_numpy, layer(x, memory, inputs_mask=PADDED))
    for b, real in enumerate(PADDED):
        alone, where = layer(x[b : b + 1, real], memory[b : b + 1])
        agree((outputs[b, real], weights[b][:, real]), (alone[0], where[0]))


def test_masks_are_passed_on_however_they_came():
    encoder, x = made(TransformerEncoderLayer, (T, D))
    decoder, _, memory = made(TransformerDecoderLayer, (T, D), (S, D))
    masked = Masked()(ops.convert_to_tensor(x), mask=PADDED)
    for hidden in (
        encoder(x, mask=PADDED),
        encoder(masked),
        decoder(x, memory, inputs_mask=PADDED)[0],
        decoder(masked, memory)[0],
    ):
        _, weights = BahdanauAttention(3)(memory, hidden)
        assert (to_numpy(weights)[~np.broadcast_to(PADDED[:, None], weights.shape)] == 0).all()


def test_masks_arrive_by_themselves_from_an_embedding(agree):
    ids = np.array([[4, 2, 0, 0], [1, 3, 2, 5]])
    embedding = keras.layers.Embedding(6, D, mask_zero=True)
    encoder, decoder = TransformerEncoderLayer(H, F), TransformerDecoderLayer(H, F)
    plain = to_numpy(embedding(ids))
    agree(encoder(embedding(ids)), encoder(plain, mask=ids != 0))
    agree(decoder(plain, embedding(ids)), decoder(plain, plain, memory_mask=ids != 0))


@pytest.mark.parametrize("which", ["dropout", "attention_dropout", "hidden_dropout"])
def test_each_dropout_works_in_training_alone(which):
    options = {"dropout": 0.0, "attention_dropout": 0.0, "hidden_dropout": 0.0, which: 0.5}
    layer, x = made(TransformerEncoderLayer, (S, D), **options)
    np.testing.assert_array_equal(to_numpy(layer(x)), to_numpy(layer(x, training=False)))
    assert np.abs(to_numpy(layer(x, training=True)) - to_numpy(layer(x))).max() > 1e-3


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, (0.3, 0.3)), ({"attention_dropout": 0.0, "hidden_dropout": 0.1}, (0.0, 0.1))],
)
def test_dropouts_left_open_follow_the_first(given, expected):
    layer = TransformerEncoderLayer(H, F, dropout=0.3, **given)
    assert (layer.attention_dropout, layer.hidden_dropout) == expected
