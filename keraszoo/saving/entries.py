"""Checks the entries of a file from an untrusted author: known names, exact types, no conversion."""

import numbers
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from keraszoo.errors import PresetError
from keraszoo.messages import shown, suggestion

Size = Annotated[int, Field(ge=0, le=1 << 31)]  # no size, id or count of a model is larger
Rate = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, le=1 << 31)]
KINDS = {bool: bool, int: Size, float: Rate, str: str, numbers.Real: Positive}


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


def checked(entries, values, where):
    """Returns the `Entries` object of a dict.

    Args:
        entries: a subclass of `Entries`.
        values: the dict.
        where: the file, for messages.

    Raises:
        PresetError: one line that names the file, the first wrong entry, what was expected and received.

    Example:

    >>> checked(create_model("Sizes", __base__=Entries, units=(Size, 0)), {"units": 1.5}, "config.json")
    Traceback (most recent call last):
    keraszoo.errors.PresetError: config.json: units: expected a valid integer, got 1.5
    """
    try:
        return entries.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
    *above, name = problem["loc"] or ("the entries",)
    if problem["type"] == "extra_forbidden" and not above:
        said = f"there is no {shown(name)}{suggestion(name, list(entries.model_fields))}"
        raise PresetError(f"{where}: {said:.300}")
    place = ".".join(map(str, (*above, name)))
    expected = problem["msg"].replace("Input should be", "expected")
    raise PresetError(f"{where}: {place:.100}: {expected}, got {shown(problem['input'])}")
