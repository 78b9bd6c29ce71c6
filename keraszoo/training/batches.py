"""Batches of a parallel corpus, each of which has an address: (seed, epoch, i)."""

import numpy as np

from keraszoo.errors import DataError, KerasZooError
from keraszoo.training.addressed_batches import AddressedBatches, check_at_least
from keraszoo.training.batch_plans import BudgetGrouping, GivenGrouping
from keraszoo.training.teacher_forcing import teacher_forced


class TokenBatches(AddressedBatches):
    """The batches that `fit` and `evaluate` are given, under a budget of tokens.

    `batch(epoch, i)` is a pure function of the corpus and the arguments: a run that stopped is taken up at
    any step by asking for the batches that are still due. Pairs of like length stand together, padded to one
    of a few shapes (`ShapeLadder`); which pairs of a shape meet in a batch and the order of the batches are
    drawn anew every epoch. Every pair comes exactly once an epoch, and every epoch has the same number of
    batches.

    Call `fit(batches, shuffle=False)`: `fit` would otherwise draw another order of the batches, from a
    generator that knows no address.

    Shapes: B rows, S source and T target positions, all three differing from batch to batch.

    Args:
        corpus: a `ParallelCorpus`.
        tokens: the budget: neither the padded source tokens B x S nor the padded target tokens B x T of a
            batch exceed it (`</s>` counted).
        batches: instead of `tokens`: the batches themselves, a list of arrays of pair numbers, which are kept
            and only change their order (a pair may be in several or in none).
        seed: of the shuffling, not negative.
        replicas: the number of rows of every batch is a multiple of it; rows of padding with weight 0 fill it
            up.
        shuffle: `False` for validation: the same batches in the same order every epoch.
        shapes: how many (S, T) there may be. More mean less padding and, under XLA, more programs to compile.
            `None`, for training without XLA: no limit; every batch is as long as its own longest sentences.
        multiple: S and T are multiples of it; 8 suits the matrix units of GPUs in half precision.

    Attributes:
        epoch: the epoch that `self[i]` takes its batches from. Settable. `on_epoch_end` moves it on; see
            `at_epoch`.

    Raises:
        DataError: a pair too long for the budget, or a pair number that the corpus does not have.
        KerasZooError: neither or both of `tokens` and `batches`, or a value out of range.

    Example:

    >>> from keraszoo.text.corpus import ParallelCorpus
    >>> corpus = ParallelCorpus.from_ids([[5, 6], [7]], [[8], [9, 9, 9]], pad_id=0, start_id=2, end_id=3)
    >>> batches = TokenBatches(corpus, tokens=64, shuffle=False)
    >>> len(batches)
    1
    >>> (source, target_in), target_out, sample_weight = batches.batch(epoch=0, i=0)
    >>> source.tolist()
    [[5, 6, 3], [7, 3, 0]]
    >>> target_out.tolist()
    [[8, 3, 0, 0], [9, 9, 9, 3]]
    """

    def __init__(
        self,
        corpus,
        tokens=None,
        *,
        batches=None,
        seed=0,
        replicas=1,
        shuffle=True,
        shapes=16,
        multiple=1,
    ):
        if (tokens is None) == (batches is None):
            raise KerasZooError(
                "give either tokens, the budget of a batch, or batches, a list of arrays of pair numbers"
            )
        least = {"tokens": 1, "seed": 0, "replicas": 1, "shapes": 1, "multiple": 1}
        check_at_least(least, tokens=tokens, seed=seed, replicas=replicas, shapes=shapes, multiple=multiple)
        super().__init__(seed, replicas, shuffle)
        self.shapes = shapes
        self.corpus = corpus
        lengths = corpus.source_lengths + 1, corpus.target_lengths + 1
        if batches is None:
            _check_budget(lengths, tokens, replicas)
            self._grouping = BudgetGrouping(lengths, tokens, replicas, shapes, multiple)
        else:
            self._grouping = GivenGrouping(lengths, batches, shapes, multiple)

    def batch(self, epoch, i):
        """Batch i of an epoch.

        Returns:
            `((source, target_in), target_out, sample_weight)`: int32 (B, S), int32 (B, T), int32 (B, T),
            float32 (B, T). The weights are `1 / real_tokens(epoch, i)` on real target tokens and 0 on
            padding.

        Raises:
            IndexError: no such batch.
        """
        indices, shape = self._address(epoch, i)
        corpus = self.corpus
        return teacher_forced(
            corpus.sources.gather(indices),
            corpus.targets.gather(indices),
            corpus.source_special,
            corpus.target_special,
            shape,
        )

    def real_tokens(self, epoch, i):
        """The number of target tokens, `</s>` counted and padding not, in batch i of an epoch."""
        indices = self.indices(epoch, i)
        return int(self.corpus.target_lengths[indices].sum()) + len(indices)

    def statistics(self, epoch=0):
        """What the batches of an epoch come to.

        Returns:
            A dict: `batches`, `shapes` (how many different (B, S, T)), `source_tokens` and `target_tokens`
            (real ones), `source_padding` and `target_padding` (the share of padding in all positions, in
            [0, 1)).
        """
        shapes = np.array([self.shape(epoch, i) for i in range(len(self))])
        pairs = self._plan(epoch).order
        statistics = {"batches": len(shapes), "shapes": len(np.unique(shapes, axis=0))}
        for axis, side in enumerate(("source", "target"), start=1):
            real = int(getattr(self.corpus, f"{side}_lengths")[pairs].sum(dtype="int64")) + len(pairs)
            statistics[f"{side}_tokens"] = real
            statistics[f"{side}_padding"] = 1 - real / int((shapes[:, 0] * shapes[:, axis]).sum())
        return statistics

    def _new_plan(self, generator):
        return self._grouping.plan(generator)


def _check_budget(lengths, tokens, replicas):
    """Raises DataError if a pair alone is more than a batch may hold."""
    source, target = lengths
    longest, limit = np.maximum(source, target), tokens // replicas
    if longest.max() > limit:
        worst = int(longest.argmax())
        raise DataError(
            f"pair {worst} has {source[worst]} source and {target[worst]} target tokens with </s>; a "
            f"budget of {tokens} tokens for at least {replicas} row(s) allows {limit}: raise it, or drop "
            "long pairs by max_length"
        )
