"""Gated convolutions against loops, and dense layers with weight normalisation."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import GatedConvolution, WeightNormDense

to_numpy = ops.convert_to_numpy
B, T, D, U = 2, 7, 3, 5


def made(layer, *inputs):
    """The layer with weights far from the start."""
    layer(*inputs)
    rng = np.random.default_rng(1)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape))
    return layer


def looped(layer, x, mask):
    """One output at a time, with W_j = g_j v_j / |v_j| as in eq. 2 of Salimans and Kingma."""
    v, bias, g = (to_numpy(weight) for weight in (layer.W.kernel, layer.W.bias, layer.W.g))
    k, y = layer.kernel_size, np.zeros((B, T, 2 * U))
    first = -(k - 1) if layer.causal else -(k // 2)
    for b, t, u in np.ndindex(y.shape):
        column = g[u] * v[:, u] / np.sqrt((v[:, u] ** 2).sum())
        y[b, t, u] = bias[u]
        for i in range(k):
            place = t + first + i
            if 0 <= place < T and mask[b, place]:
                y[b, t, u] += x[b, place] @ column[i * D : (i + 1) * D]
    return y[..., :U] / (1 + np.exp(-y[..., U:]))


@pytest.mark.parametrize(
    ("kernel_size", "causal"), [(1, False), (3, False), (5, False), (2, True), (3, True)]
)
def test_outputs_equal_numpy_loops(kernel_size, causal):
    x, mask = np.random.default_rng(0).normal(size=(B, T, D)).astype("float32"), np.ones((B, T), bool)
    layer = made(GatedConvolution(U, kernel_size, causal), x)
    np.testing.assert_allclose(to_numpy(layer(x)), looped(layer, x, mask), atol=1e-5)
    mask[1, 2], mask[1, 5:] = False, False
    np.testing.assert_allclose(to_numpy(layer(x, mask=mask)), looped(layer, x, mask), atol=1e-5)


@pytest.mark.parametrize("kernel_size", [1, 2, 5])
def test_stepping_equals_the_call_on_all_positions(kernel_size):
    x = np.random.default_rng(0).normal(size=(B, T, D)).astype("float32")
    layer = made(GatedConvolution(U, kernel_size, causal=True), x)
    expected, before = to_numpy(layer(x)), np.zeros((B, kernel_size - 1, D), "float32")
    for t in range(T):
        y, before = layer.step(x[:, t], before)
        np.testing.assert_allclose(to_numpy(y), expected[:, t], atol=1e-5)


def test_initial_weights_keep_the_variance_of_the_inputs():
    """Section 3.5: as 4 (1 - dropout) / n; a gate of small numbers is near 1/2."""
    keras.utils.set_random_seed(0)
    x = 0.01 * np.random.default_rng(0).normal(size=(1, 2000, 16)).astype("float32")
    y = to_numpy(GatedConvolution(64)(x))
    assert y.std() == pytest.approx(x.std(), rel=0.1)


def test_an_untrained_weight_norm_layer_equals_dense():
    x = np.random.default_rng(0).normal(size=(B, D)).astype("float32")
    options = {"kernel_initializer": keras.initializers.RandomNormal(seed=1), "activation": "tanh"}
    plain = keras.layers.Dense(U, **options)
    np.testing.assert_allclose(to_numpy(WeightNormDense(U, **options)(x)), to_numpy(plain(x)), atol=1e-6)


@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.usefixtures("no_collection")
def test_quantizing_folds_the_norms_into_the_kernel(rank):
    x = np.random.default_rng(0).normal(size=(B, 8)).astype("float32")
    layer = made(WeightNormDense(U), x)
    if rank:
        layer.enable_lora(rank)
        layer.lora_kernel_b.assign(np.random.default_rng(2).normal(size=(rank, U)))
    expected = to_numpy(layer(x))
    layer.quantize("int8")
    np.testing.assert_allclose(to_numpy(layer(x)), expected, atol=0.03 * np.abs(expected).max())
    assert "g" not in [weight.name for weight in layer.weights]
