"""Greedy search against a loop over single words."""

import numpy as np
import pytest
from keras import ops

from keraszoo.search import SearchOptions
from keraszoo.search.hypotheses import length_penalty

to_numpy = ops.convert_to_numpy
END = 3


def loop(model, sentence, limit):
    words = ()
    while len(words) < limit and END not in words:
        words = (*words, int(model.log_softmax(sentence, words).argmax()))
    return words


@pytest.mark.parametrize("limit", [1, 8])
def test_takes_the_likeliest_word_until_the_end_or_the_limit(tables, find, listed, limit):
    model = tables(sentences=9, length=8)
    found = find(model, SearchOptions(beam_width=1, max_length=limit))
    assert tuple(found.tokens.shape) == (9, 1, limit)
    for b, ((score, words, log_prob),) in enumerate(listed(found)):
        assert words == loop(model, b, limit)
        assert log_prob == pytest.approx(model.log_prob(b, words), abs=1e-5)
        assert score == pytest.approx(model.log_prob(b, words) / len(words), abs=1e-5)


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
