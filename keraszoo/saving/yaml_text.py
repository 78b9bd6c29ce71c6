"""Reads YAML from untrusted authors: the core types of YAML 1.2 only, of limited size and depth."""

import math
import re

import yaml

from keraszoo.messages import one_line

LONGEST = 1 << 20  # characters of a file
DEEPEST = 32  # levels
NUMBER = "(?=.{1,100}$)"  # longer ones are text: Python reads and prints integers of at most 4300 digits
# https://yaml.org/spec/1.2.2/#1032-tag-resolution: `1e-9` is a number, `no` and `2024-02-31` are text
SCALARS = [
    (r"~|null|Null|NULL|", lambda text: None),
    (r"true|True|TRUE|false|False|FALSE", lambda text: text[0] in "tT"),
    (rf"{NUMBER}[-+]?[0-9]+", int),
    (rf"{NUMBER}(0o[0-7]+|0x[0-9a-fA-F]+)", lambda text: int(text, 0)),
    (rf"{NUMBER}[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
    (r"[-+]?\.(inf|Inf|INF)", lambda text: -math.inf if text[0] == "-" else math.inf),
    (r"\.(nan|NaN|NAN)", lambda text: math.nan),
]


class _Values:
    """Makes values of the events of PyYAML's parser, and notes the place of each key."""

    def __init__(self, text, where, lines, aliases, kind):
        self.parser = yaml.SafeLoader(text)
        self.where, self.lines, self.kind = where, lines, kind
        self.anchors = {} if aliases else None

    def document(self):
        self.parser.get_event()  # the start of the stream
        if self.parser.check_event(yaml.StreamEndEvent):
            return None
        self.parser.get_event()
        value = self.value((), 0)
        self.parser.get_event()
        if not self.parser.check_event(yaml.StreamEndEvent):
            self.refuse(self.parser.peek_event(), "expected one document, but found another document")
        return value

    def value(self, keys, depth):
        event = self.parser.get_event()
        if depth == DEEPEST:
            self.refuse(event, f"nested more than {DEEPEST} levels deep")
        if isinstance(event, yaml.AliasEvent):
            # A few lines of aliases of aliases can expand beyond any memory.
            if self.anchors is None:
                self.refuse(event, "an alias of an anchor (&name) is not allowed, write it out")
            if event.anchor not in self.anchors:
                self.refuse(event, f"there is no anchor &{event.anchor:.40} before it")
            return self.anchors[event.anchor]
        if event.tag is not None:
            tag = f"{event.tag.replace('tag:yaml.org,2002:', '!!')} {getattr(event, 'value', '')!r:.40}"
            self.refuse(event, f"expected null, a bool, a number, text, a list or keys, got {tag}")
        if isinstance(event, yaml.ScalarEvent):
            value = self.scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = []
            while not self.parser.check_event(yaml.SequenceEndEvent):
                value.append(self.value((*keys, "[]"), depth + 1))
            self.parser.get_event()
        else:
            value = self.mapping(keys, depth)
        if self.anchors is not None and event.anchor:
            self.anchors[event.anchor] = value
        return value

    def scalar(self, event):
        if event.implicit[0]:  # without quotes
            for pattern, kind in SCALARS:
                if re.fullmatch(pattern, event.value):
                    return kind(event.value)
        return self.kind(event.value)

    def mapping(self, keys, depth):
        value, first = {}, {}
        while not self.parser.check_event(yaml.MappingEndEvent):
            event = self.parser.peek_event()
            key, line = self.value((*keys, "?"), depth + 1), event.start_mark.line + 1
            if isinstance(key, (list, dict)):
                self.refuse(event, f"expected a key, got a {type(key).__name__}")
            place = *keys, str(key)
            if key in value:
                said = f"{one_line('.'.join(place)):.100}: repeated, first in line {first[key]}"
                self.refuse(event, said)
            first[key], self.lines[place] = line, f"{self.where}:{line}"
            value[key] = self.value(place, depth + 1)
        self.parser.get_event()
        return value

    def refuse(self, event, problem):
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


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


def parse(text, where, error, *, lines=None, aliases=False, kind=str):
    """Parses YAML into dicts, lists, str, int, float, bool and None.

    Args:
        text, where: the text, and the name of its file for messages.
        error: the class of exceptions to raise: one line with file, line and problem.
        lines: a dict that receives the place of each key, such as `{("training", "seed"): "recipe.yaml:3"}`.
        aliases: whether `*name` may repeat an anchor `&name`.
        kind: `str`, or a subclass of it that texts become.

    >>> parse("{seed: 3, rate: 1e-3, name: no}", "small.yaml", ValueError)
    {'seed': 3, 'rate': 0.001, 'name': 'no'}
    """
    try:
        return _Values(text, where, {} if lines is None else lines, aliases, kind).document()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = where if mark is None else f"{where}:{mark.line + 1}"
        raise error(f"{place}: not YAML: {problem.problem or problem.context}") from None
    except yaml.YAMLError as problem:
        raise error(f"{where}: not YAML: {' '.join(str(problem).split())}") from None
