"""The result of every search, and the score that ranks it."""

import dataclasses
from typing import Any

from keras import ops


@dataclasses.dataclass(frozen=True)
class Hypotheses:
    """The hypotheses of B sentences, K for each, the best first.

    Attributes:
        tokens: int32 `(B, K, L)`, ending with `</s>` (unless cut at the maximum length), then `</s>` as
            padding.
        lengths: int32 `(B, K)`, number of tokens, `</s>` included; 0 where there are fewer than K hypotheses.
        log_prob: float32 `(B, K)`, the natural logarithm of the model's probability of these tokens.
        score: float32 `(B, K)`, the score of `SearchOptions`; -inf where there is no hypothesis.
        attention_weights: float32 `(B, K, L, S)`, row t holds the weights at token t; or `None`.
    """

    tokens: Any
    lengths: Any
    log_prob: Any
    score: Any
    attention_weights: Any = None


def length_penalty(length, options):
    """The divisor of a log-probability: length^a, or ((5 + length) / 6)^a (Wu et al. 2016, eq. 14)."""
    length = ops.cast(ops.maximum(length, 1), "float32")
    base = length if options.normalization == "length" else (5.0 + length) / 6.0
    return base**options.length_penalty


def score_of(log_prob, length, options, attention_weights=None, memory_mask=None):
    """The score of hypotheses, by the equation of `SearchOptions`: `(...)`.

    Args:
        log_prob, length: `(...)` and int `(...)`, or a scalar for all.
        options: `SearchOptions`: `length_penalty`, `normalization` and `coverage_penalty` are used.
        attention_weights, memory_mask: for a coverage penalty, `(..., L, S)`, zero beyond the length, and
            bool, broadcastable to `(..., S)`, `True` at words of the source.
    """
    score = log_prob / length_penalty(length, options)
    if options.kind.coverage_penalty:
        covered = ops.log(ops.clip(ops.sum(attention_weights, axis=-2), 1e-6, 1.0))  # (..., S)
        covered = ops.where(memory_mask, covered, 0.0)
        score = score + options.coverage_penalty * ops.sum(covered, axis=-1)
    return score
