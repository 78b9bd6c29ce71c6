"""Splits documents into what is translated, paragraphs, list items and cells, and what is copied."""

import bisect
import dataclasses
import re
from typing import NamedTuple

from keraszoo.text.inline import Inline
from keraszoo.text.markup import inline, parse, partners
from keraszoo.text.markup_tokens import html_tokens

_QUOTES = r"(?:>[ \t]?)+"
_ITEM = (
    r"(?:[-+*\u2022\u2013\u25e6\u25aa\u2023]|\d{1,9}[.)]|[a-z][.)]|\(\w{1,3}\)|\[\^[^\]\s]{1,80}\]:)[^\S\n]+"
)
LINE = re.compile(
    rf"(?P<indent>\s*)(?P<quotes>(?:{_QUOTES}\s*)?)(?P<item>(?:{_ITEM})*(?:\[[ xX]\]\s+)?)"
    r"(?P<heading>(?:#{1,6}\s+)?)(?P<text>.*?)(?P<tail>\s*)",
    re.DOTALL,
)
TASK = re.compile(r"\[[ xX]\]\s+$")
FENCE = re.compile(
    rf"\s*(?P<quotes>(?:{_QUOTES}\s*)?)(?P<item>(?:{_ITEM})*)(?P<marks>`{{3,}}(?![^\n]*`)|~{{3,}})"
)
# How parts of Markdown begin and end that are copied; they may have blank lines inside.
COPIED = {"<!--": "-->", "<pre": "</pre>", "<script": "</script>", "<style": "</style>"}
DEFINITION = re.compile(r" {0,3}\[[^^\]][^\]]*\]:\s")
DELIMITERS = re.compile(
    r"[\s>]*(?:\|\s*)?:?-+:?(?:[ \t]*\|[ \t]*:?-+:?)+(?:[ \t]*\|)?\s*"
)  # below a table's head
_CELL = re.compile(r"(?<!\\)\|")
_NEW_LINE = re.compile(r"[ \t]*(?:\r\n|\n|\r)\s*")
_BLANK = re.compile(rf" (?!{_ITEM}|[#>|=-])")  # not before what is a mark at the start of a line


class Block(NamedTuple):
    """What is translated as a whole, sentence by sentence.

    `breaks` are the line ends inside: (where, as a share of the length, and the str, with the indentation of
    the next line).
    """

    inline: Inline
    breaks: tuple = ()

    def render(self):
        """Writes it; each line end takes the place of the nearest blank."""
        text, breaks, first = self.inline.text, [], 0
        inside = {at for start, end, _ in self.inline.regions for at in range(start, end)}
        blanks = [match.start() for match in _BLANK.finditer(text) if match.start() not in inside]
        for share, line_end in self.breaks:
            i = max(first, bisect.bisect_left(blanks, share * len(text)))
            near = [j for j in (i - 1, i) if first <= j < len(blanks)]
            if near:
                first = 1 + min(near, key=lambda j: abs(blanks[j] - share * len(text)))
                breaks.append((blanks[first - 1], line_end))
        return self.inline.render(breaks)


def blocks_of(text, markup="text", keep=(), wrapped=False):
    """Splits a document into parts that make it up.

    Args:
        text: str.
        markup: `"text"`, `"html"` or `"markdown"`.
        keep: words that must not change; see `keraszoo.text.protected.protected`.
        wrapped: whether a paragraph of plain text has several lines. In HTML and Markdown it always may.

    Returns:
        List of str, which are copied, and of `Block`, which are translated.

    Example:

    >>> parts = blocks_of("- A dog.\\n\\n  1. A cat.")
    >>> [part if isinstance(part, str) else part.inline.text for part in parts]
    ['- ', 'A dog.', '\\n', '\\n', '  1. ', 'A cat.']
    """
    if markup == "html":
        return _html(text, keep)
    return _Lines(markup, keep, wrapped or markup == "markdown").read(text.splitlines(keepends=True))


class _Lines:
    """Reads the lines of plain text or Markdown; `_column` is where the text of a list item begins."""

    def __init__(self, markup, keep, wrapped):
        self.markup, self.keep, self.wrapped = markup, keep, wrapped
        self.parts, self.lines, self.breaks, self._column, self._in_table = [], [], [], 0, False
        self._quoted = None  # whether the code that is copied is in a quote

    def read(self, lines):
        end = None  # a function: whether a line ends a part that is copied
        indented = self.markup == "markdown"  # whether an indented line is code
        for number, line in enumerate(lines):
            if self._quoted and not line.lstrip().startswith(">"):
                self._quoted = end = None  # the end of the quote is that of its code
            if end is None and self.markup == "markdown":
                end = self._copied_until(line, lines[number + 1 :] if number == 0 else None)
                if end or DEFINITION.match(line) or (indented and self._is_code(line)):
                    self._end()
                    self.parts.append(line)
                    if end and end(line, first=True):
                        end = None
                    continue
            if end is not None:
                self.parts.append(line)
                end = None if end(line) else end
                continue
            if self.wrapped and _is_rule(line):
                self._end()
                self.parts.append(line)
                self._column = self._column if line[0].isspace() else 0
                indented = self.markup == "markdown"
                continue
            head = DELIMITERS.fullmatch(lines[number + 1]) if number + 1 < len(lines) else None
            self._in_table = "|" in line and bool(self._in_table or head)
            match = LINE.fullmatch(line)
            self._line(match)
            ended = match["heading"] or not match["text"]
            indented = self.markup == "markdown" and bool(ended)
        self._end()
        return self.parts

    def _copied_until(self, line, others=None):
        """A function that tells the last line of the copied part that a line begins, or `None`.

        `others` are the lines that follow the first one.
        """
        if fence := FENCE.match(line):
            self._column = _width(line[: fence.start("marks")]) if fence["item"] else self._column
            self._quoted = bool(fence["quotes"])
            return lambda other, first=False: not first and _closes(fence, other)
        closed = others and not {"---", "..."}.isdisjoint(map(str.rstrip, others))
        if closed and line.rstrip() == "---":
            return lambda other, first=False: not first and other.rstrip() in ("---", "...")
        for start, stop in COPIED.items():
            if line.lstrip().lower().startswith(start):
                return lambda other, first=False: stop in other.lower()
        return None

    def _line(self, match):
        indent, quotes, item, heading, text, tail = match.groups()
        if self.markup == "text":
            heading, text = "", heading + text
        if item:
            self._column = _width(indent + quotes + TASK.sub("", item))
        elif text and not indent:
            self._column = 0
        goes_on = self.wrapped and self.lines and text and not item and not heading
        if goes_on and quotes.split() == self.quotes.split() and not self._row(text):
            self.breaks.append(self.tail + indent + quotes)
            self.lines.append(text)
            self.tail = tail
        else:
            self._end()
            self._copy(indent + quotes + item + heading)
            if self._row(text):
                self._cells(text)
                self._copy(tail)
            elif text:
                self.lines, self.breaks, self.tail, self.quotes = [text], [], tail, quotes
            else:
                self._copy(tail)
        hard = self.markup == "markdown" and (text.endswith("\\") or len(tail) - len(tail.lstrip(" ")) > 1)
        if heading or hard or not self.wrapped:
            self._end()

    def _is_code(self, line):
        """Whether a line is indented by four columns more than the text of a list item, or of no list."""
        inside = line.lstrip()
        return bool(inside) and _width(line[: -len(inside)]) >= self._column + 4

    def _row(self, text):
        return self.markup == "markdown" and (text.startswith("|") or self._in_table and bool(text))

    def _cells(self, text):
        for i, cell in enumerate(_CELL.split(text)):
            self._copy("|" * (i > 0))
            self._add(cell)

    def _end(self):
        if self.lines:
            text = "\n".join(self.lines)
            end = "\\" if self.markup == "markdown" and text.endswith("\\") else ""
            self._add(text.removesuffix(end), self.breaks)
            self._copy(end + self.tail)
            self.lines = []

    def _add(self, text, breaks=()):
        inside = text.strip()
        start = text.index(inside)
        self._copy(text[:start])
        if inside:
            self.parts.append(_block(parse(inside, self.markup, self.keep), breaks))
        self._copy(text[start + len(inside) :])

    def _copy(self, text):
        if text:
            self.parts.append(text)


def _width(text):
    """The columns of a text, whose tabs end at multiples of four."""
    return len(text.expandtabs(4))


def _closes(fence, line):
    """Whether a line ends the code that a match of `FENCE` begins."""
    found = line.strip().lstrip("> \t" if fence["quotes"] else "")
    return found.startswith(fence["marks"]) and set(found) == {fence["marks"][0]}


def _is_rule(line):
    """Whether a line of Markdown is a rule between paragraphs, or makes the line before it a heading."""
    marks = "".join(line.split()).lstrip(">")
    return len(set(marks)) == 1 and (marks[0] in "=-" or len(marks) > 2 and marks[0] in "*_")


def _html(text, keep):
    tokens = html_tokens(text)
    pairs = partners(tokens)
    parts, some, i = [], [], 0
    while i < len(tokens):
        token = tokens[i]
        if token.block:
            parts += _paragraph(some, keep)
            some, end = [], i
            if token.opaque and pairs.get(i, i) > i:
                end = pairs[i]
            parts.append("".join(one.raw for one in tokens[i : end + 1]))
            i = end
        else:
            some.append(token)
        i += 1
    return parts + _paragraph(some, keep)


def _paragraph(tokens, keep):
    """The parts of a piece of HTML without blocks."""
    raw = "".join(token.raw for token in tokens)
    if not any(token.text.strip() or token.kind == "object" or token.opaque for token in tokens):
        return [raw] if raw else []
    before = raw[: len(raw) - len(raw.lstrip())]
    after = raw[len(raw.rstrip()) :]
    tokens = list(tokens)
    if before:
        tokens[0] = tokens[0]._replace(text=tokens[0].text.lstrip())
    if after:
        tokens[-1] = tokens[-1]._replace(text=tokens[-1].text.rstrip())
    line_ends = []
    for i, token in enumerate(tokens):
        line_ends += _NEW_LINE.findall(token.text)
        tokens[i] = token._replace(text=_NEW_LINE.sub("\n", token.text))
    return [*filter(None, [before]), _block(inline(tokens, "html", keep), line_ends), *filter(None, [after])]


def _block(found, line_ends):
    """A `Block`: the line feeds of its text become blanks, and stand for these line ends."""
    text = found.text
    places = [at / len(text) for at, character in enumerate(text) if character == "\n"]
    breaks = tuple(zip(places, line_ends, strict=False))  # those inside of markup are not in the text
    return Block(dataclasses.replace(found, text=text.replace("\n", " ")), breaks)
