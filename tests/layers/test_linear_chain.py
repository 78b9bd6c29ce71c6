"""Ties and long sentences; test_crf.py has all paths of short ones written out."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers.linear_chain import best_path, log_partition, marginals, with_outside

to_numpy = ops.convert_to_numpy
K = 3


def compiled(function):
    """Loops of thousands of steps take their time where each step is Python's."""
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf

    return tf.function(function)


def test_among_equals_the_tags_are_one_path():
    """Two best paths, 0 1 and 2 0: a maximum at each word for itself would mix them to 0 0."""
    transitions = np.array([[-1, 0, -1], [-1, -1, -1], [0, -1, -1]], "float32")
    emissions, zeros, mask = ops.zeros((1, 2, 3)), ops.zeros((3,)), np.ones((1, 2), bool)
    chain = with_outside(emissions, mask, ops.convert_to_tensor(transitions), zeros, zeros)
    tags, score = best_path(*chain)
    assert to_numpy(tags).tolist() == [[0, 1]] and float(score[0]) == 0


def test_a_sentence_of_thousands_of_words_keeps_its_sums():
    """With moves that cost nothing each word is for itself: log Z is a sum, the marginals a softmax."""
    emissions = np.random.default_rng(1).normal(size=(1, 2000, K)).astype("float32") * 3
    zeros, mask = ops.zeros((K,)), np.ones((1, 2000), bool)
    chain = with_outside(ops.convert_to_tensor(emissions), mask, ops.zeros((K, K)), zeros, zeros)
    exact = np.exp(emissions.astype("float64"))
    log_z = np.log(exact.sum(-1)).sum()
    actual = compiled(lambda *chain: (log_partition(*chain), marginals(*chain)))(*chain)
    assert float(actual[0][0]) == pytest.approx(log_z, rel=1e-5)
    expected = exact / exact.sum(-1, keepdims=True)
    np.testing.assert_allclose(to_numpy(actual[1])[..., :-1], expected, atol=2e-3)
