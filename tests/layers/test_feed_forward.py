"""The position-wise network against its equation, by eye, and its dropout."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import FeedForward, TransformerEncoderLayer

to_numpy = ops.convert_to_numpy
ERF = np.vectorize(math.erf)
NONLINEAR = {
    "relu": lambda a: np.maximum(0, a),
    "gelu": lambda a: a * (1 + ERF(a / math.sqrt(2))) / 2,
    "tanh": np.tanh,
}


@pytest.mark.parametrize("activation", NONLINEAR)
def test_equals_the_equation_at_prime_sizes(activation):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 5)).astype("float32")
    layer = FeedForward(7, activation)
    layer(x)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape))
    (W_1, b_1), (W_2, b_2) = layer.W_1.get_weights(), layer.W_2.get_weights()
    expected = NONLINEAR[activation](x @ W_1 + b_1) @ W_2 + b_2
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
    layer.W_2.kernel.assign(np.full((1000, 1), 0.75))  # what is kept is divided by 0.75: counts the kept
    assert to_numpy(layer(x)).item() == pytest.approx(750)
    kept = to_numpy(layer(x, training=True)).item()
    assert 700 < kept < 800 and kept == pytest.approx(round(kept), abs=1e-2)


@pytest.mark.parametrize("kind", [FeedForward, TransformerEncoderLayer])
def test_an_activation_that_is_a_layer_is_part_of_the_config(agree, kind):
    sizes = (8,) if kind is FeedForward else (2, 8)
    layer = kind(*sizes, activation=keras.layers.LeakyReLU(0.5), dropout=0.0)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    expected = layer(x)
    again = kind.from_config(layer.get_config())
    again(x)
    again.set_weights(layer.get_weights())
    agree(again(x), expected)
