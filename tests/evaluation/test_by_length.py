"""BLEU by length: every sentence in one range, none of them too empty, each range's figure its own."""

import random

import pytest

from keraszoo.errors import ScoreError
from keraszoo.evaluation import bleu_by_length, score_translations
from keraszoo.evaluation.by_length import length_buckets


def texts(lengths, seed=0):
    rng = random.Random(seed)
    return [" ".join(rng.choices("abcdefg", k=length)) for length in lengths]


def shapes(lengths, **options):
    return [(first, last, len(part)) for first, last, part in length_buckets(texts(lengths), **options)]


def test_ranges_begin_after_a_multiple_of_the_width_and_small_ones_are_joined():
    assert shapes([1, 5, 6, 10, 11], width=5, fewest=1) == [(1, 5, 2), (6, 10, 2), (11, 15, 1)]
    # A small range goes with the next one, the last with the one before.
    assert shapes([1, 7, 8, 12, 13, 14, 21], width=5, fewest=3) == [(1, 10, 3), (11, 25, 4)]
    assert shapes([1, 40], width=10, fewest=1) == [(1, 10, 1), (11, 40, 1)]  # the empty ones between
    assert shapes([3, 12], width=5, fewest=3) == [(1, 15, 2)]  # too few in all


def test_every_sentence_is_in_the_one_range_of_its_length():
    lengths = random.Random(1).choices(range(60), k=500)
    buckets = length_buckets(texts(lengths), width=7, fewest=40)
    assert sorted(i for *_, indices in buckets for i in indices) == list(range(500))
    for (first, last, indices), following in zip(buckets, [*buckets[1:], None], strict=True):
        assert len(indices) >= 40 and {max(1, lengths[i]) for i in indices} <= set(range(first, last + 1))
        assert following is None or following[0] == last + 1


def test_the_figure_of_a_range_is_the_bleu_of_its_sentences():
    sources, references = texts([4] * 20 + [14] * 20), texts([5] * 40, seed=1)
    rng = random.Random(2)
    hypotheses = [" ".join(word for word in text.split() if rng.random() < 0.9) for text in references]
    short, long = bleu_by_length(sources, hypotheses, references, fewest=5)
    assert (short.label, long.label, short.sentences) == ("1–10", "11–20", 20)
    for bucket, part in ((short, slice(0, 20)), (long, slice(20, 40))):
        alone = score_translations(hypotheses[part], references[part]).bleu
        assert (bucket.bleu.score, bucket.bleu.details) == (alone.score, alone.details)
        assert bucket.bleu.signature == alone.signature.replace("|case", "|bs:1000|seed:12345|case")
        assert 1 < bucket.margin < 30
    assert bleu_by_length(sources, hypotheses, [references], fewest=5) == [short, long]


def test_chinese_is_as_long_as_its_characters_and_one_sentence_has_no_margin():
    sources = ["狗" * 4, "狗" * 14]
    short, long = bleu_by_length(sources, sources, sources, fewest=1)
    assert (short.label, long.label) == ("1–10", "11–20") and short.bleu.score == pytest.approx(100)
    assert "tok:zh" in long.bleu.signature
    (bucket,) = bleu_by_length(["a b c d"], ["a b c d"], ["a b c d"])
    assert (bucket.margin, bucket.sentences) == (0.0, 1) and bucket.bleu.score == pytest.approx(100)
    assert str(bucket) == "1–10 words: 100.0 ± 0.0 (1 sentences)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["a", "b"], ["a", "b"]), "sources: 1 sentences for 2 hypotheses"),
        ((["a", None], ["a", "b"], ["a", "b"]), r"sources\[1\]: expected a str, got NoneType"),
        (([], [], []), "hypotheses: expected at least one translation"),
        ((["a"], ["a"], ["a"], 0), "width must be at least 1, got 0"),
        ((["a"], ["a"], ["a"], 5, 1.5), "fewest must be at least 1, got 1.5, not an integer"),
    ],
)
def test_what_cannot_be_sorted_is_refused(arguments, message):
    with pytest.raises(ScoreError, match=message):
        bleu_by_length(*arguments)
