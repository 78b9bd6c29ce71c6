r"""Reads and writes word vectors in the formats of word2vec, GloVe and fastText.

    word2vec, text     "<rows> <width>\n", then "<word> <number> ... <number>\n"; fastText's .vec is the same
    GloVe              the same rows without the first line
    word2vec, binary   "<rows> <width>\n", then "<word> " and `width` float32, little-endian, perhaps a "\n"

gensim reads them as well. It allocates as many rows as the header claims, keeps all rows in memory,
does not name the damaged line, and fails on words with blanks. Its own format is pickle and is never read.
"""

import contextlib
import functools
import gzip
import itertools
import re
import warnings
from pathlib import Path

import numpy as np

from keraszoo.errors import DataError, KerasZooError
from keraszoo.messages import shown
from keraszoo.saving.atomic import replace_file
from keraszoo.text.lines import BOM, check_line_ends, open_bytes

FORMATS = ("auto", "word2vec", "binary", "glove", "fasttext")
LONGEST_ROW = 1 << 20  # bytes; ten times the longest rows in use
LONGEST_WORD = 1 << 16  # bytes
WIDEST = 1 << 15  # numbers
CHUNK = 1 << 20  # bytes of a binary file that are read at a time

HEADER = re.compile(rb"([0-9]{1,12})[ \t]+([0-9]{1,9})[ \t]*\r?\n?")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
OTHER_KINDS = {
    b"\x80[\x02-\x05]": "a pickle, which is never loaded; write it with gensim's `save_word2vec_format`",
    b"PK\x03\x04": "a zip archive; unpack it",
    b"\xba\x16\x4f\x2f": "fastText's own .bin; its vectors are in the .vec file next to it",
    b"\x93NUMPY": "a NumPy array, without the words",
}


def read_vectors(path, format="auto", wanted=None):
    """Reads a file of word vectors, row by row: `(words, matrix)`, distinct str and finite float32 (N, D).

    The first row of a word counts; later ones are dropped with a warning, and so are those of a binary file
    whose word was cut within a letter. `format` is one of `FORMATS`. With `wanted`, a container of words,
    other rows take no memory; their numbers are counted but not parsed.

    Raises:
        DataError: with the file and the line (in a binary file: the row): a row with another number of
            numbers than the header or the first row, with NaN, infinity or no word, cut or not UTF-8; a wrong
            number of rows in the header; no such file, an empty one, damaged gzip, a file of another kind.
        KerasZooError: another `format`.
    """
    binary, promised, width = _layout(path, format)
    split = _split_binary if binary else _split_text
    parse = functools.partial(np.frombuffer, dtype="<f4") if binary else _parse_text
    places, numbers = {}, bytearray()  # grows with the rows, not with what the header claims
    rows = duplicates = cut = 0
    with open_bytes(path) as file:
        if promised is not None:
            file.readline()
        lines = _binary_rows(file, width) if binary else _text_rows(file, int(promised is not None), path)
        for number, row in lines:
            rows += 1
            try:
                word, data = split(row, width)
                if not binary and not row.endswith(b"\n"):
                    warnings.warn(f"{path}:{number}: no line end: the last number may be cut", stacklevel=2)
                word = word.decode("utf-8")
                if wanted is not None and word not in wanted:
                    continue
                if word in places:
                    duplicates += 1
                    continue
                values = parse(data)
                if not np.isfinite(values).all():
                    wrong = int(np.argmin(np.isfinite(values)))
                    raise ValueError(f"number {wrong + 1} is {values[wrong]}")
                numbers += values.tobytes()
                places[word] = len(places)
            except ValueError as error:
                problem = str(error)
                if isinstance(error, UnicodeDecodeError):
                    if binary and error.reason == "unexpected end of data":
                        cut += 1
                        continue
                    problem = f"not UTF-8: byte 0x{error.object[error.start]:02x} in the word"
                if binary:  # it has rows but no lines
                    raise DataError(f"row {number}: {problem}", path) from None
                raise DataError(problem, path, number) from None
    if promised not in (None, rows):
        raise DataError(f"the header says {promised:,} rows, the file has {rows:,}", path)
    if duplicates:
        warnings.warn(f"{path}: {duplicates:,} rows left out because their word came before", stacklevel=2)
    if cut:
        warnings.warn(f"{path}: {cut:,} rows left out because their word ends within a letter", stacklevel=2)
    return list(places), np.frombuffer(numbers, "<f4").reshape(-1, width)


def write_vectors(path, words, matrix, format="word2vec"):
    """Writes words and a matrix (N, D) for other programs, compressed if the name ends in `.gz`.

    The text of the format `word2vec` has enough digits to restore the same float32. Raises DataError for a
    word with a blank, or if the file cannot be written; KerasZooError for another format than `word2vec` and
    `binary`.
    """
    path = Path(path)
    if format not in ("word2vec", "binary"):
        raise KerasZooError(f"format: expected word2vec or binary, got {format!r}")
    for word in words:
        if not word or set(word) & set(" \t\r\n"):
            raise DataError(f"cannot write the word {shown(word)}: a blank ends a word in this format", path)
    matrix = np.ascontiguousarray(matrix, "<f4")
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(replace_file(path))
        if path.suffix == ".gz":  # without name and time: the same vectors give the same bytes
            file = stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
        file.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        for word, row in zip(words, matrix, strict=True):
            data = row.tobytes() if format == "binary" else " ".join(row.astype("U")).encode()
            file.write(word.encode() + b" " + data + b"\n")


def _layout(path, format):
    """Detects the format of a file: (whether it is binary, the rows its header promises or None, width)."""
    if format not in FORMATS:
        raise KerasZooError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    with open_bytes(path) as file:
        head = file.read(LONGEST_ROW).removeprefix(BOM)
    if not head.strip():
        raise DataError("an empty file: expected word vectors", path)
    for magic, kind in OTHER_KINDS.items():
        if re.match(magic, head):
            raise DataError(f"expected word vectors, got {kind}", path)
    line, _, rest = head.partition(b"\n")
    check_line_ends(line, path, 1)
    header = HEADER.fullmatch(line)
    if header is None and format not in ("auto", "glove"):
        raise DataError(f"expected a header '<rows> <width>', got {_shown(line)}", path, 1)
    promised, width = map(int, header.groups()) if header else (None, _count_numbers(line))
    if width == 0:
        raise DataError("expected a word and its numbers, or a header '<rows> <width>'", path, 1)
    if width > WIDEST:
        raise DataError(f"expected vectors of at most {WIDEST:,} numbers, got {width:,}", path, 1)
    binary = format == "binary"
    if format == "auto" and header:  # binary rows have control characters, and do not look like a text row
        row = rest.partition(b"\n")[0].rstrip(b" \t\r")
        is_text = len(row) < LONGEST_ROW // 2 and _count_numbers(row) == width
        binary = not is_text and CONTROL.search(rest) is not None
    return binary, promised, width


def _text_rows(file, number, path):
    """Yields the lines that are not blank, with their numbers; `number` lines were read before."""
    while line := file.readline(LONGEST_ROW):
        number += 1
        if len(line) == LONGEST_ROW and not line.endswith(b"\n"):
            raise DataError(f"a line above {LONGEST_ROW:,} bytes: not word vectors", path, number)
        line = line.removeprefix(BOM)
        check_line_ends(line, path, number)
        if line.strip(b" \t\r\n"):
            yield number, line


def _split_text(line, width):
    """Splits a line into word and numbers."""
    row = line.rstrip(b" \t\r\n")
    if b"\t" in row or b"  " in row:
        row = re.sub(rb"[ \t]+", b" ", row)
    extra = row.count(b" ") - width
    parts = row.split(b" ", extra + 1) if extra >= 0 else []
    # GloVe's largest file has words with blanks in them, such as ". . ."; their last part is not a number, or
    # it is a whole one, as in "R$ 5", and most numbers of the vector are not.
    is_word = parts and (
        not _is_number(parts[-2]) or (parts[-2].isdigit() and 2 * parts[-1].count(b".") > width)
    )
    if not parts or (extra and not is_word):
        cut = "" if line.endswith(b"\n") else "the last line is cut off: "
        raise ValueError(f"{cut}expected {width} numbers, got {extra + width}")
    word = b" ".join(parts[:-1])
    if not word:
        raise ValueError("a row without a word")
    return word, parts[-1]


def _parse_text(data):
    parts = data.split(b" ")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = None
    if values is None or b"_" in data:
        raise ValueError(f"expected a number, got {_shown(next(p for p in parts if not _is_number(p)))}")
    with np.errstate(over="ignore"):  # too large numbers become infinite, which the caller checks
        return np.array(values).astype("<f4")


def _binary_rows(file, width):
    """Yields the rows of a binary file with their numbers; the last one may be cut."""
    buffer, start, number = b"", 0, 1
    while True:
        while buffer[start : start + 1] == b"\n":  # word2vec ends a row with a line end, gensim does not
            start += 1
        blank = buffer.find(b" ", start, start + LONGEST_WORD)
        end = blank + 1 + 4 * width
        if blank >= 0 and end <= len(buffer):
            yield number, buffer[start:end]
            start, number = end, number + 1
            continue
        more = file.read(CHUNK) if blank >= 0 or len(buffer) - start <= LONGEST_WORD else b""
        if not more:
            break
        buffer, start = buffer[start:] + more, 0
    if start < len(buffer):
        yield number, buffer[start:]


def _split_binary(row, width):
    """Splits a row into word and numbers."""
    word, _, data = row.partition(b" ")
    if not word or len(word) > LONGEST_WORD:
        raise ValueError("a row without a word")
    if len(data) != 4 * width:
        raise ValueError("the last row is cut off")
    return word, data


def _count_numbers(line):
    """Returns the number of numbers at the end of a line."""
    return sum(1 for _ in itertools.takewhile(_is_number, reversed(line.split()[1:])))


def _is_number(part):
    try:
        float(part)
    except ValueError:
        return False
    return b"_" not in part  # Python allows it inside a number


def _shown(data):
    return repr(data[:40].decode("utf-8", "replace"))
