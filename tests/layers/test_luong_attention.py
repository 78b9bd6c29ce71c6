"""The scores and windows of Luong et al. against loops over their equations."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import LuongAttention

to_numpy = ops.convert_to_numpy
B, T, S, U = 2, 5, 11, 7
D = {"dot": 7, "general": 3, "concat": 3}  # width of the memory
LENGTHS = (11, 6)
MASK = np.arange(S) < np.array(LENGTHS)[:, None]
SCORES, WINDOWS = ("dot", "general", "concat"), (None, "global", "local-m", "local-p")


def loop(layer, query, value, positions=range(T)):
    """One pair of words after the other, over the real words alone."""
    w = {weight.path.split("/")[1]: to_numpy(weight).astype("float64") for weight in layer.weights}
    half = layer.half_width
    context, weights = np.zeros((B, T, value.shape[-1])), np.zeros((B, T, S))
    for b, length in enumerate(LENGTHS):
        for i in range(T):
            h_t = query[b, i].astype("float64")
            if layer.window == "predictive":
                a = (np.tanh(h_t @ w["W_p"]) @ w["v_p"])[0]
                center = length / (1 + math.exp(-a))
            else:
                center = positions[i]
            seen = [s for s in range(length) if layer.window is None or abs(s - center) <= half]
            e = {}
            for s in seen:
                h_s = value[b, s].astype("float64")
                if layer.score == "dot":
                    e[s] = math.exp(h_t @ h_s)
                elif layer.score == "general":
                    e[s] = math.exp(h_t @ w["W_a"].T @ h_s)
                else:
                    joined = np.concatenate([h_t, h_s]) @ np.concatenate([w["W_q"], w["W_k"]])
                    e[s] = math.exp((np.tanh(joined) @ w["v"])[0])
            for s in seen:
                weights[b, i, s] = e[s] / sum(e.values())
                if layer.window == "predictive":
                    weights[b, i, s] *= math.exp(-((s - center) ** 2) / (2 * (half / 2) ** 2))
                context[b, i] += weights[b, i, s] * value[b, s]
    return context, weights


def random_layer(score, window, half_width=2):
    rng = np.random.default_rng(0)
    query = rng.normal(size=(B, T, U)).astype("float32")
    value = rng.normal(size=(B, S, D[score])).astype("float32")
    layer = LuongAttention(score, window, half_width)
    layer(query, value)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape))
    return layer, query, value


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("score", SCORES)
def test_equals_loops_at_prime_sizes(agree, score, window):
    layer, query, value = random_layer(score, window)
    agree(layer(query, value, value_mask=MASK), loop(layer, query, value))


def test_local_p_by_eye():
    # W_p of zero puts p_t into the middle of 4 words, at 2. With D = 2 sigma is 1: the words 0 to 3 are seen,
    # evenly by a dot with zero, and get 1/4 of exp(-4/2), exp(-1/2), 1, exp(-1/2).
    layer = LuongAttention("dot", "predictive", half_width=2)
    query, value = np.zeros((1, 1, 3), "float32"), np.ones((1, 4, 3), "float32")
    _, weights = layer(query, value)
    expected = [math.exp(-2) / 4, math.exp(-0.5) / 4, 1 / 4, math.exp(-0.5) / 4]
    np.testing.assert_allclose(to_numpy(weights)[0, 0], expected, atol=1e-6)


def test_local_m_by_eye():
    query, value = np.zeros((1, 5, 2), "float32"), np.ones((1, 3, 2), "float32")
    weights = to_numpy(LuongAttention("dot", "monotonic", 1)(query, value)[1])
    third, half = 1 / 3, 1 / 2
    rows = [[half, half, 0], [third, third, third], [0, half, half], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_allclose(weights[0], rows, atol=1e-6)


def test_given_positions_move_the_window(agree):
    layer, query, value = random_layer("general", "monotonic")
    positions = [7, 0, 3, 3, 10]
    actual = layer(query, value, value_mask=MASK, positions=np.array(positions))
    agree(actual, loop(layer, query, value, positions))
    assert (to_numpy(actual[0])[1, 4] == 0).all()  # position 10, six words, two places


def test_the_place_is_learned_through_the_gaussian():
    layer = LuongAttention("dot", "predictive", half_width=4)
    query, value = np.ones((1, 1, 3), "float32"), np.zeros((1, 9, 3), "float32")
    value[0, 6] = 1  # while p_t begins at 4.5
    inputs = keras.Input((1, 3)), keras.Input((9, 3))
    model = keras.Model(inputs, layer(*inputs)[0])
    model.compile(keras.optimizers.SGD(1.0), loss=lambda y, y_pred: -ops.sum(y_pred), run_eagerly=True)
    first, sums = to_numpy(layer.v_p.kernel), []
    for change in (1e-2, -1e-2):
        layer.v_p.kernel.assign(first + change)
        sums.append(float(ops.sum(model([query, value]))))
    layer.v_p.kernel.assign(first)
    model.train_on_batch([query, value], np.zeros((1, 1, 3)))
    assert abs(sums[0] - sums[1]) > 1e-4
    gradient = (to_numpy(layer.v_p.kernel) - first).sum()
    assert gradient == pytest.approx((sums[0] - sums[1]) / 2e-2, rel=0.02)
