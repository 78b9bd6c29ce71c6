"""Kernel regression against the formula of 1964, other libraries, and the closed form of leaving one out."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import KernelAttention

to_numpy = ops.convert_to_numpy
B, T, S = 2, 3, 5
ONE = np.zeros((1, 1, 1), "float32")


def test_equals_scikit_learn():
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    rng = np.random.default_rng(1)
    x, y, queries, h = rng.normal(size=(31, 3)), rng.normal(size=(31, 1)), rng.normal(size=(17, 3)), 0.6
    kernel = pairwise.rbf_kernel(queries, x, gamma=1 / (2 * h * h))
    context, weights = KernelAttention(h)(queries[None], y[None], key=x[None])
    np.testing.assert_allclose(weights[0], kernel / kernel.sum(1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(context[0], kernel @ y / kernel.sum(1, keepdims=True), atol=1e-5)


def test_a_query_far_from_all_gets_the_value_of_the_nearest():
    # the formula as it stands is 0 / 0 here
    x, y = np.array([[[0.0], [1.0], [2.0]]], "float32"), np.array([[[5.0], [6.0], [7.0]]], "float32")
    query = np.array([[[1e4], [-1e4]]], "float32")
    context, weights = KernelAttention(0.01)(query, y, key=x)
    np.testing.assert_allclose(to_numpy(context)[0, :, 0], [7.0, 5.0], atol=1e-5)
    np.testing.assert_allclose(to_numpy(weights).sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("bandwidth", [1e-20, 1e-200])  # their inverse squares overflow
@pytest.mark.parametrize("learn_bandwidth", [False, True])
def test_a_tiny_bandwidth_takes_the_nearest_alone(bandwidth, learn_bandwidth):
    x, y = np.array([[[0.0], [1.0], [1.0]]], "float32"), np.array([[[5.0], [6.0], [8.0]]], "float32")
    query = np.array([[[0.25], [1.0]]], "float32")
    context, _ = KernelAttention(bandwidth, learn_bandwidth)(query, y, key=x)
    np.testing.assert_array_equal(to_numpy(context)[0, :, 0], [5.0, 7.0])


@pytest.mark.parametrize(
    ("keys", "bandwidth", "dtype", "expected"),
    [
        ([0, 9, 9], 1e-5, "float32", [0, 0.5, 0.5]),  # so far that their scores are at the floor
        *(([0, 8, 9], 0.02, dtype, [0, 1, 0]) for dtype in ("float32", "mixed_bfloat16", "mixed_float16")),
    ],
)
def test_the_nearest_that_is_not_masked_counts(keys, bandwidth, dtype, expected):
    x, y = np.array(keys, "float32")[None, :, None], np.array([[[5.0], [6.0], [8.0]]], "float32")
    layer = KernelAttention(bandwidth, dtype=dtype)
    outputs = layer(ONE, y, key=x, value_mask=np.array([[False, True, True]]))
    context, weights = (to_numpy(ops.cast(part, "float32"))[0, 0] for part in outputs)
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    np.testing.assert_allclose(context, y[0, :, 0] @ np.array(expected), atol=1e-5)


def test_weights_are_made_in_float32_whatever_the_precision():
    rng = np.random.default_rng(3)
    x, y, query = (rng.integers(-8, 8, (1, n, 1)) / 4.0 for n in (S, S, T))  # exact in bfloat16
    _, exact = KernelAttention(0.3)(query, y, key=x)
    _, weights = KernelAttention(0.3, dtype="mixed_bfloat16")(query, y, key=x)
    assert to_numpy(ops.cast(exact, "bfloat16") == weights).all()


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="Keras promotes float64 to float32")
def test_float64_is_computed_in_float64():
    # exp(-1e-9) differs from 1 by 1e-9, which float32 cannot hold
    x, query = np.array([[[0.0], [1.0]]]), np.array([[[0.5 + 1e-9]]])
    _, weights = KernelAttention(dtype="float64")(query, x)
    difference = to_numpy(weights)[0, 0, 1] - to_numpy(weights)[0, 0, 0]
    assert difference == pytest.approx(math.tanh(1e-9 / 2), rel=1e-6)


def test_a_learned_bandwidth_is_not_rounded():
    learned = []

    class Probe(KernelAttention):
        def call(self, query, value, key=None, **kwargs):  # Keras casts variables here
            learned.append(float(ops.cast(self.log_bandwidth, "float32")))
            return super().call(query, value, key, **kwargs)

    for dtype in ("float32", "mixed_bfloat16"):
        Probe(0.3, learn_bandwidth=True, dtype=dtype)(ONE, ONE)
    assert learned[0] == learned[1] == pytest.approx(math.log(0.3), rel=1e-6)


def loss_and_gradient(h, loss, mask, inputs, targets):
    """The loss at a bandwidth, and its slope in log h by one step of SGD."""
    layer, rate = KernelAttention(h, learn_bandwidth=True), 1e-3
    symbols = [keras.Input(x.shape[1:]) for x in inputs]
    model = keras.Model(symbols, layer(*symbols, attention_mask=mask[None])[0])
    model.compile(keras.optimizers.SGD(rate), loss=loss, run_eagerly=True)
    before = float(to_numpy(layer.log_bandwidth))
    return model.train_on_batch(inputs, targets), (before - float(to_numpy(layer.log_bandwidth))) / rate


def slope(function, h, step=1e-5):
    """The slope in log h by finite differences."""
    return (function(h * math.exp(step)) - function(h * math.exp(-step))) / (2 * step)


def test_a_bandwidth_learns_though_the_nearest_is_masked():
    # all numbers are powers of two and exact; the scores, -131072 and -131076, are 4 apart
    x = np.array([[[0.0], [8.0], [8 + 2**-13]]], "float32")
    y = np.array([[[5.0], [6.0], [8.0]]], "float32")
    h, mask = 2**-6, np.array([[False, True, True]])

    def estimate(h):
        share = 1 / (1 + math.exp(-(x[0, 2, 0].item() ** 2 - 64) / (2 * h * h)))
        return 6 * share + 8 * (1 - share)

    loss, gradient = loss_and_gradient(h, "mae", mask, (ONE, y, x), ONE)
    assert loss == pytest.approx(estimate(h), rel=1e-2)
    assert gradient == pytest.approx(slope(estimate, h), rel=0.05)


def leave_one_out(x, y, h):
    """By a loop, in float64: the mean squared error of predicting each example from the others."""
    total = 0.0
    for i in range(len(x)):
        kernel = [math.exp(-((x[i] - x[j]) ** 2) / (2 * h * h)) * (j != i) for j in range(len(x))]
        total += (y[i] - sum(k * v for k, v in zip(kernel, y, strict=True)) / sum(kernel)) ** 2
    return total / len(x)


def test_the_gradient_of_the_bandwidth_is_that_of_finite_differences():
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 5, 29))
    y = np.sin(2 * x) + rng.normal(0, 0.3, 29)
    keys, values, others = x[None, :, None], y[None, :, None], ~np.eye(len(x), dtype=bool)
    loss, gradient = loss_and_gradient(0.5, "mse", others, (keys, values, keys), values)
    assert loss == pytest.approx(leave_one_out(x, y, 0.5), rel=1e-5)
    assert gradient == pytest.approx(slope(lambda h: leave_one_out(x, y, h), 0.5), rel=1e-2)


def test_a_fixed_bandwidth_is_no_weight():
    layer = KernelAttention(0.5)
    layer(np.ones((1, 2, 3), "float32"), np.ones((1, 2, 3), "float32"))
    assert layer.weights == []
