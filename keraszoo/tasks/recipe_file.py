"""Reads recipe files: YAML 1.2, overrides from the command line, relative paths, and one-line errors."""

import os
import re
import reprlib
from typing import Annotated

import yaml
from pydantic import AfterValidator, BaseModel, PlainSerializer, ValidationInfo

from keraszoo.errors import RecipeError
from keraszoo.messages import suggestion


class _Loader(yaml.SafeLoader):
    """YAML with the types of YAML 1.2 only: `1e-9` is a number, `no` is text, and so is `2024-02-31`."""

    yaml_implicit_resolvers = {}
    yaml_constructors = {
        tag: constructor
        for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in ("null", "bool", "int", "float", "str", "seq", "map")
    }


def _integer(loader, node):
    text = loader.construct_scalar(node)
    return int(text, 0 if text[:2] in ("0o", "0x") else 10)


for _type, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_type}", re.compile(f"^(?:{_pattern})$"), _first)
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)

VARIABLE = re.compile(r"\$\{(?P<name>\w+)(:-(?P<default>[^}]*))?\}")


class ResolvedPath(str):
    """A path that can be opened; `written` is the recipe's text, `expanded` has its variables replaced."""

    written: str
    expanded: str

    def __new__(cls, resolved, written, expanded=None):
        path = super().__new__(cls, resolved)
        path.written, path.expanded = written, written if expanded is None else expanded
        return path


def resolve_path(written, recipe_file=None):
    """Resolves a path of a recipe.

    Args:
        written: the path; `~`, `${NAME}` and `${NAME:-value}` are expanded.
        recipe_file: the recipe's file; relative paths start from its folder. None changes nothing. A path
            that begins with an environment variable starts from the current folder, as whoever set the
            variable expects.

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
        return ResolvedPath(written, written)

    def variable(match):
        value = os.environ.get(match["name"]) or match["default"]
        if not value:
            raise ValueError(f"the environment variable {match['name']} is not set, in {written!r}")
        return value

    expanded = os.path.expanduser(VARIABLE.sub(variable, written))
    first = VARIABLE.match(written)
    given = first and os.environ.get(first["name"])
    folder = os.getcwd() if given else os.path.dirname(recipe_file)
    return ResolvedPath(os.path.normpath(os.path.join(folder, expanded)), written, expanded)


def _resolve(written, info: ValidationInfo):
    return resolve_path(written, (info.context or {}).get("recipe_file"))


def _resolve_or_name(written, info: ValidationInfo):
    path = _resolve(written, info)
    is_name = re.fullmatch(r"\w+", path.expanded) and not os.path.exists(path)
    return ResolvedPath(path.expanded, written) if is_name else path


def _written(path):
    return getattr(path, "written", path)


FilePath = Annotated[str, AfterValidator(_resolve), PlainSerializer(_written, return_type=str)]
PathOrName = Annotated[str, AfterValidator(_resolve_or_name), PlainSerializer(_written, return_type=str)]


def read_yaml(path):
    """Reads a YAML mapping and the place of each key.

    Args:
        path: the file.

    Returns:
        `(values, lines)`: the nested dictionary, and `{("training", "seed"): "recipe.yaml:12"}`.

    Raises:
        RecipeError: the file cannot be read, is not a YAML mapping, or has a key twice.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: expected UTF-8 text, got {error.reason} at byte {error.start}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecipeError(f"{path}: cannot read the recipe: {reason}") from None
    lines = {}
    values = _parse(text, path, lines)
    if not isinstance(values, dict):
        came = "nothing" if values is None else type(values).__name__
        raise RecipeError(f"{path}: expected the sections of a recipe (data, output, ...), got {came}")
    return values, lines


def set_value(values, override, lines):
    """Applies `"training.seed=3"` to a nested dictionary, in place.

    Args:
        values: the dictionary.
        override: the dotted key, `=`, and the value as YAML.
        lines: as returned by `read_yaml`; the key's place becomes the override.

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
        raise RecipeError(f"--set {override}: expected key=value such as training.seed=3")
    section = values
    for depth, key in enumerate(keys[:-1], start=1):
        if section.get(key) is None:
            section[key] = {}
        section = section[key]
        if not isinstance(section, dict):
            raise RecipeError(f"--set {override}: {'.'.join(keys[:depth])} is a value, not a section")
    section[keys[-1]] = _parse(text, f"--set {dotted.strip()}", {})
    for place in [place for place in lines if place[: len(keys)] == keys]:
        del lines[place]
    lines[keys] = "--set"


def _parse(text, where, lines):
    """Parses a YAML text; `lines` receives the place of each key."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _note_lines(node, (), where, lines, seen=set())
        return loader.construct_document(node)
    except RecipeError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = where if mark is None else f"{where}:{mark.line + 1}"
        raise RecipeError(f"{place}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise RecipeError(f"{where}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise RecipeError(f"{where}: not a recipe: nested too deeply") from None
    except (KeyError, ValueError) as error:  # such as `!!bool foo`
        raise RecipeError(f"{where}: not YAML: {error}") from None


def _note_lines(node, keys, where, lines, seen):
    """Records the place of each key; a repeated key or an alias is an error."""
    if id(node) in seen:
        # A few lines of aliases of aliases can expand beyond any memory; a recipe needs none.
        line = node.start_mark.line + 1
        raise RecipeError(f"{where}:{line}: an alias of an anchor (&name) is not allowed, write it out")
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for element in node.value:
            _note_lines(element, (*keys, "[]"), where, lines, seen)
    if not isinstance(node, yaml.MappingNode):
        return
    first = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else f"[{line}]"
        if key in first:
            dotted = ".".join((*keys, key))
            raise RecipeError(f"{where}:{line}: {dotted}: repeated, first in line {first[key]}")
        first[key] = line
        lines[(*keys, key)] = f"{where}:{line}"
        _note_lines(key_node, (*keys, "?"), where, lines, seen)
        _note_lines(value_node, (*keys, key), where, lines, seen)


def recipe_error(problems, model, where, lines):
    """Makes one RecipeError of pydantic's errors.

    Args:
        problems: the list that `ValidationError.errors()` returns.
        model: the pydantic model.
        where: the recipe's file.
        lines: the place of each key, as returned by `read_yaml`.

    Returns:
        A RecipeError; semicolons join several problems.
    """
    said = [_sentence(problem, model, where, lines) for problem in problems]
    return RecipeError("; ".join(dict.fromkeys(said)))


def _sentence(problem, model, where, lines):
    keys = tuple(str(key) for key in problem["loc"])
    place = next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), where)
    return ": ".join([place, *([".".join(keys)] if keys else []), _what(problem, model, keys)])


def _what(problem, model, keys):
    kind, came = problem["type"], _shown(problem["input"])
    if kind == "extra_forbidden":
        return f"unknown key{_key_suggestion(model, keys)}"
    if kind == "missing":
        return "missing, and there is no default"
    if kind == "value_error":  # raised by one of our sections
        return str(problem["ctx"]["error"])
    if kind in ("model_type", "model_attributes_type"):
        section = _section(model, keys)
        known = f" with some of {', '.join(section.model_fields)}" if section else ""
        return f"expected a section{known}, got {came}"
    expected = problem["msg"].replace("Input should be", "expected").replace("a valid string", "text")
    return f"{expected}, got {came}"


def _key_suggestion(model, keys):
    section = _section(model, keys[:-1])
    elsewhere = sorted(".".join(place) for place in _all_keys(model) if place[-1] == keys[-1])
    if elsewhere:
        return f", did you mean {' or '.join(elsewhere)}?"
    return suggestion(keys[-1], list(section.model_fields) if section else [])


def _section(model, keys):
    """The pydantic model that the keys lead to, or None."""
    for key in keys:
        field = model.model_fields.get(key)
        model = _model_in(field.annotation) if field else None
        if model is None:
            return None
    return model


def _model_in(annotation):
    """The section in `Section` or `Section | None`, or None for other types."""
    choices = getattr(annotation, "__args__", (annotation,))
    return next((c for c in choices if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _all_keys(model, above=()):
    for name, field in model.model_fields.items():
        yield (*above, name)
        section = _model_in(field.annotation)
        if section:
            yield from _all_keys(section, (*above, name))


_bounded = reprlib.Repr()  # at most a few lines for any value


def _shown(value):
    text = _bounded.repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
