"""Translates texts with markup, and documents: in sentences, whose parts come out where they belong."""

import bisect

from keraszoo.errors import KerasZooError
from keraszoo.text.blocks import Block, blocks_of
from keraszoo.text.inline import Inline, Region, nested
from keraszoo.text.markup import check_markup, parse
from keraszoo.text.protected import check_keep, lost_numbers
from keraszoo.translation.input_warnings import single_sentences
from keraszoo.translation.projection import WordWeights, project, sentence_weights
from keraszoo.translation.segments import Segment, sentence_segments, without_regions
from keraszoo.translation.stand_ins import ROUNDS, found_stand_ins, with_stand_ins

AT_ONCE = 256  # sentences whose attention weights are in memory


def translate_marked(translator, texts, markup="text", keep=(), **options):
    """Translates sentences with markup; see `TextTranslator.translate`."""
    check(translator, markup, keep, options)
    inlines = [parse(text, markup, keep) for text in texts]
    segments = [[Segment(one, *_visible(one.text))] for one in inlines]
    return [one.render() for one in _translated(translator, inlines, segments, options)]


class DocumentTranslator:
    """The method of `TextTranslator` for whole documents."""

    def translate_document(self, text, markup="text", keep=(), language=None, wrapped=False, **options):
        """Translates a document of any length, sentence by sentence.

        Paragraphs, blank lines, list marks, indentation and cells of tables stay. A sentence that is too long
        for the model is cut at a comma or between words. What has no letters is copied.

        Args:
            text: str.
            markup: `"text"`, `"html"` or `"markdown"`. In any of them, placeholders such as `{name}`,
                addresses and numbers come out unchanged; tags and code, too, and tags are placed by the
                attention weights.
            keep: list of str, words that come out unchanged.
            language: code of the language of the text, by which sentences are split, such as `"de"`; `None`:
                the first of the model's `languages`, or `"en"` if it states none.
            wrapped: whether a paragraph of plain text goes over several lines, as in HTML and Markdown. Each
                line has its own sentences otherwise.
            **options: as for `translate`, such as `beam_width=1`; there is no `prefix`.

        Returns:
            Str, the translation.

        Raises:
            KerasZooError: as for `translate`; or `text` is not a str, or the language is not a code.
        """
        if not isinstance(text, str):
            raise KerasZooError(f"text: expected a str, got {type(text).__name__}, {text!r:.40}")
        if language is None:
            language = next(iter(getattr(self, "about", {}).get("languages", ())), "en")
        check(self, markup, keep, options)
        parts = blocks_of(text, markup, keep, wrapped)
        blocks = [part for part in parts if isinstance(part, Block)]
        inlines = [block.inline for block in blocks]
        segments = sentence_segments(self, inlines, language, options)
        with single_sentences():
            found = iter(_translated(self, inlines, segments, options))
        return "".join(part.translated(next(found)) if isinstance(part, Block) else part for part in parts)


def check(translator, markup, keep, options):
    """Raises KerasZooError if a text with such markup cannot be translated with these arguments."""
    check_markup(markup)
    check_keep(keep)
    if isinstance(options.get("terms"), (list, tuple)):  # the parts of a text are not numbered
        raise KerasZooError("terms: expected a dict with markup or keep, got a list")
    if markup != "text":
        translator.require_attention(f"markup {markup}, which attention places")


def _visible(text):
    start = len(text) - len(text.lstrip())
    return start, max(start, len(text.rstrip()))


def _translated(translator, inlines, segments, options):
    """The `Inline`s of translations; `segments` is a list for each, and what is between is copied."""
    for number in range(ROUNDS):
        _attempt(translator, [one for some in segments for one in some if not one.done], number, options)
    segments = [[part for one in some for part in one.divided()] for some in segments]
    _attempt(translator, [one for some in segments for one in some if not one.done], ROUNDS, options)
    _place_tags(translator, inlines, segments, options.get("batch_size", 64))
    return [_joined(one, some) for one, some in zip(inlines, segments, strict=True)]


def _attempt(translator, segments, number, options):
    """Translates segments; those whose regions or numbers do not come out stay undone."""
    tried = [(one, with_stand_ins(one.text, one.regions, number)) for one in segments]
    tried = [(one, substitution) for one, substitution in tried if substitution is not None]
    found = translator.translate([substitution.text for _, substitution in tried], **options) if tried else []
    for (one, substitution), translation in zip(tried, found, strict=True):
        if substitution.text[-1].isalnum() and translation[-2:-1].isalnum():
            translation = translation.removesuffix(".")  # that models add to headings and cells
        places = found_stand_ins(translation, substitution, one.regions)
        own = without_regions(translation, [(*place, "") for place in sorted(places or [])], "")
        lost = lost_numbers(one.text, one.regions, own) if number < ROUNDS else []
        if lost:
            one.regions = sorted([*one.regions, *lost])
        elif number == ROUNDS and any(map(str.isdigit, translation)):
            one.copy()  # better than a number from nowhere
        elif places is not None and translation:
            one.finish(translation, substitution, places)
        elif number == ROUNDS:
            one.copy()


def _place_tags(translator, inlines, segments, batch_size):
    """Finds the places of tags in the translations of segments."""
    inside = []
    for inline, some in zip(inlines, segments, strict=True):
        tags = _tags_by_segment(inline.tags, some)
        inside += [(one, of_one) for one, of_one in zip(some, tags, strict=True) if of_one and one.translated]
    for first in range(0, len(inside), AT_ONCE):
        _place_some(translator, inside[first : first + AT_ONCE], batch_size)


def _place_some(translator, segments, batch_size):
    """Finds the places of tags in some segments, pairs of a `Segment` and its tags."""
    sides = ([getattr(one, name) for one, _ in segments] for name in ("source", "translation"))
    weights = sentence_weights(translator, *sides, batch_size)
    for (one, tags), (*pieces, matrix) in zip(segments, weights, strict=True):
        words = WordWeights(one.source, one.translation, *pieces, matrix, one.anchors)
        local = [
            (one.moved_in(max(tag.start - one.start, 0)), one.moved_in(min(tag.end, one.end) - one.start))
            for tag in tags.values()
        ]
        index = {i: k for k, i in enumerate(tags)}
        local = [(*place, index.get(tag.parent, -1)) for place, tag in zip(local, tags.values(), strict=True)]
        forced = [_forced(one, tag) for tag in tags.values()]
        for i, (start, end) in zip(tags, project(words, local, forced), strict=True):
            one.places[i] = one.moved_out(start), one.moved_out(end)


def _tags_by_segment(tags, segments):
    """For each segment a dict, from their index, of the tags that have something of it."""
    starts, found = [one.start for one in segments], [{} for _ in segments]
    for i, tag in enumerate(tags):
        for k in range(max(bisect.bisect_right(starts, tag.start) - 1, 0), len(segments)):
            start, end = segments[k].start, segments[k].end
            if start > tag.start and start >= tag.end:
                break
            if max(tag.start, start) < min(tag.end, end) or start <= tag.start == tag.end <= end:
                found[k][i] = tag
    return found


def _forced(segment, tag):
    """Whether a span begins, and ends, with the translation: it has other sentences, or all of this one."""
    before, after = tag.start < segment.start, tag.end > segment.end
    whole = tag.start <= segment.start and tag.end >= segment.end
    return (before or whole, after or whole) if tag.start < tag.end else (False, False)


def _joined(inline, segments):
    """The translation of an `Inline` from those of its segments."""
    parts, regions, length, end = [], [], 0, 0
    offsets = []  # of each segment in the translation
    for one in segments:
        gap = inline.text[end : one.start]
        offsets.append(length + len(gap))
        regions += [Region(a + offsets[-1], b + offsets[-1], output) for a, b, output in one.result_regions]
        parts += [gap, one.result]
        length, end = offsets[-1] + len(one.result), one.end
    text = "".join([*parts, inline.text[end:]])
    starts = [one.start for one in segments]

    def moved(i, at, is_end):
        """The place of a tag's start or end."""
        k = (bisect.bisect_left if is_end else bisect.bisect_right)(starts, at) - 1
        if k < 0:
            return at
        one, offset = segments[k], offsets[k]
        if at > one.end:  # in the gap that follows
            return offset + len(one.result) + at - one.end
        if i in one.places:
            return offset + one.places[i][is_end]
        return offset + at - one.start  # copied

    tags = []
    for i, tag in enumerate(inline.tags):
        start = moved(i, tag.start, False)
        tags.append((start, moved(i, tag.end, True) if tag.start < tag.end else start))
    return Inline(text, regions, nested(tags, inline.tags), inline.escapes)
