"""Text with markup taken off, and put back: the text, the parts that must not change, and the tags."""

import bisect
import dataclasses
import itertools
from typing import NamedTuple

OBJECT = "\ufffc"  # stands in `Inline.text` for what has no words, such as an element `<code>`


class Region(NamedTuple):
    """A part of a text that must not change: `text[start:end]` is written as `output`."""

    start: int
    end: int
    output: str


class Tag(NamedTuple):
    """Markup around `text[start:end]`: `before` and `after` are written around it.

    Where `start == end`, it is a mark without words, such as `<br>`, mostly with an empty `after`. `parent`
    is the index of the tag that it is in, or -1; a parent precedes its children.
    """

    start: int
    end: int
    before: str
    after: str
    parent: int = -1


@dataclasses.dataclass(frozen=True)
class Inline:
    """A piece of text without its markup.

    Attributes:
        text: str, what a reader sees, in which `OBJECT` stands for each opaque element.
        regions: list of `Region`, ascending and apart.
        tags: list of `Tag`, well nested, parents first.
        escapes: dict, how characters outside of regions are written.
    """

    text: str
    regions: list = dataclasses.field(default_factory=list)
    tags: list = dataclasses.field(default_factory=list)
    escapes: dict = dataclasses.field(default_factory=dict)

    def render(self, breaks=()):
        """Writes the text with its markup.

        Args:
            breaks: (position, str) pairs, ascending: what is written in place of the blank at a position.

        Example:

        >>> Inline("a b", [Region(2, 3, "{b}")], [Tag(0, 1, "<i>", "</i>")]).render()
        '<i>a</i> {b}'
        """
        table = str.maketrans(self.escapes)
        changed = [*self.regions, *(Region(at, at + 1, text) for at, text in breaks)]
        marks, parts, position = self._marks(), [], 0

        def write(end):
            parts.append(self.text[position:end].translate(table))

        for start, *change in sorted([(region.start, 1, region) for region in changed] + marks):
            write(start)
            position = max(position, start)
            if isinstance(change[1], Region):
                parts.append(change[1].output)
                position = change[1].end
            else:
                parts.append(change[-1])
        write(len(self.text))
        return "".join(parts)

    def part(self, start, end):
        """`text[start:end]` with its regions, without tags."""
        first = bisect.bisect_left(self.regions, (start,))
        inside = itertools.takewhile(lambda region: region.end <= end, self.regions[first:])
        regions = [Region(region.start - start, region.end - start, region.output) for region in inside]
        return Inline(self.text[start:end], regions, escapes=self.escapes)

    def _marks(self):
        """(position, 0, order, str): closing tags come before opening ones, in the order of the tree."""
        paths, marks, at_end = [], [], []  # whether a mark without words is at the end of its parent
        for i, tag in enumerate(self.tags):
            parent = self.tags[tag.parent] if tag.parent >= 0 else None
            paths.append((*(paths[tag.parent] if parent else ()), i))
            first, last = (1, *paths[i]), (0, *paths[i], len(self.tags))  # a parent ends after its children
            at_end.append(parent and (at_end[tag.parent] or parent.start < tag.start == parent.end))
            if tag.start == tag.end:
                first, last = (last[:-1], last) if at_end[i] else (first, (*first, len(self.tags)))
            marks += [(tag.start, 0, first, tag.before), (tag.end, 0, last, tag.after)]
        return marks


class Substitution:
    """A text with some of its parts replaced, and where its positions are then.

    Args:
        text: str.
        changes: (start, end, str) for each part, ascending and apart.

    Attributes:
        text: the new text.
        places: (start, end) of each part in it.

    Example:

    >>> changed = Substitution("see {x} now", [(4, 7, "Tom")])
    >>> changed.text, changed.places, changed.moved(8)
    ('see Tom now', [(4, 7)], 8)
    """

    def __init__(self, text, changes):
        parts, self.places, position, length = [], [], 0, 0
        for start, end, new in changes:
            parts += [text[position:start], new]
            length += start - position
            self.places.append((length, length + len(new)))
            position, length = end, length + len(new)
        self.text = "".join([*parts, text[position:]])
        self._ends = [end for _, end, _ in changes]
        self._starts = [start for start, *_ in changes]

    def moved(self, position):
        """The position in the new text; one inside of a replaced part becomes the part's start."""
        i = bisect.bisect_right(self._ends, position)
        if i < len(self._starts) and position > self._starts[i]:
            return self.places[i][0]
        return position + (self.places[i - 1][1] - self._ends[i - 1] if i else 0)


def nested(places, tags):
    """The `Tag`s at new places, (start, end) of each, which are apart or inside each other.

    Each is in the smallest one around it; parents come first.
    """
    parents, stack = [tag.parent for tag in tags], []
    depth = [len(path(i, parents)) for i in range(len(tags))]
    spans = [i for i, (start, end) in enumerate(places) if start < end]
    for i in sorted(spans, key=lambda i: (places[i][0], -places[i][1], depth[i], i)):
        while stack and places[stack[-1]][1] <= places[i][0]:
            stack.pop()
        parents[i] = stack[-1] if stack else -1
        stack.append(i)
    order = sorted(range(len(tags)), key=lambda i: path(i, parents))
    index = {i: k for k, i in enumerate(order)} | {-1: -1}
    moved = []
    for i in order:
        start, end = places[i]
        if parents[i] >= 0:
            around = moved[index[parents[i]]]
            start, end = (min(max(place, around.start), around.end) for place in (start, end))
        moved.append(Tag(start, end, tags[i].before, tags[i].after, index[parents[i]]))
    return moved


def path(i, parents):
    """The indices from the root of a tree to i; `parents` has the parent of each, -1 for none."""
    indices = []
    while i >= 0:
        indices.append(i)
        i = parents[i]
    return indices[::-1]
