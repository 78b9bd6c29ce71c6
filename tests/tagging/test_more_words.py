import numpy as np
import pytest
from keras import ops

from keraszoo import EntityTagger
from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.word_vectors import WordVectors


@pytest.fixture(scope="module")
def turned(trained_tagger):
    """The tagger's own vectors and five more, turned and mirrored; and these five before that."""
    rng, words = np.random.default_rng(5), trained_tagger.vocabulary.words
    own = ops.convert_to_numpy(trained_tagger.model.words.vectors.embeddings)[2:]
    more, turn = rng.normal(size=(5, own.shape[1])), np.linalg.qr(rng.normal(size=[own.shape[1]] * 2))[0]
    order = rng.permutation(len(words) + 5)
    names, matrix = [*words, *(f"new{i}" for i in range(5))], np.concatenate([own, more]) @ turn
    return WordVectors([names[i] for i in order], matrix[order]), more


def test_new_words_are_turned_to_fit_and_the_rest_stays(trained_tagger, turned, tagged_sentences):
    vectors, more = turned
    larger = trained_tagger.with_words(vectors)
    assert larger.vocabulary.words[:-5] == trained_tagger.vocabulary.words
    ids = [larger.vocabulary.word_id(f"new{i}") for i in range(5)]
    np.testing.assert_allclose(
        ops.convert_to_numpy(larger.model.words.vectors(np.array(ids))), more, atol=1e-5
    )
    sentences = [sentence.tokens for sentence in tagged_sentences[:20]]
    for one, other in zip(
        trained_tagger.tag_tokens_details(sentences), larger.tag_tokens_details(sentences), strict=True
    ):
        assert one.tags == other.tags
        np.testing.assert_array_equal(one.probabilities, other.probabilities)


def test_whole_numbers_are_saved_and_extended(trained_tagger, turned, tagged_sentences, tmp_path):
    vectors, _ = turned
    small = trained_tagger.with_words(vectors, int8_vectors=True)
    table = ops.convert_to_numpy(trained_tagger.with_words(vectors).model.words.vectors.embeddings)
    everything = np.arange(len(table))
    found = ops.convert_to_numpy(small.model.words.vectors(everything))
    largest = np.abs(table).max(axis=1, keepdims=True)
    assert (np.abs(found - table) <= 0.51 / 127 * largest).all() and not found[0].any()
    small.save_to_preset(tmp_path / "small", dtype="float16")
    read = EntityTagger.from_preset(tmp_path / "small")
    assert read.model.int8_vectors and [w.dtype for w in read.model.words.vectors.weights] == [
        "int8",
        "float32",
    ]
    np.testing.assert_allclose(ops.convert_to_numpy(read.model.words.vectors(everything)), found, rtol=1e-3)
    last = WordVectors(["last", *vectors.words], np.ones((len(vectors) + 1, vectors.width)))
    again = read.with_words(last)
    assert again.vocabulary.words == (*read.vocabulary.words, "last") and again.model.int8_vectors
    assert not read.with_words(last, int8_vectors=False).model.int8_vectors
    sentences = [list(sentence.tokens) for sentence in tagged_sentences[:20]]
    pairs = zip(small.tag_tokens(sentences), trained_tagger.tag_tokens(sentences), strict=True)
    assert sum(one == other for one, other in pairs) >= 19


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16", "float64"])
def test_whole_numbers_in_other_precisions(new_tagger, dtype):
    vectors = WordVectors(["In", "LOC"], np.eye(10)[:2])
    small = new_tagger(dtype=dtype, int8_vectors=True, vectors=vectors, keep="all")
    found = small.model.words(small.vocabulary.encode([["In", "LOC", "x"]]), training=False)
    assert found.dtype == small.model.compute_dtype
    np.testing.assert_allclose(small.model.words.vectors(np.array([2, 3])), np.eye(10)[:2], atol=0.01)
    assert small.tag_tokens([["In", "LOC"], ["x"]])


def test_vectors_that_are_trained_are_not_stored_as_int8(new_tagger):
    tagger = new_tagger(train_vectors=True)
    with pytest.raises(KerasZooError, match="int8_vectors are not trained"):
        own = WordVectors(tagger.vocabulary.words, np.asarray(tagger.model.words.vectors.embeddings)[2:])
        tagger.with_words(own, int8_vectors=True)


def test_vectors_that_do_not_fit(trained_tagger):
    with pytest.raises(DataError, match="expected vectors of 10 numbers, got 3"):
        trained_tagger.with_words(WordVectors(["a"], [[1, 2, 3]]))
    with pytest.raises(DataError, match="expected 10 words or more in common, got 0"):
        trained_tagger.with_words(WordVectors(["%"], [[1] * 10]))
