"""Stand-ins: words that a model copies, in place of what it must not change."""

import re

from keraszoo.text.inline import Substitution
from keraszoo.text.protected import NUMBER

PEOPLE = ("Tom", "Anna", "Nancy", "Ken", "Bob", "Bill", "Jim", "Peter")
PLACES = ("Boston", "Berlin", "Madrid", "Osaka")
NUMBERS = ("48", "37", "59", "26", "83", "65")
ROUNDS = 2  # of stand-ins that are tried
_PLACE = re.compile(
    r"https?:|www\.|[{(<$%]*\w*(?:city|town|place|country|location|address|street|state)", re.IGNORECASE
)
_COUNT = re.compile(
    rf"{NUMBER.pattern}|%.*[diuf]|[{{(<$%]*(?:n|num\w*|count|total|amount)\b.*", re.IGNORECASE
)


def with_stand_ins(text, regions, number):
    """Replaces the regions of a sentence by names or numbers that it does not have.

    Args:
        text: str.
        regions: its `Region`s.
        number: which choice it is, from 0. The first has a name of a place for an address or `{city}`, a
            number for `%d` or `{count}`, and the name of a person for everything else; the second the name of
            a place for all but numbers.

    Returns:
        A `Substitution`, or `None` if the regions are too many or touch each other.

    Example:

    >>> from keraszoo.text.protected import protected
    >>> text = "{name} moved to {city} with %d cats."
    >>> with_stand_ins(text, protected(text), 0).text
    'Tom moved to Boston with 48 cats.'
    """
    if any(before.end == after.start for before, after in zip(regions, regions[1:], strict=False)):
        return None
    free = {kind: [name for name in kind if name not in text] for kind in (PEOPLE, PLACES, NUMBERS)}
    changes = []
    for start, end, output in regions:
        kind = NUMBERS if _COUNT.fullmatch(output) else PLACES if number or _PLACE.match(output) else PEOPLE
        names = free[kind] or free[PEOPLE]
        if not names:
            return None
        changes.append((start, end, names.pop(-1 if number else 0) if kind is NUMBERS else names.pop(0)))
    return Substitution(text, changes)


def found_stand_ins(translation, substitution, regions):
    """Where each stand-in is in a translation; `None` unless each is there once.

    A possessive "s" may follow, as in "Toms", unless that would change what stands there.
    """
    places = []
    for (start, end), region in zip(substitution.places, regions, strict=True):
        name = re.escape(substitution.text[start:end])
        ending = "s?" if name.isalpha() and region.output[-1] not in "_sd" + "0123456789" else ""
        found = re.findall(rf"(?<![^\W_]){name}{ending}(?![^\W_])", translation)
        if len(found) != 1 or translation.count(substitution.text[start:end]) != 1:
            return None
        at = translation.index(substitution.text[start:end])
        places.append((at, at + end - start))
    return places
