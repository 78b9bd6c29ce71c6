"""A tagger of several corpora, and the tagger of each."""

import itertools

import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.text.tagged_corpus import TaggedSentence

SENTENCES = [
    TaggedSentence(("Ada", "met", "Bo"), ("B-news.PER", "O", "B-news.PER")),
    TaggedSentence(("in", "New", "York"), ("O", "B-posts.LOC", "I-posts.LOC")),
    TaggedSentence(("Ada", "in", "Rome"), ("B-posts.PER", "O", "B-posts.LOC")),
]
WORDS = ["Ada", "in", "York"]
pytestmark = pytest.mark.usefixtures("eagerly")


def make(**options):
    tagger = EntityTagger.for_sentences(SENTENCES, configuration="tiny", **options)
    tagger.corpora = ("posts", "news")
    random = np.random.default_rng(0)
    weights = [random.normal(size=w.shape).astype(w.dtype) for w in tagger.model.get_weights()]
    tagger.model.set_weights(weights)
    return tagger


def taggings(tagger, corpus, words):
    """The scores of all taggings with tags of a corpus, by a loop over the model of all corpora."""
    own = [
        tagger.vocabulary.tags.index(tag if tag == "O" else f"{tag[:2]}{corpus}.{tag[2:]}")
        for tag in tagger.vocabulary.for_corpus(corpus)[0].tags
    ]
    encoded = tagger.vocabulary.encode([words])
    scores = np.asarray(tagger.model({name: encoded[name] for name in tagger.model.features}))[0]
    moves, start, end = np.zeros((len(scores[0]),) * 2), *np.zeros((2, len(scores[0])))
    if tagger.model.head.crf:
        chain = tagger.model.head.chain
        moves, start, end = (np.asarray(weight) for weight in (chain.transitions, chain.start, chain.end))
    found = {}
    for path in itertools.product(range(len(own)), repeat=len(words)):
        tags = [own[tag] for tag in path]
        score = start[tags[0]] + end[tags[-1]] + sum(scores[t, tag] for t, tag in enumerate(tags))
        found[path] = score + sum(moves[a, b] for a, b in itertools.pairwise(tags))
    return found


@pytest.mark.parametrize("crf", [True, False])
@pytest.mark.parametrize(("corpus", "labels"), [("posts", ("LOC", "PER")), ("news", ("PER",))])
def test_probabilities_are_those_of_all_taggings_with_labels_of_the_corpus(crf, corpus, labels):
    tagger = make(crf=crf, constrain="none")
    alone = tagger.for_corpus(corpus)
    assert alone.vocabulary.labels == labels and alone.corpora == ()
    expected = np.zeros((len(WORDS), len(alone.vocabulary.tags)))
    for path, score in taggings(tagger, corpus, WORDS).items():
        expected[range(len(WORDS)), path] += np.exp(score)
    expected /= expected.sum(axis=1, keepdims=True)
    nothing, found = alone.tag_probabilities([[], WORDS])
    assert nothing.shape == (0, len(alone.vocabulary.tags))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("crf", [True, False])
def test_a_temperature_divides_the_scores_of_one_corpus_and_makes_held_out_tags_likeliest(crf):
    tagger = make(crf=crf)
    texts = [["Bo", "in", "Ada"], WORDS, ["Bo", "met", "in"], ["York", "met", "Ada"]]
    found = [*tagger.for_corpus("posts").tag_tokens(texts[:3]), ["O", "O", "B-LOC"]]  # and a mistake
    held_out = [TaggedSentence(tuple(words), tuple(tags)) for words, tags in zip(texts, found, strict=True)]
    before = {corpus: [taggings(tagger, corpus, words) for words in texts] for corpus in tagger.corpora}
    number = tagger.for_corpus("posts").vocabulary.tags.index
    gold = [tuple(map(number, sentence.tags)) for sentence in held_out]

    def likelihood(temperature):
        return sum(
            some[path] / temperature - np.logaddexp.reduce([score / temperature for score in some.values()])
            for path, some in zip(gold, before["posts"], strict=True)
        )

    temperature = tagger.calibrate(held_out, "posts")
    grid = np.exp(np.linspace(np.log(0.05), np.log(20), 2000))
    assert likelihood(temperature) == pytest.approx(max(map(likelihood, grid)), abs=1e-3)
    for corpus, divisor in (("posts", temperature), ("news", 1)):
        for words, some in zip(texts, before[corpus], strict=True):
            after = taggings(tagger, corpus, words)
            first = next(iter(some))
            for path, score in some.items():
                wanted = (score - some[first]) / divisor
                assert after[path] - after[first] == pytest.approx(wanted, abs=1e-4)


def test_what_calibration_needs():
    tagger = make()
    for corpus in (None, "mail"):
        with pytest.raises(KerasZooError, match=f"no corpus {corpus!r}; it has: posts, news"):
            tagger.calibrate(SENTENCES, corpus)
    alone, sentence = tagger.for_corpus("posts"), TaggedSentence(("Ada", "in"), ("B-PER", "O"))
    alone.metrics["training"] = {"steps": 1}
    assert tagger.metrics == {}  # a corpus has figures of its own
    tags, probabilities = alone.tag_tokens([WORDS]), alone.tag_probabilities([WORDS])[0]
    assert alone.calibrate([sentence]) != 1
    assert alone.tag_tokens([WORDS]) == tags
    assert not np.allclose(alone.tag_probabilities([WORDS])[0], probabilities)


def test_a_directory_has_all_corpora_and_gives_one(tmp_path):
    tagger = make(scheme="BIOES")
    tagger.save_to_preset(tmp_path / "model")
    sentences = [WORDS, ["Bo", "met", "New", "York"]]
    for corpus, name in ((None, "posts"), ("posts", "posts"), ("news", "news")):
        read = EntityTagger.from_preset(tmp_path / "model", corpus)
        assert read.tag_tokens(sentences) == tagger.for_corpus(name).tag_tokens(sentences)
    together = EntityTagger.from_preset(tmp_path / "model", all_corpora=True)
    assert together.corpora == tagger.corpora
    assert together.tag_tokens(sentences) == tagger.tag_tokens(sentences)
    assert "It finds LOC, PER." in (tmp_path / "model" / "README.md").read_text()
    read.save_to_preset(tmp_path / "alone")
    assert EntityTagger.from_preset(tmp_path / "alone").tag_tokens(sentences) == read.tag_tokens(sentences)
    for name, options, said in (
        ("model", {"corpus": "mail"}, "no corpus 'mail'; it has: posts, news"),
        ("model", {"corpus": ""}, "no corpus ''"),
        ("model", {"corpus": "posts", "all_corpora": True}, "expected a corpus or all of them"),
        ("alone", {"corpus": "news"}, "no corpus 'news'; it has: none"),
        ("alone", {"corpus": ""}, "no corpus ''"),
    ):
        with pytest.raises(KerasZooError, match=said):
            EntityTagger.from_preset(tmp_path / name, **options)


def test_a_vocabulary_without_labels_of_the_corpus():
    tagger = make()
    with pytest.raises(KerasZooError, match="no label has the prefix 'mail.'"):
        tagger.vocabulary.for_corpus("mail")
    with pytest.raises(KerasZooError, match="no label has the prefix 'mail.'"):
        EntityTagger(tagger.model, tagger.vocabulary, ("posts", "mail"))
    assert EntityTagger(tagger.model, tagger.vocabulary, "posts").corpora == ("posts",)
