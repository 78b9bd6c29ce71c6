"""Words and their ids."""

import pytest

from keraszoo.errors import DataError
from keraszoo.text.vocabulary import Vocabulary


def test_ids_and_text_there_and_back():
    vocabulary = Vocabulary(["b", "a", "é,ö"])
    assert len(vocabulary) == 4
    assert vocabulary.ids(["a", "b", "a", "é,ö"]) == [2, 1, 2, 3]
    assert [vocabulary.word(i) for i in (1, 2, 3)] == ["b", "a", "é,ö"]
    assert "a" in vocabulary and "c" not in vocabulary
    assert vocabulary.text() == "b\na\né,ö\n"
    again = Vocabulary.from_text(vocabulary.text())
    assert again == vocabulary and again != Vocabulary(["a", "b", "é,ö"])
    assert len(Vocabulary.from_text("")) == 1


def test_unknown_words_and_ids():
    with pytest.raises(DataError, match="unknown word 'bob'; 1 words are known"):
        Vocabulary(["mary"]).ids(["mary", "bob"])
    for i in 0, -1, 3:
        with pytest.raises(DataError, match=f"expected an id from 1 to 2, got {i}"):
            Vocabulary(["a", "b"]).word(i)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b", "a"], "words that differ, got 'a' twice"),
        (["a", ""], "words of one line, got ''"),
        (["a\n"], "words of one line"),
        (["a", 3], "words of one line, got 3"),
    ],
)
def test_words_that_cannot_be(words, said):
    with pytest.raises(DataError, match=said):
        Vocabulary(words)
