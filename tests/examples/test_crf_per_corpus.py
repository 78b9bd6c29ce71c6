"""The loss with a CRF per corpus, compared with a CRF that has the tags of one corpus alone."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.layers import CRF
from keraszoo.text.tagged_corpus import TaggedSentence

FOLDER = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))  # it imports its neighbour
    spec = importlib.util.spec_from_file_location("crf_per_corpus", FOLDER / "crf_per_corpus.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("entities")


@pytest.mark.parametrize("corpus", [0, 1])
def test_other_corpora_have_no_share_in_the_loss_of_a_sentence(example, monkeypatch, corpus):
    monkeypatch.setattr(example, "CORPORA", ("gmb", "btc"))
    plain = TaggedSentence(("Ada", "met", "Bo"), ("B-PER", "O", "B-PER"))
    sentences = [example.renamed(plain, name) for name in example.CORPORA]
    tagger = EntityTagger.for_sentences(sentences, configuration="tiny", constrain="none")
    names = tagger.vocabulary.tags
    model = example.CorpusTagger.from_config(tagger.model.get_config())
    model.build()
    random = np.random.default_rng(0)
    model.set_weights([random.normal(size=w.shape).astype(w.dtype) for w in model.get_weights()])
    model.others = np.stack([example.others(tagger, name, "each") for name in example.CORPORA])

    words = tagger.vocabulary.encode([list(plain.tokens)])
    features = {name: words[name] for name in model.features}
    tags = np.array([[names.index(tag) for tag in sentences[corpus].tags]])
    scores = model(features)
    given = {**features, "corpus": np.array([corpus])}
    loss = float(model.compute_loss(given, tags, scores))

    own = [i for i, name in enumerate(names) if name == "O" or f"-{example.CORPORA[corpus]}." in name]
    alone = CRF(len(own))
    alone.build((None, None, len(own)))
    moves, start, end = (np.asarray(w) for w in (model.chain.transitions, model.chain.start, model.chain.end))
    for weight, value in (
        (alone.transitions, moves[np.ix_(own, own)]),
        (alone.start, start[own]),
        (alone.end, end[own]),
    ):
        weight.assign(value)
    likelihood = alone.log_likelihood(np.asarray(scores)[..., own], [[own.index(tag) for tag in tags[0]]])
    assert 0.1 < loss == pytest.approx(-float(likelihood[0]) / len(plain.tokens), rel=1e-4)


def test_a_tag_loses_the_name_of_its_corpus(example):
    assert [example.without_corpus(tag) for tag in ("O", "B-gmb.PER", "I-LOC")] == ["O", "B-PER", "I-LOC"]
