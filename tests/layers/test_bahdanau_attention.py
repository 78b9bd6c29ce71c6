"""Additive attention against the paper's equations in loops over single numbers."""

import math

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BahdanauAttention

to_numpy = ops.convert_to_numpy
B, T, S, D, Q, K, U = 2, 3, 5, 7, 11, 13, 17


def loop(query, value, key, mask, W_q, W_k, v):
    """e_ij = v^T tanh(W_q q_i + W_k k_j), alpha = softmax over what is kept, c_i = sum alpha_ij v_j."""
    context, weights = np.zeros((B, T, D)), np.zeros((B, T, S))
    for n in range(B):
        for i in range(T):
            scores = []
            for j in range(S):
                e = 0.0
                for u in range(U):
                    a = sum(W_q[m, u] * query[n, i, m] for m in range(Q))
                    a += sum(W_k[m, u] * key[n, j, m] for m in range(K))
                    e += v[u, 0] * math.tanh(a)
                scores.append(e)
            total = sum(math.exp(scores[j]) for j in range(S) if mask[n, j])
            for j in range(S):
                weights[n, i, j] = math.exp(scores[j]) / total if mask[n, j] else 0.0
                context[n, i] += weights[n, i, j] * value[n, j]
    return context, weights


def test_equals_loops_at_prime_sizes():
    rng = np.random.default_rng(0)
    query, value, key = (rng.normal(size=s).astype("float32") for s in [(B, T, Q), (B, S, D), (B, S, K)])
    mask = np.arange(S) < np.array([5, 3])[:, None]
    layer = BahdanauAttention(U)
    layer(query, value, key)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape))
    context, weights = layer(query, value, key, value_mask=mask)
    expected = loop(query, value, key, mask, *(to_numpy(w.kernel) for w in (layer.W_q, layer.W_k, layer.v)))
    np.testing.assert_allclose(to_numpy(context), expected[0], atol=1e-5)
    np.testing.assert_allclose(to_numpy(weights), expected[1], atol=1e-5)


def test_two_by_two_by_eye():
    # The first query is 0: the scores are v tanh(1) = ln 3 and v tanh(0) = 0, so the weights are 3 to 1.
    # The second is 100: tanh is 1 for every key, so the weights are even.
    layer = BahdanauAttention(units=1)
    query, value = np.array([[[0.0], [100.0]]], "float32"), np.array([[[1.0], [0.0]]], "float32")
    layer(query, value)
    layer.W_q.kernel.assign([[1.0]])
    layer.W_k.kernel.assign([[1.0]])
    layer.v.kernel.assign([[math.log(3) / math.tanh(1)]])
    context, weights = layer(query, value)
    np.testing.assert_allclose(to_numpy(weights), [[[3 / 4, 1 / 4], [1 / 2, 1 / 2]]], atol=1e-6)
    np.testing.assert_allclose(to_numpy(context), [[[3 / 4], [1 / 2]]], atol=1e-6)


def test_the_paper_has_three_weights_and_no_bias():
    layer = BahdanauAttention(units=3)
    layer.build((None, None, 5), (None, None, 7))
    assert [tuple(w.shape) for w in layer.weights] == [(5, 3), (7, 3), (3, 1)]


@pytest.mark.parametrize("units", [0, -1, 2.5, "3"])
def test_units_must_be_positive_integer(units):
    with pytest.raises(ValueError, match=f"units must be a positive integer. Received: units={units!r}"):
        BahdanauAttention(units)
