"""One tagger of several: the mean of their weights, more words, int8."""

import dataclasses
import sys

import keras
import mean_weights
import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.text.tag_choice import relabel
from keraszoo.text.word_vectors import WordVectors

pytestmark = pytest.mark.slow
SMALL = {"units": 4, "vector_width": 6, "character_units": 3, "character_dim": 3}


@pytest.fixture
def save(tagged_sentences, tmp_path):
    """Saves an untrained tagger of some corpora, and returns its place."""

    def save(*corpora, seed=1, sentences=tagged_sentences[:40]):
        keras.utils.set_random_seed(seed)
        labelled = []
        for i, sentence in enumerate(sentences):
            corpus = corpora[i % len(corpora)]
            tags = tuple(tag if tag == "O" else f"{tag[:2]}{corpus}.{tag[2:]}" for tag in sentence.tags)
            labelled.append(dataclasses.replace(sentence, tags=tags))
        words = sorted({token for sentence in sentences for token in sentence.tokens})
        vectors = WordVectors(words, np.random.default_rng(1).normal(size=(len(words), 6)))
        tagger = EntityTagger.for_sentences(labelled, vectors, **SMALL)
        place = tmp_path / f"{'_'.join(corpora)}_{seed}_{len(sentences)}"
        EntityTagger(tagger.model, tagger.vocabulary, corpora).save_to_preset(place)
        return str(place)

    return save


def weights_of(place, corpus=None):
    tagger = EntityTagger.from_preset(place, corpus=corpus, all_corpora=corpus is None)
    return [np.array(weight) for weight in tagger.model.get_weights()]


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["mean_weights.py", *map(str, arguments)])
    mean_weights.main()


def test_weights_are_means_and_words_are_added(save, tmp_path, monkeypatch):
    first, second = save("news", "posts"), save("news", "posts", seed=2)
    mean = [(a + b) / 2 for a, b in zip(weights_of(first), weights_of(second), strict=True)]
    ours = [np.array(weight) for weight in mean_weights.mean_tagger([first, second]).model.get_weights()]
    for weight, expected in zip(ours, mean, strict=True):
        np.testing.assert_allclose(weight, expected, atol=1e-6)
    words = [*EntityTagger.from_preset(first, all_corpora=True).vocabulary.words[:9], "Rome"]
    vectors = tmp_path / "vectors"
    WordVectors(words, np.random.default_rng(2).normal(size=(10, 6))).save(vectors)
    run(monkeypatch, first, second, "--vectors", vectors, "--output", tmp_path / "more")
    assert EntityTagger.from_preset(tmp_path / "more", corpus="posts").vocabulary.words[-1] == "Rome"


def test_a_corpus_of_the_first_alone_begins_as_the_second(save):
    first, second = save("all", "news"), save("news", seed=2)
    mean = EntityTagger.from_preset(first, all_corpora=True)
    mean.model.set_weights(mean_weights.mean_tagger([first, second]).model.get_weights())
    for corpus in ("all", "news"):
        ours = [np.array(weight) for weight in mean.for_corpus(corpus).model.get_weights()]
        others = zip(weights_of(first, corpus), weights_of(second, "news"), strict=True)
        for weight, (a, b) in zip(ours, others, strict=True):
            np.testing.assert_allclose(weight, (a + b) / 2, atol=1e-6)


def test_matrices_are_stored_as_int8(save, tmp_path, monkeypatch):
    run(monkeypatch, save("news"), "--int8", "--output", tmp_path / "small")
    tagger = EntityTagger.from_preset(tmp_path / "small")
    assert tagger.model.head.scores.quantization_mode == "int8"


def test_other_words_and_labels_are_refused(save, tagged_sentences):
    with pytest.raises(KerasZooError, match="has another vocabulary than"):
        mean_weights.mean_tagger([save("news"), save("news", sentences=tagged_sentences[:4])])
    mapping = {"PER": "NAME"}
    others = [dataclasses.replace(s, tags=relabel(s.tags, mapping=mapping)) for s in tagged_sentences[:40]]
    with pytest.raises(KerasZooError, match="has no tag .-news.NAME; it has .*PER"):
        mean_weights.mean_tagger([save("news", sentences=others, seed=3), save("news", seed=2)])
