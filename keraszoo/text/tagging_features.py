"""Turns tokens into the numbers a tagger reads, and tags into numbers and back."""

import dataclasses
import functools

import numpy as np

from keraszoo.errors import DataError, KerasZooError, plain_number
from keraszoo.messages import shown
from keraszoo.text.characters import inside, plain_form
from keraszoo.text.tag_schemes import allowed_transitions, convert, split_tag, tag_names
from keraszoo.text.tokens import check_rules, compile_expression
from keraszoo.text.vocabulary import distinct
from keraszoo.text.word_vectors import BACKOFFS, DEFAULT_BACKOFF, check_backoff

MOST_CHARACTERS = 10_000  # of a token that are read
UNKNOWN = 1  # the id of a word or a character that is not listed; 0 is padding

_DIGIT, _OTHER, _LOWER, _CAPITAL = inside("N"), inside("L N", others=True), inside("Ll"), inside("Lu Lt")
# The casing of a token is the number, from 1, of the first expression that matches all of it.
CASINGS = {
    "numeric": f"[{_DIGIT}][{_DIGIT}.,:/-]*",
    "marks": f"[{_OTHER}]*",
    "with digits": f"(?s).*[{_DIGIT}].*",
    "lower": f"[^{_CAPITAL}{_LOWER}]*[{_LOWER}][^{_CAPITAL}]*",
    "upper": f"[^{_LOWER}{_CAPITAL}]*[{_CAPITAL}][^{_LOWER}]*",
    "capital": f"[{_CAPITAL}][^{_CAPITAL}]*",
    "mixed": r"(?s).*",
}


@dataclasses.dataclass(repr=False)
class TaggingVocabulary:
    """The words, characters, casings and tags that a tagger knows, as numbers.

    Ids of words and characters are 0 for padding, 1 for unknown, then from 2 on in their order: word i has
    row i of the word vectors. A token is read in its `plain_form`, without invisible characters. It has the
    id of its first form that is listed, tried by the names in `backoff` (see `BACKOFFS`). Casing is 0 for
    padding, then one of `CASINGS`, as in Collobert et al. (2011) and Reimers and Gurevych (2017). Tags have
    ids from 0 on, `O` first; padding has no tag.

    Args:
        words: iterable of distinct str without a line feed: those that have a vector.
        characters: iterable of distinct single characters.
        labels: iterable of distinct str, the labels of the entities, in any order.
        scheme: of the tags the model predicts, a key of `SCHEMES`.
        backoff: names of `BACKOFFS`.
        word_length: the number of characters of a token that are read, at most 10,000.
        token_rules: how raw text becomes tokens, a key of `TOKEN_RULES`.
        subwords: `PretrainedSubwords` of a tagger that reads them instead of words and characters, or `None`.

    Attributes:
        tags: tuple of the K tags.

    Raises:
        DataError: words, characters or labels are not as above.
        KerasZooError: an unknown name, or a `word_length` out of range.

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

    words: tuple
    characters: tuple
    labels: tuple
    scheme: str = "IOB2"
    backoff: tuple = DEFAULT_BACKOFF
    word_length: int = 30
    token_rules: str = "words"
    subwords: object = None

    def __post_init__(self):
        self.words = distinct(self.words, "words")
        self.characters = distinct(self.characters, "characters", longest=1)
        self.labels = tuple(sorted(distinct(self.labels, "labels")))
        self.backoff = check_backoff(self.backoff)
        check_rules(self.token_rules)
        self.word_length = plain_number(self.word_length)
        if not 1 <= self.word_length <= MOST_CHARACTERS:
            raise KerasZooError(f"word_length: expected 1 to {MOST_CHARACTERS:,}, got {self.word_length}")
        self.tags = tag_names(self.labels, self.scheme)
        self._word_ids = {word: i for i, word in enumerate(self.words, start=UNKNOWN + 1)}
        self._character_ids = {char: i for i, char in enumerate(self.characters, start=UNKNOWN + 1)}
        self._tag_ids = {tag: i for i, tag in enumerate(self.tags)}

    @classmethod
    def from_sentences(cls, sentences, words, **options):
        """Makes a vocabulary of given words, and of the sorted characters and labels of `TaggedSentence`s."""
        characters, tags = set(), set()
        for sentence in sentences:
            characters.update(*map(plain_form, sentence.tokens))
            tags.update(sentence.tags)
        labels = {split_tag(tag)[1] for tag in tags} - {""}
        return cls(words, sorted(characters), labels, **options)

    def for_corpus(self, corpus):
        """The vocabulary of one corpus, where each has labels of its own, such as `wikigold.PER`.

        Returns:
            A `TaggingVocabulary` with labels such as `PER`, and the numbers of its tags in this one.

        Raises:
            KerasZooError: no label begins with the name of the corpus.
        """
        prefix = f"{corpus}."
        labels = self.labels_of(corpus)
        alone = dataclasses.replace(self, labels=[label.removeprefix(prefix) for label in labels])
        names = (tag if tag == "O" else f"{tag[:2]}{prefix}{tag[2:]}" for tag in alone.tags)
        return alone, [self._tag_ids[name] for name in names]

    def labels_of(self, corpus):
        """Returns the labels of a corpus, such as `wikigold.PER`; raises KerasZooError if there is none."""
        labels = [label for label in self.labels if label.startswith(f"{corpus}.")]
        if not labels:
            raise KerasZooError(f"no label has the prefix {corpus + '.'!r}: {', '.join(self.labels)}")
        return labels

    def word_id(self, token):
        """Returns the id of the first form of a token that is listed, otherwise `UNKNOWN`."""
        for name in self.backoff:
            if (found := self._word_ids.get(BACKOFFS[name](token))) is not None:
                return found
        return UNKNOWN

    def encode(self, sentences):
        """Turns a list of B sentences, sequences of tokens, into padded arrays.

        Returns:
            Dict of int32 arrays: `words` (B, T), `characters` (B, T, C), `casing` (B, T). T is the length of
            the longest sentence, C that of the longest token, at most `word_length`; both are at least 1.
            With `subwords`: `subwords` (B, L) and `words` (B, T), as `PretrainedSubwords.features` has them.
        """
        sentences = [[plain_form(token) or token for token in tokens] for tokens in sentences]
        if self.subwords is not None:
            return {name: _padded(rows) for name, rows in self.subwords.features(sentences).items()}
        words = _padded([map(self.word_id, tokens) for tokens in sentences])
        casing = _padded([map(casing_id, tokens) for tokens in sentences])
        spelt = self.spell([token for tokens in sentences for token in tokens])
        characters = np.zeros((*words.shape, spelt.shape[1]), "int32")
        characters[words != 0] = spelt
        return {"words": words, "characters": characters, "casing": casing}

    def lengths(self, sentences):
        """The positions of each sentence in a batch, a list of int: words or, if these are more, subwords."""
        words = list(map(len, sentences))
        if self.subwords is None:
            return words
        plain = [[plain_form(token) or token for token in tokens] for tokens in sentences]
        return list(map(max, words, map(len, self.subwords.features(plain)["subwords"])))

    def spell(self, words):
        """Turns N words into the ids of their characters: int32 (N, C), C as in `encode`."""
        ids, read = self._character_ids, self.word_length
        spelt = [[ids.get(character, UNKNOWN) for character in word[:read]] for word in words]
        return _padded(spelt)

    def encode_tags(self, sequences):
        """Turns sequences of IOB2 tags into ids of the vocabulary's own scheme: int32 (B, T) as in `encode`.

        Padding is 0, the id of `O`, and needs a mask. Raises DataError for an unknown label.
        """
        try:
            ids = [[self._tag_ids[tag] for tag in convert(tags, "IOB2", self.scheme)] for tags in sequences]
        except KeyError as error:
            labels, (_, _, label) = ", ".join(self.labels), error.args[0].partition("-")
            raise DataError(f"expected tags of the labels {labels}, got {shown(label)}") from None
        return _padded(ids)

    def decode_tags(self, ids, lengths):
        """Turns ids (B, T) into B tuples of tags of the vocabulary's scheme; `lengths` has their lengths."""
        rows = zip(np.asarray(ids).tolist(), lengths, strict=True)
        return [tuple(self.tags[i] for i in row[:length]) for row, length in rows]

    def transitions(self):
        """Returns `allowed_transitions` of its tags: which may follow, begin and end."""
        return allowed_transitions(self.tags, self.scheme)

    def __repr__(self):
        sizes = f"{len(self.words)} words, {len(self.characters)} characters"
        if self.subwords is not None:
            sizes = f"{self.subwords.vocabulary_size} subwords"
        return f"<TaggingVocabulary: {sizes}, {', '.join(self.labels)} in {self.scheme}>"


@functools.lru_cache(1 << 16)
def casing_id(token):
    """Returns the casing of a token: the number, from 1, of the first of `CASINGS` that matches it.

    >>> tokens = ("1,000", "--", "BRCA1", "the", "USA", "Rome", "iPod")
    >>> [list(CASINGS)[casing_id(token) - 1] for token in tokens]
    ['numeric', 'marks', 'with digits', 'lower', 'upper', 'capital', 'mixed']
    """
    matches = (compile_expression(expression).fullmatch(token) for expression in CASINGS.values())
    return next(i for i, match in enumerate(matches, start=1) if match)


def _padded(rows):
    """Returns rows of numbers as an int32 array, padded with 0."""
    rows = [list(row) for row in rows]
    array = np.zeros((len(rows), max(map(len, rows), default=0) or 1), "int32")
    for row, numbers in zip(array, rows, strict=True):
        row[: len(numbers)] = numbers
    return array
