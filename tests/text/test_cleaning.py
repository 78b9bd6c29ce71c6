"""Cleaning and splitting: every sign in one writing, every pair once, no sentence on both sides."""

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keraszoo.text.cleaning import clean_pairs, clean_text, one_of_each, split_pairs, words_of

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


@given(TEXTS)
def test_what_is_clean_stays(text):
    clean = clean_text(text)
    assert clean_text(clean) == clean == clean.strip()
    assert unicodedata.is_normalized("NFC", clean) and not set(clean) & set("\u00a0\u202f\u200b\u00ad’\t")


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


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=30))
def test_every_pair_is_kept_or_counted_and_cleaning_twice_changes_nothing(pairs):
    kept, counts = clean_pairs(pairs)
    assert len(kept) + counts["blank"] + counts["duplicate"] + counts["near_duplicate"] == len(pairs)
    assert clean_pairs(kept) == (kept, {"pairs": len(kept), "changed": 0} if kept else {})


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


def test_the_split_does_not_depend_on_the_order_and_little_on_the_rest():
    pairs = corpus(100)
    shuffled = random.Random(1).sample(pairs, len(pairs))
    first, second = split_pairs(pairs, 20, 10), split_pairs(shuffled, 20, 10)
    assert [set(part) for part in first] == [set(part) for part in second]
    fewer = {words_of(source) for source, _ in split_pairs(corpus(95), 20, 10)[0]}
    assert len(fewer & {words_of(source) for source, _ in first[0]}) >= 18


def test_more_held_out_than_there_are():
    with pytest.raises(ValueError, match="10 source sentences, of which 10 are to be held out"):
        split_pairs(corpus(10), 5, 5)


def test_one_pair_of_each_sentence_whatever_the_order():
    pairs = corpus(60)
    some = one_of_each(pairs)
    assert len(some) == 60 and set(some) <= set(pairs)
    assert set(one_of_each(pairs[::-1])) == set(some)
    assert {target[-1] for _, target in some} == {"0", "1", "2"}  # not always the first
