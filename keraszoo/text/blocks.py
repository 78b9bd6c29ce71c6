"""Splits documents into what is translated, paragraphs, list items and cells, and what is copied."""

import bisect
import dataclasses
import itertools
import re
from typing import NamedTuple

from keraszoo.text.inline import Inline
from keraszoo.text.markdown_blocks import markdown_texts
from keraszoo.text.markup import inline, parse, partners
from keraszoo.text.markup_tokens import html_tokens, markdown_tokens

_QUOTES = r"(?:>[ \t]?)+"
_ITEM = (
    r"(?:[-+*\u2022\u2013\u25e6\u25aa\u2023]|\d{1,9}[.)]|[a-z][.)]|\(\w{1,3}\)|\[\^[^\]\s]{1,80}\]:)[^\S\n]+"
)
LINE = re.compile(
    rf"(?P<marks>\s*(?P<quotes>(?:{_QUOTES}\s*)?)(?P<item>(?:{_ITEM})*(?:\[[ xX]\]\s+)?))"
    r"(?P<text>.*?)(?P<tail>\s*)",
    re.DOTALL,
)
_NEW_LINE = re.compile(r"[ \t]*(?:\r\n|\n|\r)\s*")
_BLANK = re.compile(rf" (?!{_ITEM}|[#>|=-])")  # not before what is a mark at the start of a line


class Block(NamedTuple):
    """What is translated as a whole, sentence by sentence.

    Attributes:
        inline: `Inline`.
        raw: str, as it is in the document.
        breaks: the line ends inside: (where, as a share of the length, and the str, with the indentation of
            the next line).
    """

    inline: Inline
    raw: str
    breaks: tuple = ()

    def translated(self, inline):
        """Writes its translation, an `Inline`; what is the same is written as it was."""
        return self.raw if inline == self.inline else self._replace(inline=inline).render()

    def render(self):
        """Writes `inline`; each line end takes the place of the nearest blank."""
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
    >>> [part if isinstance(part, str) else part.raw for part in parts]
    ['- ', 'A dog.', '\\n', '\\n', '  1. ', 'A cat.']
    """
    if markup == "html":
        return _html(text, keep)
    return list(filter(None, _markdown(text, keep) if markup == "markdown" else _plain(text, keep, wrapped)))


def _plain(text, keep, wrapped):
    """The parts of plain text."""
    parts, paragraph, quotes = [], None, None  # a paragraph is a list: lines, and their ends in between
    for line in text.splitlines(keepends=True):
        if wrapped and _is_rule(line):
            paragraph = None
            parts.append(line)
            continue
        match = LINE.fullmatch(line)
        if paragraph and match["text"] and not match["item"] and match["quotes"].split() == quotes:
            paragraph += [parts.pop() + match["marks"], match["text"]]
        else:
            paragraph, quotes = [match["text"]] if match["text"] else "", match["quotes"].split()
            parts += [match["marks"], paragraph]
        parts.append(match["tail"])
        paragraph = paragraph if wrapped else None
    return [part if isinstance(part, str) else _plain_block(part, keep) for part in parts]


def _plain_block(pieces, keep):
    return _block(parse("\n".join(pieces[::2]), "text", keep), "".join(pieces), pieces[1::2])


def _is_rule(line):
    """Whether a line of plain text is a rule between paragraphs, or underlines a heading."""
    marks = "".join(line.split()).lstrip(">")
    return len(set(marks)) == 1 and (marks[0] in "=-" or len(marks) > 2 and marks[0] in "*_")


def _markdown(text, keep):
    """The parts of Markdown."""
    parts, position = [], 0
    for markup, spans in markdown_texts(text):
        start, end = spans[0][0], spans[-1][1]
        parts.append(text[position:start])
        parts += _html(text[start:end], keep) if markup == "html" else [_markdown_block(text, spans, keep)]
        position = end
    return [*parts, text[position:]]


def _markdown_block(text, spans, keep):
    tokens = markdown_tokens("\n".join(text[start:end] for start, end in spans))
    between = (text[end:start] for (_, end), (start, _) in itertools.pairwise(spans))
    pairs, opaque_until, line_ends = partners(tokens), -1, []
    for i, token in enumerate(tokens):
        here = list(itertools.islice(between, token.raw.count("\n")))
        pieces = itertools.zip_longest(token.raw.split("\n"), here, fillvalue="")
        tokens[i] = token._replace(raw="".join(itertools.chain.from_iterable(pieces)))
        if token.opaque and i > opaque_until:
            opaque_until = pairs.get(i, i)
        if token.kind == "text" and i > opaque_until:
            line_ends += here
    return _block(inline(tokens, "markdown", keep), text[spans[0][0] : spans[-1][1]], line_ends)


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
    block = _block(inline(tokens, "html", keep), raw.strip(), line_ends)
    return [*filter(None, [before]), block, *filter(None, [after])]


def _block(found, raw, line_ends):
    """A `Block`: the line feeds of its text become blanks, and stand for these line ends."""
    text = found.text
    places = [at / len(text) for at, character in enumerate(text) if character == "\n"]
    breaks = tuple(zip(places, line_ends, strict=False))  # those inside of markup are not in the text
    return Block(dataclasses.replace(found, text=text.replace("\n", " ")), raw, breaks)
