"""Reads recipe files: YAML, overrides from the command line, relative paths, and one-line errors."""

import os
import re
from typing import Annotated

import yaml
from pydantic import BaseModel, PlainSerializer, ValidationInfo, WrapValidator

from keraszoo.errors import RecipeError
from keraszoo.messages import one_line, shown, suggestion
from keraszoo.saving import yaml_text
from keraszoo.shipping import hub, shipped

VARIABLE = re.compile(r"\$\{(?P<name>\w+)(:-(?P<default>[^}]*))?\}")


class ResolvedPath(str):
    """A path that can be opened; `written` is the recipe's text, `expanded` has its variables replaced."""

    written: str
    expanded: str

    def __new__(cls, resolved, written, expanded=None):
        path = super().__new__(cls, resolved)
        path.written, path.expanded = written, written if expanded is None else expanded
        return path


class Typed(str):
    """A string given with `--set`. As a path it is relative to the current folder, not to the recipe."""


def resolve_path(written, recipe_file=None):
    """Resolves a path of a recipe.

    Args:
        written: the path; `~`, `${NAME}` and `${NAME:-value}` are expanded.
        recipe_file: the recipe's file; relative paths start from its folder. None changes nothing. A path
            that is `Typed`, begins with an environment variable, or is in a recipe without a folder of its
            own (`/dev/stdin`, a pipe) starts from the current folder.

    Returns:
        A ResolvedPath.

    Raises:
        ValueError: the path is empty or has a NUL, or an environment variable is not set (or empty).

    Example:

    >>> resolve_path("${KERASZOO_NO_SUCH_NAME:-data}/train.en", "recipes/small.yaml")
    'recipes/data/train.en'
    """
    if not written or "\0" in written:
        raise ValueError(f"expected a path, got {written[:60]!r}")
    if recipe_file is None:
        return ResolvedPath(written.rstrip("/") or "/", written)

    def variable(match):
        value = os.environ.get(match["name"]) or match["default"]
        if not value:
            raise ValueError(f"the environment variable {match['name']} is not set, in {written!r}")
        return value

    expanded = os.path.expanduser(VARIABLE.sub(variable, written))
    first = VARIABLE.match(written)
    given = isinstance(written, Typed) or (first and os.environ.get(first["name"]))
    given = given or str(recipe_file).startswith(("/dev/", "/proc/"))
    folder = os.getcwd() if given else os.path.dirname(recipe_file)
    return ResolvedPath(os.path.normpath(os.path.join(folder, expanded)), written, expanded)


def _resolve(value, check, info: ValidationInfo):
    text = check(value)
    if hub.is_address(text):
        raise ValueError(f"expected a path, got an address on the Hub, {shown(text)}")
    written = Typed(text) if isinstance(value, Typed) else text
    return resolve_path(written, (info.context or {}).get("recipe_file"))


def _resolve_or_address(value, check, info: ValidationInfo):
    if hub.is_address(text := check(value)):
        return ResolvedPath(hub.PREFIX + hub.repository(text), text)
    return _resolve_or_name(value, check, info)


def _resolve_or_name(value, check, info: ValidationInfo):
    path = _resolve(value, check, info)
    if not re.fullmatch(r"[\w-]+", path.expanded):
        return path
    if (place := shipped.places().get(path.expanded)) is not None:  # whatever lies next to the recipe
        return ResolvedPath(place, path.written)
    is_name = path.expanded in shipped.index() or not os.path.exists(path)
    return ResolvedPath(path.expanded, path.written) if is_name else path


# pydantic reads the signature, which an operator.attrgetter has in some versions of Python only
_AS_WRITTEN = PlainSerializer(lambda path: path.written, return_type=str)
FilePath = Annotated[str, WrapValidator(_resolve), _AS_WRITTEN]
FileOrName = Annotated[str, WrapValidator(_resolve_or_name), _AS_WRITTEN]
PathOrName = Annotated[str, WrapValidator(_resolve_or_address), _AS_WRITTEN]


def read_values(path, overrides=()):
    """Reads the values of a recipe and the place of each key.

    Args:
        path: the file.
        overrides: strings such as `"training.seed=3"`; see `set_value`.

    Returns:
        `(values, lines)`: the nested dictionary, and `{("training", "seed"): "recipe.yaml:12"}`.

    Raises:
        RecipeError: the file cannot be read, is not a YAML mapping, or has a key twice; or as `set_value`.
    """
    lines = {}
    values = _parse(yaml_text.read_text(path, RecipeError), path, lines)
    if not isinstance(values, dict):
        came = "nothing" if values is None else type(values).__name__
        raise RecipeError(f"{path}: expected the sections of a recipe (data, output, ...), got {came}")
    for override in overrides:
        set_value(values, override, lines)
    return values, lines


def set_value(values, override, lines):
    """Applies `"training.seed=3"` to a nested dictionary, in place.

    Args:
        values: the dictionary.
        override: the dotted key, `=`, and the value as YAML.
        lines: as returned by `read_values`; the key's place becomes the override.

    Raises:
        RecipeError: no `=`, no key, invalid YAML, or a part of the key is not a section.

    Example:

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
    section[keys[-1]] = _typed(_parse(text, f"--set {one_line(dotted.strip()):.100}", {}))
    for place in [place for place in lines if place[: len(keys)] == keys]:
        del lines[place]
    lines[keys] = "--set"


def _typed(value):
    """The value with every text in it `Typed`."""
    if isinstance(value, dict):
        return {key: _typed(element) for key, element in value.items()}
    if isinstance(value, list):
        return [_typed(element) for element in value]
    return Typed(value) if isinstance(value, str) else value


def _parse(text, where, lines):
    """Parses a YAML text; `lines` receives the place of each key."""
    return yaml_text.parse(text, where, RecipeError, lambda node: _note_lines(node, (), where, lines))


def _note_lines(node, keys, where, lines):
    """Records the place of each key; a repeated key is an error."""
    if isinstance(node, yaml.SequenceNode):
        for element in node.value:
            _note_lines(element, (*keys, "[]"), where, lines)
    if not isinstance(node, yaml.MappingNode):
        return
    first = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else f"[{line}]"
        if key in first:
            dotted = ".".join((*keys, key))
            raise RecipeError(
                f"{where}:{line}: {one_line(dotted):.100}: repeated, first in line {first[key]}"
            )
        first[key] = line
        lines[(*keys, key)] = f"{where}:{line}"
        _note_lines(key_node, (*keys, "?"), where, lines)
        _note_lines(value_node, (*keys, key), where, lines)


def recipe_error(problems, model, where, lines):
    """Makes one RecipeError of a `ValidationError`'s `errors()`; `lines` is as returned by `read_values`."""
    said = [_sentence(problem, model, where, lines) for problem in problems]
    return RecipeError(one_line("; ".join(dict.fromkeys(said))))


def _sentence(problem, model, where, lines):
    keys = tuple(str(key) for key in problem["loc"])
    place = next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), where)
    return ": ".join([place, *([f"{'.'.join(keys):.100}"] if keys else []), _what(problem, model, keys)])


def _what(problem, model, keys):
    kind, came = problem["type"], shown(problem["input"])
    if kind == "extra_forbidden":
        return f"unknown key{_key_suggestion(model, keys)}"
    if kind == "missing":
        return "missing, and there is no default"
    if kind == "value_error":  # raised by one of our sections
        return str(problem["ctx"]["error"])
    if kind in ("model_type", "model_attributes_type"):
        section = _sections(model).get(keys)
        known = f" with some of {', '.join(section.model_fields)}" if section else ""
        return f"expected a section{known}, got {came}"
    expected = problem["msg"].replace("Input should be", "expected").replace("a valid string", "text")
    return f"{expected}, got {came}"


def _key_suggestion(model, keys):
    sections = _sections(model)
    known = [(*above, name) for above, section in sections.items() for name in section.model_fields]
    elsewhere = sorted(".".join(place) for place in known if place[-1] == keys[-1])
    if elsewhere:
        return f", did you mean {' or '.join(elsewhere)}?"
    return suggestion(keys[-1], list(sections[keys[:-1]].model_fields) if keys[:-1] in sections else [])


def _sections(model, above=()):
    """All sections of a recipe, itself included: dict of keys -> pydantic model."""
    sections = {above: model}
    for name, field in model.model_fields.items():
        for kind in getattr(field.annotation, "__args__", (field.annotation,)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                sections |= _sections(kind, (*above, name))
    return sections
