"""The sums and maxima over paths, and their gradient, against all K^T paths written out."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers.linear_chain import best_path, log_partition, marginals, path_score, with_outside

to_numpy = ops.convert_to_numpy


def compiled(function):
    """Loops of thousands of steps take their time where each step is Python's."""
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf

    return tf.function(function)


B, T, K = 5, 5, 3
LENGTHS = [5, 3, 2, 1, 0]
# padding anywhere
MASK = np.array([[1] * 5, [1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0], [0] * 5], "bool")


def every_path(emissions, length, transitions, start, end):
    """All paths through the words of one sentence, and the score of each."""
    paths = list(itertools.product(range(K), repeat=length))
    scores = []
    for path in paths:
        score = 0.0
        for t, tag in enumerate(path):
            score += emissions[t, tag] + (transitions[path[t - 1], tag] if t else start[tag])
        scores.append(score + (end[path[-1]] if path else 0.0))
    return paths, np.array(scores)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    shapes = (B, T, K), (K, K), (K,), (K,)
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


@pytest.fixture(scope="module")
def chain(numbers):
    emissions, *weights = numbers
    return with_outside(ops.convert_to_tensor(emissions), MASK, *map(ops.convert_to_tensor, weights))


def test_all_paths_are_summed_and_the_best_is_found(numbers, chain):
    emissions, *weights = numbers
    log_z, posterior = to_numpy(log_partition(*chain)), to_numpy(marginals(*chain))
    tags, best = map(to_numpy, best_path(*chain))
    scores = to_numpy(path_score(*chain, tags))
    for b, length in enumerate(LENGTHS):
        paths, every = every_path(emissions[b, MASK[b]], length, *weights)
        assert log_z[b] == pytest.approx(np.log(np.exp(every).sum()), abs=1e-5)
        probability = np.exp(every) / np.exp(every).sum()
        for t, tag in itertools.product(range(length), range(K)):
            expected = sum(p for p, path in zip(probability, paths, strict=True) if path[t] == tag)
            assert posterior[b, MASK[b]][t, tag] == pytest.approx(expected, abs=1e-6)
        assert not posterior[b, ~MASK[b], :K].any() and (tags[b, ~MASK[b]] == K).all()
        assert tuple(tags[b, MASK[b]]) == paths[every.argmax()]
        assert best[b] == pytest.approx(every.max(), abs=1e-5)
        assert scores[b] == pytest.approx(every.max(), abs=1e-5)


def test_the_gradient_is_that_of_the_sum_written_out(numbers):
    """One step of gradient descent on sum_b (b + 1) log Z_b, against differences of the written-out sum."""
    emissions, *weights = numbers

    class LogZ(keras.layers.Layer):
        def build(self, shape):
            self.parts = [
                self.add_weight(shape=part.shape, initializer=lambda *_, part=part, **__: ops.copy(part))
                for part in map(ops.convert_to_tensor, numbers)
            ]

        def call(self, mask):
            parts = [ops.copy(part) for part in self.parts]
            return log_partition(*with_outside(parts[0], mask, *parts[1:]))

    layer = LogZ()
    model = keras.Sequential([layer])
    model.build((B, T))
    weighing = ops.arange(1, B + 1, dtype="float32")
    model.compile(keras.optimizers.SGD(1.0), loss=lambda _, actual: ops.sum(weighing * actual))
    model.train_on_batch(MASK, np.zeros(B))

    def total(parts):
        every = (every_path(parts[0][b, MASK[b]], length, *parts[1:])[1] for b, length in enumerate(LENGTHS))
        return sum((b + 1) * np.log(np.exp(scores).sum()) for b, scores in enumerate(every))

    exact = [part.astype("float64") for part in numbers]
    for i, part in enumerate(exact):
        gradient = numbers[i] - to_numpy(layer.parts[i])
        for place in np.ndindex(part.shape):
            changed = [other.copy() for other in exact]
            changed[i][place] += 1e-5
            assert gradient[place] == pytest.approx((total(changed) - total(exact)) / 1e-5, abs=1e-3)


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
