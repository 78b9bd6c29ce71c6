"""The mean of several taggers, compared with loops and with all taggings of a sentence."""

from argparse import ArgumentTypeError
from types import SimpleNamespace

import consensus
import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.text.columns import read_columns
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tagging_features import TaggingVocabulary

pytestmark = pytest.mark.slow
VOCABULARY = TaggingVocabulary(["a"], "a", ["MISC", "PER"], scheme="BIOES")


def random_probabilities(seed, *lengths):
    random = np.random.default_rng(seed)
    return [random.dirichlet(np.ones(len(VOCABULARY.tags)), size=n).astype("float32") for n in lengths]


def tagger(**probabilities):
    found = list(probabilities.values())
    return SimpleNamespace(vocabulary=VOCABULARY, corpora=list(probabilities), probabilities=lambda _: found)


def test_what_a_corpus_without_misc_gives_to_o_is_shared_as_in_the_one_before():
    first, second = random_probabilities(1, 2, 3), random_probabilities(2, 2, 3)
    copied = [some.copy() for some in second]
    mean = consensus.mean_probabilities([tagger(wikigold=first, web=copied)], [["a"] * 2, ["a"] * 3], ["web"])
    rest = [tag == "O" or tag.endswith("MISC") for tag in VOCABULARY.tags]
    for i, word in ((0, 1), (1, 2)):
        for k, of_rest in enumerate(rest):
            p, q = first[i][word], second[i][word]
            other = q[rest].sum() * p[k] / p[rest].sum() if of_rest else q[k]
            assert mean[i][word, k] == pytest.approx((p[k] + other) / 2, rel=1e-5)
        assert mean[i][word].sum() == pytest.approx(1, rel=1e-5)


def test_a_word_that_is_surely_an_entity_has_probabilities_too():
    sure = np.zeros((1, len(VOCABULARY.tags)), "float32")
    sure[0, VOCABULARY.tags.index("S-PER")] = 1
    doubtful = np.full_like(sure, 1 / len(VOCABULARY.tags))
    taggers = [tagger(wikigold=[sure]), tagger(web=[doubtful])]
    mean = consensus.mean_probabilities(taggers, [["a"]], ["web"])
    assert mean[0].sum() == pytest.approx(1, rel=1e-5)
    assert np.isfinite(mean[0]).all()


def tagger_of(*corpora):
    labels = [f"{corpus}.{label}" for corpus in corpora for label in ("LOC", "PER")]
    sentence = TaggedSentence(tuple(labels), tuple(f"B-{label}" for label in labels))
    tagger = EntityTagger.for_sentences([sentence], configuration="tiny")
    tagger.corpora = corpora
    return tagger


def test_corpora_that_a_tagger_lacks_are_skipped(tmp_path):
    directories = []
    for corpora in (("gmb", "wikigold"), ("general", "gmb")):
        directories.append(tmp_path / corpora[0])
        tagger_of(*corpora).save_to_preset(directories[-1])
    taggers = consensus.crfs(directories, ["general", "wikigold", "gmb"])
    assert [tagger.corpora for tagger in taggers] == [["wikigold", "gmb"], ["general", "gmb"]]
    assert {label for tagger in taggers for label in tagger.vocabulary.labels} == {"LOC", "PER"}
    with pytest.raises(KerasZooError, match="gmb: has none of general, web"):
        consensus.crfs(directories, ["general", "web"])
    with pytest.raises(KerasZooError, match="no tagger has the corpus gbm"):
        consensus.crfs(directories, ["wikigold", "general", "gbm"])


def test_a_shared_encoder_gives_the_probabilities_of_each_corpus_alone():
    tagger, sentences = tagger_of("web", "gmb", "btc"), [["a", "Rome"], [], ["gmb.PER"] * 7]
    shared = consensus.SharedEncoder(tagger, ["btc", "web"]).probabilities(sentences)
    for corpus, found in zip(("btc", "web"), shared, strict=True):
        alone = tagger.for_corpus(corpus).tag_probabilities(sentences)
        assert [some.shape for some in found] == [(2, 5), (0, 5), (7, 5)]
        np.testing.assert_allclose(np.concatenate(found), np.concatenate(alone), atol=1e-6)


def test_sentences_are_split_by_the_rules_and_read_once(tmp_path):
    line = "A beta-blocker is what most of them were given."
    (tmp_path / "a.txt").write_text(f"{line}\nToo short a line\n{line} Nothing else was.\nLeft out: {line}\n")
    (tmp_path / "b.tsv").write_text("Ada\tB-PER\nmet\tO\n\nBo\tB-PER\n\nAda\tO\nmet\tO\n\n")
    options = SimpleNamespace(text=[(tmp_path / "a.txt", 2)], tagged=[(tmp_path / "b.tsv", 2)])
    rest = ("is", "what", "most", "of", "them", "were", "given", ".")
    nothing = ("Nothing", "else", "was", ".")
    for rules, words in (("words", ("beta-blocker",)), ("alphanumeric", ("beta", "-", "blocker"))):
        assert consensus.read_sentences(options, rules) == [("A", *words, *rest), nothing, ("Ada", "met")]


def test_the_words_around_count_as_for_a_single_tagger(tmp_path, monkeypatch):
    tagger, random = tagger_of("gmb"), np.random.default_rng(0)
    for weight in tagger.model.trainable_weights:
        weight.assign(random.normal(0, 0.7, weight.shape))
    tagger.save_to_preset(tmp_path / "gmb")
    sentences = [random.choice(["a", "Rome", "of"], size=5).tolist() for _ in range(12)]
    rows = ("".join(f"{word}\tO\n" for word in words) for words in sentences)
    (tmp_path / "text.tsv").write_text("\n".join(rows))
    monkeypatch.setattr(consensus, "SURE", 0.0)
    found = {}
    for context in (0, 2):
        output = tmp_path / f"{context}.tsv"
        arguments = f"{tmp_path}/gmb --corpora gmb --without-misc --context {context} "
        arguments += f"--tagged {tmp_path}/text.tsv --output {output}"
        monkeypatch.setattr("sys.argv", ["consensus.py", *arguments.split()])
        consensus.main()
        found[context] = [list(sentence.tags) for sentence in read_columns(output)]
    distinct = [list(words) for words in dict.fromkeys(map(tuple, sentences))]
    assert found[2] == tagger.for_corpus("gmb").tag_tokens(distinct, context=2)
    assert found[2] != found[0]


def test_the_least_sure_word_of_a_sentence_and_a_step_below_one():
    probabilities = [np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.2, 0.8]])]
    assert consensus.least_sure(probabilities, [[0, 1], [0]]) == [0.6, 0.2]
    with pytest.raises(ArgumentTypeError, match="above 0"):
        consensus.file_and_step("news.txt:0")
