"""Multi-head attention against loops, against Keras' own layer, and step by step against itself."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import MultiHeadAttention

to_numpy = ops.convert_to_numpy


def take_weights(layer, reference):
    """Gives the layer the weights of Keras' own, whose kernels have an axis of heads."""
    pairs = zip(layer.weights, reference.weights, strict=True)
    layer.set_weights([np.reshape(to_numpy(theirs), mine.shape) for mine, theirs in pairs])


def randomize(layer, rng, scale=0.4):
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * scale)


def test_equals_loops_at_prime_sizes():
    B, T, S, H, d_k, d_v, Q, D, K, O = 2, 3, 5, 7, 11, 13, 17, 19, 23, 29  # noqa: E741
    rng = np.random.default_rng(0)
    query, value, key = (rng.normal(size=s).astype("float32") for s in [(B, T, Q), (B, S, D), (B, S, K)])
    mask = rng.random((B, T, S)) < 0.8
    layer = MultiHeadAttention(H, d_k, value_dim=d_v, output_shape=O)
    layer(query, value, key)
    randomize(layer, rng)
    W = {name: to_numpy(getattr(layer, f"W_{name}").kernel).astype("float64") for name in "qkvo"}
    b = {name: to_numpy(getattr(layer, f"W_{name}").bias).astype("float64") for name in "qkvo"}
    expected_context, expected_weights = np.zeros((B, T, O)), np.zeros((B, H, T, S))
    for n in range(B):
        for t in range(T):
            heads = []
            for h in range(H):
                of_head, of_value = slice(h * d_k, (h + 1) * d_k), slice(h * d_v, (h + 1) * d_v)
                q = query[n, t] @ W["q"][:, of_head] + b["q"][of_head]
                scores = [
                    q @ (key[n, s] @ W["k"][:, of_head] + b["k"][of_head]) / math.sqrt(d_k) for s in range(S)
                ]
                total = sum(math.exp(scores[s]) for s in range(S) if mask[n, t, s])
                head = np.zeros(d_v)
                for s in range(S):
                    if mask[n, t, s]:
                        expected_weights[n, h, t, s] = math.exp(scores[s]) / total
                        projected = value[n, s] @ W["v"][:, of_value] + b["v"][of_value]
                        head += expected_weights[n, h, t, s] * projected
                heads.append(head)
            expected_context[n, t] = np.concatenate(heads) @ W["o"] + b["o"]
    context, weights = layer(query, value, key, attention_mask=mask)
    np.testing.assert_allclose(to_numpy(weights), expected_weights, atol=1e-5)
    np.testing.assert_allclose(to_numpy(context), expected_context, atol=1e-4)


def test_two_heads_by_eye():
    # Each head sees one of two coordinates; W_o lets both through. Head 1 is sure of the first value, head 2
    # does not care.
    layer = MultiHeadAttention(num_heads=2, key_dim=1, use_bias=False)
    query, value = np.array([[[math.log(3), 0.0]]], "float32"), np.eye(2, dtype="float32")[None]
    layer(query, value)
    for weight in (layer.W_q, layer.W_k, layer.W_v, layer.W_o):
        weight.kernel.assign(np.eye(2))
    context, weights = layer(query, value)
    np.testing.assert_allclose(to_numpy(weights), [[[[3 / 4, 1 / 4]], [[1 / 2, 1 / 2]]]], atol=1e-6)
    np.testing.assert_allclose(to_numpy(context), [[[3 / 4, 1 / 2]]], atol=1e-6)


CASES = {
    "self": ({}, True),
    "cross": ({}, False),
    "value_dim": ({"value_dim": 5}, False),
    "output_dim": ({"output_shape": 13}, False),
    "no bias": ({"use_bias": False}, False),
}


@pytest.mark.parametrize("case", CASES)
def test_takes_the_weights_of_the_layer_of_keras_and_gives_its_numbers(case):
    options, to_itself = CASES[case]
    rng = np.random.default_rng(0)
    query = rng.normal(size=(2, 3, 12)).astype("float32")
    value = query if to_itself else rng.normal(size=(2, 5, 7)).astype("float32")
    reference = keras.layers.MultiHeadAttention(num_heads=3, key_dim=4, **options)
    layer = MultiHeadAttention(num_heads=3, key_dim=4, **options)
    reference.build(query.shape, value.shape)
    layer(query, value)
    randomize(reference, rng)
    take_weights(layer, reference)
    expected = reference(query, value, return_attention_scores=True)
    for mine, others in zip(layer(query, value), expected, strict=True):
        np.testing.assert_allclose(to_numpy(mine), to_numpy(others), atol=1e-5)


def test_stepping_with_a_cache_equals_the_causal_pass():
    rng = np.random.default_rng(0)
    B, T, D = 2, 5, 7
    x = rng.normal(size=(B, T, D)).astype("float32")
    layer = MultiHeadAttention(num_heads=3, key_dim=2, value_dim=4)
    layer(x, x)
    randomize(layer, rng)
    context, weights = (to_numpy(y) for y in layer(x, x, use_causal_mask=True))
    # a cache of fixed size whose free places hold garbage
    keys, values = np.full((B, 3, T, 2), 99.0, "float32"), np.full((B, 3, T, 4), 99.0, "float32")
    for t in range(T):
        new_keys, new_values = layer.prepare(x[:, t : t + 1])
        keys[:, :, t], values[:, :, t] = to_numpy(new_keys)[:, :, 0], to_numpy(new_values)[:, :, 0]
        seen = np.broadcast_to(np.arange(T) <= t, (B, T))
        now, where = map(to_numpy, layer(x[:, t : t + 1], prepared=(keys, values), value_mask=seen))
        np.testing.assert_allclose(now[:, 0], context[:, t], atol=1e-5)
        np.testing.assert_allclose(where[:, :, 0], weights[:, :, t], atol=1e-6)


@pytest.mark.parametrize("kind", [{"rotary": True}, {"relative": 2}])
def test_shifting_queries_and_keys_alike_changes_nothing(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 5, 7)).astype("float32")
    layer = MultiHeadAttention(num_heads=3, key_dim=4, **kind)
    layer(x, x)
    randomize(layer, rng)
    here = layer(x, x, use_causal_mask=True)
    there = np.arange(5) + 11
    shifted = layer(x, x, use_causal_mask=True, positions=there, key_positions=there)
    for a, b in zip(here, shifted, strict=True):
        np.testing.assert_allclose(to_numpy(a), to_numpy(b), atol=1e-5)
    # queries alone: what they stand before is another word
    alone = layer(x, x, use_causal_mask=True, positions=there)
    assert np.abs(to_numpy(alone[1]) - to_numpy(here[1])).max() > 1e-3
    # and keys that stand in order, said or not
    said = layer(x, x, positions=np.arange(5), key_positions=np.arange(5), use_causal_mask=True)
    np.testing.assert_allclose(to_numpy(said[0]), to_numpy(here[0]), atol=1e-6)


@pytest.mark.parametrize("sizes", [{"num_heads": 0, "key_dim": 3}, {"num_heads": 2, "key_dim": 1.5}])
def test_sizes_must_be_positive_integers(sizes):
    with pytest.raises(ValueError, match="must be a positive integer. Received: (num_heads=0|key_dim=1.5)"):
        MultiHeadAttention(**sizes)


@pytest.mark.parametrize(("query", "key", "value", "key_dim"), [(64, 64, 64, 32), (48, 96, 128, 16)])
def test_projections_of_heads_start_with_half_of_glorots_variance(query, key, value, key_dim):
    layer = MultiHeadAttention(8, key_dim)
    layer.build((None, None, query), (None, None, value), (None, None, key))
    for sublayer, share in ((layer.W_q, 0.5), (layer.W_k, 0.5), (layer.W_v, 0.5), (layer.W_o, 1)):
        kernel = to_numpy(sublayer.kernel)
        glorot = 2 / sum(kernel.shape)  # the variance
        assert kernel.var() == pytest.approx(share * glorot, rel=0.1)
        assert np.abs(kernel).max() <= math.sqrt(3 * share * glorot)  # uniform
