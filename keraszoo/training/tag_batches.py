"""Batches of a tagged corpus, each with an address: (seed, epoch, i)."""

import numpy as np

from keraszoo.errors import DataError
from keraszoo.messages import shown
from keraszoo.text.characters import plain_form
from keraszoo.text.tag_schemes import repair
from keraszoo.text.token_rows import TokenRows, padded
from keraszoo.training.addressed_batches import AddressedBatches


class TagBatches(AddressedBatches):
    """Batches of tagged sentences for `fit` of a tagger, under a budget of tokens.

    `TokenBatches` describes which sentences share a batch, and how to call `fit`.

    Shapes: B rows, T tokens, C characters of the longest word; all three differ from batch to batch.

    Args:
        rows: `TaggedRows`.
        tokens: the budget: the padded tokens B x T of a batch, or its padded subwords, do not exceed it.
        seed, replicas, shuffle: as for `TokenBatches`.
        shapes: the number of different T at most, with one C for all. `None`, for training without XLA: each
            batch is as long as its own longest sentence and word.

    Raises:
        DataError: a sentence too long for the budget.
        KerasZooError: a value out of range.

    Example:

    >>> from keraszoo.text.tagged_corpus import TaggedSentence
    >>> from keraszoo.text.tagging_features import TaggingVocabulary
    >>> vocabulary = TaggingVocabulary(words=["a", "cat"], characters="act", labels=["PET"])
    >>> sentences = [TaggedSentence(("a", "cat"), ("O", "B-PET")), TaggedSentence(("a",), ("O",))]
    >>> batches = TagBatches(TaggedRows(sentences, vocabulary, ["words"]), tokens=8, shuffle=False)
    >>> features, tags, sample_weight = batches.batch(epoch=0, i=0)
    >>> sorted(features["words"].tolist()), sorted(tags.tolist())
    ([[2, 0], [2, 3]], [[0, 0], [0, 1]])
    >>> round(float(sample_weight.max()), 3)
    0.333
    """

    def __init__(self, rows, tokens, *, seed=0, replicas=1, shuffle=True, shapes=16):
        # A sentence has one length and a pair two: here, the second is that of its subwords, if it has any.
        subwords = rows.sequences.get("subwords")
        second = np.ones_like(rows.lengths) if subwords is None else subwords.lengths
        super().__init__((rows.lengths, second), tokens, seed, replicas, shuffle, shapes)
        self.rows = rows

    def batch(self, epoch, i):
        """Returns batch i of an epoch.

        Returns:
            `(features, tags, sample_weight)`: a dict of int32 (B, T) and (B, T, C), int32 (B, T), float32 (B,
            T). The weights are `1 / real_tokens(epoch, i)` on real tokens. Padding is 0 everywhere.

        Raises:
            IndexError: no such batch.
        """
        indices, (count, length, letters) = self._address(epoch, i)
        sides = self.rows.tokens, self.rows.tags
        tokens, tags = (padded(*side.gather(indices), (count, length)) for side in sides)
        features = {
            name: (table[tokens] if table.ndim == 1 else table[:, :letters][tokens]).astype("int32")
            for name, table in self.rows.tables.items()
        }
        for name, rows in self.rows.sequences.items():
            width = length if name == "words" else letters
            features[name] = padded(*rows.gather(indices), (count, width))
        real = tokens != 0
        return features, tags, real / np.float32(real.sum())

    def real_tokens(self, epoch, i):
        """The number of tokens, without padding, in batch i of an epoch."""
        return int(self.rows.lengths[self.indices(epoch, i)].sum())

    def _address(self, epoch, i):
        """The sentence numbers of a batch, its rows, tokens, and subwords or a word's characters."""
        indices, (rows, length, subwords) = super()._address(epoch, i)
        if self.rows.sequences:
            return indices, (rows, length, subwords)
        letters = self.rows.letters if self.shapes is not None else self.rows.letters[indices]
        return indices, (rows, length, int(letters.max()))


class TaggedRows:
    """Sentences of tagged tokens as flat arrays, from which batches are gathered.

    The features of a token do not depend on its neighbours, so they are computed once for each different
    token, and a batch looks them up in tables.

    Args:
        sentences: list of `TaggedSentence`, tags in IOB2.
        vocabulary: a `TaggingVocabulary`.
        features: names of the features that the model reads.

    Attributes:
        tokens, tags: `TokenRows`: numbers of tokens, from 1 on, and ids of tags.
        tables: dict with one array for each feature of a token: (V, ...), row 0 for padding.
        sequences: dict with `TokenRows` for each feature of a whole sentence: those of subwords.
        letters: int32 (n,): the characters of each sentence's longest word; 0 if the model reads none.

    Raises:
        DataError: no sentence, a sentence without a token, or a tag that the vocabulary lacks.
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
        self.tables, self.sequences = {}, {}
        if vocabulary.subwords is None:
            encoded = vocabulary.encode([[token] for token in numbers])
            for name in features:
                padding = [(1, 0)] + [(0, 0)] * (encoded[name].ndim - 2)
                self.tables[name] = np.pad(encoded[name][:, 0], padding)
        else:
            plain = [[plain_form(token) or token for token in s.tokens] for s in sentences]
            rows = vocabulary.subwords.features(plain)
            self.sequences = {name: TokenRows.from_lists(rows[name]) for name in features}
        letters = np.zeros(len(numbers) + 1, "int32")
        for table in self.tables.values():
            if table.ndim > 1:
                letters = np.maximum(letters, np.count_nonzero(table, axis=1).astype("int32"))
        self.letters = np.maximum.reduceat(letters[self.tokens.ids], self.tokens.offsets[:-1])

    def __len__(self):
        return len(self.tokens)

    @property
    def longest(self):
        """The length of the longest sentence, in tokens or in subwords."""
        return max(int(rows.lengths.max()) for rows in (self.tokens, *self.sequences.values()))

    @property
    def lengths(self):
        """The number of tokens of each sentence, int32 (n,)."""
        return self.tokens.lengths


def _tag_ids(sentence, vocabulary):
    tokens, tags = len(sentence.tokens), len(sentence.tags)
    if tags != tokens:
        raise DataError(f"sentence from line {sentence.line}: {tokens} tokens, but {tags} tags")
    try:
        if repair(sentence.tags, "IOB2")[1]:
            raise DataError(f"expected valid IOB2, got {shown(' '.join(sentence.tags))}")
        return vocabulary.encode_tags([sentence.tags])[0]
    except DataError as error:
        raise DataError(f"sentence from line {sentence.line}: {error}") from None
