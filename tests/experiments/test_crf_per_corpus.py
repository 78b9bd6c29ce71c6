"""The loss with a CRF per corpus, compared with that of the tagger of one corpus alone."""

from argparse import ArgumentTypeError
from pathlib import Path
from types import SimpleNamespace

import crf_per_corpus
import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.training.tag_batches import TagBatches, TaggedRows


def randomise(model):
    random = np.random.default_rng(0)
    model.set_weights([random.normal(size=w.shape).astype(w.dtype) for w in model.get_weights()])


@pytest.mark.parametrize("pretrained", [False, True], ids=["recurrent", "pretrained"])
@pytest.mark.parametrize(("corpus", "name"), [(0, "gmb"), (1, "btc")])
def test_a_sentence_trains_its_own_corpus(corpus, name, pretrained, tiny_encoders):
    sentence = TaggedSentence(("Ada", "met", "Bo"), ("B-PER", "O", "B-PER"))
    sentences = [crf_per_corpus.every_label(name, ["LOC", "PER"]) for name in ("gmb", "btc")]
    options = {"configuration": "tiny"}
    if pretrained:
        options = {"model": "pretrained", "backbone": str(tiny_encoders / "bert")}
    tagger = EntityTagger.for_sentences(sentences, **options)
    tagger.corpora = ("gmb", "btc")
    model = crf_per_corpus.corpus_tagger(tagger.model)
    randomise(model)
    tagger.model.set_weights(model.get_weights())
    model.own = [tagger.vocabulary.for_corpus(name)[1] for name in tagger.corpora]

    alone = tagger.for_corpus(name)
    batches = TagBatches(TaggedRows([sentence], alone.vocabulary, model.features), 8)
    features, tags, weights = batches.batch(0, 0)
    given = {**features, "corpus": np.array([corpus])}
    loss = float(model.compute_loss(given, tags, model(features), weights))
    expected = alone.model.compute_loss(features, tags, alone.model(features), weights)
    assert 0.1 < loss == pytest.approx(float(expected), rel=1e-4)


def test_an_epoch_has_every_batch_of_every_corpus_once():
    class Corpus(list):
        def batch(self, epoch, i):
            return {"words": self[i]}, [epoch], None

    corpora = [Corpus(f"{name}{i}" for i in range(9)) for name in "ab"]
    batches = crf_per_corpus.CorpusBatches(corpora, seed=1)
    orders = []
    for epoch in range(2):
        some = [batches.batch(epoch, i) for i in range(len(batches))]
        orders.append([features["words"] for features, *_ in some])
        assert sorted(orders[-1]) == sorted([*corpora[0], *corpora[1]])
        assert all(corpora[features["corpus"][0]][0][0] == features["words"][0] for features, *_ in some)
    assert orders[0] != orders[1]


def test_small_corpora_are_repeated_and_some_sentences_are_in_one_case():
    corpora = {name: [TaggedSentence((f"Aa{i}",), ("O",)) for i in range(5)] for name in ("gmb", "btc")}
    epoch = crf_per_corpus.in_an_epoch(corpora, SimpleNamespace(repeats=2, cases=0.25))
    words = {name: [sentence.tokens[0] for sentence in some] for name, some in epoch.items()}
    assert words["gmb"] == ["AA0", "aa1", "Aa2", "Aa3", "AA4"]
    assert words["btc"] == ["AA0", "aa1", "Aa2", "Aa3", "AA4", "aa0", "Aa1", "Aa2", "AA3", "aa4"]
    assert corpora["btc"][0].tokens == ("Aa0",)


def test_more_sentences_are_of_a_corpus():
    assert crf_per_corpus.named_file("btc=runs/more.tsv") == ("btc", Path("runs/more.tsv"))
    with pytest.raises(ArgumentTypeError, match="expected CORPUS=FILE, got more.tsv"):
        crf_per_corpus.named_file("more.tsv")


@pytest.mark.slow
def test_training_goes_on_with_one_corpus_more(tmp_path):
    sentences = [crf_per_corpus.every_label(name, ["LOC", "PER"]) for name in ("gmb", "wikigold")]
    before = EntityTagger.for_sentences(sentences, configuration="tiny")
    randomise(before.model)
    before.corpora = ("gmb", "wikigold")
    before.save_to_preset(tmp_path / "before")
    labels = [f"{name}.{label}" for name in ("general", "gmb", "wikigold") for label in ("LOC", "PER")]
    after = crf_per_corpus.continued(tmp_path / "before", labels, ["btc", "wikigold", "gmb"])
    after.corpora = ("general", "gmb", "wikigold")
    words = [["Ada", "met", "Bo"]]
    for corpus, same_as in (("general", "wikigold"), ("wikigold", "wikigold"), ("gmb", "gmb")):
        wanted = before.for_corpus(same_as).tag_probabilities(words)[0]
        np.testing.assert_allclose(after.for_corpus(corpus).tag_probabilities(words)[0], wanted, atol=1e-6)
    with pytest.raises(KerasZooError, match="none of the corpora btc"):
        crf_per_corpus.continued(tmp_path / "before", labels, ["btc"])


@pytest.mark.slow
def test_all_corpora_begin_with_the_labels_of_a_tagger_of_none(tmp_path):
    sentence = TaggedSentence(("Ada", "met", "Bonn"), ("B-PER", "O", "B-LOC"))
    before = EntityTagger.for_sentences([sentence], configuration="tiny")
    before.save_to_preset(tmp_path / "before")
    labels = [f"{name}.{label}" for name in ("gmb", "btc") for label in ("LOC", "PER")]
    after = crf_per_corpus.continued(tmp_path / "before", labels, ["gmb", "btc"])
    wanted = before.tag_probabilities([sentence.tokens])[0]
    after.corpora = ("gmb", "btc")
    for corpus in after.corpora:
        alone = after.for_corpus(corpus).tag_probabilities([sentence.tokens])[0]
        np.testing.assert_allclose(alone, wanted, atol=1e-6)
