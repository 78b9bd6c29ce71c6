"""Multiplicative attention against the paper's equation in loops over single numbers."""

import math

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import MultiplicativeAttention

to_numpy = ops.convert_to_numpy
B, T, S, D, Q, K, N = 2, 3, 5, 7, 11, 13, 17


def test_equals_loops_at_prime_sizes():
    rng = np.random.default_rng(0)
    query, value, key = (rng.normal(size=s).astype("float32") for s in [(B, T, Q), (B, S, D), (B, S, K)])
    mask = np.arange(S) < np.array([5, 3])[:, None]
    layer = MultiplicativeAttention(N)
    layer(query, value, key)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    U, W, V = (to_numpy(sublayer.kernel).astype("float64") for sublayer in (layer.U, layer.W, layer.V))
    expected, context = np.zeros((B, T, S)), np.zeros((B, T, D))
    for b, i in np.ndindex(B, T):
        seen = [j for j in range(S) if mask[b, j]]
        scores = {
            j: sum(
                V[d, 0] * math.tanh(query[b, i] @ U[:, d]) * math.tanh(key[b, j] @ W[:, d]) for d in range(N)
            )
            for j in seen
        }
        for j in seen:
            expected[b, i, j] = math.exp(scores[j]) / sum(map(math.exp, scores.values()))
            context[b, i] += expected[b, i, j] * value[b, j]
    actual = layer(query, value, key, value_mask=mask)
    np.testing.assert_allclose(to_numpy(actual[0]), context, atol=1e-5)
    np.testing.assert_allclose(to_numpy(actual[1]), expected, atol=1e-5)


def test_two_by_two_by_eye():
    # tanh of a large number is its sign: the scores are V = ln 3 times the signs of query and key.
    layer = MultiplicativeAttention(units=1)
    query, value = np.array([[[9.0], [-9.0]]], "float32"), np.array([[[99.0], [0.0]]], "float32")
    layer(query, value)
    for sublayer, weight in ((layer.U, 9.0), (layer.W, 9.0), (layer.V, math.log(3))):
        sublayer.kernel.assign([[weight]])
    _, weights = layer(query, value)
    np.testing.assert_allclose(to_numpy(weights), [[[3 / 4, 1 / 4], [1 / 4, 3 / 4]]], atol=1e-6)


@pytest.mark.parametrize("units", [0, 2.5, None])
def test_units_must_be_a_positive_integer(units):
    with pytest.raises(ValueError, match=f"units must be a positive integer.* Received: units={units!r}"):
        MultiplicativeAttention(units)
