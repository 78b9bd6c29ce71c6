"""Relative positions: equations (3) and (4) by loops, distances and not places, keys in a cache."""

import math

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import MultiHeadAttention

to_numpy = ops.convert_to_numpy
B, T, H, D, D_K, D_V, K = 2, 7, 3, 11, 5, 2, 2


@pytest.fixture
def layer_and_words():
    rng = np.random.default_rng(0)
    layer = MultiHeadAttention(H, D_K, value_dim=D_V, relative=K)
    x = rng.normal(size=(B, T, D)).astype("float32")
    layer(x, x)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.4)
    return layer, x


def test_equals_loops_at_prime_sizes(layer_and_words):
    layer, x = layer_and_words
    mask = np.arange(T) < np.array([T, 4])[:, None]
    W = {name: to_numpy(getattr(layer, f"W_{name}").kernel) for name in "qkvo"}
    b = {name: to_numpy(getattr(layer, f"W_{name}").bias) for name in "qkvo"}
    A_k, A_v = to_numpy(layer.A_k), to_numpy(layer.A_v)
    assert A_k.shape == (2 * K + 1, D_K) and A_v.shape == (2 * K + 1, D_V)
    q, k, v = ((x @ W[name] + b[name]).reshape(B, T, H, -1) for name in "qkv")
    heads, expected = np.zeros((B, T, H, D_V)), np.zeros((B, H, T, T))
    for n, h, i in np.ndindex(B, H, T):
        seen = [j for j in range(T) if mask[n, j]]
        row = {j: max(-K, min(K, j - i)) + K for j in seen}
        e = {j: math.exp(q[n, i, h] @ (k[n, j, h] + A_k[row[j]]) / math.sqrt(D_K)) for j in seen}
        for j in seen:
            expected[n, h, i, j] = e[j] / sum(e.values())
            heads[n, i, h] += expected[n, h, i, j] * (v[n, j, h] + A_v[row[j]])
    context, weights = layer(x, x, value_mask=mask)
    np.testing.assert_allclose(to_numpy(weights), expected, atol=1e-5)
    np.testing.assert_allclose(to_numpy(context), heads.reshape(B, T, -1) @ W["o"] + b["o"], atol=1e-4)


def test_words_know_which_side_and_how_far_up_to_the_largest_distance():
    # All words are equal, so weights differ by distance alone.
    layer = MultiHeadAttention(1, D_K, relative=K)
    x = np.ones((1, T, D), "float32")
    layer(x, x)
    row = to_numpy(layer(x, x)[1])[0, 0, 3]
    assert len({round(float(weight), 6) for weight in row}) == 2 * K + 1
    assert row[0] == row[1] and row[5] == row[6]  # three words before and two, two words after and three


def test_a_query_over_a_cache_whose_keys_stand_in_any_order(layer_and_words):
    layer, x = layer_and_words
    context, weights = (to_numpy(y) for y in layer(x, x))
    order = np.random.default_rng(1).permutation(T).astype("int32")
    prepared = layer.prepare(x[:, order])
    for t in range(T):
        place = ops.convert_to_tensor([t], dtype="int32")
        for rows in (1, 3):  # one query, or several at one place
            attended, where = layer(
                np.repeat(x[:, t : t + 1], rows, axis=1),
                prepared=prepared,
                positions=place,
                key_positions=ops.convert_to_tensor(order),
            )
            np.testing.assert_allclose(to_numpy(attended)[:, rows - 1], context[:, t], atol=1e-5)
            np.testing.assert_allclose(to_numpy(where)[:, :, 0], weights[:, :, t][..., order], atol=1e-5)


def test_the_largest_distance_must_be_a_positive_integer():
    with pytest.raises(ValueError, match="relative must be a positive integer. Received: relative=0"):
        MultiHeadAttention(2, 3, relative=0)
