"""The tied embedding: rows times sqrt(D) on the way in, h E^T on the way out, one matrix."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import TiedEmbedding

to_numpy = ops.convert_to_numpy
V, D = 11, 7


@pytest.mark.parametrize(("scale", "factor"), [(True, 7**0.5), (False, 1.0)])
def test_rows_of_the_matrix_times_the_root_of_the_width(scale, factor):
    ids = np.array([[0, 10, 3], [3, 3, 1]])
    layer = TiedEmbedding(V, D, scale=scale)
    embedded = to_numpy(layer(ids))
    E = to_numpy(layer.E)
    for b, t in np.ndindex(2, 3):
        np.testing.assert_allclose(embedded[b, t], E[ids[b, t]] * factor, rtol=1e-6)


@pytest.mark.parametrize("use_bias", [False, True])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 2)])
def test_logits_are_h_times_the_transpose(use_bias, shape):
    rng = np.random.default_rng(0)
    layer = TiedEmbedding(V, D, use_bias=use_bias)
    layer(np.array([[1]]))
    hidden, bias = rng.normal(size=(*shape, D)).astype("float32"), np.zeros(V)
    if use_bias:
        bias = rng.normal(size=V)
        layer.b.assign(bias)
    E = to_numpy(layer.E)
    expected = np.zeros((*shape, V))
    for place in np.ndindex(*shape):
        for v in range(V):
            expected[(*place, v)] = sum(hidden[place][d] * E[v, d] for d in range(D)) + bias[v]
    np.testing.assert_allclose(to_numpy(layer.logits(hidden)), expected, atol=1e-5)


def test_it_is_one_matrix_and_training_changes_both_of_its_uses():
    inputs = keras.Input((None,), dtype="int32")
    layer = TiedEmbedding(V, D)
    model = keras.Model(inputs, layer(inputs))
    assert len(model.weights) == 1
    hidden = np.ones((1, D), "float32")
    before = to_numpy(layer.logits(hidden))
    layer.E.assign(layer.E + 1)
    np.testing.assert_allclose(to_numpy(layer.logits(hidden)), before + D, atol=1e-5)
    np.testing.assert_allclose(
        to_numpy(model(np.array([[4]])))[0, 0], to_numpy(layer.E)[4] * D**0.5, rtol=1e-6
    )


def test_the_output_bias_gets_a_gradient():
    class Both(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = TiedEmbedding(V, D, use_bias=True)

        def call(self, ids):
            return self.embedding.logits(self.embedding(ids))

    model, ids = Both(), np.array([[1, 2, 3]])
    model(ids)
    before = [to_numpy(w).copy() for w in model.trainable_variables]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(1.0), loss, run_eagerly=True)
    model.train_on_batch(ids, ids)
    for weight, old in zip(model.trainable_variables, before, strict=True):
        assert np.abs(to_numpy(weight) - old).max() > 1e-3, weight.path


def test_embeddings_start_with_unit_variance_and_logits_small():
    layer = TiedEmbedding(2000, 64)
    embedded = to_numpy(layer(np.arange(2000)[None]))
    assert embedded.std() == pytest.approx(1, abs=0.02)
    normed = np.random.default_rng(0).normal(size=(50, 64)).astype("float32")
    assert to_numpy(layer.logits(normed)).std() == pytest.approx(1, abs=0.05)
