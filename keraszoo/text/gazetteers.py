"""Gazetteers: lists of names as further numbers of word vectors.

A tagger over such vectors knows that a word is on a list, wherever it runs: in Python, in a SavedModel or in
ONNX. Multi-word entries count word by word, without search for the whole entry.
"""

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.text.tokens import tokenize
from keraszoo.text.word_vectors import WordVectors

LOOKUP = "exact", "lower"


def add_gazetteers(vectors, lists, rules="words"):
    """Extends vectors by two numbers for each list: whether a word is an entry, and part of a longer one.

    A word is looked up as it is, then in small letters. A word of an entry without a vector gets a new
    row: the average, over its added numbers, of the mean vector of the known words with that number; zeros if
    there are none.

    Args:
        vectors: `WordVectors` of N words and D numbers.
        lists: dict from a name to an iterable of str, the entries; blank ones are ignored.
        rules: how entries are split into words, see `tokenize`.

    Returns:
        `WordVectors` of width D + 2 len(lists), at least N words, these first; the added numbers are 0 or 1.

    Raises:
        KerasZooError: a list without entries, or a string instead of one.

    Example:

    >>> vectors = WordVectors(["Ada", "went"], [[1.0, 2.0], [3.0, 4.0]])
    >>> extended = add_gazetteers(vectors, {"first": ["Ada", "Lin"], "city": ["New York"]})
    >>> extended.words, extended.matrix[2].tolist()
    (['Ada', 'went', 'Lin', 'New', 'York'], [1.0, 2.0, 1.0, 0.0, 0.0, 0.0])
    """
    columns = {}  # of each word, in the order in which they come
    for number, (name, entries) in enumerate(lists.items()):
        if isinstance(entries, str):
            raise KerasZooError(f"the list {name!r}: expected an iterable of entries, got a string")
        split = [words for entry in entries if (words := [token.text for token in tokenize(entry, rules)])]
        if not split:
            raise KerasZooError(f"the list {name!r} has no entries")
        for words in split:
            for word in words:
                row, _ = vectors.find(word, LOOKUP)
                columns.setdefault(vectors.words[row] if row >= 0 else word, set()).add(
                    vectors.width + 2 * number + (len(words) > 1)
                )
    new = [word for word in columns if word not in vectors]
    rows = {word: row for row, word in enumerate([*vectors.words, *new])}
    matrix = np.pad(vectors.matrix, ((0, len(new)), (0, 2 * len(lists))))
    for word, own in columns.items():
        matrix[rows[word], [*own]] = 1.0
    known, means = matrix[: len(vectors)], {}
    for column in range(vectors.width, matrix.shape[1]):
        if known[:, column].any():
            means[column] = known[known[:, column] > 0, : vectors.width].mean(axis=0)
    for word in new:
        own = [means[column] for column in columns[word] if column in means]
        matrix[rows[word], : vectors.width] = np.mean(own, axis=0) if own else 0.0
    return WordVectors(rows, matrix)
