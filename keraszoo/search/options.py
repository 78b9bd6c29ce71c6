"""The options of a search."""

import dataclasses

from keraszoo.errors import KerasZooError, plain_number
from keraszoo.messages import suggestion

KINDS = {
    bool: (bool, "True or False"),
    int: (int, "a whole number"),
    float: ((int, float), "a number"),
    str: (str, "a string"),
}
LEAST = {  # the smallest value of an option
    "beam_width": 1,
    "num_hypotheses": 1,
    "max_length": 1,
    "min_length": 0,
    "length_penalty": 0,
    "coverage_penalty": 0,
    "no_repeat_ngram": 0,
    "top_k": 0,
}
HIGHEST = {"beam_width": 1000, "max_length": 100_000, "length_penalty": 5, "coverage_penalty": 1000}
HIGHEST_BY = {"num_hypotheses": " (beam_width)", "min_length": " (max_length - 1)"}
NORMALIZATIONS = ("length", "gnmt")
DRAWS = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0}  # read by sampling only


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """The options of a search.

    The score that ranks hypotheses is, as in Wu et al. 2016, equation 14,

        log_prob / penalty(length) + coverage_penalty * sum_j log min(sum_i alpha_ij, 1)

    with `penalty(length)` = ((5 + length) / 6)^length_penalty for `"gnmt"` and length^length_penalty for
    `"length"`; length counts `</s>`. With a length penalty of 0 the score is the log-probability itself.

    Attributes:
        beam_width: W, hypotheses kept alive for each sentence; 1 is greedy search.
        num_hypotheses: the number of hypotheses to return, at most W.
        max_length: the most tokens of a hypothesis, `</s>` included.
        min_length: the fewest tokens before `</s>`.
        length_penalty: the exponent, 0 to about 2, at most 5: higher values prefer longer hypotheses.
        normalization: `"length"` or `"gnmt"`.
        coverage_penalty: beta; higher values penalise source words with little attention.
        no_repeat_ngram: n-grams of this size occur at most once in a hypothesis; 0 allows all. Greedy search,
            which cannot go back, repeats one where no other word may be written.
        sampling: draw each word instead of searching; the beam width is then 1.
        temperature: divides the logits before drawing; below 1 sharpens.
        top_k: draw only from the k likeliest words; 0 from all.
        top_p: draw from the fewest words that together have at least this probability, in (0, 1].
        seed: seed of the draws; another seed gives another translation.

    Raises:
        KerasZooError: a value is out of range, beams and sampling are combined, or temperature, top_k, top_p
            or a seed is given without sampling.
    """

    beam_width: int = 5
    num_hypotheses: int = 1
    max_length: int = 100
    min_length: int = 0
    length_penalty: float = 1.0
    normalization: str = "length"
    coverage_penalty: float = 0.0
    no_repeat_ngram: int = 0
    sampling: bool = False
    temperature: float = DRAWS["temperature"]
    top_k: int = DRAWS["top_k"]
    top_p: float = DRAWS["top_p"]
    seed: int = DRAWS["seed"]

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value, (types, kind) = plain_number(getattr(self, field.name)), KINDS[type(field.default)]
            object.__setattr__(self, field.name, value)
            if not isinstance(value, types) or isinstance(value, bool) != (types is bool):
                raise KerasZooError(f"{field.name} must be {kind}. Received: {value!r}")
        highest = {**HIGHEST, "num_hypotheses": self.beam_width, "min_length": self.max_length - 1}
        for name, low in LEAST.items():
            value, high = getattr(self, name), highest.get(name)
            wanted = f"at least {low}" if high is None else f"from {low} to {high}{HIGHEST_BY.get(name, '')}"
            if not low <= value or (high is not None and value > high):
                raise KerasZooError(f"{name} must be {wanted}. Received: {value!r}")
        if self.normalization not in NORMALIZATIONS:
            raise KerasZooError(f'normalization must be "length" or "gnmt". Received: {self.normalization!r}')
        if not self.temperature > 0:
            raise KerasZooError(f"temperature must be above 0. Received: {self.temperature!r}")
        if not 0 < self.top_p <= 1:
            raise KerasZooError(f"top_p must be above 0 and at most 1. Received: {self.top_p!r}")
        if self.sampling and self.beam_width > 1:
            raise KerasZooError(f"Sampling keeps one hypothesis. Received: beam_width={self.beam_width}")
        for name, default in DRAWS.items():
            if not self.sampling and getattr(self, name) != default:
                raise KerasZooError(
                    f"{name} is for sampling=True alone. Received: {name}={getattr(self, name)!r}"
                )

    def replace(self, **changes):
        """Returns the same options with some changed; `None` changes nothing.

        `sampling=False` also resets the options of sampling that are not given.

        Raises:
            KerasZooError: an unknown option, with the nearest name, or a value out of range.
        """
        changes = {name: plain_number(value) for name, value in changes.items() if value is not None}
        known = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                raise KerasZooError(f"There is no search option {name!r}{suggestion(name, known)}")
        if changes.get("sampling"):
            changes.setdefault("beam_width", 1)
        if changes.get("sampling") is False:
            changes = {**DRAWS, **changes}
        width = changes.get("beam_width")
        if isinstance(width, int) and width < self.num_hypotheses:
            changes.setdefault("num_hypotheses", max(width, 1))
        return dataclasses.replace(self, **changes)

    def as_dict(self):
        """Returns the options as a dict of JSON values."""
        return dataclasses.asdict(self)
