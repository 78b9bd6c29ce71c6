"""Reading and writing word vectors in the formats of word2vec, GloVe and fastText.

gensim reads these formats too, but takes the header's word for the number of rows, keeps every row in memory,
and drops duplicates without saying so to the caller; where both can read a file, a test holds them together.
gensim's own format is pickle and is never opened.
"""

import gzip
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keraszoo.errors import DataError, KerasZooError
from keraszoo.saving.whole_file import whole_file
from keraszoo.text.vector_rows import find_layout, read_rows, text_numbers


@dataclass(frozen=True)
class VectorTable:
    """What was read from a vector file.

    Attributes:
        words: list of N str, no two alike, in the order of the file.
        matrix: float32 (N, D), finite.
        rows: how many rows the file has, the damaged ones too.
        duplicates: how many rows were left out because their word had come before.
        damaged: how many rows were left out because they could not be read.
    """

    words: list
    matrix: np.ndarray
    rows: int
    duplicates: int
    damaged: int


def read_vectors(path, format="auto", wanted=None, damaged="error"):
    r"""Reads a file of word vectors, row by row; of what is not wanted nothing stays in memory.

    The first row of a word counts; later ones are left out, with a warning that says how many. The numbers
    of a row that is not wanted are not looked at, only how many there are.

    Args:
        path: the file, plain or gzip.
        format: `"auto"`; `"word2vec"` (text with a header), `"binary"` (word2vec's), `"glove"` (text, with a
            header or without), `"fasttext"` (its `.vec`).
        wanted: the words to keep, anything with `in`; all by default.
        damaged: `"error"`: the first row that is wrong is an error. `"skip"`: it is left out, and a warning
            says how many were and which was the first. Wrong are another number of numbers than the header
            or the first row has, NaN and infinity, bytes that are not UTF-8, a cut row, a row without a word,
            and another number of rows than the header says.

    Returns:
        A `VectorTable`.

    Raises:
        DataError: with the file and the line (in a binary file: the row): damage, as above; no such file, no
            vectors, damaged gzip, a file of another kind.
        KerasZooError: another `format` or `damaged`.

    Example:

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "vectors.txt")
    >>> _ = file.write_text("2 3\nthe 1 2 3\nzoo 0.5 0 -1\n")
    >>> table = read_vectors(file)
    >>> table.words, table.matrix[1]
    (['the', 'zoo'], array([ 0.5,  0. , -1. ], dtype=float32))

    Reference:
        Mikolov et al. 2013 (word2vec), https://arxiv.org/abs/1301.3781; Pennington et al. 2014 (GloVe),
        https://aclanthology.org/D14-1162; Bojanowski et al. 2017 (fastText),
        https://aclanthology.org/Q17-1010.
    """
    if damaged not in ("error", "skip"):
        raise KerasZooError(f'damaged: expected "error" or "skip", got {damaged!r}')
    layout = find_layout(path, format)
    faults = _Faults(path, "row" if layout.binary else "line", damaged)
    places, numbers = {}, bytearray()  # it grows with what is there, never to what a header promises
    rows = duplicates = 0
    for number, word, values, problem, ended in read_rows(path, layout):
        rows += 1
        if not ended:
            warnings.warn(
                f"{path}:{number}: the last line has no end: its last number may be cut", stacklevel=2
            )
        if problem is not None:
            faults.add(problem, number)
            continue
        try:
            word = word.decode("utf-8")
            if wanted is not None and word not in wanted:
                continue
            if word in places:
                duplicates += 1
                continue
            numbers += _values(values, layout.binary).tobytes()
            places[word] = len(places)
        except UnicodeDecodeError as error:
            faults.add(f"not UTF-8: byte 0x{error.object[error.start]:02x} in the word", number)
        except ValueError as error:
            faults.add(str(error), number)
    skipped = faults.count
    if layout.rows is not None and rows != layout.rows:
        faults.add(f"the header says {layout.rows:,} rows, the file has {rows:,}")
    if faults.count:
        warnings.warn(f"{faults.first}; {skipped:,} of {rows:,} rows left out", stacklevel=2)
    if duplicates:
        warnings.warn(f"{path}: {duplicates:,} rows left out whose word had come before", stacklevel=2)
    matrix = np.frombuffer(numbers, "float32").reshape(-1, layout.width)
    return VectorTable(list(places), matrix, rows, duplicates, skipped)


def write_vectors(path, words, matrix, format="word2vec"):
    r"""Writes word vectors for other programs; beside its place first, so nothing half-written is ever there.

    Text gets as many digits as bring back the very same float32.

    Args:
        path: the file; packed if its name ends in `.gz`.
        words: N str; none with a blank or a line end, which the formats cannot hold.
        matrix: (N, D) floats.
        format: `"word2vec"`, `"fasttext"` (the same), `"binary"` or `"glove"` (text without a header).

    Raises:
        DataError: a word that the format cannot hold, or a disk that refuses.
        KerasZooError: another `format`.
    """
    path = Path(path)
    if format not in ("word2vec", "fasttext", "binary", "glove"):
        raise KerasZooError(f"format: expected word2vec, fasttext, binary or glove, got {format!r}")
    for word in words:
        if not word or set(word) & set(" \t\r\n"):
            raise DataError(f"cannot write the word {word!r}: a blank ends a word in this format", path)
    matrix = np.ascontiguousarray(matrix, "<f4")
    with whole_file(path) as file:
        if path.suffix == ".gz":  # without name and time: the same vectors give the same bytes
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(_lines(words, matrix, format))
        else:
            file.writelines(_lines(words, matrix, format))


class _Faults:
    """Raises the first fault of a file, or counts them all and keeps the first."""

    def __init__(self, path, unit, damaged):
        self.path, self.unit, self.damaged = path, unit, damaged
        self.first, self.count = None, 0

    def add(self, problem, number=None):
        if number is not None and self.unit == "row":  # there are no lines to name
            number, problem = None, f"row {number}: {problem}"
        if self.first is None:
            self.first = DataError(problem, self.path, number)
        if self.damaged == "error":
            raise self.first
        self.count += 1


def _values(numbers, binary):
    """The float32 numbers of one row; ValueError where one is none, NaN or infinite."""
    values = np.frombuffer(numbers, "<f4") if binary else text_numbers(numbers)
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"number {bad + 1} is {values[bad]}")
    return values.astype("float32", copy=False)


def _lines(words, matrix, format):
    if format != "glove":
        yield f"{len(words)} {matrix.shape[1]}\n".encode()
    for word, row in zip(words, matrix, strict=True):
        if format == "binary":
            yield word.encode("utf-8") + b" " + row.tobytes() + b"\n"
        else:
            yield f"{word} {' '.join(row.astype('U'))}\n".encode()
