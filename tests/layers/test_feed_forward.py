"""The position-wise network against loops over single numbers."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import FeedForward, TransformerEncoderLayer

to_numpy = ops.convert_to_numpy
NONLINEAR = {
    "relu": lambda a: max(0.0, a),
    "gelu": lambda a: a * (1 + math.erf(a / math.sqrt(2))) / 2,
    "tanh": math.tanh,
}


@pytest.mark.parametrize("activation", NONLINEAR)
def test_equals_loops_at_prime_sizes(activation):
    B, T, D, F = 2, 3, 5, 7
    rng = np.random.default_rng(0)
    x = rng.normal(size=(B, T, D)).astype("float32")
    layer = FeedForward(F, activation)
    layer(x)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape))
    W_1, b_1, W_2, b_2 = (
        to_numpy(w) for w in (layer.W_1.kernel, layer.W_1.bias, layer.W_2.kernel, layer.W_2.bias)
    )
    expected = np.zeros((B, T, D))
    for b, t in np.ndindex(B, T):
        hidden = [
            NONLINEAR[activation](sum(x[b, t, d] * W_1[d, f] for d in range(D)) + b_1[f]) for f in range(F)
        ]
        for d in range(D):
            expected[b, t, d] = sum(hidden[f] * W_2[f, d] for f in range(F)) + b_2[d]
    tolerance = 5e-3 if activation == "gelu" else 1e-5  # Keras approximates the error function by a tanh
    np.testing.assert_allclose(to_numpy(layer(x)), expected, atol=tolerance)


def test_two_units_by_eye():
    # One unit passes what is above zero, the other what is below: 3 x+ + 5 x- + 1.
    layer = FeedForward(intermediate_dim=2)
    x = np.array([[[2.0], [-2.0]]], "float32")
    layer(x)
    layer.W_1.kernel.assign([[1.0, -1.0]])
    layer.W_2.kernel.assign([[3.0], [5.0]])
    layer.W_2.bias.assign([1.0])
    np.testing.assert_allclose(to_numpy(layer(x)), [[[7.0], [11.0]]])


def test_dropout_takes_its_share_of_the_hidden_units_in_training_alone():
    layer = FeedForward(intermediate_dim=1000, activation="linear", dropout=0.25)
    x = np.ones((1, 1, 1), "float32")
    layer(x)
    layer.W_1.kernel.assign(np.ones((1, 1000)))
    layer.W_2.kernel.assign(
        np.full((1000, 1), 0.75)
    )  # what is kept is divided by 0.75: the output counts the kept
    assert float(to_numpy(layer(x)).item()) == pytest.approx(750)
    kept = to_numpy(layer(x, training=True)).item()
    assert 700 < kept < 800
    assert kept == pytest.approx(round(kept), abs=1e-2)


@pytest.mark.parametrize("kind", ["feed forward", "encoder layer"])
def test_an_activation_that_is_a_layer_is_part_of_the_config(kind):
    activation = keras.layers.LeakyReLU(0.5)
    layer = (
        FeedForward(8, activation)
        if kind == "feed forward"
        else TransformerEncoderLayer(2, 8, activation=activation, dropout=0.0)
    )
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    expected = layer(x)
    again = type(layer).from_config(layer.get_config())
    again(x)
    again.set_weights(layer.get_weights())
    np.testing.assert_allclose(to_numpy(again(x)), to_numpy(expected), atol=1e-6)
