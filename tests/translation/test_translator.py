"""Text in, text out."""

import warnings

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import (
    KerasZooError,
    LostAddresses,
    NoWords,
    ScoreError,
    SeveralSentences,
    UnknownCharacters,
)
from keraszoo.models import RNNSearch, Transformer
from keraszoo.text.subwords import Subwords
from keraszoo.translation.input_warnings import lost_addresses

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture(scope="module")
def translations(details):
    return [found.text for found in details]


def spelt(tokens):
    return "".join(tokens[:-1]).replace("\u2581", " ").strip()


def test_blank_texts_keep_their_places(trained, sources, translations):
    texts = ["", sources[0], " \t", sources[1], "\u3000"]
    assert trained.translate(texts) == ["", translations[0], "", translations[1], ""]
    assert [len(hypotheses) for hypotheses in trained.n_best(texts)] == [0, 1, 0, 1, 0]
    blank, found, *_ = trained.translate_details(texts)
    assert (blank.text, blank.log_prob, blank.attention_weights.shape) == ("", 0.0, (0, 0))
    assert found.text == translations[0]
    assert trained.translate(["", " "]) == ["", ""]
    for method in (trained.translate, trained.translate_details, trained.n_best):
        assert method([]) == []


@pytest.mark.parametrize(
    ("warning", "texts", "said"),
    [
        (UnknownCharacters, ["one", "Łódź"], "1 of 2 texts have .* vocabulary does not have.*: 'Łódź' in"),
        (NoWords, ["one", " - ", "...", "!? —"], "3 of 4 texts have no letter and no digit, .* first: '-'"),
        (LostAddresses, ["one", "two www.one.two", "one http://a.org/b"], "2 of 3 .* first: 'www.one.two'"),
        (SeveralSentences, ["one two", "one two. Three four."], "1 of 2 texts look like several sentences"),
        (SeveralSentences, ["One! (Two?) Five six.", "one"], "1 of 2 texts look like several sentences"),
    ],
)
def test_texts_that_cannot_be_translated_well_raise_warnings(trained, warning, texts, said):
    for method in (trained.translate, trained.translate_details):
        with pytest.warns(warning, match=said):
            method(texts, max_length=5)


@pytest.mark.filterwarnings("error::keraszoo.errors.NoWords", "error::keraszoo.errors.SeveralSentences")
@pytest.mark.filterwarnings("ignore::keraszoo.errors.UnknownCharacters")
def test_ordinary_texts_raise_no_warning(trained):
    texts = ["one - two", "3", "é", "两", "", " \t", "\u200e"]
    texts += ["one two.", "one two. ", "Dr. one two.", "one 3. Two.", "one... two", "one two! 🙂"]
    trained.translate(texts, max_length=5)
    assert lost_addresses("See www.one.org.", "Siehe www.one.org.") == []  # copied


@pytest.mark.filterwarnings("ignore::keraszoo.errors.LostAddresses")
def test_unknown_characters_are_listed_and_named_by_every_method(trained, sources):
    with pytest.warns(UnknownCharacters):
        details = trained.translate_details(["one", "Łódź one Łódź", "www.one.two me@one.org"])
    assert [found.unknown[:2] for found in details] == [[], ["Łódź"], ["www.one.two", "me@one.org"]]
    for method, *arguments in (
        (trained.n_best, ["one 🙂"]),
        (trained.score, ["one 🙂"], ["eins"]),
        (trained.score, ["one"], ["eins 🙂"]),
    ):
        with pytest.warns(UnknownCharacters):
            method(*arguments)


def test_invisible_and_control_characters_change_nothing(trained, sources, translations):
    texts = [f"\ufeff\u200e{source[:2]}\u00ad{source[2:]}\u200f" for source in sources[:5]]
    texts += [source.replace(" ", "\t\x07\u200b") + "\x1b" for source in sources[:2]]
    assert trained.translate(texts) == [*translations[:5], *translations[:2]]


def test_the_best_hypothesis_comes_first(trained, sources, translations):
    n_best = trained.n_best(sources[:5], num_hypotheses=4)  # more than the beam's 3: it is widened
    for hypotheses, best in zip(n_best, translations, strict=False):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True) and len(scores) == 4
        assert best in [hypothesis.text for hypothesis in hypotheses]


def test_details_fit_each_other(trained, sources, details):
    for source, found in zip(sources, details, strict=True):
        weights = found.attention_weights
        assert found.text == found.hypotheses[0].text == spelt(found.tokens) and not found.truncated
        assert found.tokens[-1] == "</s>" and spelt(found.source_tokens) == source
        assert weights.shape == (len(found.tokens), len(found.source_tokens))
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    scores = trained.score(sources, [found.text for found in details])
    np.testing.assert_allclose(scores, [found.log_prob for found in details], atol=1e-4)


def test_a_text_that_is_too_long_is_cut_with_a_warning(trained):
    short = Translator(trained.model, trained.source_subwords, trained.target_subwords, trained.search, 6)
    texts = ["one two three four", "one two three four five " * 3]
    said = "the first has 15: 'one two three four five one two three fo'$"
    with pytest.warns(UserWarning, match=f"1 of 2 sentences are cut to 6 subwords; {said}"):
        details = short.translate_details(texts, max_length=8)
    assert [found.truncated for found in details] == [False, True]
    assert len(details[1].source_tokens) == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert short.translate(texts[:1]) == [details[0].text]


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        ("one two", {}, "expected a list of str, got a str"),
        (iter(["one"]), {}, "expected a list of str, got a list_iterator"),
        (["one", 3], {}, r"\[1\]: expected a str, got int, 3"),
        (["one"], {"batch_size": -1}, "batch_size must be at least 1, got -1"),
        (["one"], {"num_hypotheses": 4, "beam_width": 2}, "num_hypotheses must be from 1 to 2"),
        (["one"], {"prefix": 5}, "prefix: expected a list of str, got a int"),
        (["one", "two"], {"prefix": ["eins"]}, "prefix: expected a str, or 2 of them, got 1"),
        (["one"], {"prefix": "eins " * 30}, "prefix 1 has .* subwords, max_length is 20"),
    ],
)
def test_wrong_texts_and_options_raise_errors(trained, texts, options, said):
    for method in (trained.translate_details, trained.n_best):
        with pytest.raises(KerasZooError, match=said):
            method(texts, **options)


def test_a_vocabulary_must_fit_its_model(trained, both_subwords, train_pairs):
    source, target = both_subwords
    with pytest.raises(KerasZooError, match="source_vocabulary_size is 44 in the vocabulary, but 40 in the"):
        Translator(trained.model, target)
    with pytest.raises(KerasZooError, match=r"expected \(model, source_subwords\), got"):
        Translator(source, trained.model)
    sides = source, Subwords.train([target for _, target in train_pairs], 40)
    rnn = {"embedding_dim": 8, "units": 8, "share_embeddings": True}
    sizes = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8}
    for model, options, name, value in (
        (RNNSearch, rnn, "share_embeddings", False),
        (Transformer, sizes, "tie_embeddings", "target"),
    ):
        said = f"share one embedding, but have two vocabularies.*{name}: {str(value).lower()}"
        with pytest.raises(KerasZooError, match=said):
            Translator(model(40, **options), *sides)
        Translator(model(40, **options), source, Subwords(source.model_bytes))  # one vocabulary, read twice
        Translator(model(40, **{**options, name: value}), *sides)


def test_a_sample_depends_on_its_text_and_the_seed_alone(trained, sources):
    drawing = {"sampling": True, "temperature": 2.0}
    together = trained.translate(sources[:5], **drawing)
    assert trained.translate(sources[:5], batch_size=2, **drawing) == together
    assert trained.translate([sources[3], ""], **drawing) == [together[3], ""]
    assert trained.translate(sources[:5], seed=1, **drawing) != together


def test_the_first_words_of_a_translation_are_continued_to_that_translation(trained, sources):
    free = trained.translate_details(sources[:3], beam_width=1)
    prefixes = [" ".join(found.text.split()[:words]) for words, found in enumerate(free, 1)]
    again = trained.translate_details(sources[:3], prefix=prefixes, beam_width=1)
    for found, other in zip(free, again, strict=True):
        assert (other.text, other.tokens) == (found.text, found.tokens)
        assert other.log_prob == pytest.approx(found.log_prob, abs=1e-4)


def test_every_hypothesis_begins_with_the_prefix(trained, sources):
    for hypotheses in trained.n_best([*sources[:3], ""], prefix=["zwei"] * 4, num_hypotheses=3)[:3]:
        assert len(hypotheses) == 3
        assert all(hypothesis.text.startswith("zwei") for hypothesis in hypotheses)
    assert trained.translate(["", "one"], prefix="")[0] == "" and trained.translate([], prefix="x") == []


def test_a_translation_that_was_cut_can_be_plotted_with_its_heads(trained, sources):
    pytest.importorskip("matplotlib")
    (cut,) = trained.translate_details([sources[0]], max_length=2)
    assert len(cut.tokens) == 2 and cut.tokens[-1] != "</s>"
    cut.plot(heads=trained.align([sources[0]], [cut.tokens], heads=True)[0])


def test_constraints_that_no_translation_satisfies_give_an_empty_one():
    subwords = Subwords.train(["ab ba", "a b"], vocabulary_size=9)
    translator = Translator(RNNSearch(9, embedding_dim=4, units=4), subwords)
    search = {"no_repeat_ngram": 1, "min_length": 9, "max_length": 10, "beam_width": 2}
    (found,) = translator.translate_details(["ab ba"], **search)
    assert (found.text, found.hypotheses) == ("", [])
    assert translator.n_best(["ab ba"], **search) == [[]]


def test_references_are_checked_before_the_translation(trained, monkeypatch):
    monkeypatch.setattr(trained, "translate", None)
    with pytest.raises(ScoreError, match="references: 1 sentences for 2 hypotheses"):
        trained.evaluate(["one", "two"], ["eins"])
