"""Sentence ends of a library, against a hand-made gold and for any text."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.errors import KerasZooError
from keraszoo.text.sentence_ends import sentence_spans
from keraszoo.text.tokens import split_sentences

GOLD = Path(__file__).parents[1] / "translation" / "data" / "sentences.txt"


def gold():
    """(language, text, sentences) of the hand-made file."""
    for line in GOLD.read_text().splitlines():
        if not line.startswith("#"):
            language, text = line.split("\t")
            sentences = [sentence.strip() for sentence in text.split("\u00a6")]
            yield language, " ".join(sentences), sentences


def test_most_hard_sentence_ends_are_found_and_more_than_by_our_own_rules():
    found = own = 0
    for language, text, sentences in gold():
        found += [text[start:end] for start, end in sentence_spans(text, language)] == sentences
        own += [sentence.text for sentence in split_sentences(text)] == sentences
    assert found >= 76 and own < found


LETTERS = st.one_of(
    st.characters(), st.sampled_from(" .!?\u2026\u3002\"'()\u201c\u201d\u2028\u3000aAbBI\ufffc")
)


@settings(max_examples=300)
@given(st.text(LETTERS, max_size=30), st.sampled_from(["en", "de", "fr", "ja", "ru", "zz", "pt-BR"]))
def test_every_visible_character_is_in_one_sentence(text, language):
    covered = [False] * len(text)
    last = 0
    for start, end in sentence_spans(text, language):
        assert last <= start < end
        covered[start:end] = [True] * (end - start)
        last = end
    assert all(inside or character.isspace() for inside, character in zip(covered, text, strict=True))


@pytest.mark.parametrize("language", ["", "english language", 3, "../x"])
def test_a_language_is_a_code(language):
    with pytest.raises(KerasZooError, match="language: expected a code such as en or de"):
        sentence_spans("A dog.", language)
