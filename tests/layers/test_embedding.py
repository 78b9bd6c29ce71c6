"""The tied embedding: rows times sqrt(D) on the way in, h E^T on the way out, one matrix."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import SentenceEncoder, TiedEmbedding

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


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 2)])
def test_logits_are_h_times_the_transpose(shape):
    rng = np.random.default_rng(0)
    layer = TiedEmbedding(V, D)
    layer(np.array([[1]]))
    hidden = rng.normal(size=(*shape, D)).astype("float32")
    E = to_numpy(layer.E)
    expected = np.zeros((*shape, V))
    for place in np.ndindex(*shape):
        for v in range(V):
            expected[(*place, v)] = sum(hidden[place][d] * E[v, d] for d in range(D))
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


def test_embeddings_start_with_unit_variance_and_logits_small():
    layer = TiedEmbedding(2000, 64)
    embedded = to_numpy(layer(np.arange(2000)[None]))
    assert embedded.std() == pytest.approx(1, abs=0.02)
    normed = np.random.default_rng(0).normal(size=(50, 64)).astype("float32")
    assert to_numpy(layer.logits(normed)).std() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("kind", [TiedEmbedding, SentenceEncoder])
def test_logits_in_a_functional_model_follow_the_matrix(kind, tmp_path):
    ids, layer = keras.Input((None,), dtype="int32"), kind(V, D)
    hidden = layer(ids)
    hidden = keras.layers.Dense(D)(hidden)
    model = keras.Model(ids, layer(hidden, reverse=True))
    assert model.output_shape == (None, *hidden.shape[1:-1], V)
    words, to_hidden = np.array([[1, 2, 3]]), keras.Model(ids, hidden)
    layer.set_weights([np.random.default_rng(0).normal(size=(V, D))])
    E = layer.get_weights()[0] * ([[0]] + [[1]] * (V - 1) if kind is SentenceEncoder else 1)
    expected = to_numpy(to_hidden(words)) @ E.T
    np.testing.assert_allclose(to_numpy(model(words)), expected, atol=1e-5)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(to_numpy(again(words)), expected, atol=1e-5)
    unbuilt = kind(V, D)
    assert tuple(unbuilt(np.ones((2, D), "float32"), reverse=True).shape) == (2, V)


@pytest.mark.parametrize("kind", [TiedEmbedding, SentenceEncoder])
def test_ids_may_be_floats_and_half_precision_does_not_round_them(kind):
    layer = kind(300, D, dtype="mixed_bfloat16")
    ids = np.array([[257, 299, 1]])
    np.testing.assert_array_equal(
        to_numpy(ops.cast(layer(ids.astype("float32")), "float32")),
        to_numpy(ops.cast(layer(ids), "float32")),
    )
    assert layer(ids).dtype == layer(ops.cast(np.ones((1, D)), "bfloat16"), reverse=True).dtype == "bfloat16"


def test_the_mask_passes_through_the_logits():
    """So a stock loss leaves out padding, as it does behind `Dense`."""
    words = np.array([[3, 4, 0], [5, 0, 0]])
    inputs = keras.Input((None,), dtype="int32")
    tied = TiedEmbedding(V, D)
    hidden = keras.layers.Embedding(V, D, mask_zero=True)(inputs)
    model = keras.Model(inputs, tied.logits(hidden))
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=True)
    log_probs = to_numpy(ops.log_softmax(model(words)))
    real = words > 0
    wanted = -np.take_along_axis(log_probs, words[..., None], axis=-1)[..., 0][real].mean()
    if keras.backend.backend() == "tensorflow":  # on others, Keras loses the mask on the way to the loss
        assert float(model.evaluate(words, words, verbose=0)) == pytest.approx(wanted, rel=1e-5)
    assert tied.compute_mask(hidden, "a mask") == "a mask"
