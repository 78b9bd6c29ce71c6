r"""The formats of word vectors that others write, row by row: what is text, what is binary, where a row ends.

    word2vec, text     "<rows> <width>\n", then "<word> <number> ... <number>\n"; fastText's .vec is the same
    GloVe              the same rows without the first line
    word2vec, binary   "<rows> <width>\n", then "<word> " and `width` float32, little-endian, perhaps a "\n"

Nothing is reserved, skipped or believed because a header says so: a row is there when its bytes are.
"""

import contextlib
import gzip
import io
import re
import zlib
from typing import NamedTuple

import numpy as np

from keraszoo.errors import DataError, KerasZooError

FORMATS = ("auto", "word2vec", "binary", "glove", "fasttext")
LONGEST_ROW = 1 << 20  # bytes; the longest rows in use, of some thousand numbers, have a tenth of that
LONGEST_WORD = 1 << 16  # bytes
WIDEST = 1 << 15  # numbers
CHUNK = 1 << 20  # bytes of a binary file read at a time: more than the longest word and its numbers
HEAD = LONGEST_ROW  # bytes that are looked at to tell the formats apart

BOM = b"\xef\xbb\xbf"
HEADER = re.compile(rb"([0-9]{1,12})[ \t]+([0-9]{1,9})[ \t]*\r?\n?")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
STRANGERS = {
    b"\x80[\x02-\x05]": "a pickle, which is never loaded; let gensim write it by `save_word2vec_format`",
    b"PK\x03\x04": "a zip archive; unpack it",
    b"\xba\x16\x4f\x2f": "fastText's own .bin; its vectors are in the .vec beside it",
    b"\x93NUMPY": "a NumPy array, without the words",
}


class Layout(NamedTuple):
    """What a vector file is: `binary` or text, `rows` as its header promises, if it has one, and `width`."""

    binary: bool
    rows: int | None
    width: int


class Row(NamedTuple):
    """One row: its number (a line of the file, where it is text), word and numbers; or what is wrong.

    `ended` is False for a line of text without a line end, which can only be the last.
    """

    number: int
    word: bytes = b""
    numbers: bytes = b""
    problem: str | None = None
    ended: bool = True


@contextlib.contextmanager
def opened(path):
    """Opens a file for reading bytes, unpacked if it begins as gzip; every trouble becomes a DataError."""
    try:
        with open(path, "rb", buffering=1 << 20) as file:
            if file.peek(2)[:2] == b"\x1f\x8b":
                with gzip.open(file) as unpacked:
                    yield io.BufferedReader(unpacked, 1 << 20)
            else:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"damaged gzip: {error}", path) from None
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror or error}", path) from None


def find_layout(path, format="auto"):
    """Looks at the first bytes of a file and says what it is.

    Args:
        path: the file, plain or gzip.
        format: one of `FORMATS`; what the file ought to be. `"glove"` may have a header, `"word2vec"`,
            `"fasttext"` and `"binary"` must.

    Returns:
        A `Layout`.

    Raises:
        DataError: no such file, an empty one, one of another kind (a pickle, a zip archive, fastText's
            `.bin`), no header where there must be one, or a width that cannot be.
        KerasZooError: another `format`.
    """
    if format not in FORMATS:
        raise KerasZooError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    with opened(path) as file:
        head = file.read(HEAD).removeprefix(BOM)
    if not head.strip():
        raise DataError("an empty file: expected word vectors", path)
    for magic, what in STRANGERS.items():
        if re.match(magic, head):
            raise DataError(f"expected word vectors, got {what}", path)
    line, _, rest = head.partition(b"\n")
    header = HEADER.fullmatch(line)
    if header is None:
        if format not in ("auto", "glove"):
            raise DataError(f"expected a header '<rows> <width>', got {_shown(line)}", path, 1)
        return Layout(False, None, _checked_width(_count_numbers(line), path))
    width = _checked_width(int(header[2]), path)
    binary = _is_binary(rest, width) if format == "auto" else format == "binary"
    return Layout(binary, int(header[1]), width)


def read_rows(path, layout):
    """Yields the `Row`s of a file, one after the other, the damaged ones too.

    Args:
        path: the file.
        layout: what `find_layout` found.

    Raises:
        DataError: while reading, where nothing sensible can follow: damaged gzip, a line without an end.
    """
    with opened(path) as file:
        if layout.rows is not None:
            file.readline()
        if layout.binary:
            yield from _binary_rows(file, layout.width)
        else:
            yield from _text_rows(file, layout.width, 0 if layout.rows is None else 1, path)


def text_numbers(numbers):
    """Turns `b"0.5 -1"` into float32; ValueError says what is no number."""
    parts = numbers.split(b" ")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = None
    if values is None or b"_" in numbers:
        raise ValueError(
            f"expected a number, got {_shown(next(part for part in parts if not _is_number(part)))}"
        )
    with np.errstate(over="ignore"):  # what is too large becomes infinite and is found as such
        return np.array(values).astype("float32")


def _text_rows(file, width, number, path):
    while line := file.readline(LONGEST_ROW):
        number += 1
        ended = line.endswith(b"\n")
        if len(line) == LONGEST_ROW and not ended:
            raise DataError(f"a line above {LONGEST_ROW:,} bytes: no word vectors", path, number)
        line = line.removeprefix(BOM) if number == 1 else line
        line = line.rstrip(b" \t\r\n")
        if line:
            yield _text_row(number, line, width, ended)


def _text_row(number, line, width, ended):
    if b"\t" in line or b"  " in line:
        line = re.sub(rb"[ \t]+", b" ", line)
    count = line.count(b" ")
    if count == width:
        word, _, numbers = line.partition(b" ")
    elif count > width and not _is_number((parts := line.split(b" "))[count - width]):
        # GloVe's largest file has words with blanks in them, as ". . ."; the last of the word is no number.
        word, numbers = b" ".join(parts[: count - width + 1]), b" ".join(parts[count - width + 1 :])
    else:
        cut = "" if ended else "the last line is cut off: "
        return Row(number, problem=f"{cut}expected {width} numbers, got {count}")
    if not word:
        return Row(number, problem="a row without a word")
    return Row(number, word, numbers, ended=ended)


def _binary_rows(file, width):
    size, number, buffer, start = 4 * width, 0, b"", 0
    while True:
        while buffer[start : start + 1] == b"\n":  # the C program ends a row with one, gensim does not
            start += 1
        blank = buffer.find(b" ", start, start + LONGEST_WORD)
        end = blank + 1 + size
        if blank < 0 or end > len(buffer):
            more = b"" if blank < 0 and len(buffer) - start > LONGEST_WORD else file.read(CHUNK)
            if not more:
                break
            buffer, start = buffer[start:] + more, 0
            continue
        number += 1
        if blank == start:
            yield Row(number, problem="a row without a word")
        else:
            yield Row(number, buffer[start:blank], buffer[blank + 1 : end])
        start = end
    if start < len(buffer):
        what = "a row without a word" if blank < 0 else "the last row is cut off"
        yield Row(number + 1, problem=f"{what}: {len(buffer) - start:,} bytes and more are no row")


def _is_binary(rest, width):
    """Whether what follows a header is binary: no row of text comes first, and there are NULs and such."""
    line = rest.partition(b"\n")[0].rstrip(b" \t\r")
    if len(line) < HEAD // 2 and _count_numbers(line) == width:
        return False
    return CONTROL.search(rest) is not None


def _count_numbers(line):
    """How many numbers stand at the end of a line."""
    parts = line.split()
    count = 0
    while count < len(parts) - 1 and _is_number(parts[-1 - count]):
        count += 1
    return count


def _is_number(part):
    try:
        float(part)
    except ValueError:
        return False
    return b"_" not in part  # which Python allows inside a number


def _checked_width(width, path):
    if width == 0:
        raise DataError("expected a word and its numbers, or a header '<rows> <width>'", path, 1)
    if width > WIDEST:
        raise DataError(f"expected vectors of at most {WIDEST:,} numbers, got {width:,}", path, 1)
    return width


def _shown(data):
    return repr(data[:40].decode("utf-8", "replace"))
