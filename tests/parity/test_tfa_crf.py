"""The CRF against likelihoods, gradients and best paths that tensorflow-addons 0.21.0 computed."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import CRF, CRFLoss
from keraszoo.layers.linear_chain import best_path, log_partition, with_outside

FILE = "tensorflow_addons_crf.npz"
to_numpy = ops.convert_to_numpy
K = 4


@pytest.fixture(scope="module")
def crf(numbers):
    layer = CRF(K)
    layer.transitions.assign(numbers["transitions"])
    return layer


def mask_of(numbers, kind):
    return np.arange(5) < np.array(numbers["lengths"] if kind == "" else [5, 5, 5])[:, None]


@pytest.mark.parametrize("kind", ["", "full_"])
def test_likelihoods_and_best_paths(numbers, crf, kind):
    mask = mask_of(numbers, kind)
    likelihood = crf.log_likelihood(numbers["potentials"], numbers["tags"], mask)
    tags, score = crf.decode(numbers["potentials"], mask)
    for found, name in ((likelihood, "log_likelihood"), (score, "best_score")):
        np.testing.assert_allclose(to_numpy(found), numbers[kind + name], atol=1e-6, rtol=1e-6)
    np.testing.assert_array_equal(to_numpy(tags), numbers[kind + "decoded_tags"])


def test_marginals_are_the_gradient(numbers, crf):
    mask, gold = mask_of(numbers, ""), np.eye(K)[numbers["tags"]]
    posterior = to_numpy(crf.marginals(numbers["potentials"], mask))
    np.testing.assert_allclose((gold * mask[..., None] - posterior), numbers["grad_potentials"], atol=1e-6)


def test_a_step_of_fit_moves_the_transitions_by_the_gradient(numbers):
    inputs = keras.Input((5, K))
    layer = CRF(K)
    layer.transitions.assign(numbers["transitions"])
    mask = ops.convert_to_tensor(mask_of(numbers, ""))
    model = keras.Model(inputs, layer(inputs, mask=mask))
    model.compile(keras.optimizers.SGD(1.0), CRFLoss(reduction="sum"))
    model.train_on_batch(numbers["potentials"], numbers["tags"])
    moved = to_numpy(layer.transitions) - numbers["transitions"]
    np.testing.assert_allclose(moved, numbers["grad_transitions"], atol=1e-6)


def test_several_allowed_tags_a_word(numbers, crf):
    """Their `multitag` functions: all paths, and the best one, through the tags that a bitmap allows."""
    potentials = np.where(numbers["multitag_bitmap"], numbers["potentials"], -1e9).astype("float32")
    weights = map(ops.convert_to_tensor, (numbers["transitions"], np.zeros(K, "f"), np.zeros(K, "f")))
    chain = with_outside(ops.convert_to_tensor(potentials), mask_of(numbers, ""), *weights)
    np.testing.assert_allclose(
        to_numpy(log_partition(*chain)), numbers["multitag_score"], atol=1e-6, rtol=1e-6
    )
    tags, score = map(to_numpy, best_path(*chain))
    np.testing.assert_allclose(score, numbers["constrained_score"], atol=1e-6, rtol=1e-6)
    np.testing.assert_array_equal(np.where(tags == K, 0, tags), numbers["constrained_tags"])
