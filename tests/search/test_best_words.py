"""The best words in two steps, against one `top_k` of all constrained logits, and against NumPy."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.search import SearchOptions
from keraszoo.search.best_words import best_allowed, top_words
from keraszoo.search.constraints import FORBIDDEN, constrain

to_numpy = ops.convert_to_numpy


@pytest.mark.parametrize("vocabulary", [7, 997, 1000, 8000])
@pytest.mark.parametrize("number", [1, 4])
def test_top_words_of_rows_with_many_equals_by_a_stable_sort(vocabulary, number):
    logits = np.random.default_rng(vocabulary).integers(-9, 9, size=(5, vocabulary)).astype("float32")
    best, words = top_words(ops.convert_to_tensor(logits), number)
    expected = np.argsort(-logits, axis=1, kind="stable")[:, :number]
    np.testing.assert_array_equal(to_numpy(best), np.take_along_axis(logits, expected, axis=1))
    np.testing.assert_array_equal(to_numpy(best), np.take_along_axis(logits, to_numpy(words), axis=1))
    if keras.backend.backend() != "torch":  # takes any of equals
        np.testing.assert_array_equal(to_numpy(words), expected)


@pytest.mark.parametrize("vocabulary", [6, 800])
@pytest.mark.parametrize("prefix", [None, [[5, -1], [-1, -1], [0, 4]]])
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("options", [{}, {"min_length": 2}, {"no_repeat_ngram": 1, "min_length": 2}])
def test_allowed_words_are_those_of_constrained_logits(vocabulary, prefix, position, options):
    logits = np.random.default_rng(1).normal(size=(3, vocabulary)).astype("float32")
    logits[:, :4] += 9  # the words that are forbidden would be the best
    tokens = np.array([[4, 5, 3], [5, 4, 3], [4, 4, 3]], "int32")
    options = SearchOptions(max_length=3, **options)
    rules = (tokens, position, options, 3, (0, 1), None if prefix is None else np.array(prefix, "int32"))
    best, words, log_total = map(to_numpy, best_allowed(ops.convert_to_tensor(logits), 2, *rules))
    constrained = to_numpy(constrain(ops.convert_to_tensor(logits), *rules))
    expected = np.argsort(-constrained, axis=1, kind="stable")[:, :2]
    real = np.take_along_axis(constrained, expected, axis=1) > FORBIDDEN / 2
    assert real[:, 0].all()
    np.testing.assert_array_equal(words[real], expected[real])
    np.testing.assert_array_equal(best > FORBIDDEN / 2, real)
    np.testing.assert_array_equal(best[real], np.take_along_axis(logits, expected, axis=1)[real])
    np.testing.assert_allclose(log_total[:, 0], np.log(np.exp(logits.astype("float64")).sum(1)), rtol=1e-6)
