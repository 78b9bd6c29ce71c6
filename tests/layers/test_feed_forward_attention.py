"""Attention without a query against the paper's equations in loops over single numbers."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BahdanauAttention, FeedForwardAttention

to_numpy = ops.convert_to_numpy
B, S, D, U = 2, 5, 7, 11


def loop(value, mask, U_, v, b):
    context, weights = np.zeros((B, D)), np.zeros((B, S))
    for n in range(B):
        scores = []
        for j in range(S):
            e = 0.0
            for u in range(len(v)):
                e += v[u, 0] * math.tanh(sum(value[n, j, d] * U_[d, u] for d in range(D)) + b[u])
            scores.append(e)
        total = sum(math.exp(scores[j]) for j in range(S) if mask[n, j])
        for j in range(S):
            weights[n, j] = math.exp(scores[j]) / total if mask[n, j] else 0.0
            context[n] += weights[n, j] * value[n, j]
    return context, weights


@pytest.fixture
def value():
    return np.random.default_rng(0).normal(size=(B, S, D)).astype("float32")


def random_layer(value, **options):
    layer, rng = FeedForwardAttention(U, **options), np.random.default_rng(1)
    layer(value)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape))
    return layer


@pytest.mark.parametrize("use_bias", [False, True])
def test_equals_loops_at_prime_sizes(value, use_bias):
    layer = random_layer(value, use_bias=use_bias)
    mask = np.arange(S) < np.array([5, 3])[:, None]
    context, weights = layer(value, mask=mask)
    bias = to_numpy(layer.U.bias) if use_bias else np.zeros(U)
    expected = loop(value, mask, to_numpy(layer.U.kernel), to_numpy(layer.v.kernel), bias)
    np.testing.assert_allclose(to_numpy(context), expected[0], atol=1e-5)
    np.testing.assert_allclose(to_numpy(weights), expected[1], atol=1e-5)


def test_two_words_by_eye():
    # scores are v tanh(1) = ln 3 and v tanh(0) = 0, so the weights are 3 to 1
    layer = FeedForwardAttention(units=1)
    value = np.array([[[1.0], [0.0]]], "float32")
    layer(value)
    layer.U.kernel.assign([[1.0]])
    layer.v.kernel.assign([[math.log(3) / math.tanh(1)]])
    context, weights = map(to_numpy, layer(value))
    np.testing.assert_allclose(weights, [[3 / 4, 1 / 4]], atol=1e-6)
    np.testing.assert_allclose(context, [[3 / 4]], atol=1e-6)


def test_is_bahdanaus_with_a_query_of_zero(value):
    layer, other = random_layer(value), BahdanauAttention(U)
    query = np.zeros((B, 1, 3), "float32")
    other(query, value)
    other.W_k.kernel.assign(layer.U.kernel)
    other.v.kernel.assign(layer.v.kernel)
    for ours, theirs in zip(layer(value), other(query, value), strict=True):
        np.testing.assert_allclose(to_numpy(ours), to_numpy(theirs)[:, 0], atol=1e-6)


def test_padding_changes_nothing_and_nothing_to_attend_to_is_zero(value):
    layer = random_layer(value)
    context, weights = map(to_numpy, layer(value))
    padded = np.concatenate([value, np.full((B, 4, D), 1e4, "float32")], axis=1)
    mask = np.broadcast_to(np.arange(S + 4) < S, (B, S + 4))
    result, result_weights = map(to_numpy, layer(padded, mask=mask))
    np.testing.assert_allclose(result, context, atol=1e-6)
    np.testing.assert_allclose(result_weights[:, :S], weights, atol=1e-6)
    context, weights = map(to_numpy, layer(value, mask=np.array([[False] * S, [True] * S])))
    assert (context[0] == 0).all() and (weights[0] == 0).all()
    assert weights[1].sum() == pytest.approx(1, abs=1e-6)


def test_the_mask_arrives_by_itself_and_goes_no_further():
    ids = np.array([[4, 2, 0, 0, 0], [1, 3, 2, 5, 0]])
    embedded = keras.layers.Embedding(6, D, mask_zero=True)(ids)
    layer = FeedForwardAttention(U)
    context, weights = layer(embedded)
    np.testing.assert_array_equal(to_numpy(weights) > 0, ids != 0)
    assert getattr(context, "_keras_mask", None) is None  # one vector a sentence has no padding


def test_dropout_works_in_training_alone_and_the_weights_returned_are_whole(value):
    layer = random_layer(value, dropout=0.5)
    silent, weights = map(to_numpy, layer(value))
    noisy, weights_in_training = map(to_numpy, layer(value, training=True))
    assert np.abs(noisy - silent).max() > 1e-3
    np.testing.assert_array_equal(weights, weights_in_training)


@pytest.mark.parametrize("units", [0, -1, 2.5, "3"])
def test_units_must_be_positive_integer(units):
    with pytest.raises(ValueError, match=f"units must be a positive integer. Received: units={units!r}"):
        FeedForwardAttention(units)
