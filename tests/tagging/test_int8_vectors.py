"""Taggers whose word vectors are stored as int8."""

import numpy as np
import pytest
from keras import ops

from keraszoo import EntityTagger
from keraszoo.text.word_vectors import WordVectors


def test_int8_vectors_are_near_the_given_ones_and_saved(new_tagger, tmp_path):
    given = np.random.default_rng(5).normal(size=(3, 10)).astype("float32")
    vectors = WordVectors(["In", "LOC", "x"], given)
    small = new_tagger(int8_vectors=True, vectors=vectors, keep="all")
    rows = np.array([small.vocabulary.word_id(word) for word in vectors.words])
    found = ops.convert_to_numpy(small.model.words.vectors(rows))
    largest = np.abs(given).max(axis=1, keepdims=True)
    assert (np.abs(found - given) <= 0.51 / 127 * largest).all()
    small.save_to_preset(tmp_path / "small", dtype="float16")
    read = EntityTagger.from_preset(tmp_path / "small")
    assert read.model.int8_vectors
    assert [weight.dtype for weight in read.model.words.vectors.weights] == ["int8", "float32"]
    np.testing.assert_allclose(ops.convert_to_numpy(read.model.words.vectors(rows)), found, rtol=1e-3)
    given, stored = (one.model.words.vectors.get_weights()[1] for one in (small, read))
    np.testing.assert_array_equal(given.astype("float16"), stored)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16", "float64"])
def test_whole_numbers_in_other_precisions(new_tagger, dtype):
    vectors = WordVectors(["In", "LOC"], np.eye(10)[:2])
    small = new_tagger(dtype=dtype, int8_vectors=True, vectors=vectors, keep="all")
    found = small.model.words(small.vocabulary.encode([["In", "LOC", "x"]]), training=False)
    assert found.dtype == small.model.compute_dtype
    np.testing.assert_allclose(small.model.words.vectors(np.array([2, 3])), np.eye(10)[:2], atol=0.01)
    assert small.tag_tokens([["In", "LOC"], ["x"]])
