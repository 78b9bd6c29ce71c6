"""Multi-head attention with each kind of positions against loops and Keras' layer, and one word at a time."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import MultiHeadAttention

to_numpy = ops.convert_to_numpy
KINDS = [{}, {"rotary": True}, {"relative": 2}]


def randomize(layer, scale=0.4):
    rng = np.random.default_rng(0)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * scale)


def turned(x):
    """Multiplies the pairs (x_i, x_{i + d/2}) at position t by exp(i t / 10000^(2i / d))."""
    (length, d), half = (x.shape[1], x.shape[-1]), x.shape[-1] // 2
    turns = np.exp(1j * np.arange(length)[:, None] / 10_000 ** (2 * np.arange(half) / d))
    pairs = (x[..., :half] + 1j * x[..., half:]) * turns[:, None]
    return np.concatenate([pairs.real, pairs.imag], axis=-1)


def loop(layer, query, value, key, mask):
    """Eq. (3) and (4) of Shaw et al. where positions are relative, one query and one head at a time."""

    def heads(name, x):
        W, b = map(to_numpy, getattr(layer, f"W_{name}").weights)
        return (x @ W.astype("float64") + b).reshape(*x.shape[:2], layer.num_heads, -1)

    q, k, v = heads("q", query), heads("k", key), heads("v", value)
    q, k = (turned(q), turned(k)) if layer.rotary else (q, k)
    (B, T, H, d_k), S, farthest = q.shape, k.shape[1], layer.relative or 0
    A_k, A_v = (np.zeros((1, x.shape[-1])) for x in (k, v))
    if layer.relative:
        A_k, A_v = to_numpy(layer.A_k), to_numpy(layer.A_v)
    weights, contexts = np.zeros((B, H, T, S)), np.zeros((B, T, H, v.shape[-1]))
    for b, h, t in np.ndindex(B, H, T):
        seen = np.flatnonzero(mask[b, t])
        row = {s: max(-farthest, min(farthest, s - t)) + farthest for s in seen}
        e = {s: math.exp(q[b, t, h] @ (k[b, s, h] + A_k[row[s]]) / math.sqrt(d_k)) for s in seen}
        for s in seen:
            weights[b, h, t, s] = e[s] / sum(e.values())
            contexts[b, t, h] += weights[b, h, t, s] * (v[b, s, h] + A_v[row[s]])
    W, bias = map(to_numpy, layer.W_o.weights)
    return contexts.reshape(B, T, -1) @ W + bias, weights


@pytest.mark.parametrize("kind", KINDS)
def test_equals_loops_at_prime_sizes(agree, kind):
    B, T, S, Q, D, K = 2, 3, 7, 17, 19, 23
    rng = np.random.default_rng(0)
    query, value, key = (rng.normal(size=s).astype("float32") for s in [(B, T, Q), (B, S, D), (B, S, K)])
    layer = MultiHeadAttention(5, 10, value_dim=13, output_shape=29, **kind)
    layer(query, value, key)
    randomize(layer)
    mask = rng.random((B, T, S)) < 0.8
    agree(layer(query, value, key, attention_mask=mask), loop(layer, query, value, key, mask), atol=1e-4)


KEYS_SEEN, VALUES_SEEN = (np.arange(5) < np.array(lengths)[:, None] for lengths in ([5, 2, 3], [4, 3, 5]))
PLACES = np.arange(3 * 2 * 4 * 5).reshape(3, 2, 4, 5)  # of 3 sentences, 2 heads, 4 queries and 5 values
ALL = {"attention_mask": PLACES % 7 != 3, "key_mask": KEYS_SEEN, "value_mask": VALUES_SEEN}


@pytest.mark.parametrize(
    ("options", "masks"),
    [
        ({"value_dim": 5}, {}),
        ({"output_shape": 13}, {}),
        ({"use_bias": False}, {}),
        ({}, {"attention_mask": PLACES % 7 % 2 == 0}),
        ({}, {"key_mask": KEYS_SEEN}),
        ({}, {**ALL, "use_causal_mask": True}),
    ],
)
def test_takes_the_weights_of_the_layer_of_keras_and_gives_its_numbers(options, masks):
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=shape).astype("float32") for shape in [(3, 4, 12), (3, 5, 6), (3, 5, 7)]]
    reference, layer = (
        kind(2, 4, **options) for kind in (keras.layers.MultiHeadAttention, MultiHeadAttention)
    )
    for each in (reference, layer):
        each.build(*[x.shape for x in inputs])
    randomize(reference)
    pairs = zip(layer.weights, reference.weights, strict=True)  # theirs have an axis of heads
    layer.set_weights([np.reshape(to_numpy(theirs), mine.shape) for mine, theirs in pairs])
    actual = [to_numpy(x) for x in layer(*inputs, **masks)]
    if "use_causal_mask" in masks:  # Keras does not combine masks per head with others
        others = (KEYS_SEEN & VALUES_SEEN)[:, None, None] & np.tri(4, 5, dtype=bool)
        masks = {"attention_mask": masks["attention_mask"] & others}
    expected = [to_numpy(x) for x in reference(*inputs, return_attention_scores=True, **masks)]
    seen = actual[1].sum(-1, keepdims=True) > 0  # where nothing is seen, Keras is uniform over padding
    np.testing.assert_allclose(actual[1], expected[1] * seen, atol=1e-5)
    rows = seen.all(axis=(1, 3))
    assert rows.any()
    np.testing.assert_allclose(actual[0][rows], expected[0][rows], atol=1e-5)


def layer_and_words(kind):
    x = np.random.default_rng(0).normal(size=(2, 5, 7)).astype("float32")
    layer = MultiHeadAttention(num_heads=3, key_dim=4, value_dim=2, **kind)
    layer(x, x)
    randomize(layer)
    return layer, x


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_a_cache_may_be_in_any_order(kind):
    layer, x = layer_and_words(kind)
    context, weights = (to_numpy(y) for y in layer(x, x))
    order = np.array([3, 0, 4, 2, 1], "int32")
    parts = [layer.prepare(x[:, t : t + 1], positions=ops.array([t])) for t in order]  # one word at a time
    prepared = [ops.concatenate(part, axis=2) for part in zip(*parts, strict=True)]
    for t in range(5):
        for rows in (1, 3):  # one query, or several at one place
            attended, where = layer(
                np.repeat(x[:, t : t + 1], rows, axis=1),
                prepared=prepared,
                positions=ops.convert_to_tensor([t], dtype="int32"),
                key_positions=ops.convert_to_tensor(order),
            )
            np.testing.assert_allclose(to_numpy(attended)[:, rows - 1], context[:, t], atol=1e-5)
            np.testing.assert_allclose(to_numpy(where)[:, :, 0], weights[:, :, t][..., order], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_attention_depends_on_distances_alone(agree, kind):
    layer, x = layer_and_words(kind)
    here = layer(x, x, use_causal_mask=True)
    there = np.arange(5) + 11
    agree(layer(x, x, use_causal_mask=True, positions=there, key_positions=there), here)
    # queries alone: what they stand before is another word
    alone = layer(x, x, use_causal_mask=True, positions=there)
    assert np.abs(to_numpy(alone[1]) - to_numpy(here[1])).max() > 1e-3
    in_order = {"positions": np.arange(5), "key_positions": np.arange(5)}
    agree(layer(x, x, **in_order, use_causal_mask=True), here)


@pytest.mark.parametrize(("query", "key", "value", "key_dim"), [(64, 64, 64, 32), (48, 96, 128, 16)])
def test_projections_of_heads_start_with_half_of_glorots_variance(query, key, value, key_dim):
    layer = MultiHeadAttention(8, key_dim)
    layer.build((None, None, query), (None, None, value), (None, None, key))
    for sublayer, share in ((layer.W_q, 0.5), (layer.W_k, 0.5), (layer.W_v, 0.5), (layer.W_o, 1)):
        kernel = to_numpy(sublayer.kernel)
        glorot = 2 / sum(kernel.shape)  # the variance
        assert kernel.var() == pytest.approx(share * glorot, rel=0.1)
        assert np.abs(kernel).max() <= math.sqrt(3 * share * glorot)  # uniform
