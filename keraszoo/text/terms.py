"""Terms: words of a source text and the words that its translation has to contain."""

import re
from collections.abc import Mapping

from keraszoo.errors import DataError, KerasZooError, check_texts
from keraszoo.messages import shown
from keraszoo.text.characters import inside
from keraszoo.text.lines import read_rows
from keraszoo.text.parallel import clean_text

# Scripts without blanks between words: Thai to Burmese, Khmer, and East Asian but for Hangul.
UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff"
_IN_WORD = re.compile(f"[^{UNSPACED}{inside('L M N', others=True)}]")


def read_terms(path):
    r"""Reads a file of lines `source TAB target` (a glossary): a dict, as for `Translator.translate`.

    Blank lines are skipped. A source that occurs twice with the same target counts once.

    Raises:
        DataError: the file cannot be read as `read_lines` does, has no term, a line has not two columns that
            are not blank, or two lines give one source two targets.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "terms.tsv")
    >>> _ = file.write_text("car\tWagen\ncar park\tParkhaus\n")
    >>> read_terms(file)
    {'car': 'Wagen', 'car park': 'Parkhaus'}
    """
    terms, lines = {}, {}
    for number, line in enumerate(read_rows(path), start=1):
        if not line.strip():
            continue
        columns = [clean_text(column) for column in line.split("\t")]
        if len(columns) != 2 or not all(columns):
            raise DataError(f"expected source TAB target, got {line[:40]!r}", path, number)
        source, target = columns
        if terms.setdefault(source, target) != target:
            before = f"{terms[source]!r} in line {lines[source]}"
            raise DataError(f"{source!r} is {target!r} here, but {before}", path, number)
        lines.setdefault(source, number)
    if not terms:
        raise DataError("no terms: expected lines source TAB target", path)
    return terms


class TermFinder:
    """Finds the terms of a mapping in texts.

    A term is found where its source stands as whole words, in the same case; a small first letter also stands
    for a capital one, as at the start of a sentence. Of terms that begin at the same place, the longest is
    found, and what it covers belongs to no other. In scripts without blanks between words, it need not be a
    whole word. Both sides are read as `clean_text` returns them.

    Args:
        terms: mapping of str to str.

    Raises:
        KerasZooError: not such a mapping, a blank side, or two targets for one source.

    Example:

    >>> TermFinder({"car": "Wagen", "car park": "Parkhaus"}).targets("Cars? My car is in the car park.")
    ['Wagen', 'Parkhaus']
    """

    def __init__(self, terms):
        if not isinstance(terms, Mapping):
            raise KerasZooError(f"terms: expected a dict of str to str, got {shown(terms)}")
        check_texts(list(terms), "terms")
        check_texts(list(terms.values()), "the targets of terms")
        self.terms = {}
        for source, target in terms.items():
            clean, target = clean_text(source), clean_text(target)
            if not (clean and target):
                raise KerasZooError(f"terms: {shown(source)}: expected words on both sides, got a blank")
            if self.terms.setdefault(clean, target) != target:
                raise KerasZooError(f"terms: {clean!r} is both {self.terms[clean]!r} and {target!r}")
        capital = {source[0].upper() + source[1:]: target for source, target in self.terms.items()}
        self._by_start = {}
        for source, target in sorted({**capital, **self.terms}.items(), key=lambda term: -len(term[0])):
            self._by_start.setdefault(source[:2], []).append((source, target))

    def targets(self, text):
        """The targets of the terms in a text, in its order, one for each place."""
        text, place, found = clean_text(text), 0, []
        while place < len(text):
            terms = [*self._by_start.get(text[place : place + 2], ()), *self._by_start.get(text[place], ())]
            source, target = next((term for term in terms if _stands_at(term[0], text, place)), ("", None))
            found += [target] if source else []
            place += len(source) or 1
        return found


def _stands_at(source, text, place):
    if not text.startswith(source, place):
        return False
    end = place + len(source)
    edges = text[max(place - 1, 0) : place] + source[0], source[-1] + text[end : end + 1]
    return not any(len(_IN_WORD.findall(edge)) == 2 for edge in edges)
