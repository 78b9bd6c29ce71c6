"""Attention layers against loops over the equations of their scores, and small cases by eye."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import (
    BahdanauAttention,
    FeedForwardAttention,
    KernelAttention,
    LuongAttention,
    MultiplicativeAttention,
    ScaledDotProductAttention,
)

to_numpy = ops.convert_to_numpy
B, T, S, D, Q, K, U = 2, 3, 5, 7, 11, 13, 17
LN3 = math.log(3)


def dense(layer, x):
    return x @ to_numpy(layer.kernel) + (to_numpy(layer.bias) if layer.use_bias else 0)


def additive(layer, q, k):
    return dense(layer.v, np.tanh(dense(layer.W_q, q) + dense(layer.W_k, k)))[0]


def without_query(layer, q, k):
    return dense(layer.v, np.tanh(dense(layer.U, k)))[0]


def multiplicative(layer, q, k):
    return dense(layer.V, np.tanh(dense(layer.U, q)) * np.tanh(dense(layer.W, k)))[0]


def general(layer, q, k):
    return q @ dense(layer.W_a, k) * (to_numpy(layer.g) if layer.scale else 1)


def scaled_dot(layer, q, k):
    return q @ k * (1 / math.sqrt(K) if layer.scale is None else layer.scale)


def gaussian(layer, q, k):
    return -((q - k) ** 2).sum() / (2 * layer.bandwidth**2)


CASES = [
    (BahdanauAttention, {"units": U}, additive),
    (FeedForwardAttention, {"units": U}, without_query),
    (FeedForwardAttention, {"units": U, "use_bias": True}, without_query),
    (KernelAttention, {"bandwidth": 1.7}, gaussian),
    (LuongAttention, {"score": "general", "scale": True}, general),
    (MultiplicativeAttention, {"units": U}, multiplicative),
    (ScaledDotProductAttention, {}, scaled_dot),
    (ScaledDotProductAttention, {"scale": 0.3}, scaled_dot),
]


@pytest.mark.parametrize(("kind", "arguments", "score"), CASES)
def test_context_and_weights_equal_loops_at_prime_sizes(agree, kind, arguments, score):
    rng, layer = np.random.default_rng(0), kind(**arguments)
    alone = kind is FeedForwardAttention  # there is no query, and the keys are the values
    width = K if score in (scaled_dot, gaussian) else Q
    query, value, key = (rng.normal(size=s).astype("float32") for s in [(B, T, width), (B, S, D), (B, S, K)])
    key = value if alone else key
    mask = rng.random((B, S)) < 0.7 if alone else rng.random((B, T, S)) < 0.7
    mask[0] = False  # an empty sentence has weights and a context of zero
    inputs, masks = ((value,), {"mask": mask}) if alone else ((query, value, key), {"attention_mask": mask})
    layer(*inputs)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    context, weights = np.zeros((B, T, D)), np.zeros((B, T, S))
    for b, t in np.ndindex(B, T):
        seen = np.flatnonzero(mask[b] if alone else mask[b, t])
        e = {s: math.exp(score(layer, query[b, t], key[b, s])) for s in seen}
        for s in seen:
            weights[b, t, s] = e[s] / sum(e.values())
            context[b, t] += weights[b, t, s] * value[b, s]
    expected = (context[:, 0], weights[:, 0]) if alone else (context, weights)
    agree(layer(*inputs, **masks), expected)


def check_by_eye(layer, inputs, kernels, context, weights):
    inputs = [np.array(x, "float32") for x in inputs]
    layer(*inputs)
    for name, kernel in kernels.items():
        getattr(layer, name).kernel.assign([[kernel]])
    actual = layer(*inputs)
    np.testing.assert_allclose(to_numpy(actual[0]), context, atol=1e-5)
    np.testing.assert_allclose(to_numpy(actual[1]), weights, atol=1e-6)


def test_multiplicative_attention_by_eye():
    # tanh of a large number is its sign: the scores are V = ln 3 times the signs of query and key.
    inputs, kernels = ([[[9], [-9]]], [[[99], [0]]]), {"U": 9, "W": 9, "V": LN3}
    weights = [[[3 / 4, 1 / 4], [1 / 4, 3 / 4]]]
    check_by_eye(MultiplicativeAttention(1), inputs, kernels, [[[99 * 3 / 4], [99 / 4]]], weights)


def test_scaled_dot_product_attention_by_eye():
    # Keys are unit vectors, so a query divided by sqrt(2) is its scores: (ln 3, 0) and (0, ln 4).
    query = math.sqrt(2) * np.array([[[LN3, 0], [0, math.log(4)]]])
    inputs, weights = (query, [[[4, 0], [0, 5]]], np.eye(2)[None]), [[[3 / 4, 1 / 4], [1 / 5, 4 / 5]]]
    check_by_eye(ScaledDotProductAttention(), inputs, {}, [[[3, 5 / 4], [4 / 5, 4]]], weights)


def test_additive_attention_has_three_weights_and_no_bias():
    layer = BahdanauAttention(units=3)
    layer.build((None, None, 5), (None, None, 7))
    assert [tuple(w.shape) for w in layer.weights] == [(5, 3), (7, 3), (3, 1)]


def test_the_mask_of_an_embedding_reaches_attention_without_a_query_and_stops_there():
    ids = np.array([[4, 2, 0, 0, 0], [1, 3, 2, 5, 0]])
    context, weights = FeedForwardAttention(U)(keras.layers.Embedding(6, D, mask_zero=True)(ids))
    np.testing.assert_array_equal(to_numpy(weights) > 0, ids != 0)
    assert getattr(context, "_keras_mask", None) is None  # one vector a sentence has no padding


def test_dropout_of_attention_without_a_query_returns_whole_weights():
    value = np.random.default_rng(0).normal(size=(B, S, D)).astype("float32")
    layer = FeedForwardAttention(U, dropout=0.5)
    silent, weights = map(to_numpy, layer(value))
    noisy, weights_in_training = map(to_numpy, layer(value, training=True))
    assert np.abs(noisy - silent).max() > 1e-3
    np.testing.assert_array_equal(weights, weights_in_training)
