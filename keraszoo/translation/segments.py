"""Segments: the parts of texts that a model translates one by one."""

import bisect
import re

from keraszoo.text.inline import Region, Substitution
from keraszoo.text.protected import lost_numbers
from keraszoo.text.sentence_ends import sentence_spans

_MARKS_BEFORE, _MARKS_AFTER = re.compile(r"[^\w\ufffc]*"), re.compile(r"[\s(\[{<\"'\u201c\u201e\u00ab]*$")
NAME = "Tom"  # how long a region is for the model
NO_SEARCH = ("batch_size", "target_language", "terms", "decision", "candidates")  # options of `translate`
SHORTEST = 8  # subwords; sentences below are not cut
# Where a sentence that is too long is cut, the best first.
CUTS = [re.compile(rf"{marks}\s+") for marks in ("[;:\u2014\u2013]", "[,)\u3001\uff0c]", "")]


class Segment:
    """A part of the text of an `Inline`, and its translation.

    Attributes:
        text, regions: the part and its regions, whose places count from `start`.
        done: whether it has a translation; what has no letters outside of regions is its own.
        source, translation: what the model read and wrote, with stand-ins.
        anchors: pairs of spans, the places of stand-ins in both.
        places: a dict from the index of a tag to its (start, end) in `result`.
    """

    def __init__(self, inline, start, end):
        part = inline.part(start, end)
        self.inline, self.start, self.end = inline, start, end
        self.text, self.regions = part.text, part.regions
        self.done, self.translated, self.places = False, False, {}
        if not any(map(str.isalpha, without_regions(self.text, self.regions, ""))):
            self.copy()

    def copy(self):
        """Makes the source its translation."""
        self.done, self.result, self.result_regions = True, self.text, self.regions

    def finish(self, translation, substitution, places):
        """Takes a translation with stand-ins at these places."""
        self.done, self.translated = True, True
        self.source, self.moved_in, self.translation = substitution.text, substitution.moved, translation
        self.anchors = list(zip(substitution.places, places, strict=True))
        order = sorted(zip(places, self.regions, strict=True))
        back = Substitution(
            translation, [(*place, self.text[region.start : region.end]) for place, region in order]
        )
        self.result, self.moved_out = back.text, back.moved
        self.result_regions = [
            Region(*place, region.output) for place, (_, region) in zip(back.places, order, strict=True)
        ]

    def divided(self):
        """The segment, or if it is not done, the segments between and of its regions and numbers.

        Marks at the ends of these parts are not translated.
        """
        if self.done:
            return [self]
        self.regions = sorted([*self.regions, *lost_numbers(self.text, self.regions, "", in_words=0)])
        places = [place for region in self.regions for place in region[:2]]
        bounds = zip([0, *places], [*places, len(self.text)], strict=True)
        parts = []
        for number, (start, end) in enumerate(bounds):
            inside = self.text[start:end]
            if not number % 2:
                start += _MARKS_BEFORE.match(inside).end()
                end = max(start, end - len(inside) + _MARKS_AFTER.search(inside).start())
            if start < end:
                part = Segment(self.inline, self.start + start, self.start + end)
                if number % 2:  # perhaps a number, which is no region of the inline
                    part.regions = [Region(0, len(part.text), self.regions[number // 2].output)]
                    part.copy()
                parts.append(part)
        return parts


def without_regions(text, regions, name=NAME):
    """A text with a name in place of each region."""
    return Substitution(text, [(start, end, name) for start, end, _ in regions]).text


def sentence_segments(translator, inlines, language, options):
    """The sentences of some texts as lists of `Segment`; what is too long for the model is cut.

    A translation may be half as long again as its source, so that a source has at most two thirds of
    `max_length` subwords.
    """
    search = {key: value for key, value in options.items() if key not in NO_SEARCH}
    longest = translator.search.replace(**search).max_length * 2 // 3
    longest = max(SHORTEST, min(longest, translator.max_source_tokens))
    masked = [_masked(one) for one in inlines]
    spans = [(i, *span) for i, text in enumerate(masked) for span in sentence_spans(text, language)]
    fit = []
    while spans:
        parts = [inlines[i].part(start, end) for i, start, end in spans]
        rows = translator.source_subwords.encode([without_regions(part.text, part.regions) for part in parts])
        longer = []
        for (i, start, end), row in zip(spans, rows, strict=True):
            cut = _cut(masked[i], inlines[i].regions, start, end) if len(row) > longest else None
            if cut is None:
                fit.append((i, start, end))
            else:
                longer += [(i, start, cut[0]), (i, cut[1], end)]
        spans = longer
    segments = [[] for _ in inlines]
    for i, start, end in sorted(fit):
        segments[i].append(Segment(inlines[i], start, end))
    return segments


def _masked(inline):
    """A text with a word of the same length in place of each region."""
    regions = [(start, end, "X".ljust(end - start, "x")) for start, end, _ in inline.regions]
    return Substitution(inline.text, regions).text


def _cut(text, regions, start, end):
    """Where to cut a part of a text, near its middle: the end of one half and the start of the other."""
    middle = (start + end) / 2
    for expression in CUTS:
        found = [match.span() for match in expression.finditer(text, start, end) if start < match.start()]
        found = [(a + len(text[a:b].rstrip()), b) for a, b in found if b < end]
        best = min(found, key=lambda cut: abs(cut[1] - middle), default=None)
        if best and min(best[1] - start, end - best[1]) * 5 > end - start:  # neither is short
            return best
    if best:
        return best
    at = (start + end) // 2  # of a text without blanks
    region = regions[bisect.bisect_right(regions, (at, end)) - 1] if regions else (end, end)
    places = region[:2] if region[0] < at < region[1] else [at]
    return next(((place, place) for place in places if start < place < end), None)
