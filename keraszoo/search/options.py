"""The options of a search."""

import dataclasses
import functools
import types

from keraszoo.errors import KerasZooError, plain_number
from keraszoo.messages import suggestion

# Numbers that a graph takes as tensors, and the number that stands for all that change a result.
NUMERIC = {"length_penalty": 1.0, "coverage_penalty": 1.0, "min_length": 1, "temperature": 1.0, "top_p": 0.5}
UNUSED = {"coverage_penalty": 0.0, "min_length": 0, "top_p": 1.0}  # these need no operations
TYPES = {bool: "True or False", int: "a whole number", float: "a number", str: "a string"}


def option(default, least=None, most=None, choices=None, draws=False):
    """A field of `SearchOptions` with its smallest and largest value, or its only ones.

    `draws` marks what only sampling reads.
    """
    limits = {"least": least, "most": most, "choices": choices, "draws": draws}
    return dataclasses.field(default=default, metadata=limits)


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
        top_p: draw from the fewest words that together have at least this probability, up to 1.
        seed: seed of the draws; another seed gives another translation.

    Raises:
        KerasZooError: a value is out of range, beams and sampling are combined, or temperature, top_k, top_p
            or a seed is given without sampling.
    """

    beam_width: int = option(5, least=1, most=1000)
    num_hypotheses: int = option(1, least=1)
    max_length: int = option(100, least=1, most=100_000)
    min_length: int = option(0, least=0)
    length_penalty: float = option(1.0, least=0, most=5)
    normalization: str = option("length", choices=("length", "gnmt"))
    coverage_penalty: float = option(0.0, least=0, most=1000)
    no_repeat_ngram: int = option(0, least=0)
    sampling: bool = option(False)
    temperature: float = option(1.0, least=1e-38, draws=True)
    top_k: int = option(0, least=0, draws=True)
    top_p: float = option(1.0, least=1e-38, most=1, draws=True)
    seed: int = option(0, draws=True)

    def __post_init__(self):
        fields = dataclasses.fields(self)
        for field in fields:
            object.__setattr__(self, field.name, plain_number(getattr(self, field.name)))
            self._check_type(field)
        for field in fields:
            self._check_range(field)
        if self.sampling and self.beam_width > 1:
            raise KerasZooError(f"Sampling keeps one hypothesis. Received: beam_width={self.beam_width}")
        for name, default in self.of_draws().items():
            if not self.sampling and getattr(self, name) != default:
                raise KerasZooError(
                    f"{name} is for sampling=True alone. Received: {name}={getattr(self, name)!r}"
                )

    def _check_type(self, field):
        value, kind = getattr(self, field.name), type(field.default)
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise KerasZooError(f"{field.name} must be {TYPES[kind]}. Received: {value!r}")

    def _check_range(self, field):
        name, value, limits = field.name, getattr(self, field.name), field.metadata
        least, choices = limits["least"], limits["choices"]
        most, by = {
            "num_hypotheses": (self.beam_width, " (beam_width)"),
            "min_length": (self.max_length - 1, " (max_length - 1)"),
        }.get(name, (limits["most"], ""))
        fits = (least is None or value >= least) and (most is None or value <= most)
        if choices and value not in choices:
            wanted = " or ".join(f'"{choice}"' for choice in choices)
            raise KerasZooError(f"{name} must be {wanted}. Received: {value!r}")
        if not fits:
            wanted = f"at least {least}" if most is None else f"from {least} to {most}{by}"
            raise KerasZooError(f"{name} must be {wanted}. Received: {value!r}")

    @functools.cached_property
    def kind(self):
        """What decides the operations of a search: not the seed, not `num_hypotheses`, which is the width of
        the beam here, and not the values of `NUMERIC`.

        >>> SearchOptions(length_penalty=0.6).kind == SearchOptions(length_penalty=1.3).kind
        True
        """
        values = {name: value for name, value in NUMERIC.items() if getattr(self, name) != UNUSED.get(name)}
        return dataclasses.replace(self, **values, num_hypotheses=self.beam_width, seed=0)

    @property
    def numeric(self):
        """The values of `NUMERIC`, a tuple."""
        return tuple(getattr(self, name) for name in NUMERIC)

    def with_numeric(self, values):
        """The same options with the scalar tensors of a graph as `NUMERIC`, for `search` alone."""
        given = dict(zip(NUMERIC, values, strict=True))
        return types.SimpleNamespace(**{**vars(self), **given, "kind": self.kind})

    @classmethod
    def of_draws(cls):
        """The options that only sampling reads, a dict of name -> default."""
        return {field.name: field.default for field in dataclasses.fields(cls) if field.metadata["draws"]}

    def replace(self, **changes):
        """Returns the same options with some changed, or raises a KerasZooError; `None` changes nothing.

        `sampling=False` also resets the options of sampling that are not given.
        """
        changes = {name: plain_number(value) for name, value in changes.items() if value is not None}
        known = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                raise KerasZooError(f"There is no search option {name!r}{suggestion(name, known)}")
        if changes.get("sampling"):
            changes.setdefault("beam_width", 1)
        if changes.get("sampling") is False:
            changes = {**self.of_draws(), **changes}
        width = changes.get("beam_width")
        if isinstance(width, int) and width < self.num_hypotheses:
            changes.setdefault("num_hypotheses", max(width, 1))
        return dataclasses.replace(self, **changes)

    def as_dict(self):
        """Returns the options as a dict of JSON values."""
        return dataclasses.asdict(self)
