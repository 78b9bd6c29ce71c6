"""Log-probabilities of given pairs against the model stepped token by token."""

import numpy as np
import pytest

from keraszoo.translation.pair_scores import log_probabilities

SOURCES = [[5, 6, 7], [8], [9, 9, 10, 11, 12], [6, 5]]
TARGETS = [[6, 7], [9, 8, 7, 6, 5], [], [10, 11]]


@pytest.fixture
def model_and_specials(new_translator):
    search = new_translator().compiled_search
    return search.model, search.source_special, search.special


def stepped(model, source, target, source_special, special):
    state = model.initial_state(model.encode(np.array([[*source, source_special.end_id]])), 1, 10)
    total, before = 0.0, special.start_id
    for word in [*target, special.end_id]:
        logits, state = model.step(np.array([before]), state)
        scores = np.asarray(logits)[0].astype("float64")
        total += scores[word] - np.log(np.exp(scores).sum())
        before = word
    return total


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_equals_stepping_whatever_the_batches(model_and_specials, batch_size):
    model, *specials = model_and_specials
    found = log_probabilities(model, SOURCES, TARGETS, *specials, batch_size)
    pairs = zip(SOURCES, TARGETS, strict=True)
    wanted = [stepped(model, source, target, *specials) for source, target in pairs]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_no_pairs(model_and_specials):
    model, *specials = model_and_specials
    assert log_probabilities(model, [], [], *specials) == []
