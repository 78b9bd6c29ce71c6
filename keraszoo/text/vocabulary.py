"""Lists of distinct words, and a closed one with ids."""

from keraszoo.errors import DataError
from keraszoo.messages import shown


def distinct(items, what, longest=None):
    """Returns items as a tuple if they are distinct strings of valid Unicode, not empty, without line feeds.

    With `longest=1` they are single characters; a line feed may be one of them.
    """
    if isinstance(items, str) and not longest:
        raise DataError(f"{what}: expected a list of strings, got the string {shown(items)}")
    items, seen = tuple(items), set()
    for item in items:
        if not isinstance(item, str) or not item or (longest and len(item) > longest):
            kind = "single characters" if longest else "strings that are not empty"
            raise DataError(f"{what}: expected {kind}, got {shown(item)}")
        if item in seen:
            raise DataError(f"{what}: expected them to differ, got {shown(item)} twice")
        if not longest and "\n" in item:  # a directory stores one word on each line
            raise DataError(f"{what}: expected {what} without a line feed, got {shown(item)}")
        if not item.isascii() and any("\ud800" <= character <= "\udfff" for character in item):
            raise DataError(f"{what}: expected valid Unicode, got {shown(item)}: a lone surrogate")
        seen.add(item)
    return items


class Vocabulary:
    """Maps words to ids and back. Id 0 is padding; the words have ids from 1 on, in their order.

    There is no id for unknown words. Raises DataError unless words are distinct, not blank and of one line.

    >>> vocabulary = Vocabulary(["mary", "went", "home"])
    >>> vocabulary.ids(["home", "mary"]), vocabulary.word(2), len(vocabulary)
    ([3, 1], 'went', 4)
    """

    def __init__(self, words):
        self.words = list(words)
        self._ids = {}
        for i, word in enumerate(self.words, start=1):
            if not isinstance(word, str) or not word.strip() or word.splitlines() != [word]:
                raise DataError(f"expected words of one line, got {shown(word)}")
            if self._ids.setdefault(word, i) != i:
                raise DataError(f"expected words that differ, got {shown(word)} twice")

    def __len__(self):
        """The number of ids: one more than the number of words."""
        return len(self.words) + 1

    def __contains__(self, word):
        return word in self._ids

    def __eq__(self, other):
        return isinstance(other, Vocabulary) and self.words == other.words

    def ids(self, words):
        """Returns the ids of a list of words; raises DataError for an unknown one."""
        try:
            return [self._ids[word] for word in words]
        except KeyError as error:
            raise DataError(
                f"unknown word {shown(error.args[0])}; {len(self.words)} words are known"
            ) from None

    def word(self, i):
        """Returns the word of an id from 1 on."""
        if not 1 <= i < len(self):
            raise DataError(f"expected an id from 1 to {len(self) - 1}, got {i}")
        return self.words[i - 1]

    def text(self):
        """Returns the words, one per line, for `from_text`."""
        return "".join(f"{word}\n" for word in self.words)

    @classmethod
    def from_text(cls, text):
        """Reads the output of `text`."""
        return cls(text.split("\n")[:-1])
