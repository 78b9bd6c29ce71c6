"""Minimum Bayes risk by hand, with sacrebleu's chrF."""

import numpy as np
import pytest
from sacrebleu.metrics import CHRF

from keraszoo.errors import KerasZooError

pytestmark = pytest.mark.usefixtures("eagerly")
SOURCES = ["one two three four", "", "six five six two one"]


def utilities(texts, weights):
    """The expected chrF2 of each text."""
    scores = [[CHRF().sentence_score(one, [other]).score for other in texts] for one in texts]
    return np.array(scores) @ (np.array(weights) / np.sum(weights))


def test_hypotheses_of_a_beam_count_by_their_probabilities(trained):
    found = trained.n_best(SOURCES, decision="mbr", candidates=6, num_hypotheses=4)
    assert trained.translate(SOURCES, decision="mbr", candidates=6) == [
        hypotheses[0].text if hypotheses else "" for hypotheses in found
    ]
    for source, mine in zip(SOURCES, found, strict=True):
        (plain,) = trained.n_best([source], num_hypotheses=6)
        if source:
            expected = utilities([h.text for h in plain], np.exp([h.log_prob for h in plain]))
            order = np.argsort(-expected, kind="stable")[:4]
            np.testing.assert_allclose([h.score for h in mine], expected[order], atol=1e-3)
            assert sorted(h.log_prob for h in mine) == pytest.approx(
                sorted(plain[i].log_prob for i in order), abs=1e-4
            )
        else:
            assert mine == []


def test_samples_count_the_same(trained):
    drawing = {"sampling": True, "beam_width": 1, "temperature": 2.0}
    mine = trained.translate(SOURCES, decision="mbr", candidates=3, seed=3, **drawing)
    samples = [trained.translate(SOURCES, seed=seed, **drawing) for seed in range(3, 6)]
    assert len({tuple(texts) for texts in samples}) > 1
    for text, *drawn in zip(mine, *samples, strict=True):
        expected = utilities(drawn, np.ones(3))
        assert expected[drawn.index(text)] == pytest.approx(expected.max())


def test_details_belong_to_the_chosen_candidate(trained):
    for source, found in zip(SOURCES, trained.translate_details(SOURCES, decision="mbr"), strict=True):
        if source:
            assert found.log_prob == pytest.approx(trained.score([source], [found.tokens])[0], abs=1e-3)
            (weights,) = trained.align([source], [found.tokens])
            np.testing.assert_allclose(found.attention_weights, weights[: len(found.tokens)], atol=1e-4)


def test_it_goes_with_terms_and_prefixes(trained):
    texts = trained.translate(SOURCES, decision="mbr", terms={"two": "vier vier"}, prefix="drei")
    assert all("vier vier" in text and text.startswith("drei") for text in (texts[0], texts[2]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"decision": "MBR"}, 'decision must be "map" or "mbr". Received: \'MBR\''),
        ({"candidates": 4}, 'candidates are for decision="mbr" alone. Received: 4'),
        ({"decision": "mbr", "candidates": 1}, "candidates must be at least 2"),
        ({"decision": "mbr", "beam_width": 1}, "candidates must be at least 2"),
        ({"decision": "mbr", "candidates": 3, "num_hypotheses": 4}, "candidates must be at least 4"),
    ],
)
def test_decisions_that_cannot_be(trained, arguments, said):
    with pytest.raises(KerasZooError, match=said):
        trained.translate(SOURCES, **arguments)
