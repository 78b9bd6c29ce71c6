"""The mixture of experts: gates, padding, noise, and its losses over replicas and parts."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import MixtureOfExperts, mixture_of_experts

to_numpy = ops.convert_to_numpy
N, K, D, H = 5, 2, 7, 11
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, D)).astype("float32")
MASK = np.arange(4) < np.array([4, 2, 0])[:, None]


@pytest.fixture
def layer():
    layer, rng = MixtureOfExperts(N, H, K), np.random.default_rng(1)
    layer.build(X.shape)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return layer


def expected(layer, x):
    """The output for one word, by the equations."""
    scores = x @ to_numpy(layer.W_g.kernel)
    best = np.argsort(-scores)[:K]
    gates = np.exp(scores[best]) / np.exp(scores[best]).sum()
    (w1, b1), (w2, b2) = (map(to_numpy, (maps.kernel, maps.bias)) for maps in (layer.W_1, layer.W_2))
    return sum(
        g * (np.maximum(x @ w1[i] + b1[i, 0], 0) @ w2[i] + b2[i, 0]) for g, i in zip(gates, best, strict=True)
    )


@pytest.mark.parametrize("fixed", [False, True])
def test_outputs_equal_the_equations_word_by_word(layer, fixed, monkeypatch):
    if fixed:
        monkeypatch.setattr(mixture_of_experts, "fixed_shapes", lambda: True)
    y = to_numpy(layer(X, mask=MASK))
    for b, t in np.ndindex(3, 4):
        np.testing.assert_allclose(y[b, t], expected(layer, X[b, t]) if MASK[b, t] else 0, atol=1e-5)


def test_ties_select_the_first_experts_and_empty_batches_work(layer):
    layer.W_g.kernel.assign(np.zeros((D, N)))  # a tie: the first experts
    np.testing.assert_allclose(to_numpy(layer(X))[2, 1], expected(layer, X[2, 1]), atol=1e-5)
    assert layer(X[:0]).shape == X[:0].shape


def test_one_or_all_experts_per_word():
    for k in (1, N):
        layer = MixtureOfExperts(N, H, k)
        layer.build(X.shape)
        gates, experts, load = layer.gate(X[0])
        np.testing.assert_allclose(to_numpy(gates).sum(1), 1, atol=1e-6)
        assert to_numpy(load).sum() == 4 * k and experts.shape == (4, k)
        layer(X, training=True)
        assert np.isfinite(to_numpy(layer.losses[0]))


def test_noise_and_losses_are_added_only_in_training(layer):
    np.testing.assert_array_equal(to_numpy(layer(X)), to_numpy(layer(X)))
    assert not layer.losses
    assert np.abs(to_numpy(layer(X, training=True)) - to_numpy(layer(X, training=True))).max() > 0
    assert len(layer.losses) == 1


def test_losses_ignore_padding(layer, monkeypatch):
    noise = RNG.normal(size=(12, N)).astype("float32")
    monkeypatch.setattr("keras.random.normal", lambda shape, **_: ops.convert_to_tensor(noise[: shape[0]]))
    losses = []
    for padding in (X, X + 100):
        layer(np.where(MASK[..., None], X, padding), mask=MASK, training=True)
        losses.append(float(layer.losses[0]))
    assert losses[0] == losses[1]
    layer(X, training=True)
    assert float(layer.losses[0]) != losses[0]


def test_the_last_part_of_a_batch_has_the_loss_of_the_whole_batch(layer, monkeypatch):
    monkeypatch.setattr("keras.random.normal", lambda shape, **_: ops.zeros(shape))
    layer(X, training=True)
    whole, parts = float(layer.losses[0]), []
    layer.parts = 3
    for part in [*X, *X]:  # two batches
        layer(part[None], training=True)
        parts.append(float(layer.losses[0]))
    np.testing.assert_allclose([parts[2], parts[5]], whole, rtol=1e-5)
    assert parts[0] == parts[3] != parts[2]
