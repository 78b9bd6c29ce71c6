"""What a translator returns: hypotheses, and translations with their details."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A translation from a search: its text, its natural log-probability and its score."""

    text: str
    log_prob: float
    score: float


@dataclasses.dataclass(frozen=True)
class Translation:
    """The translation of one sentence, with its details.

    Attributes:
        text: the best translation.
        log_prob: natural logarithm of its probability, the sum over `tokens`.
        tokens: its T subword pieces, ending with `</s>` (unless cut at the maximum length).
        source_tokens: the S pieces of the source, ending with `</s>`.
        attention_weights: float32 `(T, S)`, row t for token t; `None` if the model does not use attention.
        hypotheses: all requested hypotheses, the best first.
        truncated: whether the source was longer than the model accepts, so that its end was cut.
    """

    text: str
    log_prob: float
    tokens: list
    source_tokens: list
    attention_weights: np.ndarray | None
    hypotheses: list
    truncated: bool = False
