"""What the requests of the page may contain, with their limits."""

from typing import Annotated

from pydantic import Field

from keraszoo.saving.entries import Entries
from keraszoo.serving.http import TEXT

SENTENCE, STORY = 500, 5_000  # characters

Sentence = Annotated[str, Field(min_length=1, max_length=SENTENCE, pattern=r"\S")]
Piece = Annotated[str, Field(max_length=100)]


class Translate(Entries):
    """A sentence to translate, and the search."""

    model: str
    text: Sentence
    beam_width: int = Field(default=5, ge=1, le=10)
    length_penalty: float = Field(default=1.0, ge=0, le=2)


class Step(Entries):
    """The beginning of a translation in subwords, to continue greedily."""

    model: str
    text: Sentence
    prefix: list[Piece] = Field(default=[], max_length=99)


class Tag(Entries):
    """A text to tag."""

    model: str
    text: Annotated[str, Field(max_length=TEXT)]


class Ask(Entries):
    """A story, one sentence per line, and a question."""

    model: str
    story: Annotated[str, Field(max_length=STORY)]
    question: Sentence


class Kernel(Entries):
    """The bandwidth of a kernel regression and the point where it is looked at."""

    bandwidth: float = Field(ge=0.01, le=10)
    query: float = Field(ge=-10, le=20)


class Positions(Entries):
    """A shift of positions."""

    shift: int = Field(ge=-40, le=40)


class Softmax(Entries):
    """Scores, and which of them are kept."""

    scores: list[Annotated[float, Field(ge=-1e6, le=1e6)]] = Field(min_length=1, max_length=20)
    mask: list[bool] = Field(min_length=1, max_length=20)
