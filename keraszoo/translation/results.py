"""What became of a sentence."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A translation that a search found: its text, its natural log-probability and its score."""

    text: str
    log_prob: float
    score: float


@dataclasses.dataclass(frozen=True)
class Translation:
    """What became of one sentence.

    Attributes:
        text: the best translation.
        log_prob: natural logarithm of its probability, the sum over `tokens`.
        tokens: its T subword pieces, `</s>` the last (unless it was cut at the maximum length).
        source_tokens: the S pieces of the source, `</s>` the last.
        attention_weights: float32 `(T, S)`, row t: where the model looked when it wrote token t; `None` if it
            attends to nothing.
        hypotheses: all that were asked for, the best first.
        truncated: whether the source was longer than the model takes, and its rest left out.
    """

    text: str
    log_prob: float
    tokens: list
    source_tokens: list
    attention_weights: np.ndarray | None
    hypotheses: list
    truncated: bool = False
