"""What the requests to `keraszoo serve` may contain, with their limits."""

from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

from pydantic import AfterValidator, Field

from keraszoo.errors import KerasZooError
from keraszoo.messages import shown
from keraszoo.saving.entries import Entries, checked
from keraszoo.serving.http import FORM, TEXT

MOST_ENTRIES = 100  # of a form


def _texts(value):
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"expected a text or a list of texts, got {shown(value)}")
    if (count := sum(map(len, texts))) > TEXT:
        raise ValueError(f"expected at most {TEXT:,} characters, got {count:,}")
    return value


def _some(value):
    if not value:
        raise ValueError("expected a text, got none")
    return value


Texts = Annotated[Any, AfterValidator(_texts)]  # a str, or a list of str


class Translate(Entries):
    """Texts to translate, as LibreTranslate takes them. Its keys are not checked."""

    q: Annotated[Texts, AfterValidator(_some)]
    source: str
    target: str
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(default=0, ge=0)
    api_key: str | None = None
    secret: str | None = None


class Detect(Entries):
    """A text whose language is asked for, as LibreTranslate takes it."""

    q: Annotated[Texts, AfterValidator(_some)]
    api_key: str | None = None


class Tag(Entries):
    """Texts to tag, and the name of the tagger; by default the first."""

    text: Texts
    model: str | None = None


def parsed(entries, kind, body):
    """Returns the `Entries` object of a request, sent as JSON or as a form. Raises KerasZooError."""
    if kind != FORM:
        return checked(entries, body, "", KerasZooError)
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_ENTRIES)
    except ValueError as error:
        raise KerasZooError(f"cannot read the form: {error}") from error
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise KerasZooError(
            f"{twice!r:.40}: expected once in a form, got it more often; JSON takes a list of texts"
        )
    if len(number := values.get("alternatives", "")) < 10 and number.isdecimal():
        values["alternatives"] = int(number)
    return checked(entries, values, "", KerasZooError)
