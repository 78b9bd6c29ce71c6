"""Batches of a tagged corpus, each of which has an address: (seed, epoch, i)."""

import numpy as np

from keraszoo.errors import DataError
from keraszoo.training.addressed_batches import AddressedBatches, check_at_least
from keraszoo.training.batch_plans import BudgetGrouping


class TagBatches(AddressedBatches):
    """The batches that `fit` of a tagger is given, under a budget of tokens.

    As `TokenBatches` in everything but what a batch is: `batch(epoch, i)` is a pure function of the corpus
    and the arguments, sentences of like length stand together, and every one comes exactly once an epoch.

    Call `fit(batches, shuffle=False)`.

    Shapes: B rows, T tokens, C characters of the longest word, all three differing from batch to batch.

    Args:
        rows: `TaggedRows`.
        tokens: the budget: the padded tokens B x T of a batch do not exceed it.
        seed: of the shuffling, not negative.
        replicas: the number of rows of every batch is a multiple of it; rows of padding with weight 0 fill it
            up.
        shuffle: `False` for validation: the same batches in the same order every epoch.
        shapes: how many T there may be, with one C for all. `None`, for training without XLA: no limit; a
            batch is as long as its own longest sentence and longest word.
        multiple: T is a multiple of it.

    Attributes:
        epoch: the epoch that `self[i]` takes its batches from.

    Raises:
        DataError: a sentence too long for the budget.
        KerasZooError: a value out of range.

    Example:

    >>> from keraszoo.text.tagged_corpus import TaggedSentence
    >>> from keraszoo.text.tagging_features import TaggingVocabulary
    >>> from keraszoo.training.tagged_rows import TaggedRows
    >>> vocabulary = TaggingVocabulary(words=["a", "cat"], characters="act", labels=["PET"])
    >>> sentences = [TaggedSentence(("a", "cat"), ("O", "B-PET")), TaggedSentence(("a",), ("O",))]
    >>> batches = TagBatches(TaggedRows(sentences, vocabulary, ["words"]), tokens=8, shuffle=False)
    >>> features, tags, sample_weight = batches.batch(epoch=0, i=0)
    >>> sorted(features["words"].tolist()), sorted(tags.tolist())
    ([[2, 0], [2, 3]], [[0, 0], [0, 1]])
    >>> round(float(sample_weight.max()), 3)
    0.333
    """

    def __init__(self, rows, tokens, *, seed=0, replicas=1, shuffle=True, shapes=16, multiple=1):
        least = {"tokens": 1, "seed": 0, "replicas": 1, "shapes": 1, "multiple": 1}
        check_at_least(least, tokens=tokens, seed=seed, replicas=replicas, shapes=shapes, multiple=multiple)
        super().__init__(seed, replicas, shuffle)
        self.shapes = shapes
        limit = tokens // replicas
        if rows.lengths.max() > limit:
            worst = int(rows.lengths.argmax())
            raise DataError(
                f"sentence {worst} has {rows.lengths[worst]} tokens; a budget of {tokens} tokens for at "
                f"least {replicas} row(s) allows {limit}: raise it, or split the sentence"
            )
        self.rows = rows
        self.exact = shapes is None
        # One length a sentence, where a pair has two: the other is 1 for all.
        lengths = rows.lengths, np.ones_like(rows.lengths)
        self._grouping = BudgetGrouping(lengths, tokens, replicas, shapes, multiple)

    def batch(self, epoch, i):
        """Batch i of an epoch.

        Returns:
            `(features, tags, sample_weight)`: a dict of int32 (B, T) and (B, T, C), int32 (B, T), float32 (B,
            T). The weights are `1 / real_tokens(epoch, i)` on real tokens and 0 on padding, where all else is
            0, too.

        Raises:
            IndexError: no such batch.
        """
        indices, (count, length, letters) = self._address(epoch, i)
        numbers, lengths = self.rows.tokens.gather(indices)
        real = np.zeros((count, length), "bool")
        real[: len(indices)] = np.arange(length) < lengths[:, None]
        tokens, tags = np.zeros((2, count, length), "int32")
        tokens[real], tags[real] = numbers, self.rows.tags.gather(indices)[0]
        features = {
            name: (table[tokens] if table.ndim == 1 else table[:, :letters][tokens]).astype("int32")
            for name, table in self.rows.tables.items()
        }
        return features, tags, real / np.float32(lengths.sum())

    def real_tokens(self, epoch, i):
        """The number of tokens, padding not counted, in batch i of an epoch."""
        return int(self.rows.lengths[self.indices(epoch, i)].sum())

    def _new_plan(self, generator):
        """The plan of the grouping, with the characters of the longest word as the second length."""
        plan = self._grouping.plan(generator)
        letters = np.full(len(plan.start), self.rows.letters.max(), "int64")
        if self.exact:
            first = np.argsort(plan.start)
            letters[first] = np.maximum.reduceat(self.rows.letters[plan.order], plan.start[first])
        lengths = np.stack([plan.lengths[:, 0], letters], axis=1)
        return plan._replace(lengths=lengths).rearranged(None)
