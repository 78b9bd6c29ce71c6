"""Checks values that people or other programs wrote: known names, exact types, no conversion."""

import numbers
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from keraszoo.errors import PresetError
from keraszoo.messages import one_line, shown, suggestion

Size = Annotated[int, Field(ge=0, le=1 << 31)]  # no size, id or count of a model is larger
Rate = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, le=1 << 31)]
PLAIN = dict[str, bool | Annotated[int, Field(ge=0, le=1 << 31)] | float | str | None]
KINDS = {dict: PLAIN, bool: bool, int: Size, float: Rate, str: str, numbers.Real: Positive}
MOST_SAID = 20  # problems of one message


class Entries(BaseModel):
    """Base class of the entries of a file."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def argument_entries(parameters):
    """Makes an `Entries` class of constructor arguments: dict of name -> `inspect.Parameter`.

    The type of an argument is its annotation, otherwise that of its default. Integers are sizes, floats are
    rates. An argument without a type is an integer, and may be null if it is null by default.
    """
    fields = {}
    for name, parameter in parameters.items():
        default = None if parameter.default is parameter.empty else parameter.default
        kind = type(default) if parameter.annotation is parameter.empty else parameter.annotation
        kind = KINDS.get(kind, Size)
        required = parameter.default is parameter.empty
        fields[name] = (kind, ...) if required else (kind | None if default is None else kind, default)
    return create_model("Arguments", __base__=Entries, **fields)


def checked(entries, values, where, error=PresetError, *, lines=None, context=None):
    """Returns the `Entries` object of a dict, or of JSON in bytes.

    Raises `error`: one line with each problem: its place, the entry, what was expected and received. The
    place is `where`, or that of the key in `lines`, such as `{("training", "seed"): "recipe.yaml:3"}`.
    `context` is for the validators of the entries.

    >>> checked(create_model("Sizes", __base__=Entries, units=(Size, 0)), {"units": 1.5}, "config.json")
    Traceback (most recent call last):
    keraszoo.errors.PresetError: config.json: units: expected a valid integer, got 1.5
    """
    validate = entries.model_validate_json if isinstance(values, bytes) else entries.model_validate
    try:
        return validate(values, context=context)
    except ValidationError as found:
        problems = found.errors(include_url=False)[:MOST_SAID]
    said = [_sentence(problem, entries, where, lines or {}) for problem in problems]
    raise error(one_line("; ".join(dict.fromkeys(said))))


def _sentence(problem, entries, where, lines):
    keys = tuple(str(key) for key in problem["loc"])
    place = next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), where)
    return ": ".join(filter(None, [str(place), f"{'.'.join(keys):.100}", _what(problem, entries, keys)]))


def _what(problem, entries, keys):
    kind, came = problem["type"], shown(problem["input"])
    if kind == "extra_forbidden":
        return f"unknown key{_key_suggestion(entries, keys)}"
    if kind == "missing":
        return "missing, and there is no default"
    if kind == "value_error":  # raised by a validator of ours
        return str(problem["ctx"]["error"])
    if kind == "string_too_long":
        came = f"{len(problem['input']):,} characters"
    if kind in ("model_type", "model_attributes_type"):
        section = _sections(entries).get(keys)
        known = f" with some of {', '.join(section.model_fields)}" if section else ""
        return f"expected a section{known}, got {came}"
    expected = problem["msg"].replace("Input should be", "expected").replace("a valid string", "text")
    return f"{expected}, got {came}"


def _key_suggestion(entries, keys):
    sections = _sections(entries)
    known = [(*above, name) for above, section in sections.items() for name in section.model_fields]
    elsewhere = sorted(".".join(place) for place in known if place[-1] == keys[-1])
    if elsewhere:
        return f", did you mean {' or '.join(elsewhere)}?"
    return suggestion(keys[-1], list(sections[keys[:-1]].model_fields) if keys[:-1] in sections else [])


def _sections(entries, above=()):
    """All sections of entries, themselves included: dict of keys -> pydantic model."""
    sections = {above: entries}
    for name, field in entries.model_fields.items():
        for kind in getattr(field.annotation, "__args__", (field.annotation,)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                sections |= _sections(kind, (*above, name))
    return sections
