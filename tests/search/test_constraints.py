"""What may not be written, against plain Python, and the best of the words that may."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.search import SearchOptions
from keraszoo.search.best_words import best_allowed, top_words
from keraszoo.search.constraints import FORBIDDEN, constrain

to_numpy = ops.convert_to_numpy
START, END, V = 1, 3, 6


def forbidden(tokens, position, prefix=None, never=(), **options):
    """The words that may not follow, by row."""
    logits = np.random.default_rng(0).normal(size=(len(tokens), V)).astype("float32")
    options = SearchOptions(max_length=50, **options)
    constrained = to_numpy(
        constrain(ops.convert_to_tensor(logits), np.array(tokens), position, options, END, never, prefix)
    )
    barred = constrained < -1e8
    np.testing.assert_array_equal(constrained[~barred], logits[~barred])  # the rest is as it was
    return [set(np.flatnonzero(row).tolist()) for row in barred]


@pytest.mark.parametrize(
    ("words", "options", "barred"),
    [
        ([4, 4, 4, 4], {}, set()),
        ([4], {"never": (0, START)}, {0, START}),
        ([], {"min_length": 3}, {END}),
        ([4, 5], {"min_length": 3}, {END}),
        ([4, 5, 4], {"min_length": 3}, set()),
        ([4, 2, 4], {"no_repeat_ngram": 1}, {4, 2}),
        ([4, 2, 5, 4], {"no_repeat_ngram": 2}, {2}),  # 4 2 was there
        ([4, 2, 5, 4, 2, 0, 4, 2], {"no_repeat_ngram": 3}, {5, 0}),
        ([4, 4, 4], {"no_repeat_ngram": 9}, set()),
    ],
)
def test_forbidden_words_by_eye(words, options, barred):
    for rest in (END, 4, 2):  # what follows the position has no effect
        assert forbidden([words + [rest] * (9 - len(words))], len(words), **options) == [barred]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_ngram_twice_against_python(n):
    rng = np.random.default_rng(n)
    tokens = rng.integers(0, V, (40, 13))
    for position in range(14):
        expected = []
        for row in tokens.tolist():
            words = row[:position]
            grams = {tuple(words[i : i + n]) for i in range(position - n + 1)}
            last = tuple(words[position - n + 1 :]) if n > 1 else ()
            expected.append({w for w in range(V) if len(last) == n - 1 and (*last, w) in grams})
        assert forbidden(tokens, position, no_repeat_ngram=n) == expected


@pytest.mark.parametrize("n", [1, 2, 3])
def test_long_outputs_hold_no_ngram_twice(tables, find, listed, n):
    model = tables(sentences=20, length=40, vocabulary=V + 3, sharpness=0.5)
    model.logits[..., END] -= 3
    options = SearchOptions(beam_width=1, sampling=True, max_length=40, no_repeat_ngram=n)
    longest = 0
    for ((_, words, _),) in listed(find(model, options)):
        grams = [words[i : i + n] for i in range(len(words) - n + 1)]
        assert len(grams) == len(set(grams))
        longest = max(longest, len(words))
    assert longest > (5 if n == 1 else 20)


@pytest.mark.parametrize(
    ("position", "allowed"), [(0, ({4}, {2}, None)), (1, ({5}, None, None)), (2, (None, None, None))]
)
def test_a_prefix_forbids_all_other_words(position, allowed):
    prefix = np.array([[4, 5], [2, -1], [-1, -1]])
    expected = [set() if words is None else set(range(V)) - words for words in allowed]
    assert forbidden([[0, 0, 0]] * 3, position, prefix) == expected


def test_a_forced_word_is_allowed_whatever_else_forbids_it():
    prefix = np.array([[4], [END], [0]])
    row = forbidden([[4, 4]] * 3, 0, prefix, never=(0,), min_length=1, no_repeat_ngram=1)
    assert row == [set(range(V)) - {word} for word in (4, END, 0)]


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="looks into TensorFlow's graph")
def test_no_tensor_has_a_row_of_words_for_each_position():
    import tensorflow as tf

    length, options = 50, SearchOptions(max_length=50, no_repeat_ngram=2)
    graph = tf.function(lambda logits, tokens: constrain(logits, tokens, 3, options, END))
    specs = tf.TensorSpec([7, V]), tf.TensorSpec([7, length], tf.int32)
    made = [out for op in graph.get_concrete_function(*specs).graph.get_operations() for out in op.outputs]
    assert max(math.prod(tensor.shape) for tensor in made) < 7 * length * V


# --- the best words, in two steps


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
