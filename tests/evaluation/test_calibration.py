"""Calibration: against a loop over predictions, and against cases known by heart."""

import numpy as np
import pytest

from keraszoo.errors import ScoreError
from keraszoo.evaluation import expected_calibration_error, reliability


def by_loop(probabilities, correct, bins):
    groups = [[] for _ in range(bins)]
    for p, right in zip(probabilities, correct, strict=True):
        place = next(i for i in range(bins) if p <= (i + 1) / bins)
        groups[place].append((p, right))
    error = 0
    for group in filter(None, groups):
        error += abs(sum(p for p, _ in group) - sum(right for _, right in group))
    return [len(group) for group in groups], error / len(correct)


@pytest.mark.parametrize("bins", [1, 7, 10])
def test_equals_a_loop(bins):
    generator = np.random.default_rng(3)
    probabilities = generator.random(211)
    correct = generator.random(211) < probabilities**2
    counts, error = by_loop(probabilities, correct, bins)
    measured = reliability(probabilities, correct, bins)
    assert [group.count for group in measured] == counts
    assert expected_calibration_error(measured) == pytest.approx(error)


def test_bounds_belong_to_the_bin_below_and_errors_are_0_to_1():
    assert [group.count for group in reliability([0.0, 0.5, 1.0], [True] * 3, np.int64(2))] == [2, 1]
    assert expected_calibration_error(reliability([1.0, 0.0], [True, False])) == 0
    assert expected_calibration_error(reliability([1.0, 0.0], [False, True])) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "as many probabilities as results"),
        (([0.5], [True, False]), "as many probabilities as results"),
        (([1.5], [True]), "probabilities in"),
        *((([0.5], [True], bins), "bins must be at least 1, got") for bins in (0, -1, 2.5)),
    ],
)
def test_what_has_no_bins_is_refused(arguments, message):
    with pytest.raises(ScoreError, match=message):
        reliability(*arguments)
