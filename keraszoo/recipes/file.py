"""Reads recipe files: YAML with overrides from the command line, and the paths in it, which stay text."""

import functools
import os
import re
from typing import Annotated

from pydantic import ValidationInfo, WrapValidator

from keraszoo.errors import RecipeError
from keraszoo.messages import one_line, shown
from keraszoo.saving import yaml_text
from keraszoo.shipping import cache, hub, shipped

VARIABLE = re.compile(r"\$\{(?P<name>\w+)(:-(?P<default>[^}]*))?\}")


class Typed(str):
    """A text given with `--set`. As a path, it starts from the current folder, not from the recipe's."""


def read_values(path, overrides=()):
    """Reads a recipe: `(values, lines)`, a nested dict and `{("training", "seed"): "recipe.yaml:12"}`.

    `overrides` are strings such as `"training.seed=3"`. Raises RecipeError: the file cannot be read, is not a
    YAML mapping, or has a key twice; or as `set_value`.
    """
    lines = {}
    values = yaml_text.parse(yaml_text.read_text(path, RecipeError), path, RecipeError, lines=lines)
    if not isinstance(values, dict):
        came = "nothing" if values is None else type(values).__name__
        raise RecipeError(f"{path}: expected the sections of a recipe (data, output, ...), got {came}")
    for override in overrides:
        set_value(values, override, lines)
    return values, lines


def set_value(values, override, lines):
    """Applies `"training.seed=3"`, whose value is YAML, to nested `values` and to `lines`, in place.

    Raises RecipeError: no `=`, no key, invalid YAML, or a part of the key is not a section.

    >>> values = {"training": {"seed": 1}}
    >>> set_value(values, "training.epochs=3", {})
    >>> values
    {'training': {'seed': 1, 'epochs': 3}}
    """
    dotted, equals, text = override.partition("=")
    keys = tuple(dotted.strip().split("."))
    if not equals or not all(keys):
        raise RecipeError(f"--set {one_line(override):.100}: expected key=value such as training.seed=3")
    section = values
    for depth, key in enumerate(keys[:-1], start=1):
        if section.get(key) is None:
            section[key] = {}
        section = section[key]
        if not isinstance(section, dict):
            raise RecipeError(
                f"--set {one_line(override):.100}: {'.'.join(keys[:depth])} is a value, not a section"
            )
    section[keys[-1]] = yaml_text.parse(
        text, f"--set {one_line(dotted.strip()):.100}", RecipeError, kind=Typed
    )
    for place in [place for place in lines if place[: len(keys)] == keys]:
        del lines[place]
    lines[keys] = "--set"


def resolve(text, file):
    """Returns the path of a file or a folder that a recipe names.

    `~`, `${NAME}` and `${NAME:-value}` are expanded. A relative path starts from the folder of `file`, the
    recipe's. A text that is `Typed`, begins with an environment variable that is set, or is in a recipe
    without a folder of its own (`/dev/stdin`, a pipe), starts from the current folder. With `file=None`, the
    text stays as it is.

    Raises ValueError: the text is empty, has a NUL or is an address on the Hub, or an environment variable is
    not set (or empty).

    >>> resolve("${KERASZOO_NO_SUCH_NAME:-data}/train.en", "recipes/small.yaml")
    'recipes/data/train.en'
    """
    if not text or "\0" in text:
        raise ValueError(f"expected a path, got {text[:60]!r}")
    if hub.is_address(text):
        raise ValueError(f"expected a path, got an address on the Hub, {shown(text)}")
    if file is None:
        return text.rstrip("/") or "/"
    return os.path.normpath(os.path.join(_folder(text, file), _expanded(text)))


def resolve_preset(text, file):
    """Returns what `shipped.find` looks up: an address on the Hub, the name of an included model, or a path.

    A name of an included model never is that of a folder next to the recipe. `file` is as for `resolve`.
    """
    name = text if file is None else _expanded(text)
    if hub.is_address(name):
        return hub.PREFIX + hub.repository(name)
    path = resolve(text, file)
    name = path if file is None else name
    if not re.fullmatch(r"[\w-]+", name):
        return path
    if (place := shipped.places().get(name)) is not None:
        return str(place)
    return name if name in cache.index() or not os.path.exists(path) else path


def with_ending(text, ending):
    """The text of a path with another ending, which starts from the same folder."""
    return type(text)(f"{text.rstrip('/')}{ending}")


def _folder(text, file):
    first = VARIABLE.match(text)
    given = isinstance(text, Typed) or (first and os.environ.get(first["name"]))
    given = given or str(file).startswith(("/dev/", "/proc/"))
    return os.getcwd() if given else os.path.dirname(file)


def _expanded(text):
    def value(match):
        value = os.environ.get(match["name"]) or match["default"]
        if not value:
            raise ValueError(f"the environment variable {match['name']} is not set, in {text!r}")
        return value

    return os.path.expanduser(VARIABLE.sub(value, text))


def _check(value, check, info: ValidationInfo, resolver):
    """Checks the text of a path, which `resolver` will resolve."""
    text, recipe = type(value)(check(value)), info.context
    path = resolver(text, recipe and recipe["file"])
    # the run of a recipe reads its files more than once
    if recipe and os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise ValueError("expected a file, got a pipe or a device")
    return text


Path = Annotated[str, WrapValidator(functools.partial(_check, resolver=resolve))]
Preset = Annotated[str, WrapValidator(functools.partial(_check, resolver=resolve_preset))]
