"""The opinion pool of the CRFs of some corpora: the score of every tagging is the mean of theirs."""

import itertools

import crf_per_corpus
import numpy as np
import opinion_pool
import pytest
from keras import ops

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.training.tag_batches import TagBatches, TaggedRows

WORDS = ["Ada", "met", "Bo"]


@pytest.fixture
def tagger():
    sentences = [crf_per_corpus.every_label(name, ["LOC", "PER"]) for name in ("gmb", "btc", "web")]
    tagger = EntityTagger.for_sentences(sentences, configuration="tiny", scheme="BIOES")
    tagger.corpora = ("gmb", "btc", "web")
    random = np.random.default_rng(0)
    tagger.model.set_weights(
        [random.normal(size=w.shape).astype(w.dtype) for w in tagger.model.get_weights()]
    )
    return tagger


def all_scores(tagger, corpus):
    """The scores s(x, y) of all taggings of `WORDS` by the CRF of a corpus."""
    alone = tagger.for_corpus(corpus)
    model, tags = alone.model, alone.vocabulary.tags
    sentence = TaggedSentence(tuple(WORDS), ("O",) * 3)
    rows = TaggedRows([sentence], alone.vocabulary, model.features)
    features, *_ = TagBatches(rows, 8).batch(0, 0)
    emissions = ops.convert_to_numpy(model(features))[0, :3]
    chain = model.head.chain
    start, end, transitions = map(ops.convert_to_numpy, (chain.start, chain.end, chain.transitions))
    scores = {}
    for path in itertools.product(range(len(tags)), repeat=3):
        score = start[path[0]] + end[path[-1]] + sum(emissions[t, tag] for t, tag in enumerate(path))
        score += sum(transitions[pair] for pair in itertools.pairwise(path))
        scores[tuple(tags[tag] for tag in path)] = score
    return scores


def test_its_scores_are_the_mean_of_those_of_the_corpora(tagger):
    pooled = opinion_pool.pooled(tagger, ["btc", "web"])
    assert pooled.corpora == ("general", "gmb", "btc", "web")
    found, btc, web = (all_scores(pooled, corpus) for corpus in ("general", "btc", "web"))
    assert found.keys() == btc.keys()
    for path, score in found.items():
        assert score == pytest.approx((btc[path] + web[path]) / 2, abs=1e-4)


@pytest.mark.parametrize("corpus", ["gmb", "btc", "web"])
def test_the_other_corpora_stay_as_they_are(tagger, corpus):
    new, old = (all_scores(some, corpus) for some in (opinion_pool.pooled(tagger, ["btc", "web"]), tagger))
    assert new == pytest.approx(old, abs=1e-5)


def test_an_unknown_corpus_is_an_error(tagger):
    with pytest.raises(KerasZooError, match="no corpus loans"):
        opinion_pool.pooled(tagger, ["gmb", "loans"])
