"""The position-wise network against its equation, and its dropout."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import FeedForward, TransformerEncoderLayer

to_numpy = ops.convert_to_numpy


def test_equals_the_equation_at_prime_sizes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 5)).astype("float32")
    layer = FeedForward(7, "tanh")
    layer(x)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape))
    (W_1, b_1), (W_2, b_2) = layer.W_1.get_weights(), layer.W_2.get_weights()
    np.testing.assert_allclose(to_numpy(layer(x)), np.tanh(x @ W_1 + b_1) @ W_2 + b_2, atol=1e-5)


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
