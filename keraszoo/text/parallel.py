"""Readers of parallel text: one sentence a line, in two files or in one with TABs."""

import contextlib
import gzip
import itertools
import sys
import zlib

from keraszoo.errors import DataError

LONGEST_LINE = 1 << 24  # bytes; a longer one is not a sentence but a file of another kind
BOM = b"\xef\xbb\xbf"


def read_lines(path):
    r"""Reads the lines of a UTF-8 text, one after the other; blank ones are kept.

    A line ends with `\n` or `\r\n` and with nothing else: U+2028, U+0085, form feeds and lone carriage
    returns stay inside it, so that lines of two files never shift against each other. A byte order mark at
    the start is dropped. Everything else is passed on as it stands, no-break spaces and control characters
    too: what becomes of them is the vocabulary's business (`Subwords` normalises by NFKC).

    Args:
        path: the file, plain or gzip (known by its first bytes, whatever its name), or `"-"` for standard
            input.

    Returns:
        An iterator of strings. An empty file gives none.

    Raises:
        DataError: while reading, with the path and the line: no such file, a directory, bytes that are not
            UTF-8, a NUL byte (a binary file, or UTF-16), damaged gzip, a line above 16 MiB.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "text.en")
    >>> _ = file.write_bytes(b"\xef\xbb\xbfA dog.\r\n\r\nA cat.")
    >>> list(read_lines(file))
    ['A dog.', '', 'A cat.']
    """
    for number, line in enumerate(_raw_lines(path), start=1):
        yield _decoded(line, path, number)


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
        raise DataError("an empty corpus: expected at least one line", _name(source))


def _columns(path):
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t", 2)
        if len(columns) == 1:
            if line.strip():
                raise DataError(
                    f"expected source TAB target, got a line with no TAB: {line[:40]!r}", _name(path), number
                )
            columns = ["", ""]
        yield columns[0], columns[1]


def _side_by_side(source, target):
    sides = [_raw_lines(source), _raw_lines(target)]
    for number, lines in enumerate(itertools.zip_longest(*sides), start=1):
        if None in lines:
            rest = 1 + sum(1 for side in sides for _ in side)
            longer, shorter = (source, target) if lines[1] is None else (target, source)
            counts = f"{_name(longer)} has {number - 1 + rest}, {_name(shorter)} has {number - 1}"
            raise DataError(f"unequal numbers of lines: {counts}", _name(longer), number)
        yield _decoded(lines[0], source, number), _decoded(lines[1], target, number)


def _raw_lines(path):
    """Yields the lines of a file as bytes, without the line end and the byte order mark."""
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    raise DataError(
                        f"a line above {LONGEST_LINE:,} bytes: not one sentence a line", _name(path), number
                    )
                if number == 1:
                    line = line.removeprefix(BOM)
                yield line.removesuffix(b"\n").removesuffix(b"\r")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"damaged gzip: {error}", _name(path), number + 1) from None
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror or error}", _name(path)) from None


@contextlib.contextmanager
def _opened(path):
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    with open(path, "rb") as file:
        if str(path).endswith(".gz") or file.peek(2)[:2] == b"\x1f\x8b":
            with gzip.open(file) as unpacked:
                yield unpacked
        else:
            yield file


def _decoded(line, path, number):
    if b"\0" in line:
        raise DataError("a NUL byte: a binary file, or text that is not UTF-8", _name(path), number)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"not UTF-8: byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line",
            _name(path),
            number,
        ) from None


def _name(path):
    return "<stdin>" if str(path) == "-" else path
