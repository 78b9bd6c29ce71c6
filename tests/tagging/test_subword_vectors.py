"""Vectors of unknown words: the regression by its normal equations, and a tagger that uses them."""

import numpy as np
import pytest
from keras import ops

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.layers import BagOfSubwords
from keraszoo.tagging.subword_vectors import RIDGE, learn_subwords
from keraszoo.text.tagging_features import TaggingVocabulary
from keraszoo.text.word_vectors import WordVectors

to_numpy = ops.convert_to_numpy
STEMS = "walk talk look jump call start open play turn move help ask".split()


@pytest.fixture
def vectors():
    """Each word is the sum of a vector of its stem and one of its ending."""
    rng = np.random.default_rng(3)
    ends = {end: rng.normal(size=20) for end in ("", "s", "ed", "ing", "er")}
    stems = {stem: rng.normal(size=20) for stem in STEMS}
    words = {stem + end: stems[stem] + ends[end] for stem in STEMS for end in ends}
    return WordVectors(words, np.stack(list(words.values())))


def test_it_solves_the_normal_equations(vectors):
    vocabulary = TaggingVocabulary(["a"], sorted(set("".join(vectors.words))), ["X"])
    layer = BagOfSubwords(len(vocabulary.characters) + 2, 20, buckets=499, rank=20)
    learn_subwords(layer, vocabulary, vectors)
    counts = np.zeros((len(vectors), layer.buckets))
    spelt = vocabulary.spell(vectors.words)
    for ids, mask in layer.n_grams(spelt):
        for row, (own, there) in enumerate(zip(to_numpy(ids), to_numpy(mask), strict=True)):
            np.add.at(counts[row], own[there], 1)
    counts /= np.sqrt(counts.sum(axis=1, keepdims=True))
    x, y = counts - counts.mean(axis=0), vectors.matrix - vectors.matrix.mean(axis=0)
    weights = np.linalg.solve(x.T @ x + RIDGE * np.eye(layer.buckets), x.T @ y)
    wanted = x @ weights + vectors.matrix.mean(axis=0)
    np.testing.assert_allclose(to_numpy(layer(spelt[:, None]))[:, 0], wanted, atol=0.01)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subword_buckets": 101}, "subword_buckets needs word vectors"),
        ({"keep": "al"}, "keep: expected 'corpus', 'all' or a list of words, got 'al'"),
        ({"vectors": WordVectors(["zzz"], [[1.0]])}, "vectors for some words of the sentences, got none"),
        ({"vectors": ..., "keep": "all", "subword_buckets": True}, "model: buckets must be "),
    ],
)
def test_invalid_buckets_and_vectors_raise_errors(vectors, tagged_sentences, options, said):
    options = {name: vectors if value is ... else value for name, value in options.items()}
    with pytest.raises(KerasZooError, match=said):
        EntityTagger.for_sentences(tagged_sentences, **options)


def test_words_dropped_in_training_have_the_vector_of_the_unknown_word(vectors, tagged_sentences):
    options = {"units": 6, "subword_buckets": 101, "word_dropout": 0.999, "keep": "all"}
    model = EntityTagger.for_sentences(tagged_sentences, vectors, "recurrent", "tiny", **options).model
    features = {"words": np.full((1, 50), 2), "characters": np.full((1, 50, 3), 4)}
    dropped = to_numpy(model.words(features, training=True))[0]
    np.testing.assert_allclose(np.median(dropped, axis=0), vectors.matrix.mean(axis=0), atol=1e-5)
    features["words"] = np.full((1, 50), 1)
    model.word_dropout = 0.0
    unknown = to_numpy(model.words(features, training=True))[0, 0]
    assert np.abs(unknown - vectors.matrix.mean(axis=0)).max() > 1e-3


@pytest.mark.slow
def test_an_unknown_word_has_a_vector_near_its_relatives(vectors, tagged_sentences, tmp_path):
    hidden = "walking", "asked", "opens"
    known = WordVectors(
        [word for word in vectors.words if word not in hidden],
        [row for word, row in zip(vectors.words, vectors.matrix, strict=True) if word not in hidden],
    )
    options = {"units": 6, "subword_buckets": 4999, "characters": None, "keep": ["walk"]}
    tagger = EntityTagger.for_sentences(tagged_sentences, known, "recurrent", "tiny", **options)
    assert tagger.vocabulary.words == ("walk",) and tagger.model.features == ("words", "characters")

    def represented(words):
        return to_numpy(tagger.model.words(tagger.vocabulary.encode([words])))[0]

    np.testing.assert_allclose(represented(["walk"])[0], known.matrix[known.words.index("walk")], atol=1e-6)
    cosine = np.corrcoef(represented(list(hidden)), vectors.matrix[vectors.lookup(list(hidden))])
    assert np.diag(cosine[:3, 3:]).min() > 0.5
    before = [to_numpy(weight) for weight in tagger.model.words.subwords.weights]
    tagger.fit(tagged_sentences[:8], epochs=1, verbose=0)
    for weight, was in zip(tagger.model.words.subwords.weights, before, strict=True):
        np.testing.assert_array_equal(to_numpy(weight), was)  # as frozen as the vectors
    sentences = [list(hidden), ["walk", "zoo"]]
    tagger.save_to_preset(tmp_path / "saved")
    again = EntityTagger.from_preset(tmp_path / "saved")
    for one, other in zip(
        tagger.tag_probabilities(sentences), again.tag_probabilities(sentences), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)
