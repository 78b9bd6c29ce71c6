"""Parallel text: read from two files or from one, cleaned, split."""

import io
import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.parallel import clean_pairs, clean_text, read_pairs, split_pairs, words_of


def error_of(iterator):
    with pytest.raises(DataError) as caught:
        list(iterator)
    return caught.value


def test_pairs_of_two_files_of_one_and_of_standard_input(write, monkeypatch):
    source, target = write("A dog.\nTwo cats.\n", "a.en"), write("Ein Hund.\nZwei Kätzchen.", "a.de")
    assert list(read_pairs(source, str(target))) == [("A dog.", "Ein Hund."), ("Two cats.", "Zwei Kätzchen.")]
    path = write("\ufeffa\tb\tCC-BY\tx\r\nc \t d\n\t\n\n", "a.tsv")
    assert list(read_pairs(path)) == [("a", "b"), ("c ", " d"), ("", ""), ("", "")]
    old = write("a\tb\rc\td\r\ne\tf\n", "old.tsv")
    assert ":1: a carriage return (CR) inside the line" in str(error_of(read_pairs(old)))
    assert "got both" in str(error_of(read_pairs("-", "-")))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\n")))
    assert list(read_pairs("-", write(b"eins\n", "a.de"))) == [("one", "eins")]


def test_unequal_counts_are_named(write):
    three, one = write(b"1\n2\n3\n", "a.en"), write(b"1\n", "a.de")
    for error in (error_of(read_pairs(three, one)), error_of(read_pairs(one, three))):
        assert f"{three} has 3, {one} has 1" in str(error)
        assert (error.path, error.line) == (three, 2)
    empty = write(b"", "empty")
    assert f"{three} has 3, {empty} has 0" in str(error_of(read_pairs(empty, three)))


def test_pairs_before_an_error_are_streamed(write):
    pairs = read_pairs(write(b"a\tb\nno tab\n", "a.tsv"))
    assert next(pairs) == ("a", "b")
    assert str(error_of(pairs)).endswith(
        "a.tsv:2: expected source TAB target, got a line with no TAB: 'no tab'"
    )


def test_missing_file_and_empty_corpus(write, tmp_path):
    empty = write(b"", "empty")
    assert error_of(read_pairs(write(b"a\n", "full"), tmp_path / "none.de")).path == tmp_path / "none.de"
    assert "empty corpus" in str(error_of(read_pairs(empty, empty)))
    assert "empty corpus" in str(error_of(read_pairs(empty)))


TEXTS = st.text(alphabet="aé\u0301 \u00a0\u202f\u200b\u00ad’'.?!\"«ß\t", max_size=12)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Quoi\u202f?", "Quoi ?"),
        ("a\u00a0\u2009 b\t", "a b"),
        ("Do\u00adnau\u200bdampf\ufeff", "Donaudampf"),
        ("l’arbre, l‘arbre, lʼarbre", "l'arbre, l'arbre, l'arbre"),
        ("cafe\u0301", "café"),
        ("„Ja“, “yes”, « oui »", "„Ja“, “yes”, « oui »"),
        ("H₂O – 5 €", "H₂O – 5 €"),
        ("\u200b \u00a0", ""),
    ],
)
def test_each_sign_has_one_writing(text, clean):
    assert clean_text(text) == clean


def test_what_is_dropped_is_counted_by_its_reason():
    pairs = [
        ("Hello.", "Hallo."),
        ("Hello.", "Hallo\u00a0."),  # the space makes it another text, but nearly the same
        ("Hello.", " Hallo.\u200b"),
        ("HELLO!", "Hallo!"),
        ("Hello?", "Hallo?"),  # a question is another sentence
        ("Hello.", "Guten Tag."),
        ("\u00a0", "Hallo."),
        ("!", "!"),
        ("?", "?"),
    ]
    kept, counts = clean_pairs(iter(pairs))
    assert kept == [pairs[0], pairs[4], pairs[5], pairs[7], pairs[8]]
    assert counts == {"pairs": 9, "changed": 3, "duplicate": 1, "near_duplicate": 2, "blank": 1}
    with pytest.raises(DataError, match="expected pairs of str, got 'c'; `read_pairs` reads a file"):
        clean_pairs("corpus.tsv")


@settings(max_examples=40)
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=30))
def test_every_pair_is_kept_or_counted_and_cleaning_twice_changes_nothing(pairs):
    kept, counts = clean_pairs(pairs)
    assert len(kept) + counts["blank"] + counts["duplicate"] + counts["near_duplicate"] == len(pairs)
    assert clean_pairs(kept) == (kept, {"pairs": len(kept), "changed": 0} if kept else {})
    for text in (side for pair in kept for side in pair):
        assert unicodedata.is_normalized("NFC", text) and not set(text) & set("\u00a0\u202f\u200b\u00ad’\t")


def corpus(count):
    """Sentences with one to three translations each, in several writings."""
    marks = (".", "!", "?")
    return [
        (f"sentence {i}{marks[k % 3]}" if k % 2 else f"Sentence {i}{marks[k % 3]}", f"Satz {i}, {k}")
        for i in range(count)
        for k in range(1 + i % 3)
    ]


def test_no_sentence_stands_on_both_sides_and_no_pair_is_lost():
    pairs = corpus(100)
    parts = split_pairs(pairs, 20, 10)
    sentences = [{words_of(source) for source, _ in part} for part in parts]
    assert [len(part) for part in sentences] == [20, 10, 70]
    assert not sentences[0] & sentences[1] and not (sentences[0] | sentences[1]) & sentences[2]
    assert sorted(pair for part in parts for pair in part) == sorted(pairs)
    assert split_pairs(iter(corpus(10)), 3) == split_pairs(corpus(10), 3)
    with pytest.raises(KerasZooError, match="cannot hold out 10 of 10 source sentences"):
        split_pairs(corpus(10), 5, 5)


def test_the_split_does_not_depend_on_the_order_and_little_on_the_rest():
    pairs = corpus(100)
    shuffled = random.Random(1).sample(pairs, len(pairs))
    first, second = split_pairs(pairs, 20, 10), split_pairs(shuffled, 20, 10)
    assert [set(part) for part in first] == [set(part) for part in second]
    fewer = {words_of(source) for source, _ in split_pairs(corpus(95), 20, 10)[0]}
    assert len(fewer & {words_of(source) for source, _ in first[0]}) >= 18


@pytest.mark.parametrize(("one", "other"), [("राम की", "राम का"), ("ที่", "ที")])
def test_vowel_signs_and_tones_tell_words_apart(one, other):
    assert words_of(one) != words_of(other)
    assert len(clean_pairs([(one, "x"), (other, "x")])[0]) == 2
    assert words_of("I ❤\ufe0f you") == words_of("I you!")  # marks after a symbol do not count
