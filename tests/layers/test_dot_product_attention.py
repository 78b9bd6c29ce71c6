"""Scaled dot-product attention against loops and by eye."""

import math

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import ScaledDotProductAttention

to_numpy = ops.convert_to_numpy
B, T, S, D, K = 2, 3, 5, 7, 11


@pytest.mark.parametrize("scale", [None, 1.0, 0.3])
def test_equals_loops_at_prime_sizes(scale):
    rng = np.random.default_rng(0)
    query, value, key = (rng.normal(size=s).astype("float32") for s in [(B, T, K), (B, S, D), (B, S, K)])
    mask = rng.random((B, T, S)) < 0.7
    factor = 1 / math.sqrt(K) if scale is None else scale
    expected_context, expected_weights = np.zeros((B, T, D)), np.zeros((B, T, S))
    for b, t in np.ndindex(B, T):
        scores = [factor * sum(query[b, t, k] * key[b, s, k] for k in range(K)) for s in range(S)]
        total = sum(math.exp(scores[s]) for s in range(S) if mask[b, t, s])
        for s in range(S):
            if mask[b, t, s]:
                expected_weights[b, t, s] = math.exp(scores[s]) / total
                expected_context[b, t] += expected_weights[b, t, s] * value[b, s]
    context, weights = ScaledDotProductAttention(scale)(query, value, key, attention_mask=mask)
    np.testing.assert_allclose(to_numpy(context), expected_context, atol=1e-5)
    np.testing.assert_allclose(to_numpy(weights), expected_weights, atol=1e-5)


def test_two_by_two_by_eye():
    # Keys are unit vectors, so a query divided by sqrt(2) is its scores: (ln 3, 0) and (0, ln 4).
    query = math.sqrt(2) * np.array([[[math.log(3), 0.0], [0.0, math.log(4)]]], "float32")
    value = np.array([[[4.0, 0.0], [0.0, 5.0]]], "float32")
    context, weights = ScaledDotProductAttention()(query, value, np.eye(2, dtype="float32")[None])
    np.testing.assert_allclose(to_numpy(weights), [[[3 / 4, 1 / 4], [1 / 5, 4 / 5]]], atol=1e-6)
    np.testing.assert_allclose(to_numpy(context), [[[3, 5 / 4], [4 / 5, 4]]], atol=1e-6)


def test_queries_and_keys_of_two_widths_are_an_error():
    with pytest.raises(ValueError, match=r"queries and keys of one width.*\(1, 2, 3\).*\(1, 4, 5\)"):
        ScaledDotProductAttention()(np.ones((1, 2, 3)), np.ones((1, 4, 5)))
