"""The shared linear map: its numbers, and its gradients next to those of Keras' own layer."""

import gc
import weakref

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers.linear import linear
from keraszoo.layers.linear_chain import log_partition

to_numpy = ops.convert_to_numpy


class Linear(keras.layers.Layer):
    def build(self, inputs_shape):
        self.kernel = self.add_weight(name="kernel", shape=(inputs_shape[-1], 7))
        self.bias = self.add_weight(name="bias", shape=(7,), initializer="zeros")

    def call(self, inputs):
        return linear(inputs, self.kernel, self.bias)


@pytest.mark.parametrize("shape", [(5,), (2, 5), (2, 3, 5), (2, 3, 2, 5), (2, 0, 5)])
@pytest.mark.parametrize("biased", [False, True])
def test_equals_a_loop(shape, biased):
    rng = np.random.default_rng(0)
    x, kernel, bias = (rng.normal(size=s).astype("float32") for s in (shape, (5, 7), (7,)))
    expected = np.zeros((*shape[:-1], 7))
    for place in np.ndindex(*shape[:-1]):
        for e in range(7):
            expected[(*place, e)] = sum(x[place][d] * kernel[d, e] for d in range(5)) + biased * bias[e]
    actual = linear(ops.convert_to_tensor(x), kernel, bias if biased else None)
    np.testing.assert_allclose(to_numpy(actual), expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (3, 2, 5)])
@pytest.mark.parametrize("eagerly", [True, False])
def test_gradients_equal_those_of_a_dense_layer(shape, eagerly):
    # the first layer's weights move by the gradient of the second's inputs
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(11, *s)).astype("float32") for s in (shape, (*shape[:-1], 7)))
    trained = []
    for second in (Linear(), keras.layers.Dense(7)):
        keras.utils.set_random_seed(3)
        inputs = keras.Input(shape)
        model = keras.Model(inputs, second(keras.layers.Dense(4)(inputs)))
        draw = np.random.default_rng(1)
        for weight in model.trainable_variables:
            weight.assign(draw.normal(size=weight.shape))
        model.compile(keras.optimizers.SGD(0.5), "mse", run_eagerly=eagerly, jit_compile=False)
        model.train_on_batch(x, y)
        trained.append([to_numpy(w) for w in model.trainable_variables])
    for mine, theirs in zip(*trained, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="only TensorFlow registers gradients")
@pytest.mark.parametrize(
    ("function", "shapes"), [(linear, [(2, 5), (5, 7), (7,)]), (log_partition, [(2, 3, 4), (4, 4)])]
)
def test_a_traced_gradient_is_freed(function, shapes):
    """TensorFlow would keep the graph of a custom gradient, with the whole model, until the process ends."""
    import tensorflow as tf

    def gradients(*arguments):
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            total = tf.reduce_sum(function(*arguments))
        return tape.gradient(total, arguments)

    traced = tf.function(gradients, autograph=False).get_concrete_function(*map(tf.zeros, shapes))
    graph = weakref.ref(traced.graph)
    del traced
    gc.collect()
    assert graph() is None
