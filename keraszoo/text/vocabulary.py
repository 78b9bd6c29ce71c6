"""A closed list of words and their ids."""

from keraszoo.errors import DataError


class Vocabulary:
    """Words and their ids: 0 is padding, the words count from 1 in their order.

    Nothing stands for an unknown word: whoever asks for the id of one is told so.

    Args:
        words: iterable of str, no two alike, none blank or with a line end in it.

    Raises:
        DataError: two words are alike, or one cannot stand on a line of its own.

    Example:

    >>> vocabulary = Vocabulary(["mary", "went", "home"])
    >>> vocabulary.ids(["home", "mary"]), vocabulary.word(2), len(vocabulary)
    ([3, 1], 'went', 4)
    """

    def __init__(self, words):
        self.words = list(words)
        self._ids = {word: i for i, word in enumerate(self.words, start=1)}
        for word in self.words:
            if not isinstance(word, str) or not word.strip() or len(word.splitlines()) > 1:
                raise DataError(f"expected words of one line, got {word!r}")
        if len(self._ids) != len(self.words):
            seen = set()
            twice = next(word for word in self.words if word in seen or seen.add(word))
            raise DataError(f"expected words that differ, got {twice!r} twice")

    def __len__(self):
        """The number of ids: one more than the words."""
        return len(self.words) + 1

    def __contains__(self, word):
        return word in self._ids

    def __eq__(self, other):
        return isinstance(other, Vocabulary) and self.words == other.words

    def __hash__(self):
        return hash(tuple(self.words))

    def ids(self, words):
        """Ids of a list of words.

        Raises:
            DataError: for the first that is unknown.
        """
        try:
            return [self._ids[word] for word in words]
        except KeyError as error:
            raise DataError(f"unknown word {error.args[0]!r}; {len(self.words)} words are known") from None

    def word(self, i):
        """The word of an id from 1 on."""
        if not 1 <= i < len(self):
            raise DataError(f"expected an id from 1 to {len(self) - 1}, got {i}")
        return self.words[i - 1]

    def text(self):
        """The words, one a line, as `from_text` reads them."""
        return "".join(f"{word}\n" for word in self.words)

    @classmethod
    def from_text(cls, text):
        """Reads what `text` wrote."""
        return cls(text.split("\n")[:-1])
