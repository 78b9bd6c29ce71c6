"""chrF of all pairs equals that of sacrebleu, pair by pair."""

import numpy as np
import pytest
from sacrebleu.metrics import CHRF

from keraszoo.errors import KerasZooError
from keraszoo.evaluation.pairwise_chrf import pairwise_chrf

TEXTS = [
    "Das Auto ist rot.",
    "Der Wagen ist rot.",
    "Das  Auto\tist rot.",
    "rot rot rot rot",
    "a",
    "ab",
    "",
    " \u3000",
    "aaaaaaaaaa aaaa",
    "Ich habe gestern ein neues Auto gekauft und bin damit nach Hause gefahren.",
    "\u8eca\u306f\u8d64\u3044\u3002",
]


def test_all_pairs_equal_sacrebleu():
    draw, metric = np.random.default_rng(0), CHRF()
    texts = [*TEXTS, *("".join(draw.choice([*"ab \u00e9"], size=n)) for n in range(1, 40, 3))]
    expected = [[metric.sentence_score(one, [other]).score for other in texts] for one in texts]
    np.testing.assert_allclose(pairwise_chrf(texts), expected, atol=1e-9)


def test_no_texts_and_no_list():
    assert pairwise_chrf([]).shape == (0, 0)
    with pytest.raises(KerasZooError, match="expected a list of str"):
        pairwise_chrf("a cat")
