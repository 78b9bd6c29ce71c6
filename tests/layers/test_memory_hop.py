"""A hop against the paper's equations in loops, and by eye."""

import math

import numpy as np
import pytest

from keraszoo.layers import MemoryHop

B, T, S, D = 2, 3, 5, 7


def loop(u, values, keys, mask, H, linear):
    out, weights = np.zeros((B, T, D)), np.zeros((B, T, S))
    for b, t in np.ndindex(B, T):
        scores = [sum(u[b, t, d] * keys[b, i, d] for d in range(D)) for i in range(S)]
        total = sum(math.exp(scores[i]) for i in range(S) if mask[b, i])
        for i in range(S):
            if mask[b, i]:
                weights[b, t, i] = scores[i] if linear else math.exp(scores[i]) / total
        for d in range(D):
            out[b, t, d] = sum(H[c, d] * u[b, t, c] for c in range(D))
            out[b, t, d] += sum(weights[b, t, i] * values[b, i, d] for i in range(S))
    return out, weights


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    mask = np.arange(S) < np.array([3, 0])[:, None]  # the second memory is empty
    return *(rng.normal(size=s).astype("float32") for s in [(B, T, D), (B, S, D), (B, S, D)]), mask


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("use_map", [False, True])
def test_equals_loops_at_prime_sizes(agree, data, use_map, linear):
    u, values, keys, mask = data
    hop = MemoryHop(use_map)
    hop(u, values, keys)
    H = np.eye(D)
    if use_map:
        H = np.random.default_rng(1).normal(size=(D, D))
        hop.H.kernel.assign(H)
    hop.linear.assign(float(linear))
    agree(hop(u, values, keys, value_mask=mask), loop(u, values, keys, mask, H, linear), atol=1e-4)


def test_the_softmax_is_on_at_first_and_its_switch_is_not_trained(data):
    u, values, keys, _ = data
    hop = MemoryHop()
    hop(u, values, keys)
    assert float(hop.linear) == 0 and hop.trainable_variables == []


def test_two_by_two_by_eye():
    # u^T m is ln 3 and 0: three quarters of the first value and a quarter of the second are added to u.
    query = np.array([[[1.0, 0.0]]], "float32")
    keys = np.array([[[math.log(3), 5.0], [0.0, 7.0]]], "float32")
    values = np.array([[[4.0, 0.0], [0.0, 4.0]]], "float32")
    following, weights = MemoryHop()(query, values, keys)
    np.testing.assert_allclose(weights, [[[3 / 4, 1 / 4]]], atol=1e-6)
    np.testing.assert_allclose(following, [[[4.0, 1.0]]], atol=1e-6)
