"""Readers of parallel text: one sentence a line, in two files or in one with TABs."""

import itertools

from keraszoo.errors import DataError
from keraszoo.text.lines import decoded, raw_lines, read_lines, shown_name


def read_pairs(source, target=None):
    r"""Reads pairs of sentences, one after the other, from two files or from one.

    Args:
        source: the file of the source sentences; or, with no `target`, a file of lines `source TAB target`,
            whose further columns are ignored. Each is read as `read_lines` does.
        target: the file of the target sentences, line by line the translations.

    Returns:
        An iterator of (source, target) strings. Blank lines give blank sides; `ParallelCorpus` drops and
        counts them.

    Raises:
        DataError: while reading, as `read_lines` does; and for unequal numbers of lines (both are named), for
            a line that is not blank and has no TAB, for an empty corpus.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "text.tsv")
    >>> _ = file.write_text("A dog.\tEin Hund.\tCC BY\nA cat.\tEine Katze.\n")
    >>> list(read_pairs(file))
    [('A dog.', 'Ein Hund.'), ('A cat.', 'Eine Katze.')]
    """
    empty = True
    for pair in _columns(source) if target is None else _side_by_side(source, target):
        empty = False
        yield pair
    if empty:
        raise DataError("an empty corpus: expected at least one line", shown_name(source))


def _columns(path):
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t", 2)
        if len(columns) == 1:
            if line.strip():
                raise DataError(
                    f"expected source TAB target, got a line with no TAB: {line[:40]!r}",
                    shown_name(path),
                    number,
                )
            columns = ["", ""]
        yield columns[0], columns[1]


def _side_by_side(source, target):
    sides = [raw_lines(source), raw_lines(target)]
    for number, lines in enumerate(itertools.zip_longest(*sides), start=1):
        if None in lines:
            rest = 1 + sum(1 for side in sides for _ in side)
            longer, shorter = (source, target) if lines[1] is None else (target, source)
            counts = f"{shown_name(longer)} has {number - 1 + rest}, {shown_name(shorter)} has {number - 1}"
            raise DataError(f"unequal numbers of lines: {counts}", shown_name(longer), number)
        yield decoded(lines[0], source, number), decoded(lines[1], target, number)
