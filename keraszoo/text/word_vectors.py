"""Word vectors: a matrix, a row for each word."""

from pathlib import Path

import numpy as np

from keraszoo.errors import DataError
from keraszoo.text import vector_directory, vector_files
from keraszoo.text.backoff import DEFAULT_BACKOFF, backoff_forms, check_backoff
from keraszoo.text.vector_coverage import measure_coverage


class WordVectors:
    """Words and their vectors.

    A word is looked up by a chain of forms (`keraszoo.text.backoff`): as it stands first, then in small
    letters, and so on; the first form that has a row stands for it.

    Args:
        words: iterable of N str, no two alike, none empty or with a line feed in it.
        matrix: (N, D) floats, finite; kept as float32.

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
        self.words = list(words)
        with np.errstate(over="ignore"):  # what is too large becomes infinite and is found below
            self.matrix = np.asarray(matrix, "float32")
        self._rows = {word: row for row, word in enumerate(self.words)}
        _check_words(self.words, self._rows)
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words) or self.width == 0:
            shape = self.matrix.shape
            raise DataError(f"expected a matrix of {len(self.words)} rows, one for each word, got {shape}")
        if not np.isfinite(self.matrix).all():
            row = int(np.argmin(np.isfinite(self.matrix).all(axis=1)))
            raise DataError(f"the vector of {self.words[row]!r} has NaN or infinity in it")

    @property
    def width(self):
        """D, how many numbers a vector has."""
        return self.matrix.shape[-1]

    def __len__(self):
        return len(self.words)

    def __contains__(self, word):
        return word in self._rows

    def __repr__(self):
        return f"<WordVectors: {len(self)} words, {self.width} numbers each>"

    def find(self, word, backoff=DEFAULT_BACKOFF):
        """Returns (row, step) of a word: where it is and by which name of the chain; (-1, None) if nowhere.

        Example:

        >>> WordVectors(["zoo"], [[1.0]]).find("ZOO")
        (0, 'lower')
        """
        for name, form in zip(backoff, backoff_forms(word, backoff), strict=True):
            row = self._rows.get(form)
            if row is not None:
                return row, name
        return -1, None

    def lookup(self, words, backoff=DEFAULT_BACKOFF):
        """Returns the rows of a list of words, int32; -1 for those that no form has.

        Raises:
            KerasZooError: `backoff` has an unknown name in it.
        """
        backoff = check_backoff(backoff)
        return np.array([self.find(word, backoff)[0] for word in words], "int32")

    def restrict(self, words, backoff=DEFAULT_BACKOFF):
        """Returns the vectors that a list of words makes use of, in the same order; the others are dropped.

        Each of the words is found as before, by the same step. Give it all that will be asked for, not the
        training text alone: a word that is met later may have had a vector among those dropped.
        """
        rows = np.unique(self.lookup(words, backoff))
        rows = rows[rows >= 0]
        return WordVectors([self.words[row] for row in rows], self.matrix[rows])

    def first(self, count):
        """Returns the first `count` words with their vectors; mostly, these are the most frequent."""
        return WordVectors(self.words[:count], self.matrix[:count])

    def neighbours(self, word, count=10, backoff=DEFAULT_BACKOFF):
        """Returns the words whose vectors have the smallest angle with that of a word, it itself left out.

        Args:
            word: str, or a vector (D,).
            count: how many, at most.
            backoff: the chain by which `word` is looked up.

        Returns:
            list of (word, cosine), the nearest first; of equals the earlier row.

        Raises:
            DataError: no form of the word has a vector, or a vector of another width or of length 0.
        """
        own = -1
        if isinstance(word, str):
            own, _ = self.find(word, check_backoff(backoff))
            if own < 0:
                raise DataError(f"no vector for {word!r}; {len(self)} words have one")
            vector = self.matrix[own]
        else:
            vector = np.asarray(word, "float32")
            if vector.shape != (self.width,):
                raise DataError(
                    f"expected a word or a vector of {self.width} numbers, got shape {vector.shape}"
                )
        length = np.linalg.norm(vector)
        if length == 0:
            raise DataError("a vector of length 0 has no direction, and so no neighbours")
        lengths = np.linalg.norm(self.matrix, axis=1)
        cosines = self.matrix @ (vector / length) / np.where(lengths > 0, lengths, 1)  # (N,)
        order = np.argsort(-cosines, kind="stable")
        return [(self.words[row], float(cosines[row])) for row in order[: count + 1] if row != own][:count]

    def coverage(self, sentences, backoff=DEFAULT_BACKOFF):
        """Counts how much of a text has vectors, by which step; see `keraszoo.text.vector_coverage`."""
        return measure_coverage(self, sentences, backoff)

    @classmethod
    def read(cls, path, format="auto", words=None, backoff=DEFAULT_BACKOFF, damaged="error"):
        """Reads vectors: keraszoo's own directory, or a file of word2vec, GloVe or fastText, plain or gzip.

        Args:
            path: a directory that `save` wrote, a file, or the name of shipped vectors.
            format: of a file, see `read_vectors`.
            words: iterable of the words that will be asked for; rows that none of them can use under
                `backoff` are dropped while reading, so that a file of any size needs little memory. All rows
                by default.
            backoff: the chain of their lookup.
            damaged: what happens to damaged rows of a file, `"error"` or `"skip"`, see `read_vectors`.

        Raises:
            DataError: a file that is damaged or holds no vectors; it names the line.
            PresetError: the same of a directory; it names the file.
        """
        if words is not None:
            words = set(words)
            backoff = check_backoff(backoff)
        if Path(path).suffix and not Path(path).exists():  # a file's name, and no shipped model's
            raise DataError("expected a file or a directory of word vectors, there is none", path)
        if Path(path).is_file():
            forms = (
                None if words is None else {form for word in words for form in backoff_forms(word, backoff)}
            )
            table = vector_files.read_vectors(path, format, forms, damaged)
            vectors = cls(table.words, table.matrix)
        else:
            try:
                vectors = cls(*vector_directory.read(path))
            except DataError as error:
                raise DataError(str(error), path) from None
        return vectors if words is None else vectors.restrict(words, backoff)

    def save(self, path, dtype="float32", metrics=None, facts=None):
        """Writes keraszoo's own directory: words as text, the matrix as `.npy`, card and manifest; no pickle.

        Args:
            path: a new directory, or one of an earlier model, which is replaced.
            dtype: `"float32"`, or `"float16"` at half the size.
            metrics: figures for the card, a dict of dicts.
            facts: dict of what no program can know, such as the licence; see `keraszoo.saving.model_facts`.

        Raises:
            PresetError: another `dtype`, an unknown fact, something else at `path`, or a disk that refuses.
        """
        vector_directory.write(self, path, dtype, metrics, facts)

    def write(self, path, format="word2vec"):
        """Writes a file that other programs read; see `write_vectors`."""
        vector_files.write_vectors(path, self.words, self.matrix, format)


def _check_words(words, rows):
    for word in words:
        if not isinstance(word, str) or not word or "\n" in word:
            raise DataError(f"expected words that are not empty and have no line feed, got {word!r}")
        if not word.isascii():
            try:
                word.encode("utf-8")
            except UnicodeEncodeError:
                raise DataError(f"expected words of valid Unicode, got {word!r}") from None
    if len(rows) != len(words):
        seen = set()
        twice = next(word for word in words if word in seen or seen.add(word))
        raise DataError(f"expected words that differ, got {twice!r} twice")
