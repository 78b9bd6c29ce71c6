"""Which sentences make up which batch of an epoch, and to which lengths batches are padded."""

from typing import NamedTuple

import numpy as np

from keraszoo.errors import DataError, check_at_least

ROOM = 128  # positions for each row of a full batch, with padding
LADDER_OF_EXACT = 32  # shapes by which pairs are grouped when every batch is as long as its own longest


def batches_by_length(lengths, is_full):
    """Yields batches of rows of similar length, as lists of indices, the shortest rows first.

    `lengths` are int or tuples of them; rows of length 0 are left out. `is_full` is a function of the
    places in this order where a batch starts and stops (exclusive): whether it takes no further row.

    >>> list(batches_by_length([3, 0, 9, 1, 3], lambda start, stop: stop - start == 2))
    [[3, 0], [4, 2]]
    """
    order = sorted((i for i, length in enumerate(lengths) if length), key=lengths.__getitem__)
    start = 0
    for stop in range(1, len(order) + 1):
        if stop == len(order) or is_full(start, stop):
            yield order[start:stop]
            start = stop


def batches_of_rows(lengths, rows):
    """`batches_by_length` of at most this many rows, and of at most `ROOM` positions for each of so many.

    A long row then does not make a full batch as long.

    >>> list(batches_of_rows([3, 0, 9, 300, 3], rows=3))
    [[0, 4, 2], [3]]
    """
    rising = sorted(filter(None, lengths))

    def is_full(start, stop):
        more = stop + 1 - start
        return more > rows or more * np.max(rising[start : stop + 1]) > rows * ROOM

    return batches_by_length(lengths, is_full)


class EpochPlan(NamedTuple):
    """One epoch: batch i holds the rows `order[start[i]:stop[i]]`, padded to the two lengths `lengths[i]`.

    `order` is int32 (rows,); `start` and `stop` are int64 (batches,), `lengths` is int64 (batches, 2).
    """

    order: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    lengths: np.ndarray

    def shuffled(self, generator):
        """Draws the order of the batches with a NumPy generator; None keeps it."""
        batches = slice(None) if generator is None else generator.permutation(len(self.lengths))
        return EpochPlan(self.order, self.start[batches], self.stop[batches], self.lengths[batches])


class BudgetGrouping:
    """Groups rows with two lengths each (pairs of sentences) into batches within a budget of tokens.

    The rows of each shape are shuffled and cut into full batches, shape by shape from the shortest; the rest
    of one shape goes into the next, where it fits, too. So an epoch shuffles all rows once, and its number of
    batches of each shape never changes.

    `lengths` are two int arrays (n,): how many positions each row takes on either side. `tokens`, `replicas`
    and `shapes` are those of `TokenBatches`. Raises DataError for a row of more than `tokens // replicas`.
    """

    def __init__(self, lengths, tokens, replicas=1, shapes=16):
        check_at_least(tokens=(tokens, 1), shapes=(1 if shapes is None else shapes, 1))
        first, second = self.lengths = lengths
        longest, limit = np.maximum(first, second), tokens // replicas
        if longest.max() > limit:
            raise DataError(
                f"item {longest.argmax()} takes {longest.max()} positions; a budget of {tokens} tokens for "
                f"at least {replicas} row(s) allows {limit}: raise batch_tokens, or leave out long sentences"
            )
        self.exact = shapes is None
        self.ladder = ShapeLadder(first, second, shapes or LADDER_OF_EXACT, limit)
        shape = self.ladder.first_holding(first, second)
        self.members = np.argsort(shape, kind="stable").astype("int32")  # stable is radix sort on 16 bits
        self.ends = np.cumsum(np.bincount(shape, minlength=len(self.ladder)))
        self.rows = tokens // self.ladder.lengths.max(axis=1) // replicas * replicas

    def plan(self, generator=None):
        """Returns the plan of an epoch, shuffled by a NumPy generator, or in the order of the corpus."""
        order = self.members.copy()
        bounds, shapes = [np.zeros(1, "int64")], []
        start = 0
        for shape, (end, rows) in enumerate(zip(self.ends, self.rows, strict=True)):
            pool = order[start:end]  # begins with the rest of the shapes before
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
            sides = [np.maximum.reduceat(side[order], bounds[:-1]) for side in self.lengths]
            lengths = np.minimum(lengths, np.stack(sides, axis=1))
        return EpochPlan(order, bounds[:-1], bounds[1:], lengths).shuffled(generator)


def rounded_lengths(longest, multiple=1):
    """The lengths that a shape may have: all up to 32, then sixteen in each doubling, to `longest` or more.

    Each is a multiple of `multiple`. Without it, rounding up to them adds less than a sixteenth.

    >>> rounded_lengths(39).tolist()[-7:]
    [30, 31, 32, 34, 36, 38, 40]
    """
    lengths = [1]
    while lengths[-1] < longest:
        lengths.append(lengths[-1] + (1 << (lengths[-1].bit_length() - 5) if lengths[-1] >= 32 else 1))
    return np.unique(-(-np.array(lengths, "int64") // multiple) * multiple)


class ShapeLadder:
    """A rising sequence of shapes (S, T) that minimises padding: `lengths`, int64 (K, 2), K at most `shapes`.

    Every pair goes to the first shape that holds it. No length falls from one shape to the next, so the rest
    of one shape fits into the next, and an epoch has one batch that is not full, not one for each shape.
    Dynamic programming over rounded lengths minimises the number of padded tokens of both sides,

        sum_k (N(S_k, T_k) - N(S_{k-1}, T_{k-1})) (S_k + T_k)

    with N(S, T) the number of pairs of at most these lengths. No shape is longer than `limit`.

    >>> ShapeLadder(np.array([3, 4, 9, 30]), np.array([4, 2, 11, 28]), shapes=2).lengths.tolist()
    [[9, 11], [30, 28]]
    """

    def __init__(self, source_lengths, target_lengths, shapes=16, limit=None):
        source_axis, rows = _rounded(source_lengths, limit)
        target_axis, columns = _rounded(target_lengths, limit)
        cost = source_axis[:, None] + target_axis
        table = np.bincount(rows * np.int32(len(target_axis)) + columns, minlength=cost.size)
        path = _cheapest_path(table.reshape(cost.shape).cumsum(0).cumsum(1), cost, shapes)
        self.lengths = np.array([(source_axis[i], target_axis[j]) for i, j in path])

    def __len__(self):
        return len(self.lengths)

    def first_holding(self, source_lengths, target_lengths):
        """The number of the first shape that holds each pair of lengths: uint16 (n,), in `[0, len(self))`."""
        source, target = self.lengths.T
        return np.maximum(_places(source, source_lengths), _places(target, target_lengths))


def _rounded(lengths, limit):
    """The rounded lengths that occur, rising, and the index of each length among them."""
    steps = rounded_lengths(lengths.max())
    if limit is not None:
        steps = np.unique(np.minimum(steps, limit))
    occurs = np.bincount(_places(steps, lengths), minlength=len(steps)) > 0
    return steps[occurs], _places(steps[occurs], lengths)


def _places(axis, lengths):
    """The index of the first length of the axis that is at least as large: uint16, shaped like `lengths`."""
    # a table with one entry for each length is much faster than a search for ten million lengths
    return np.searchsorted(axis, np.arange(axis[-1] + 1)).astype("uint16")[lengths]


def _cheapest_path(below, cost, steps):
    """The cheapest rising path of at most `steps` cells to the last cell of a table, a list of (i, j).

    `below` (I, J) is the number of pairs that fit into each cell, `cost` (I, J) that of one of them there.
    """
    # best[k, i, j] is the least cost of a path of k + 1 cells that ends in (i, j), after the cell came_from.
    best = np.full((steps, *cost.shape), np.inf)
    came_from = np.zeros((steps, *cost.shape), "int64")
    for i, j in np.ndindex(cost.shape):
        best[0, i, j] = below[i, j] * cost[i, j]
        before = best[:-1, : i + 1, : j + 1] + (below[i, j] - below[: i + 1, : j + 1]) * cost[i, j]
        before[:, i, j] = np.inf  # a path rises: it does not come from the cell itself
        before = before.reshape(steps - 1, (i + 1) * (j + 1))
        cheapest = before.argmin(axis=1)
        best[1:, i, j] = before[np.arange(steps - 1), cheapest]
        came_from[1:, i, j] = np.ravel_multi_index(np.divmod(cheapest, j + 1), cost.shape)
    i, j = cost.shape[0] - 1, cost.shape[1] - 1
    step = int(best[:, i, j].argmin())
    path = [(i, j)]
    while step:
        i, j = np.unravel_index(came_from[step, i, j], cost.shape)
        path.append((i, j))
        step -= 1
    return path[::-1]
