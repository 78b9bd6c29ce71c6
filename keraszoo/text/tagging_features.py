"""From tokens to the numbers a tagger reads, and from its tags to numbers and back."""

import functools
from collections import Counter

import numpy as np

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.backoff import DEFAULT_BACKOFF, backoff_forms, check_backoff
from keraszoo.text.tag_schemes import allowed_transitions, convert, split_tag, tag_names
from keraszoo.text.tokens import check_rules, compile_expression

UNKNOWN = 1  # the id of a word or a character that is not listed; 0 is padding

_CAPITAL = r"\p{Lu}\p{Lt}"
# The first that matches a whole token says its casing, counted from 1; the last matches any.
CASINGS = {
    "numeric": r"\p{N}[\p{N}.,:/-]*",
    "marks": r"[^\p{L}\p{N}]*",
    "with digits": r"(?s).*\p{N}.*",
    "lower": rf"[^{_CAPITAL}]*\p{{Ll}}[^{_CAPITAL}]*",
    "upper": rf"[^\p{{Ll}}]*[{_CAPITAL}][^\p{{Ll}}]*",
    "capital": rf"[{_CAPITAL}][^{_CAPITAL}]*",
    "mixed": r"(?s).*",
}


class TaggingVocabulary:
    """What a tagger knows of text: words, characters, casing and tags, each as a number.

    Ids of words and characters are 0 for padding, 1 for unknown, then from 2 on in their order: word i stands
    for row i of the word vectors. A token has the id of the first of its forms that is listed, by the names
    in `backoff` (see `keraszoo.text.backoff`). Casing is 0 for padding and then one of `CASINGS`, as in
    Collobert et al. (2011) and Reimers and Gurevych (2017). Tags have ids from 0 on, `O` first: padding is no
    tag.

    Args:
        words: iterable of str, no two alike: those that have a vector.
        characters: iterable of single characters, no two alike.
        labels: iterable of str, no two alike, the labels of the entities, in any order.
        scheme: of the tags the model learns, a key of `SCHEMES`.
        backoff: names of `BACKOFFS`.
        word_length: how many characters of a token are looked at; the rest of longer ones is passed over.
        token_rules: how raw text becomes tokens, a key of `TOKEN_RULES`.

    Attributes:
        tags: tuple of the K tags.

    Raises:
        DataError: words or characters that are alike, or of another kind.
        KerasZooError: a name that is not known, or a `word_length` below 1.

    Example:

    >>> vocabulary = TaggingVocabulary(["aspirin", "is"], "aeinprs", ["Chemical"])
    >>> features = vocabulary.encode([["Aspirin", "is", "x2"], ["IS"]])
    >>> features["words"]
    array([[2, 3, 1],
           [3, 0, 0]], dtype=int32)
    >>> features["casing"]
    array([[6, 4, 3],
           [5, 0, 0]], dtype=int32)
    >>> features["characters"][0, 1]
    array([4, 8, 0, 0, 0, 0, 0], dtype=int32)
    >>> vocabulary.encode_tags([["B-Chemical", "O", "O"], ["O"]])
    array([[1, 0, 0],
           [0, 0, 0]], dtype=int32)

    Reference:
        Collobert et al. 2011, https://jmlr.org/papers/v12/collobert11a.html, section 5.2;
        Reimers and Gurevych 2017, https://arxiv.org/abs/1707.06799
    """

    def __init__(
        self,
        words,
        characters,
        labels,
        scheme="IOB2",
        backoff=DEFAULT_BACKOFF,
        word_length=30,
        token_rules="words",
    ):
        self.words = _distinct(words, "words")
        self.characters = _distinct(characters, "characters", longest=1)
        self.labels = tuple(sorted(_distinct(labels, "labels")))
        self.scheme = scheme
        self.backoff = check_backoff(backoff)
        self.word_length = word_length
        self.token_rules = check_rules(token_rules)
        if word_length < 1:
            raise KerasZooError(f"word_length: expected 1 or more, got {word_length}")
        self.tags = tag_names(self.labels, scheme)
        self._word_ids = {word: i for i, word in enumerate(self.words, start=UNKNOWN + 1)}
        self._character_ids = {char: i for i, char in enumerate(self.characters, start=UNKNOWN + 1)}
        self._tag_ids = {tag: i for i, tag in enumerate(self.tags)}

    @classmethod
    def from_sentences(cls, sentences, words, **options):
        """A vocabulary of the characters and labels of tagged sentences, and of given words.

        Args:
            sentences: iterable of `TaggedSentence`.
            words: those that have a vector, in the order of their rows.
            options: `scheme`, `backoff`, `word_length` and `token_rules`, as above.

        Returns:
            A `TaggingVocabulary`; the characters are sorted.
        """
        characters, tags = set(), set()
        for sentence in sentences:
            characters.update(*sentence.tokens)
            tags.update(sentence.tags)
        labels = {split_tag(tag)[1] for tag in tags} - {""}
        return cls(words, sorted(characters), labels, **options)

    def word_id(self, token):
        """The id of a token: of its first form that is listed, else `UNKNOWN`."""
        for form in backoff_forms(token, self.backoff):
            if form in self._word_ids:
                return self._word_ids[form]
        return UNKNOWN

    def character_ids(self, token):
        """The ids of the first `word_length` characters of a token: list of int."""
        return [self._character_ids.get(character, UNKNOWN) for character in token[: self.word_length]]

    def encode(self, sentences, length=None, word_length=None):
        """Turns sentences of tokens into padded arrays.

        Args:
            sentences: list of B sentences, each a sequence of tokens; one without tokens is a row of padding.
            length: T; the longest sentence's if not given. It is at least 1.
            word_length: C, likewise of tokens, at most the vocabulary's own.

        Returns:
            Dict of int32 arrays: `words` (B, T), `characters` (B, T, C), `casing` (B, T).

        Raises:
            DataError: a sentence of more than `length` tokens, or a token of more than `word_length`
                characters that are looked at.
        """
        ids = [[self.word_id(token) for token in tokens] for tokens in sentences]
        words = _padded(ids, length, "sentence", "tokens")
        casings = _padded(
            [list(map(casing_id, tokens)) for tokens in sentences], words.shape[1], "sentence", "tokens"
        )
        flat = [self.character_ids(token) for tokens in sentences for token in tokens]
        spelt = _padded(flat, word_length, "token", "characters")
        characters = np.zeros((*words.shape, spelt.shape[1]), "int32")
        characters[words != 0] = spelt
        return {"words": words, "characters": characters, "casing": casings}

    def encode_tags(self, sequences, length=None):
        """Turns tags in IOB2 into ids of the vocabulary's own scheme.

        Args:
            sequences: list of B sequences of tags.
            length: T; the longest sequence's if not given. It is at least 1.

        Returns:
            int32 (B, T), 0 where a sequence has ended: that is `O`, and a mask must cover it.

        Raises:
            DataError: a label that the vocabulary does not have, or more than `length` tags.
        """
        try:
            ids = [[self._tag_ids[tag] for tag in convert(tags, "IOB2", self.scheme)] for tags in sequences]
        except KeyError as error:
            labels = ", ".join(self.labels)
            raise DataError(f"expected tags of the labels {labels}, got {error.args[0]!r}") from None
        return _padded(ids, length, "sentence", "tags")

    def decode_tags(self, ids, lengths):
        """Turns ids of tags into tags, as the model gave them: in the vocabulary's scheme and unmended.

        Args:
            ids: integer array (B, T).
            lengths: the number of tokens of each of the B sentences.

        Returns:
            List of B tuples of tags.
        """
        return [
            tuple(self.tags[i] for i in row[:length])
            for row, length in zip(np.asarray(ids).tolist(), lengths, strict=True)
        ]

    def transitions(self):
        """Which tag may follow, begin and end: `allowed_transitions` of its tags."""
        return allowed_transitions(self.tags, self.scheme)

    def as_dict(self):
        """Everything it is made of, as JSON can hold it; `from_dict` reads it."""
        return {
            "words": list(self.words),
            "characters": "".join(self.characters),
            "labels": list(self.labels),
            "scheme": self.scheme,
            "backoff": list(self.backoff),
            "word_length": self.word_length,
            "token_rules": self.token_rules,
        }

    @classmethod
    def from_dict(cls, values):
        """Makes a vocabulary of what `as_dict` returned.

        Raises:
            DataError: keys that are missing or too many, or values of another kind.
            KerasZooError: as the class does.
        """
        try:
            return cls(**values)
        except TypeError as error:
            raise DataError(f"not the parts of a tagging vocabulary: {error}") from None

    def __eq__(self, other):
        return isinstance(other, TaggingVocabulary) and self.as_dict() == other.as_dict()

    def __hash__(self):
        return hash((self.tags, len(self.words), self.characters))

    def __repr__(self):
        sizes = f"{len(self.words)} words, {len(self.characters)} characters"
        return f"<TaggingVocabulary: {sizes}, {', '.join(self.labels)} in {self.scheme}>"


@functools.lru_cache(1 << 16)
def casing_id(token):
    """How a token is written: the number, from 1, of the first of `CASINGS` that matches it.

    Example:

    >>> tokens = ("1,000", "--", "BRCA1", "the", "USA", "Rome", "iPod")
    >>> [list(CASINGS)[casing_id(token) - 1] for token in tokens]
    ['numeric', 'marks', 'with digits', 'lower', 'upper', 'capital', 'mixed']
    """
    for i, expression in enumerate(CASINGS.values(), start=1):
        if compile_expression(expression).fullmatch(token):
            return i
    raise DataError(f"expected a token, a string, got {token!r}")


def _distinct(items, what, longest=None):
    """The items as a tuple, if they are strings that are not empty and differ."""
    items = tuple(items)
    for item in items:
        if not isinstance(item, str) or not item or (longest and len(item) > longest):
            kind = "single characters" if longest else "strings that are not empty"
            raise DataError(f"{what}: expected {kind}, got {item!r}")
    if len(set(items)) != len(items):
        twice = next(item for item, count in Counter(items).items() if count > 1)
        raise DataError(f"{what}: expected them to differ, got {twice!r} twice")
    return items


def _padded(rows, length, what, of):
    """Rows of numbers as an int32 array, filled up with 0."""
    longest = max(map(len, rows), default=0)
    length = max(1, longest) if length is None else length
    if longest > length:
        raise DataError(f"expected a {what} of at most {length} {of}, got one of {longest}")
    array = np.zeros((len(rows), length), "int32")
    for row, numbers in zip(array, rows, strict=True):
        row[: len(numbers)] = numbers
    return array
