"""Which pairs make up which batch of an epoch."""

from typing import NamedTuple

import numpy as np

from keraszoo.errors import DataError
from keraszoo.training.batch_shapes import ShapeLadder

LADDER_OF_EXACT = 32  # shapes by which pairs are grouped when every batch is as long as its own longest


class EpochPlan(NamedTuple):
    """One epoch: batch i holds the pairs `order[start[i]:stop[i]]`, padded to the lengths S, T =
    `lengths[i]`.

    `order` is int32 (pairs,); `start` and `stop` are int64 (batches,), `lengths` is int64 (batches, 2).
    """

    order: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    lengths: np.ndarray

    def rearranged(self, generator):
        """The same batches in an order drawn by a NumPy generator (as they are if it is None), but for the
        first two.

        On TensorFlow, Keras looks at the first two batches of a `PyDataset` to learn along which axes the
        shapes vary, and fails at the first batch that varies along another. So the first two differ wherever
        any differ.
        """
        count = len(self.lengths)
        batches = np.arange(count) if generator is None else generator.permutation(count)
        lengths = self.lengths[batches]
        varies = (lengths != lengths[0]).any(axis=0)
        # If both lengths vary, then a batch with the least S or one with the greatest differs from some other
        # in both.
        for first in (0, lengths[:, 0].argmin(), lengths[:, 0].argmax()) if varies.any() else ():
            differs = (lengths != lengths[first])[:, varies].all(axis=1)
            if differs.any():
                pair = [first, differs.argmax()]
                batches = np.concatenate([batches[pair], np.delete(batches, pair)])
                break
        return EpochPlan(self.order, self.start[batches], self.stop[batches], self.lengths[batches])


class BudgetGrouping:
    """Groups pairs, or whatever else has two lengths, into batches that keep a budget of tokens.

    The pairs of each shape are shuffled and cut into full batches, shape by shape from the shortest; the rest
    of one shape goes into the next, where it fits too. So an epoch is one pass of shuffling over the pairs,
    and its number of batches of each shape never changes.

    Args:
        lengths: two int arrays (n,): how many positions each pair takes on either side; none more than
            `tokens // replicas`.
        tokens: the most padded tokens of one side of a batch.
        replicas: the number of rows of a full batch is a multiple of it.
        shapes: how many shapes there may be; `None` for batches no longer than their own longest sentences.
        multiple: their lengths are multiples of it.
    """

    def __init__(self, lengths, tokens, replicas=1, shapes=16, multiple=1):
        limit = tokens // replicas
        source, target = self.pairs = lengths
        self.multiple = multiple
        self.exact = shapes is None
        self.ladder = ShapeLadder(source, target, shapes or LADDER_OF_EXACT, multiple, limit)
        shape = self.ladder.first_holding(source, target)
        self.members = np.argsort(shape, kind="stable").astype("int32")  # stable is radix sort on 16 bits
        self.ends = np.cumsum(np.bincount(shape, minlength=len(self.ladder)))
        self.rows = tokens // self.ladder.lengths.max(axis=1) // replicas * replicas

    def plan(self, generator=None):
        """The plan of an epoch.

        Args:
            generator: the NumPy generator that shuffles; without one, pairs of a shape keep the order of the
                corpus.
        """
        order = self.members.copy()
        bounds, shapes = [np.zeros(1, "int64")], []
        start = 0
        for shape, (end, rows) in enumerate(zip(self.ends, self.rows, strict=True)):
            pool = order[start:end]  # what the shapes before left over stands at its head
            if generator is not None:
                generator.shuffle(pool)
            last = shape == len(self.rows) - 1
            batches = -(-len(pool) // rows) if last else len(pool) // rows
            bounds.append(np.minimum(start + rows * np.arange(1, batches + 1), end))
            shapes.append(np.full(batches, shape))
            start = bounds[-1][-1] if batches else start
        bounds = np.concatenate(bounds)
        lengths = self.ladder.lengths[np.concatenate(shapes)]
        if self.exact:
            lengths = np.minimum(lengths, _longest(self.pairs, order, bounds, self.multiple))
        return EpochPlan(order, bounds[:-1], bounds[1:], lengths).rearranged(generator)


class GivenGrouping:
    """Batches as they are given; only their order changes.

    Args:
        lengths: two int arrays (n,): how many positions each pair takes on either side.
        batches: a list of arrays of pair numbers, none of them empty.
        shapes: how many shapes there may be; `None` for batches no longer than their own longest sentences.
        multiple: their lengths are multiples of it.

    Raises:
        DataError: no batch, an empty one, or a pair number that the corpus does not have.
    """

    def __init__(self, lengths, batches, shapes=16, multiple=1):
        sizes = np.array([len(batch) for batch in batches], "int64")
        if sizes.size == 0 or sizes.min() == 0:
            raise DataError(
                f"batches must be a list of lists of pair numbers, none empty; got {sizes.size} batches"
            )
        order = np.concatenate([np.asarray(batch, "int64") for batch in batches])
        last = len(lengths[0]) - 1
        if order.min() < 0 or order.max() > last:
            raise DataError(f"batches name pairs {order.min()} to {order.max()} of 0 to {last}")
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        lengths = _longest(lengths, order, bounds, multiple)
        if shapes is not None:
            ladder = ShapeLadder(*lengths.T, shapes, multiple, weights=sizes)
            lengths = ladder.lengths[ladder.first_holding(*lengths.T)]
        self._plan = EpochPlan(order.astype("int32"), bounds[:-1], bounds[1:], lengths)

    def plan(self, generator=None):
        """The plan of an epoch: the batches in an order drawn by a NumPy generator, or as they are given."""
        return self._plan.rearranged(generator)


def _longest(lengths, order, bounds, multiple):
    """The least S and T that hold each batch `order[bounds[i]:bounds[i + 1]]`: int64 (batches, 2)."""
    sides = [np.maximum.reduceat(side[order], bounds[:-1]) for side in lengths]
    return -(-np.stack(sides, axis=1).astype("int64") // multiple) * multiple
