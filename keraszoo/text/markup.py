"""Takes HTML and Markdown off a text: markup to `Inline`.

Tags, attributes, links and code never reach a model. What cannot be paired, such as a lone `</b>`, is a mark
without a pair.
"""

import re

from keraszoo.errors import KerasZooError
from keraszoo.text.inline import OBJECT, Inline, Region, Tag
from keraszoo.text.markup_tokens import ENTITY, html_tokens, markdown_tokens
from keraszoo.text.protected import protected

MARKUPS = ("text", "html", "markdown")
DEEPEST = 64  # what is in more tags than that is not translated
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_AMPERSAND = re.compile("&(?:amp|#0*38|#x0*26)", re.IGNORECASE)


def check_markup(markup):
    """Raises KerasZooError unless `markup` is one of `MARKUPS`."""
    if markup not in MARKUPS:
        raise KerasZooError(f"markup: expected one of {', '.join(MARKUPS)}, got {markup!r}")


def parse(text, markup="text", keep=()):
    """The `Inline` of a sentence or a paragraph.

    Args:
        text: str.
        markup: `"text"`, `"html"` or `"markdown"`.
        keep: words that must not change; see `protected`.

    Example:

    >>> parsed = parse('A <a href="x.org">red &amp; big</a> car', "html")
    >>> parsed.text, parsed.tags
    ('A red & big car', [Tag(start=2, end=11, before='<a href="x.org">', after='</a>', parent=-1)])
    """
    if markup == "text":
        return Inline(text, protected(text, keep))
    return inline(html_tokens(text) if markup == "html" else markdown_tokens(text), markup, keep)


def inline(tokens, markup, keep=()):
    """The `Inline` of a list of `Token`."""
    builder = _Builder()
    builder.read(tokens, partners(tokens))
    text, tags = builder.finish()
    escapes = _escapes(tokens, markup)
    stops = sorted({place for tag in tags for place in tag[:2]})
    return Inline(text, protected(text, keep, builder.objects, stops, escapes), tags, escapes)


def partners(tokens):
    """Pairs opening with closing tokens: a dict from the index of each to that of the other."""
    pairs, stack, waiting = {}, [], {}
    for i, token in enumerate(tokens):
        if token.kind in ("close", "both") and waiting.get(token.key):
            j = None
            while j is None or tokens[j].key != token.key:
                j = stack.pop()
                waiting[tokens[j].key] -= 1
            pairs[i], pairs[j] = j, i
        elif token.kind in ("open", "both"):
            stack.append(i)
            waiting[token.key] = waiting.get(token.key, 0) + 1
    return pairs


class _Builder:
    """Collects the text, the opaque regions and the tags of tokens."""

    def __init__(self):
        self.parts, self.length, self.objects, self.tags, self.stack = [], 0, [], [], []
        self.blank = True  # whether a blank or nothing comes before

    def read(self, tokens, pairs):
        i = 0
        while i < len(tokens):
            token, j = tokens[i], pairs.get(i)
            if token.kind == "text":
                self.add(token.text)
            elif token.kind == "object":
                self.object(token.raw)
            elif token.literal and (j is None or j < i or tokens[j].literal):  # a bracket of no link
                self.add(token.raw)
            elif j is None:
                self.mark(token.raw, separates=token.key == "br")
            elif j < i:
                self.close()
            elif token.opaque or len(self.stack) == DEEPEST:
                self.object("".join(one.raw for one in tokens[i : j + 1]))
                i = j
            else:
                self.open(token.raw, tokens[j].raw)
            i += 1

    def add(self, text):
        last = self.tags[-1] if self.tags else None
        if self.blank and text[:1].isspace() and last and last[:2] == [self.length] * 2:
            last[2] += " "  # of the blanks on both sides of a mark, one goes with it
            text = text.lstrip()
        if text:
            self.parts.append(text)
            self.length += len(text)
            self.blank = text[-1].isspace()

    def object(self, raw):
        self.objects.append(Region(self.length, self.length + 1, raw))
        self.add(OBJECT)

    def mark(self, raw, separates=False):
        if separates and not self.blank:
            self.add(" ")
        self.tags.append([self.length, self.length, raw, "", self.stack[-1] if self.stack else -1])

    def open(self, before, after):
        self.mark(before)
        self.tags[-1][1], self.tags[-1][3] = None, after
        self.stack.append(len(self.tags) - 1)

    def close(self):
        self.tags[self.stack.pop()][1] = self.length

    def finish(self):
        """The text and the tags; a tag does not begin or end with a blank."""
        text, tags = "".join(self.parts), []
        for start, end, before, after, parent in self.tags:
            if after:
                inside = text[start:end]
                end = start + len(inside.rstrip())
                start += len(inside) - len(inside.lstrip()) if end > start else 0
            if parent >= 0:
                start, end = (min(max(place, tags[parent].start), tags[parent].end) for place in (start, end))
            tags.append(Tag(start, end, before, after, parent))
        return text, tags


def _escapes(tokens, markup):
    """How the characters are written that a reader sees: as they were escaped somewhere in the tokens."""
    texts = [token for token in tokens if token.kind == "text"]
    escapes = {token.text: token.raw for token in texts if token.raw == "\\" + token.text}
    if markup == "html" or any(ENTITY.search(token.raw) for token in texts):
        entities = dict(ESCAPES)
        if markup == "html" and not any("&gt" in token.raw for token in texts):
            del entities[">"]
        if any("&" in token.text for token in texts) and not any(_AMPERSAND.search(t.raw) for t in texts):
            del entities["&"]  # of text such as AT&T
        escapes = {**entities, **escapes}
    return escapes
