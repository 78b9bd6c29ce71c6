"""Tokens and tags as numbers, against loops and the vocabulary's own lists."""

import random

import numpy as np
import pytest

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.tag_schemes import SCHEMES, allowed_transitions, convert
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tagging_features import CASINGS, UNKNOWN, TaggingVocabulary, casing_id

SENTENCES = [
    TaggedSentence(("The", "BRCA1", "gene"), ("O", "B-Gene", "O")),
    TaggedSentence(("New", "York", "2020", "!"), ("B-creative-work", "I-creative-work", "O", "O")),
    TaggedSentence(("",), ("O",)),
]
WORDS = ["the", "York", "york", "0000", "BRCA0", "gene"]


@pytest.fixture
def vocabulary():
    return TaggingVocabulary.from_sentences(SENTENCES, WORDS, word_length=4)


def test_of_sentences(vocabulary):
    assert vocabulary.words == tuple(WORDS)
    assert vocabulary.characters == tuple("!012ABCGNRTYeghknorw".replace("G", ""))
    assert vocabulary.labels == ("Gene", "creative-work")
    assert vocabulary.tags == ("O", "B-Gene", "I-Gene", "B-creative-work", "I-creative-work")


def test_words_back_off(vocabulary):
    tokens = ["The", "York", "YORK", "1999", "BRCA1", "brca1", "x", "Gene", ""]
    forms = ["the", "York", "york", "0000", "BRCA0", None, None, "gene", None]
    expected = [WORDS.index(form) + 2 if form else UNKNOWN for form in forms]
    assert vocabulary.encode([tokens])["words"].tolist() == [expected]
    exact = TaggingVocabulary(WORDS, "", [], backoff=["exact"])
    assert exact.encode([tokens])["words"].tolist() == [[1, 3, 1, 1, 1, 1, 1, 1, 1]]


def test_arrays_equal_a_loop(vocabulary):
    draw = random.Random(0)
    tokens = ["The", "york", "2020", "!", "", "👩\u200d🚀", "unknown", "e\u0301", "BRCA2"]
    sentences = [draw.choices(tokens, k=draw.randint(0, 7)) for _ in range(11)]
    sentences.append(["York"] * 7)
    features = vocabulary.encode(sentences)
    assert {array.dtype for array in features.values()} == {np.dtype("int32")}
    assert features["words"].shape == features["casing"].shape == (12, 7)
    assert features["characters"].shape == (12, 7, 4)
    for i, j in np.ndindex(12, 7):
        token = sentences[i][j] if j < len(sentences[i]) else None
        if token is None:
            assert not any(array[i, j].any() for array in features.values())
            continue
        assert features["words"][i, j] == vocabulary.word_id(token) > 0
        assert features["casing"][i, j] == casing_id(token) > 0
        spelt = [vocabulary.characters[c - 2] if c > 1 else "?" for c in features["characters"][i, j] if c]
        assert "".join(spelt) == "".join(c if c in vocabulary.characters else "?" for c in token[:4])


def test_nothing_to_encode(vocabulary):
    shapes = {name: array.shape for name, array in vocabulary.encode([[], []]).items()}
    assert shapes == {"words": (2, 1), "characters": (2, 1, 1), "casing": (2, 1)}
    assert vocabulary.encode([])["words"].shape == (0, 1) and vocabulary.encode_tags([]).shape == (0, 1)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tags_there_and_back(scheme):
    vocabulary = TaggingVocabulary.from_sentences(SENTENCES, [], scheme=scheme)
    ids = vocabulary.encode_tags([sentence.tags for sentence in SENTENCES])
    assert ids.shape == (3, 4) and ids.dtype == "int32" and vocabulary.tags[0] == "O"
    tags = vocabulary.decode_tags(ids, [len(sentence.tags) for sentence in SENTENCES])
    assert tags == [convert(sentence.tags, "IOB2", scheme) for sentence in SENTENCES]
    allowed = allowed_transitions(vocabulary.tags, scheme)
    np.testing.assert_equal(vocabulary.transitions(), allowed)
    with pytest.raises(DataError, match="expected tags of the labels Gene, creative-work, got 'PER'"):
        vocabulary.encode_tags([["B-PER"]])


@pytest.mark.parametrize(
    ("casing", "tokens"),
    [
        ("numeric", ["1", "1,000.5", "12:30", "1990-95", "½", "٣"]),
        ("marks", ["", "-", "...", "😀", "👩🏽\u200d🚀", "\u0301", "€"]),
        ("with digits", ["B12", "5th", "1990s", "-3", "15%", "2nd-hand"]),
        ("lower", ["a", "e-mail", "n't", "ß", "don't", "e\u0301"]),
        ("upper", ["I", "USA", "U.S.", "AT&T", "É", "虎A"]),
        ("capital", ["Rome", "Jean-luc", "Öl", "Dr.", "ǅx"]),
        ("mixed", ["iPod", "McDonald", "Jean-Luc", "'Tis", "虎牢", "a" * 20_000 + "A", "A" * 20_000 + "aA"]),
    ],
)
def test_casing_in_python_and_in_a_graph(casing, tokens):
    tf = pytest.importorskip("tensorflow")
    assert [list(CASINGS)[casing_id(token) - 1] for token in tokens] == [casing] * len(tokens)
    matches = [tf.strings.regex_full_match(tokens, expression).numpy() for expression in CASINGS.values()]
    assert (np.argmax(matches, axis=0) + 1).tolist() == [casing_id(token) for token in tokens]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": [1]}, "words: expected strings that are not empty, got 1"),
        ({"characters": ["ab"]}, "characters: expected single characters, got 'ab'"),
        ({"scheme": "BIO"}, "expected a tag scheme of IO"),
        ({"backoff": ["stem"]}, "backoff: expected a list of different names of exact"),
        ({"word_length": 0}, "word_length: expected 1 to 10,000, got 0"),
        ({"token_rules": "x"}, "expected token rules of words"),
        ({"labels": "PER"}, "labels: expected a list of strings, got the string 'PER'"),
    ],
)
def test_what_cannot_be(change, message):
    with pytest.raises(KerasZooError, match=message):
        TaggingVocabulary(**{"words": ["a"], "characters": "a", "labels": ["x"]} | change)
