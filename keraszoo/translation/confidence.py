"""Confidence: the probability that a translation is good, from the probability that the model gives it."""

from typing import Annotated

import numpy as np
from pydantic import Field

from keraszoo.errors import DataError, KerasZooError
from keraszoo.saving.entries import Entries
from keraszoo.text.parallel import clean_text

THRESHOLD = 60.0  # chrF2
LEAST = 1e-6  # confidences stay away from 0 and 1
_Weight = Annotated[float, Field(ge=-1e6, le=1e6)]


class Confidence(Entries):
    """Maps a translation y of T tokens to the probability that its chrF2 is at least a threshold.

        p = sigmoid(bias + slope * log p(y | x) / T + length * log T)

    A logistic regression (Platt 1999) of whether the best chrF2 against the references of a held-out sentence
    reached the threshold. The log-probability is normalised by length, and T has a weight of its own, because
    at the same mean a long translation is wrong more often or less often than a short one.

    Attributes:
        threshold: chrF2 of a good translation, 0 to 100.
        bias, slope, length: the weights.

    Example:

    >>> confidence = Confidence(threshold=60.0, bias=2.0, slope=4.0, length=0.0)
    >>> confidence(-0.8, 8), confidence(-8.0, 8)
    (0.8320183851339245, 0.11920292202211755)

    Reference: Platt: Probabilistic Outputs for Support Vector Machines, 1999; Niculescu-Mizil and Caruana:
    Predicting Good Probabilities With Supervised Learning, 2005, https://dl.acm.org/doi/10.1145/1102351.1102430.
    """

    threshold: Annotated[float, Field(ge=0, le=100)]
    bias: _Weight
    slope: _Weight
    length: _Weight

    def __call__(self, log_prob, tokens):
        """The probability, a float in (0, 1), for a natural log-probability of so many tokens."""
        score = self.bias + self.slope * log_prob / tokens + self.length * np.log(tokens)
        return float(np.clip(1 / (1 + np.exp(-np.clip(score, -500, 500))), LEAST, 1 - LEAST))

    @classmethod
    def fit(cls, log_probs, tokens, good, threshold=THRESHOLD):
        """The `Confidence` at which the results of held-out translations are likeliest.

        Args:
            log_probs, tokens: (N,) floats and ints.
            good: (N,) booleans, whether the chrF2 of each reached the threshold.
            threshold: that threshold.

        Raises:
            DataError: all are good, or none is.
        """
        from scipy.optimize import minimize
        from scipy.special import expit

        good, tokens = np.asarray(good, bool), np.asarray(tokens, "float64")
        if good.all() or not good.any():
            raise DataError(
                f"calibrate: {good.sum()} of {len(good)} translations have a chrF2 of at least "
                f"{threshold:g}, expected some that have, and some that have not"
            )
        features = np.stack([np.ones_like(tokens), np.asarray(log_probs) / tokens, np.log(tokens)], axis=1)

        def loss(weights):
            score = features @ weights
            ridge = 1e-4 * weights  # keeps the weights finite where a line separates the two kinds
            value = np.logaddexp(0, np.where(good, -score, score)).mean() + ridge @ weights / 2
            return value, features.T @ (expit(score) - good) / len(good) + ridge

        bias, slope, length = minimize(loss, np.zeros(3), jac=True, method="BFGS").x.tolist()
        return cls(threshold=float(threshold), bias=bias, slope=slope, length=length)


def judged(translator, pairs, threshold=THRESHOLD):
    """Translates held-out sentences and judges the translations: `(log_probs, tokens, good)`, lists.

    Args:
        translator: a `TextTranslator`.
        pairs: iterable of (source, target) strings; pairs of the same source are its references.
        threshold: the chrF2 of a good translation.
    """
    from sacrebleu.metrics import CHRF

    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= 100:
        raise KerasZooError(f"threshold must be from 0 to 100. Received: {threshold!r}")
    references = {}
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise DataError(f"calibrate: expected pairs of str, got {pair!r:.40}")
        source, target = map(clean_text, pair)
        if source and target:
            references.setdefault(source, []).append(target)
    if not references:
        raise DataError("calibrate: expected held-out pairs, got none")
    metric, found = CHRF(), translator.translate_details(list(references))
    translated = [(one, texts) for one, texts in zip(found, references.values(), strict=True) if one.tokens]
    good = [metric.sentence_score(one.text, texts).score >= threshold for one, texts in translated]
    return [one.log_prob for one, _ in translated], [len(one.tokens) for one, _ in translated], good
