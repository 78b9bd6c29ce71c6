"""The parts of a text that a translation must not change: placeholders, addresses, given words, numbers."""

import bisect
import functools
import re
from collections import Counter

from keraszoo.errors import KerasZooError, check_texts
from keraszoo.text.inline import Inline, Region
from keraszoo.text.tokens import ADDRESS, compile_expression

PLACEHOLDER = (  # {{name}}, ${name}, {name}, {0:.2f}, {}; %s, %(name)s, %1$d; $1, $name
    r"\{\{[^{}\n]{1,80}\}\}|\$?\{[\w.$:!,<>+\[\]'-]{0,80}\}|"
    r"%(?:\(\w{1,80}\))?(?:\d{1,3}\$)?[-+#0]*\d{0,3}(?:\.\d{1,3})?(?:hh?|ll?)?[sdiufgxXcr@](?!\w)|"
    r"\$\d{1,3}(?!\d|[.,]\d)|\$[A-Za-z_]\w{0,80}"  # $1, $name
)
NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
IN_WORDS = 2  # digits of the numbers that a translation may write in words
_GLUE = r"[0-9A-Za-z_\u00c0-\u024f]"
_BEFORE, _AFTER = re.compile(rf"{_GLUE}+\Z"), re.compile(f"{_GLUE}+")
_LONGEST = 80  # characters of such a part


def protected(text, keep=(), opaque=(), stops=(), escapes=None):
    """The parts of a text that must come out unchanged.

    These are placeholders (`{name}`, `{{name}}`, `${name}`, `%s`, `%(name)s`, `%1$d`, `$1`, `$name`), web and
    mail addresses, and the words of `keep`. Letters and digits that touch a part belong to it: all of
    `user{id}b` is kept.

    Args:
        text: str.
        keep: words or phrases, list of str; each is kept where no letter or digit touches it.
        opaque: `Region`s that are kept in any case, ascending and apart.
        stops: positions, ascending, which no region crosses: there are tags.
        escapes: as for `Inline`.

    Returns:
        List of `Region`, ascending; they touch at stops only.

    Example:

    >>> [region.output for region in protected("Hi {name}, see www.example.org or Acme's %d.", ["Acme"])]
    ['{name}', 'www.example.org', 'Acme', '%d']
    """
    exact = [match.span() for match in _words(tuple(keep)).finditer(text)] if keep else []
    found = [_with_glue(text, *region[:2]) for region in opaque]
    found += [_with_glue(text, *match.span()) for match in compile_expression(_PATTERN).finditer(text)]
    spans = []
    for start, end in sorted(exact + found):
        if spans and start <= spans[-1][1]:
            spans[-1][1] = max(end, spans[-1][1])
        else:
            spans.append([start, end])
    whole = Inline(text, opaque, escapes=escapes or {})
    pieces = (piece for span in spans for piece in _cut(*span, stops))
    return [Region(start, end, whole.part(start, end).render()) for start, end in pieces]


def check_keep(keep):
    """Raises KerasZooError unless `keep` is a list of str, none of them blank."""
    check_texts(keep, "keep")
    for i, word in enumerate(keep):
        if not word.strip():
            raise KerasZooError(f"keep[{i}]: expected a word, got {word!r}")


def lost_numbers(text, regions, translation, in_words=IN_WORDS):
    """The numbers of a text outside of its regions that are not in its translation, a list of `Region`.

    A number may have other marks between its digits, as 3.5 and 3,5, and none between thousands. One of at
    most `in_words` digits may be in words, unless the translation has a number that the text does not have.

    Example:

    >>> lost = lost_numbers("2 of 1,300 men left at 7.", [], "Zwei von 1.200 gingen um 7.")
    >>> [number.output for number in lost]
    ['2', '1,300']
    """
    inside = [False] * (len(text) + 1)
    for start, end, _ in regions:
        inside[start:end] = [True] * (end - start)
    numbers = [Region(*m.span(), m[0]) for m in NUMBER.finditer(text) if not inside[m.start()]]
    joined = re.sub(r"(?<=\d)[ \u00a0\u202f'](?=\d{3}(?!\d))", "", translation)
    written = Counter(map(_value, NUMBER.findall(joined)))
    lost = []
    for number in numbers:
        if written[_value(number.output)]:
            written[_value(number.output)] -= 1
        else:
            lost.append(number)
    invented = bool(+written)
    return [number for number in lost if invented or sum(map(str.isdigit, number.output)) > in_words]


_PATTERN = f"{ADDRESS}|{PLACEHOLDER}"


@functools.lru_cache(64)
def _words(keep):
    ends = re.compile(_GLUE)  # a word of a script without blanks has neighbours
    return re.compile(
        "|".join(
            (f"(?<!{_GLUE})" if ends.match(word[0]) else "")
            + re.escape(word)
            + (f"(?!{_GLUE})" if ends.match(word[-1]) else "")
            for word in sorted(keep, key=len, reverse=True)
        )
    )


def _value(number):
    """The digits of a number, thousands joined, with one mark between other groups."""
    first, *groups = re.findall(r"\d+", number)
    if len(first) <= 3:
        while groups and len(groups[0]) == 3:
            first += groups.pop(0)
    return ".".join([first, *groups])


def _with_glue(text, start, end):
    """A part of a text with the letters and digits that touch it."""
    before = _BEFORE.search(text[max(0, start - _LONGEST) : start])
    after = _AFTER.match(text, end, end + _LONGEST)
    return start - len(before[0]) if before else start, after.end() if after else end


def _cut(start, end, stops):
    """A span, cut at the stops inside of it."""
    inside = stops[bisect.bisect_right(stops, start) : bisect.bisect_left(stops, end)]
    return zip([start, *inside], [*inside, end], strict=True)
