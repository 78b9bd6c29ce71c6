"""A hop against the paper's equations in loops, and by eye."""

import math

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import MemoryHop

to_numpy = ops.convert_to_numpy
B, T, S, D = 2, 3, 5, 7


def set_linear(hop, linear):
    hop.linear.assign(float(linear))
    return hop


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
    mask = np.arange(S) < np.array([5, 3])[:, None]
    return *(rng.normal(size=s).astype("float32") for s in [(B, T, D), (B, S, D), (B, S, D)]), mask


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("use_map", [False, True])
def test_equals_loops_at_prime_sizes(data, use_map, linear):
    u, values, keys, mask = data
    hop = MemoryHop(use_map)
    hop(u, values, keys)
    H = np.eye(D)
    if use_map:
        H = np.random.default_rng(1).normal(size=(D, D))
        hop.H.kernel.assign(H)
    actual = set_linear(hop, linear)(u, values, keys, value_mask=mask)
    for ours, theirs in zip(actual, loop(u, values, keys, mask, H, linear), strict=True):
        np.testing.assert_allclose(to_numpy(ours), theirs, atol=1e-4)


def test_begins_with_the_softmax_and_training_leaves_the_switch_alone(data):
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


def test_an_empty_memory_leaves_the_query_as_it_is(data):
    u, values, keys, _ = data
    hop = MemoryHop()
    hop(u, values, keys)
    for linear in (False, True):
        following, weights = set_linear(hop, linear)(u, values, keys, value_mask=np.zeros((B, S), bool))
        np.testing.assert_array_equal(to_numpy(following), u)
        assert (to_numpy(weights) == 0).all()


def test_padding_changes_nothing(data):
    u, values, keys, mask = data
    hop = MemoryHop()
    hop(u, values, keys)
    longer = [np.concatenate([x, np.full((B, 2, D), 1e3, "float32")], axis=1) for x in (values, keys)]
    wider = np.concatenate([mask, np.zeros((B, 2), bool)], axis=1)
    for linear in (False, True):
        a, _ = set_linear(hop, linear)(u, values, keys, value_mask=mask)
        b, _ = hop(u, *longer, value_mask=wider)
        np.testing.assert_allclose(to_numpy(a), to_numpy(b), atol=1e-5)


def test_widths_must_fit():
    for value, key in ((3, 4), (4, 3)):
        with pytest.raises(ValueError, match="queries, keys and values of one width"):
            MemoryHop()(np.ones((1, 1, 3)), np.ones((1, 2, value)), np.ones((1, 2, key)))
