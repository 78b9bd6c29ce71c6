"""Text in, entities out."""

import types

import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import DataError, KerasZooError, RecipeError, ScoreError
from keraszoo.models import RecurrentTagger
from keraszoo.text.tag_schemes import repair
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.word_vectors import WordVectors

TEXT = (
    "Ada\u00a0Lovelace flew from Paris to New York. In Buenos Aires, 👩‍🚀 Kurt Gödel met Hedy Lamarr!"
    "\n\nNobody knew."
)


def test_it_learnt_to_find_names(trained_tagger, other_sentences, tagged_sentences, monkeypatch):
    scores = trained_tagger.evaluate(other_sentences, known=tagged_sentences)
    assert scores.f1.score > 95 and scores.invalid == 0
    assert scores.f1_seen.gold == scores.f1.gold and scores.f1_unseen.gold == 0
    monkeypatch.setattr(trained_tagger.sentence_tagger, "tagged", lambda *_: pytest.fail("tagged"))
    with pytest.raises(ScoreError, match=r"gold\[30\]: 0 tags for 2 tokens"):  # before anything is tagged
        trained_tagger.evaluate([*other_sentences, TaggedSentence(("in", "Rome"))])


def test_entities_have_their_places(trained_tagger):
    entities = trained_tagger.tag(TEXT)
    assert [(entity.text, entity.label) for entity in entities] == [
        ("Ada\u00a0Lovelace", "PER"),
        ("Paris", "LOC"),
        ("New York", "LOC"),
        ("Buenos Aires", "LOC"),
        ("Kurt Gödel", "PER"),
        ("Hedy Lamarr", "PER"),
    ]
    for entity in entities:
        assert TEXT[entity.start : entity.end] == entity.text
        assert 0.5 < entity.probability <= 1 and 0 <= entity.attention <= 1
    assert set(entities[0].as_dict()) == {"text", "label", "start", "end", "probability", "attention"}


def test_details_fit_each_other(trained_tagger):
    (result,) = trained_tagger.tag_details([TEXT])
    assert result.entities == trained_tagger.tag(TEXT) and result.text == TEXT
    columns = result.tokens, result.tags, result.probabilities, result.attention_weights
    assert len(set(map(len, columns))) == 1
    assert all(TEXT[token.start : token.end] == token.text for token in result.tokens)
    assert "".join(token.text for token in result.tokens) == "".join(TEXT.split())
    assert len(result.sentences) == 3 and repair(result.tags, "IOB2")[1] == 0
    for first, last in result.sentences:
        np.testing.assert_allclose(result.attention_weights[first:last].sum(), 1, atol=1e-5)
    best = max(result.entities, key=lambda entity: entity.probability)
    inside = [i for i, token in enumerate(result.tokens) if best.start <= token.start < best.end]
    assert best.probability == pytest.approx(min(result.probabilities[inside]))


def test_a_threshold_leaves_out_what_is_less_probable(trained_tagger):
    text = "In Paris, Kurt Gödel met Hedy Lamarr."
    entities = trained_tagger.tag(text)
    bound = sorted(entity.probability for entity in entities)[1]
    assert trained_tagger.tag(text, threshold=bound) == [e for e in entities if e.probability >= bound]


def test_batches_change_nothing(trained_tagger):
    texts = [TEXT, "Paris.", "", TEXT[20:], "Nobody knew.", " \n"]
    together = trained_tagger.tag_details(texts)
    for budget in (1, 20):
        for ours, theirs in zip(
            together, trained_tagger.tag_details(texts, batch_tokens=budget), strict=True
        ):
            assert ours.tags == theirs.tags
            np.testing.assert_allclose(ours.probabilities, theirs.probabilities, atol=1e-5)
            np.testing.assert_allclose(ours.attention_weights, theirs.attention_weights, atol=1e-5)
    words = TEXT.split()
    sentences = [words[i : i + length] for length in (1, 7, 14) for i in range(2)]
    tags = trained_tagger.tag_tokens(sentences)
    assert [trained_tagger.tag_tokens([sentence])[0] for sentence in sentences] == tags


def test_a_text_without_words(trained_tagger):
    for result in trained_tagger.tag_details(["", "   ", "\n\n\t", "\u200b"]):
        assert (result.entities, result.tokens, result.tags, result.sentences) == ([], [], [], [])
        assert result.attention_weights.shape == result.probabilities.shape == (0,)


def test_strange_texts_lose_nothing(trained_tagger):
    texts = ["😀😀 👩‍👩‍👧‍👦", "Paris " * 5000, "x" * 20_000, "a\u0301 e\u0301", "\x00\x01", "\ud800 Paris"]
    for text, result in zip(texts, trained_tagger.tag_details(texts), strict=True):
        for token in result.tokens:
            assert text[token.start : token.end] == token.text
        assert len(result.tags) == len(result.tokens)
    assert len(result.tokens) == 2
    assert len(trained_tagger.tag_tokens([["Paris"] * 5000])[0]) == 5000


def test_characters_that_nobody_sees_change_nothing(trained_tagger):
    plain = trained_tagger.tag("Hedy Lamarr flew to Paris.")
    marked = trained_tagger.tag("\u200eHe\u00addy Lamarr\u200f flew to \u202aPa\u00adris\u202c\u00ad.")
    assert [(e.label, e.text) for e in plain] == [("PER", "Hedy Lamarr"), ("LOC", "Paris")]
    wanted = [("PER", "He\u00addy Lamarr", 1), ("LOC", "Pa\u00adris", 24)]
    assert [(e.label, e.text, e.start) for e in marked] == wanted
    assert [e.probability for e in marked] == pytest.approx([e.probability for e in plain])
    words = ["\ufeffHedy", "flew", "to", "Pa\u200cris\u200d", "\u200e"]
    tags = trained_tagger.tag_tokens([words, ["Hedy", "flew", "to", "Paris", "x"]])
    assert tags[0][:4] == tags[1][:4]


def test_tokens_are_tagged_in_iob2_whatever_the_scheme_of_the_model(trained_tagger):
    assert trained_tagger.vocabulary.scheme == "BIOES" and len(trained_tagger.vocabulary.tags) == 9
    sentences = [["In", "New", "York", ",", ""], [], ["Ada", "Lovelace"], ("Paris",)]
    tags = trained_tagger.tag_tokens(sentences)
    assert [len(some) for some in tags] == [5, 0, 2, 1]
    assert tags[0][1:3] == ["B-LOC", "I-LOC"] and tags[2] == ["B-PER", "I-PER"]
    details = trained_tagger.tag_tokens_details(sentences)
    assert [result.tags for result in details] == tags and details[1].attention_weights.shape == (0,)
    assert trained_tagger.tag_tokens([]) == trained_tagger.tag([]) == []


def test_a_sentence_of_any_length_is_tagged_in_pieces_within_the_budget(trained_tagger, monkeypatch):
    text, batches, compiled = "In Paris " * 600 + "Paris " * 200, [], trained_tagger.sentence_tagger.details

    def noted(features):
        batches.append(features["words"].size)
        return compiled(features)

    monkeypatch.setattr(trained_tagger.sentence_tagger, "details", noted)
    details = trained_tagger.tag_details([text], batch_tokens=1024)[0]
    assert details.sentences == [(0, 512), (512, 1024), (1024, 1400)]
    assert len(details.tags) == len(text.split()) and max(batches) <= 1024


@pytest.mark.parametrize(
    ("method", "texts", "options", "said"),
    [
        ("tag", ["one", 3], {}, r"texts\[1\]: expected a str, got int"),
        ("tag", [b"one"], {}, r"texts\[0\]: expected a str, got bytes"),
        ("tag", b"one", {}, "texts: expected a list of str, got a"),
        ("tag", {"one"}, {}, "texts: expected a list of str, got a"),
        ("tag", np.array("one"), {}, "texts: expected a list of str, got a"),
        ("tag", np.array([["one"]]), {}, "texts: expected a list of str, got a"),
        ("tag", [types.SimpleNamespace(numpy=bytes)], {}, r"; decode: \[text.decode\(\) for text in texts.n"),
        ("tag", "Paris", {"batch_tokens": 0}, "batch_tokens must be at least 1"),
        ("tag", "Paris", {"threshold": 1.1}, "threshold: expected a probability from 0 to 1"),
        ("tag", [], {"threshold": -0.1}, "threshold: expected a probability from 0 to 1"),
        ("tag", [], {"threshold": float("nan")}, "threshold: expected a probability from 0 to 1"),
        ("tag", [], {"threshold": "0.5"}, "threshold: expected a probability from 0 to 1"),
        ("tag", "In Rome.", {"context": -1}, "context must be at least 0"),
        ("tag_tokens", [["a"], "Paris"], {}, "sentence 1: expected a list of str, its words, got 'Paris'"),
        ("tag_tokens", iter([["a"]]), {}, "expected a list of sentences, got a list_iterator"),
        ("tag_tokens", [None], {}, "expected a list of str, its words, got None"),
        ("tag_tokens", [["a"], ["b"]], {"context": 1, "documents": [0]}, "documents: expected 2, one for"),
    ],
)
def test_wrong_texts_and_options_raise_errors(trained_tagger, method, texts, options, said):
    with pytest.raises(KerasZooError, match=said):
        getattr(trained_tagger, method)(texts, **options)


class Labelled(list):
    """Sentences whose numbers are labels, as in a sorted column of a table."""

    def __getitem__(self, label):
        return super().__getitem__(len(self) - 1 - label)


def test_sentences_are_read_in_their_order_alone(trained_tagger):
    def details(sentences):
        return [tagged.tokens for tagged in trained_tagger.tag_tokens_details(sentences)]

    sentences = [["Paris"], ["Ada", "saw", "Oslo"]]
    for method in (trained_tagger.tag_tokens, details):
        assert method(Labelled(sentences)) == method(sentences)


@pytest.mark.usefixtures("eagerly")
def test_a_model_that_attends_to_nothing(new_tagger):
    tagger = new_tagger(model="recurrent", configuration="tiny")
    (tagged,) = tagger.tag_details(["Paris"])
    assert tagged.attention_weights is None
    assert all("attention" not in entity.as_dict() for entity in tagged.entities)
    with pytest.raises(KerasZooError, match="RecurrentTagger does not use attention: it has no attention"):
        tagger.require_attention()


def test_model_vocabulary_and_vectors_must_fit(trained_tagger):
    model = RecurrentTagger(num_tags=9, vocabulary_size=7, vector_width=4, units=3)
    with pytest.raises(KerasZooError, match="vocabulary_size is .* in the vocabulary, but 7 in the model"):
        EntityTagger(model, trained_tagger.vocabulary)
    sentences = [TaggedSentence(("cat",), ("B-P",))]
    with pytest.raises(DataError, match=r"vectors: expected WordVectors, got 'vectors\.bin'"):
        EntityTagger.for_sentences(sentences, "vectors.bin", configuration="tiny")
    vectors = WordVectors(["cat"], [[1.0, 2.0]])
    with pytest.raises(RecipeError, match="model: vectors must be"):
        EntityTagger.for_sentences(sentences, vectors, configuration="tiny", vector_width=7)


def test_a_token_of_white_space_is_an_unknown_word():
    sentence = TaggedSentence(("A", "", "cat"), ("O", "O", "B-PET"))
    vocabulary = EntityTagger.for_sentences([sentence], configuration="tiny").vocabulary
    assert vocabulary.words == ("A", "cat") and vocabulary.word_id("") == 1
