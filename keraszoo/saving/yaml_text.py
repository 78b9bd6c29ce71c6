"""Reads YAML from untrusted authors: the core types of YAML 1.2 only, of limited size and depth."""

import re

import yaml

LONGEST = 1 << 20  # characters of a file
DEEPEST = 32  # levels
CORE = "tag:yaml.org,2002:"
NUMBER = "(?=.{1,100}$)"  # longer ones are text: Python reads and prints integers of at most 4300 digits
# https://yaml.org/spec/1.2.2/#1032-tag-resolution: `1e-9` is a number, `no` and `2024-02-31` are text
SCALARS = {
    f"{CORE}null": r"~|null|Null|NULL|",
    f"{CORE}bool": r"true|True|TRUE|false|False|FALSE",
    f"{CORE}int": rf"{NUMBER}([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)",
    f"{CORE}float": rf"{NUMBER}([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)"
    r"|\.(nan|NaN|NAN))",
    f"{CORE}str": "(?s:.*)",
}


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}

    def __init__(self, text, aliases):
        super().__init__(text)
        self.aliases, self.depth = aliases, 0

    def compose_node(self, parent, index):
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) and not self.aliases:
            # A few lines of aliases of aliases can expand beyond any memory.
            self._refuse(event, "an alias of an anchor (&name) is not allowed, write it out")
        if self.depth == DEEPEST:
            self._refuse(event, f"nested more than {DEEPEST} levels deep")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        kind = {yaml.SequenceNode: f"{CORE}seq", yaml.MappingNode: f"{CORE}map"}.get(type(node))
        fits = node.tag == kind if kind else re.fullmatch(SCALARS.get(node.tag, "(?!)"), node.value)
        if not fits:
            tag = node.tag.replace(CORE, "!!")
            came = f"{tag} {node.value!r:.40}" if kind is None else tag
            self._refuse(node, f"expected null, a bool, a number, text, a list or keys, got {came}")
        return node

    def construct_mapping(self, node, deep=False):
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            self._refuse(node, "a key is given twice")
        return mapping

    def construct_integer(self, node):
        return int(node.value, 0 if node.value[:2] in ("0o", "0x") else 10)

    def _refuse(self, place, problem):
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)


for _tag, _first in {"null": "~nN", "bool": "tTfF", "int": "-+0123456789", "float": "-+.0123456789"}.items():
    _pattern = re.compile(f"(?:{SCALARS[CORE + _tag]})$")
    _Loader.add_implicit_resolver(CORE + _tag, _pattern, [*_first, ""] if _tag == "null" else list(_first))
_Loader.add_constructor(f"{CORE}int", _Loader.construct_integer)


def read_text(path, error):
    """Returns the text of a file. Raises `error`, a class, unless it is UTF-8 and not too long."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(LONGEST + 1)
    except UnicodeDecodeError as problem:
        raise error(f"{path}: expected UTF-8 text, got {problem.reason} at byte {problem.start}") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"{path}: cannot be read: {reason}") from None
    if len(text) > LONGEST:
        raise error(f"{path}: expected at most {LONGEST:,} characters, got more")
    return text


def parse(text, where, error, check=None, aliases=False):
    """Parses YAML.

    Args:
        text: the text.
        where: the name of the file, for messages.
        error: the class of exceptions to raise.
        check: called with the root node before values are made of it.
        aliases: whether `*name` may repeat an anchor `&name`.

    Returns:
        The value: dict, list, str, int, float, bool or None.

    Raises:
        `error`: one line with the file, the line in it and the problem.

    Example:

    >>> parse("{seed: 3, rate: 1e-3, name: no}", "small.yaml", ValueError)
    {'seed': 3, 'rate': 0.001, 'name': 'no'}
    >>> parse("seed: !!int x", "small.yaml", ValueError)
    Traceback (most recent call last):
    ValueError: small.yaml:1: not YAML: expected null, a bool, a number, text, a list or keys, got !!int 'x'
    """
    try:
        loader = _Loader(text, aliases)
        node = loader.get_single_node()
        if check is not None and node is not None:
            check(node)
        return None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = where if mark is None else f"{where}:{mark.line + 1}"
        raise error(f"{place}: not YAML: {problem.problem or problem.context}") from None
    except yaml.YAMLError as problem:
        raise error(f"{where}: not YAML: {' '.join(str(problem).split())}") from None
