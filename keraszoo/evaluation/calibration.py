"""Whether probabilities can be believed: reliability by bins, and the expected calibration error."""

import itertools
from dataclasses import dataclass

import numpy as np

from keraszoo.errors import ScoreError, check_at_least


@dataclass(frozen=True)
class ReliabilityBin:
    """The `count` predictions with probabilities above `low` and up to `high`; the first bin contains 0.

    `probability` is their mean, and `accuracy` the share that is right; `None` without predictions.
    """

    low: float
    high: float
    count: int
    probability: float | None
    accuracy: float | None


def reliability(probabilities, correct, bins=10):
    """Groups predictions by probability and compares each group's mean probability with its accuracy.

    Args:
        probabilities: (N,) floats in [0, 1].
        correct: (N,) booleans, whether each prediction is right.
        bins: number of bins of equal width.

    Raises:
        ScoreError: no predictions, different lengths, a probability outside [0, 1], or `bins` that is not
            a positive integer.

    Example:

    >>> low, high = reliability([0.3, 0.5, 0.9, 0.7], [False, True, True, True], bins=2)
    >>> low.count, low.probability, low.accuracy
    (2, 0.4, 0.5)
    """
    check_at_least(ScoreError, bins=(bins, 1))
    probabilities, correct = np.asarray(probabilities, "float64"), np.asarray(correct, bool)
    if probabilities.ndim != 1 or probabilities.shape != correct.shape or len(correct) == 0:
        raise ScoreError(
            f"expected as many probabilities as results, got {probabilities.shape} and {correct.shape}"
        )
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ScoreError("expected probabilities in [0, 1]")
    edges = np.linspace(0, 1, bins + 1).tolist()
    places = np.maximum(np.searchsorted(edges, probabilities), 1) - 1  # (N,)
    result = []
    for place, bounds in enumerate(itertools.pairwise(edges)):
        inside = places == place
        means = [
            float(values[inside].mean()) if inside.any() else None for values in (probabilities, correct)
        ]
        result.append(ReliabilityBin(*bounds, int(inside.sum()), *means))
    return result


def expected_calibration_error(bins):
    """Returns the mean distance of probability and accuracy over all predictions, in [0, 1].

        ECE = sum over bins (n_bin / N) |accuracy - probability|

    `bins` is the result of `reliability`.

    Example:

    >>> expected_calibration_error(reliability([0.5, 1.0], [True, True]))
    0.25

    Reference: Guo et al., 2017, https://arxiv.org/abs/1706.04599, eq. 3.
    """
    total = sum(group.count for group in bins)
    return sum(g.count * abs(g.accuracy - g.probability) for g in bins if g.count) / total
