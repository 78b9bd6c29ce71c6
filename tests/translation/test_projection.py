"""Tags in translations, placed by attention weights made by hand."""

import numpy as np
import pytest

from keraszoo.translation.projection import WordWeights, project

# "regnet" attends to "is" as well as to "raining".
PIECES = ["\u2581It", "\u2581is", "\u2581raining", "</s>"], ["\u2581Es", "\u2581regnet", "</s>"]
WEIGHTS = np.array([[0.5, 0.4, 0.1, 0], [0.2, 0.6, 0.3, 0], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([(0, 5, -1)], ["Es regnet"]),
        ([(0, 5, -1), (6, 13, -1)], ["Es", "regnet"]),
        ([(0, 13, -1), (0, 5, 0), (6, 13, 0)], ["Es regnet", "Es", "regnet"]),
        ([(0, 2, -1), (3, 5, -1), (6, 13, -1)], ["Es", "regnet", "regnet"]),  # there are not enough words
    ],
)
def test_tags_that_were_side_by_side_stay_so_if_there_are_words_for_all(tags, expected):
    weights = WordWeights("It is raining", "Es regnet", *PIECES, WEIGHTS)
    places = project(weights, tags, [(False, False)] * len(tags))
    assert ["Es regnet"[start:end] for start, end in places] == expected
