"""Greedy search against a loop over single words."""

import numpy as np
import pytest
from keras import ops

from keraszoo.search import SearchOptions, greedy_search
from keraszoo.search.hypotheses import length_penalty

to_numpy = ops.convert_to_numpy
START, END = 1, 3


def loop(model, sentence, limit, allowed=lambda words, word: True):
    words = ()
    while len(words) < limit and END not in words:
        row = model.log_softmax(sentence, words)
        words = (*words, max((w for w in range(model.vocabulary) if allowed(words, w)), key=lambda w: row[w]))
    return words


def test_takes_the_likeliest_word_until_the_end(tables, listed):
    model = tables(sentences=9, length=8)
    options = SearchOptions(beam_width=1, max_length=8)
    for b, ((score, words, log_prob),) in enumerate(
        listed(greedy_search(model, model.memory, options, START, END))
    ):
        assert words == loop(model, b, 8)
        assert log_prob == pytest.approx(model.log_prob(b, words), abs=1e-5)
        assert score == pytest.approx(model.log_prob(b, words) / len(words), abs=1e-5)


def test_constraints_hold_and_the_log_probability_stays_that_of_the_model(tables, listed):
    model = tables(sentences=9, length=8)
    options = SearchOptions(beam_width=1, max_length=8, min_length=3, no_repeat_ngram=2)

    def allowed(words, word):
        after = (*words, word)
        pairs = list(zip(after, after[1:], strict=False))
        return word != 0 and (word != END or len(words) >= 3) and len(pairs) == len(set(pairs))

    out = listed(greedy_search(model, model.memory, options, START, END, never=(0,)))
    assert any(words != loop(model, b, 8) for b, ((_, words, _),) in enumerate(out))
    for b, ((_, words, log_prob),) in enumerate(out):
        assert words == loop(model, b, 8, allowed)
        assert log_prob == pytest.approx(model.log_prob(b, words), abs=1e-4)


def test_prefixes_of_differing_lengths(tables, listed):
    model = tables(sentences=4, length=6)
    prefixes = [(), (4,), (2, 0, 4), (2, 2, 2)]
    given = np.full((4, 3), -1, "int32")
    for b, prefix in enumerate(prefixes):
        given[b, : len(prefix)] = prefix
    options = SearchOptions(beam_width=1, max_length=6)
    out = listed(greedy_search(model, model.memory, options, START, END, prefix=given))
    for b, ((_, words, _),) in enumerate(out):
        forced = prefixes[b]
        expected = loop(model, b, 6, lambda words, w, f=forced: len(words) >= len(f) or w == f[len(words)])
        assert words == expected


@pytest.mark.parametrize("limit", [1, 5])
def test_at_most_max_length_words(tables, listed, limit):
    model = tables(length=5)
    model.logits[..., END] = -30.0
    options = SearchOptions(beam_width=1, max_length=limit)
    out = greedy_search(model, model.memory, options, START, END)
    assert tuple(out.tokens.shape) == (2, 1, limit)
    assert [len(words) for ((_, words, _),) in listed(out)] == [limit] * 2


@pytest.mark.parametrize(
    ("normalization", "penalty", "expected"),
    [
        ("length", 0.0, [1, 1, 1]),
        ("length", 1.0, [1, 1, 7]),
        ("length", 0.5, [1, 1, 7**0.5]),
        ("gnmt", 1.0, [1, 1, 2]),
        ("gnmt", 2.0, [1, 1, 4]),
    ],
)
def test_length_penalties_by_eye(normalization, penalty, expected):
    options = SearchOptions(normalization=normalization, length_penalty=penalty)
    listed = length_penalty(np.array([0, 1, 7]), options)  # of no word as of one: never a division by zero
    np.testing.assert_allclose(to_numpy(listed), expected, rtol=1e-6)
