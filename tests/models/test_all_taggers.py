"""What every model that tags must do."""

from itertools import pairwise

import keras
import numpy as np
import pytest
from model_cases import FEATURES, FOLLOWS, IOB2, MASK, MODELS, TAGGERS, TAGS, WEIGHT, cut, make, to_numpy

from keraszoo import models

pytestmark = pytest.mark.parametrize("name", TAGGERS, indirect=True, scope="module")


@pytest.fixture(scope="module")
def tagged(random_model):
    return [None if part is None else to_numpy(part) for part in random_model.tag(FEATURES)]


@pytest.mark.slow  # `make test` trains one for the tests of `EntityTagger`
def test_overfits_eight_sentences_and_tags_them(name):
    model = make(name)
    model.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), jit_compile=keras.backend.backend() == "jax")
    losses = [float(model.train_on_batch(FEATURES, TAGS, WEIGHT))]
    while losses[-1] > 0.02 and len(losses) < 600:  # alpha_j h_j is small, and slow to learn from
        losses.append(float(model.train_on_batch(FEATURES, TAGS, WEIGHT)))
    assert losses[0] > 1 and losses[-1] <= 0.02
    np.testing.assert_array_equal(to_numpy(model.tag(FEATURES)[0]), TAGS)


def test_tags_are_of_words_alone_and_obey_the_scheme(name, random_model, tagged):
    tags, probabilities, weights = tagged
    assert tags.dtype == "int32" and probabilities.dtype == "float32"
    assert not tags[~MASK].any()
    np.testing.assert_allclose(probabilities.sum(-1), MASK, atol=1e-5)
    if MODELS[name].get("allowed"):
        for row, mask in zip(tags, MASK, strict=True):
            said = row[mask]
            assert IOB2[1][said[0]] and all(FOLLOWS[a][b] for a, b in pairwise(said))
    elif not MODELS[name].get("crf"):
        np.testing.assert_array_equal(tags, np.where(MASK, probabilities.argmax(-1), 0))
    assert (weights is not None) == random_model.attends
    if weights is not None:
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert (weights[~MASK] == 0).all() and (weights[MASK] > 0).all()


def test_tags_of_a_batch_are_those_of_its_sentences_and_padding_changes_nothing(random_model, tagged):
    padded = {name: np.pad(part, ((0, 0), (0, 3), (0, 2))[: part.ndim]) for name, part in FEATURES.items()}
    for expected, longer in zip(tagged, random_model.tag(padded), strict=True):
        if expected is not None:
            np.testing.assert_allclose(to_numpy(longer)[:, :6], expected, atol=1e-5)
            assert not to_numpy(longer)[:, 6:].any()
    for row in (0, 3, 5):
        length = int(MASK[row].sum())
        alone = random_model.tag(cut(slice(row, row + 1), length))
        for expected, single in zip(tagged, alone, strict=True):
            if expected is not None:
                np.testing.assert_allclose(to_numpy(single)[0], expected[row, :length], atol=1e-5)


def test_padding_in_front_and_between_words_changes_nothing(name, random_model, tagged):
    if isinstance(random_model, models.TransformerTagger):
        pytest.skip("its padding has positions, and is at the end")
    places = [2, 3, 4, 6, 8, 9]
    spread = {name: np.zeros((8, 11, *part.shape[2:]), part.dtype) for name, part in FEATURES.items()}
    for name, part in FEATURES.items():
        spread[name][:, places] = part
    for expected, found in zip(tagged, random_model.tag(spread), strict=True):
        if expected is not None:
            np.testing.assert_allclose(to_numpy(found)[:, places], expected, atol=1e-5)
            assert not np.delete(to_numpy(found), places, axis=1).any()


@pytest.mark.one_per_class
def test_a_batch_of_padding_is_finite_and_costs_nothing(name, random_model):
    nothing = {name: np.zeros_like(part[:2]) for name, part in FEATURES.items()}
    tags, probabilities, weights = random_model.tag(nothing)
    assert not to_numpy(tags).any() and not to_numpy(probabilities).any()
    assert weights is None or not to_numpy(weights).any()
    model = make(name)
    model.compile(keras.optimizers.SGD(1.0), run_eagerly=True)
    before = [to_numpy(weight).copy() for weight in model.trainable_variables]
    assert float(model.train_on_batch(nothing, TAGS[:2])) == 0
    for weight, old in zip(model.trainable_variables, before, strict=True):
        np.testing.assert_array_equal(to_numpy(weight), old)
