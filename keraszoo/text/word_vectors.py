"""Word vectors: a matrix with one row per word, found by the word itself or by another form of it.

Vectors may have `aspirin` but not `ASPIRIN`, `0000` (or `####`) but not `1849`. A chain of names of
`BACKOFFS`, tried in order, tells which forms replace a word.
"""

import functools
import re
from pathlib import Path

import numpy as np

from keraszoo.errors import DataError, KerasZooError
from keraszoo.messages import shown
from keraszoo.shipping import hub
from keraszoo.text.lines import located
from keraszoo.text.vector_coverage import measure_coverage
from keraszoo.text.vector_directory import read_directory, write_directory
from keraszoo.text.vector_files import read_vectors, write_vectors
from keraszoo.text.vocabulary import distinct

# Only ASCII digits, so that the graph of a SavedModel, which uses RE2, replaces the same characters.
_zeros = functools.partial(re.compile("[0-9]").sub, "0")
_hashes = functools.partial(re.compile("[0-9]").sub, "#")

BACKOFFS = {
    "exact": str,
    "lower": str.lower,
    "capital": lambda word: word[:1].upper() + word[1:].lower(),  # a name as edited text spells it
    "digits0": _zeros,  # as Collobert et al., Huang et al., and Ma and Hovy do
    "digits#": _hashes,  # as the vectors of Google News
    "lower+digits0": lambda word: _zeros(word.lower()),
    "lower+digits#": lambda word: _hashes(word.lower()),
}
DEFAULT_BACKOFF = ("exact", "lower", "digits0", "lower+digits0")


class WordVectors:
    """Words and their vectors.

    A word is looked up by a chain of forms, by default as it is, then in small letters, and so on. The first
    form that has a row is used.

    Args:
        words: iterable of N distinct str, not empty and without line feeds.
        matrix: (N, D) finite floats; kept as float32.

    Attributes:
        words: list of N str.
        matrix: float32 (N, D).

    Raises:
        DataError: words or matrix are not as above.

    Example:

    >>> vectors = WordVectors(["zoo", "park", "0000"], [[1, 0], [0.8, 0.6], [0, -1]])
    >>> vectors.lookup(["Zoo", "1849", "Kyoto"])
    array([ 0,  2, -1], dtype=int32)
    >>> vectors.neighbours("Zoo")
    [('park', 0.8...), ('0000', 0.0)]

    Reference:
        Mikolov et al. 2013, https://arxiv.org/abs/1301.3781.
    """

    def __init__(self, words, matrix):
        self.words = list(distinct(words, "words"))
        with np.errstate(over="ignore"):  # numbers that are too large become infinite
            self.matrix = np.asarray(matrix, "float32")
        self._rows = {word: row for row, word in enumerate(self.words)}
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words) or self.width == 0:
            shape = self.matrix.shape
            raise DataError(f"expected a matrix of {len(self.words)} rows, one per word, got {shape}")
        finite = np.isfinite(self.matrix).all(axis=1)
        if not finite.all():
            raise DataError(f"the vector of {shown(self.words[np.argmin(finite)])} has NaN or infinity in it")

    @property
    def width(self):
        """D, the number of numbers of a vector."""
        return self.matrix.shape[-1]

    def __len__(self):
        return len(self.words)

    def __contains__(self, word):
        return word in self._rows

    def __repr__(self):
        return f"<WordVectors: {len(self)} words, {self.width} numbers each>"

    def find(self, word, backoff=DEFAULT_BACKOFF):
        """Returns the row of a word and the name of the chain that found it; (-1, None) if there is none.

        >>> WordVectors(["zoo"], [[1.0]]).find("ZOO")
        (0, 'lower')
        """
        for name in backoff:
            if (row := self._rows.get(BACKOFFS[name](word))) is not None:
                return row, name
        return -1, None

    def lookup(self, words, backoff=DEFAULT_BACKOFF):
        """Returns the rows of a list of words, int32; -1 for words without a row in any form."""
        if isinstance(words, str):
            raise DataError(f"expected a list of words, got the string {shown(words)}; `find` looks up one")
        backoff = check_backoff(backoff)
        return np.array([self.find(word, backoff)[0] for word in words], "int32")

    def restrict(self, words, backoff=DEFAULT_BACKOFF):
        """Returns only the vectors that a list of words uses, in the same order.

        Include all words that will be looked up later, not only those of the training text.
        """
        rows = np.unique(self.lookup(words, backoff))
        rows = rows[rows >= 0]
        return WordVectors([self.words[row] for row in rows], self.matrix[rows])

    def first(self, count):
        """Returns the first `count` words with their vectors, usually the most frequent ones."""
        return WordVectors(self.words[:count], self.matrix[:count])

    def neighbours(self, word, count=10, backoff=DEFAULT_BACKOFF):
        """Returns the words whose vectors have the smallest angle with that of a word, without the word.

        Args:
            word: str, or a vector (D,).
            count: the largest number of neighbours.
            backoff: the chain by which `word` is looked up.

        Returns:
            list of (word, cosine), the nearest first; of equal ones the earlier row first.

        Raises:
            DataError: the word has no vector, or a vector of another width or of length 0.
        """
        own = -1
        if isinstance(word, str):
            own, _ = self.find(word, check_backoff(backoff))
            if own < 0:
                raise DataError(f"no vector for {shown(word)}; {len(self)} words have one")
            word = self.matrix[own]
        vector = np.asarray(word, "float32")
        length = np.linalg.norm(vector)
        if vector.shape != (self.width,) or length == 0:
            raise DataError(
                f"expected a word or a vector of {self.width} numbers, not all 0, got shape {vector.shape}"
            )
        lengths = np.linalg.norm(self.matrix, axis=1)
        cosines = self.matrix @ (vector / length) / np.where(lengths > 0, lengths, 1)  # (N,)
        order = np.argsort(-cosines, kind="stable")
        return [(self.words[row], float(cosines[row])) for row in order[: count + 1] if row != own][:count]

    def coverage(self, sentences, backoff=DEFAULT_BACKOFF):
        """Counts how many words of a text have vectors; see `measure_coverage`."""
        return measure_coverage(self, sentences, check_backoff(backoff))

    @classmethod
    def read(cls, path, format="auto", words=None, backoff=DEFAULT_BACKOFF):
        """Reads vectors: a directory written by `save`, or a file of word2vec, GloVe or fastText.

        Args:
            path: a directory, a file (plain or gzip), or the name of included vectors.
            format: of a file, see `read_vectors`; `"auto"` for a directory.
            words: iterable of the words that will be looked up. Rows that none of them uses under `backoff`
                are dropped while reading, which saves memory. All rows by default.
            backoff: the chain of their lookup.

        Raises:
            DataError: with the line: a file that is damaged or holds no vectors.
            PresetError: with the file: a damaged directory.
        """
        is_file = Path(path).suffix and not hub.is_address(path)  # not the name of included vectors
        if is_file and not Path(path).exists():
            raise DataError("expected a file or a directory of word vectors, there is none", path)
        words = None if words is None else set(words)
        backoff = check_backoff(backoff)
        if Path(path).is_file():
            forms = (BACKOFFS[name](word) for word in words or () for name in backoff)
            vectors = cls(*read_vectors(path, format, None if words is None else set(forms)))
        elif format != "auto":
            raise DataError(f"expected the format auto for a directory, got {shown(format)}", path)
        else:
            with located(path):
                vectors = cls(*read_directory(path))
        return vectors if words is None else vectors.restrict(words, backoff)

    def save(self, path, dtype="float32"):
        """Writes a directory: the words as text, the matrix as `.npy`, card and manifest.

        `keraszoo card` adds facts such as the licence.

        Args:
            path: a new directory, or one of an earlier model, which is replaced.
            dtype: `"float32"`; `"float16"` at half the size; or `"int8"` at a quarter of it, whole numbers
                from -127 to 127 times a factor for each word, its largest number / 127.

        Raises:
            PresetError: another `dtype`, numbers too large for it, other files at `path`, or a directory that
                cannot be written.
        """
        write_directory(path, self.words, self.matrix, dtype)

    def write(self, path, format="word2vec"):
        """Writes a file for other programs; see `write_vectors`."""
        write_vectors(path, self.words, self.matrix, format)


def check_backoff(names):
    """Returns a chain as a tuple of known, different names; raises KerasZooError if it is no such list."""
    chain = () if isinstance(names, str) else tuple(names)
    if not chain or not set(chain) <= set(BACKOFFS) or len(set(chain)) != len(chain):
        known = ", ".join(BACKOFFS)
        raise KerasZooError(f"backoff: expected a list of different names of {known}, got {names!r}")
    return chain
