"""A recipe's file: YAML without its traps, overrides from the command line, and paths that travel."""

import os
import re
from typing import Annotated

import yaml
from pydantic import AfterValidator, PlainSerializer, ValidationInfo

from keraszoo.errors import RecipeError


class _Loader(yaml.SafeLoader):
    """Safe YAML in which `1e-9` is a number, as in YAML 1.2; PyYAML alone reads it as text."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


VARIABLE = re.compile(r"\$\{(?P<name>\w+)(:-(?P<default>[^}]*))?\}")


class ResolvedPath(str):
    """A path that can be opened; `written` is how the recipe had it, `expanded` that without variables."""

    written: str
    expanded: str

    def __new__(cls, resolved, written, expanded=None):
        path = super().__new__(cls, resolved)
        path.written, path.expanded = written, written if expanded is None else expanded
        return path


def resolve_path(written, recipe_file=None):
    """Where a path of a recipe leads.

    Args:
        written: the path; `~`, `${NAME}` and `${NAME:-value}` are expanded.
        recipe_file: the recipe's file, from whose folder relative paths are meant; None leaves all as is. A
            path that begins with what an environment variable holds is meant from the current folder, as
            whoever set the variable meant it.

    Returns:
        A ResolvedPath.

    Raises:
        ValueError: if the path is empty or has a NUL, or if an environment variable is not set (or empty).

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
    """Reads a YAML mapping and notes where each key stands.

    Args:
        path: the file.

    Returns:
        `(values, lines)`: the nested dictionary, and `{("training", "seed"): "recipe.yaml:12"}`.

    Raises:
        RecipeError: if the file cannot be read, is no YAML mapping, or has a key twice.
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
        lines: as `read_yaml` returns it; the key's place becomes the override.

    Raises:
        RecipeError: if there is no `=`, no key, no YAML, or if a part of the key is no section.

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
    """The value of a YAML text; `lines` receives the place of each key."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _note_lines(node, (), where, lines, seen=set())
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = where if mark is None else f"{where}:{mark.line + 1}"
        raise RecipeError(f"{place}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise RecipeError(f"{where}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise RecipeError(f"{where}: not a recipe: nested too deeply") from None
    except ValueError as error:  # such as 2024-02-31, which looks like a date and is none
        raise RecipeError(f"{where}: not YAML: {error}") from None


def _note_lines(node, keys, where, lines, seen):
    """Notes the place of each key; a key that stands twice is an error, and so is an alias."""
    if id(node) in seen:
        # A few lines of aliases of aliases unfold to more than any memory holds; a recipe needs none.
        raise RecipeError(
            f"{where}:{node.start_mark.line + 1}: an anchor (&name) that is used again, write it out"
        )
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
            raise RecipeError(f"{where}:{line}: {dotted}: stands here again, after line {first[key]}")
        first[key] = line
        lines[(*keys, key)] = f"{where}:{line}"
        _note_lines(key_node, (*keys, "?"), where, lines, seen)
        _note_lines(value_node, (*keys, key), where, lines, seen)
