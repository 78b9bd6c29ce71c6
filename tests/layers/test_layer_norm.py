"""Layer normalisation: a loop, and numbers and gradients beside those of Keras' own layer."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import LayerNorm

to_numpy = ops.convert_to_numpy


def with_weights(layer, width):
    rng = np.random.default_rng(1)
    layer.build((None, width))
    for weight in (layer.gamma, layer.beta):
        weight.assign(rng.normal(size=width))
    return layer


@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 7), (2, 3, 2, 7), (2, 0, 7)])
def test_equals_a_loop(shape):
    layer = with_weights(LayerNorm(epsilon=1e-3), 7)
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    wanted = np.zeros(shape)
    for place in np.ndindex(*shape[:-1]):
        row = [float(number) for number in x[place]]
        mean = sum(row) / 7
        variance = sum((number - mean) ** 2 for number in row) / 7
        for d in range(7):
            normal = (row[d] - mean) / (variance + 1e-3) ** 0.5
            wanted[(*place, d)] = float(layer.gamma[d]) * normal + float(layer.beta[d])
    np.testing.assert_allclose(to_numpy(layer(x)), wanted, atol=1e-5)


def test_by_eye():
    np.testing.assert_allclose(to_numpy(LayerNorm()(np.array([[1.0, 3.0]]))), [[-1.0, 1.0]], atol=1e-5)


def test_equal_inputs_give_beta():
    layer = with_weights(LayerNorm(), 3)
    np.testing.assert_allclose(to_numpy(layer(np.full((2, 3), 5.0)))[1], to_numpy(layer.beta), atol=1e-6)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (3, 2, 5)])
@pytest.mark.parametrize("eagerly", [True, False])
def test_gradients_equal_those_of_keras(shape, eagerly):
    # the first layer's weights move by the gradient of the second's inputs
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 11, *shape)).astype("float32")
    trained = []
    for second in (LayerNorm(epsilon=1e-3), keras.layers.LayerNormalization(epsilon=1e-3)):
        keras.utils.set_random_seed(3)
        inputs = keras.Input(shape)
        model = keras.Model(inputs, with_weights(second, 5)(keras.layers.Dense(5)(inputs)))
        model.compile(keras.optimizers.SGD(0.5), "mse", run_eagerly=eagerly, jit_compile=False)
        model.train_on_batch(x, y)
        trained.append([to_numpy(w) for w in model.trainable_variables])
    for mine, theirs in zip(*trained, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


def test_half_precision_is_normalised_in_float32():
    layer = LayerNorm(dtype="mixed_bfloat16")
    x = 1000 + np.arange(8.0)
    found = layer(ops.cast(x[None], "bfloat16"))
    rounded = to_numpy(ops.cast(ops.cast(x, "bfloat16"), "float32"))
    wanted = (rounded - rounded.mean()) / rounded.std()
    assert keras.backend.standardize_dtype(found.dtype) == "bfloat16"
    np.testing.assert_allclose(to_numpy(ops.cast(found, "float32"))[0], wanted, atol=0.01)
