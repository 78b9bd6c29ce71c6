"""What every search returns."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Hypotheses:
    """The hypotheses of B sentences, K for each, the best first.

    Attributes:
        tokens: int32 `(B, K, L)`, ending with `</s>` (unless cut at the maximum length), then `</s>` as
            padding.
        lengths: int32 `(B, K)`, tokens of each, `</s>` included; 0 where there are fewer than K hypotheses.
        log_prob: float32 `(B, K)`, the natural logarithm of the model's probability of these `lengths`
            tokens.
        score: float32 `(B, K)`, what they are ranked by (`SearchOptions`); -inf where there is none.
        attention_weights: float32 `(B, K, L, S)`, row t: where the model looked when it wrote token t; or
            `None`.
    """

    tokens: Any
    lengths: Any
    log_prob: Any
    score: Any
    attention_weights: Any = None
