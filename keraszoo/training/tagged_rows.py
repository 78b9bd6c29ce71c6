"""A tagged corpus as numbers: what a model reads of each token, and the token's tag."""

import numpy as np

from keraszoo.errors import DataError
from keraszoo.text.token_rows import TokenRows


class TaggedRows:
    """Sentences of tagged tokens as flat arrays, from which batches are gathered.

    What a model reads of a token does not depend on its neighbours. So it is worked out once for each
    different token, and a sentence is a row of numbers of such tokens; a batch takes the rest from tables.

    Args:
        sentences: list of `TaggedSentence`, tags in IOB2.
        vocabulary: a `TaggingVocabulary`.
        features: names of the features that the model reads.

    Attributes:
        tokens: `TokenRows`: numbers of tokens, from 1 on.
        tags: `TokenRows`: ids of tags, as long.
        tables: dict of arrays, one for each feature: (V, ...), row 0 for padding.
        letters: int32 (n,): the longest word of each sentence, in characters; 0 where the model reads none.

    Raises:
        DataError: no sentence, one without a token, or a tag that the vocabulary does not have.

    Example:

    >>> from keraszoo.text.tagged_corpus import TaggedSentence
    >>> from keraszoo.text.tagging_features import TaggingVocabulary
    >>> vocabulary = TaggingVocabulary(words=["a", "cat"], characters="act", labels=["PET"])
    >>> sentence = TaggedSentence(("a", "cat", "a"), ("O", "B-PET", "O"))
    >>> rows = TaggedRows([sentence], vocabulary, ["words"])
    >>> rows.tables["words"][rows.tokens[0]].tolist(), rows.tags[0].tolist()
    ([2, 3, 2], [0, 1, 0])
    """

    def __init__(self, sentences, vocabulary, features):
        if not sentences:
            raise DataError("expected at least one sentence, got none")
        empty = next((i for i, sentence in enumerate(sentences) if not sentence.tokens), None)
        if empty is not None:
            raise DataError(f"sentence {empty} has no token")
        numbers = {}
        for sentence in sentences:
            for token in sentence.tokens:
                numbers.setdefault(token, len(numbers) + 1)
        self.tokens = TokenRows.from_lists([[numbers[token] for token in s.tokens] for s in sentences])
        self.tags = TokenRows.from_lists([_tag_ids(sentence, vocabulary) for sentence in sentences])
        encoded = vocabulary.encode([[token] for token in numbers])
        self.tables = {
            name: np.pad(encoded[name][:, 0], [(1, 0)] + [(0, 0)] * (encoded[name].ndim - 2))
            for name in features
        }
        self.letters = self._longest_words()

    def __len__(self):
        return len(self.tokens)

    @property
    def lengths(self):
        """The number of tokens of each sentence, int32 (n,)."""
        return self.tokens.lengths

    def _longest_words(self):
        letters = np.zeros(1 + int(self.tokens.ids.max()), "int32")
        for table in self.tables.values():
            if table.ndim > 1:
                letters = np.maximum(letters, np.count_nonzero(table, axis=1).astype("int32"))
        return np.maximum.reduceat(letters[self.tokens.ids], self.tokens.offsets[:-1])


def _tag_ids(sentence, vocabulary):
    try:
        return vocabulary.encode_tags([sentence.tags])[0]
    except DataError as error:
        raise DataError(f"sentence from line {sentence.line}: {error}") from None
