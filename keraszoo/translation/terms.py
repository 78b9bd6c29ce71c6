"""The ids of the terms that translations have to contain."""

from collections.abc import Mapping

from keraszoo.errors import KerasZooError
from keraszoo.messages import shown
from keraszoo.text.terms import TermFinder


def term_rows(terms, texts, subwords, options, prefixes=None):
    """The ids of the terms of each text: a list of lists of lists of int, or `None` if no text has a term.

    Args:
        terms: a mapping, or a list of them, one for each text; see `TermFinder`.
        texts: list of str.
        subwords: the target's `Subwords`.
        options: `SearchOptions`.
        prefixes: lists of ids that the translations begin with, or `None`.

    Raises:
        KerasZooError: such a mapping is no use, a target has characters that the vocabulary lacks, the
            terms of a text do not fit in `max_length`, or the search is not a beam search.
    """
    if terms is None:
        return None
    if options.sampling or options.beam_width == 1:
        kind = "sampling=True" if options.sampling else "beam_width=1"
        raise KerasZooError(f"terms need beam search with a beam of at least 2, got {kind}")
    several = not isinstance(terms, Mapping)
    if several and (not isinstance(terms, (list, tuple)) or len(terms) != len(texts)):
        raise KerasZooError(f"terms: expected a dict, or a list of {len(texts)} of them, got {shown(terms)}")
    finders = [TermFinder(of_text) for of_text in (terms if several else [terms])]
    ids = {}
    for finder in finders:
        for source, target in finder.terms.items():
            ids[target] = _ids(source, target, subwords, options.max_length)
    rows = []
    for i, text in enumerate(texts):
        found = finders[i if several else 0].targets(text)
        rows.append([ids[target] for target in found])
        needed, begun = sum(map(len, rows[i])), len(prefixes[i]) if prefixes else 0
        if found and begun + needed >= options.max_length:
            after = f" after a prefix of {begun}" if begun else ""
            raise KerasZooError(
                f"text {i + 1}: its {len(found)} terms have {needed} subwords{after}, "
                f"max_length is {options.max_length}: {shown(text)}"
            )
    return rows if any(rows) else None


def _ids(source, target, subwords, max_length):
    (row,) = subwords.encode([target])
    if subwords.unknown_id in row:
        unknown = ", ".join(subwords.unknown(target))
        raise KerasZooError(f"terms: {source!r}: the vocabulary does not have {unknown} of {target!r}")
    if not 0 < len(row) < max_length:
        raise KerasZooError(
            f"terms: {source!r}: {target!r} has {len(row)} subwords, max_length is {max_length}"
        )
    return row
