"""Which lengths batches are padded to: few shapes, little padding."""

import numpy as np


def rounded_lengths(longest, multiple=1):
    """The lengths that a shape may have: all up to 32, then sixteen in each doubling, in multiples of
    `multiple`.

    Args:
        longest: the largest length that must find its place.
        multiple: every length is a multiple of it.

    Returns:
        int64 array, rising, the last at least `longest`; rounding up to it adds less than a sixteenth, or
        less than `multiple`.

    Example:

    >>> rounded_lengths(39).tolist()[-7:]
    [30, 31, 32, 34, 36, 38, 40]
    >>> rounded_lengths(70, multiple=8).tolist()
    [8, 16, 24, 32, 40, 48, 56, 64, 72]
    """
    lengths = [1]
    while lengths[-1] < longest:
        step = 1 << (lengths[-1].bit_length() - 5) if lengths[-1] >= 32 else 1
        lengths.append(lengths[-1] + step)
    return np.unique(-(-np.array(lengths, "int64") // multiple) * multiple)


class ShapeLadder:
    """A rising ladder of shapes (S, T), chosen so that padding is least.

    Every pair goes to the first shape that holds it. No length falls from one shape to the next, so what is
    left over of one shape fits into the next: an epoch has one batch that is not full, not one for each
    shape. XLA compiles one program for each shape, so there are at most `shapes` of them. Which they are
    follows from how often each pair of lengths occurs, by dynamic programming over the table of rounded
    lengths. The cost is the number of padded tokens of both sides,

        sum_k (N(S_k, T_k) - N(S_{k-1}, T_{k-1})) (S_k + T_k)

    with N(S, T) the number of pairs of at most these lengths.

    Args:
        source_lengths: int array (n,), n > 0, with `</s>`.
        target_lengths: int array (n,), with `</s>`.
        shapes: how many shapes at most.
        multiple: the lengths of all shapes are multiples of it.
        limit: no shape is longer than this, though rounding would make it so.
        weights: how often each pair counts, (n,); once if not given.

    Attributes:
        lengths: int64 array (K, 2), the S and T of each shape, both rising.

    Example:

    >>> ladder = ShapeLadder(np.array([3, 4, 9, 30]), np.array([4, 2, 11, 28]), shapes=2)
    >>> ladder.lengths.tolist()
    [[9, 11], [30, 28]]
    >>> ladder.first_holding(np.array([4, 13]), np.array([11, 2])).tolist()
    [0, 1]
    """

    def __init__(self, source_lengths, target_lengths, shapes=16, multiple=1, limit=None, weights=None):
        source_axis, rows = _rounded(source_lengths, multiple, limit)
        target_axis, columns = _rounded(target_lengths, multiple, limit)
        cost = source_axis[:, None] + target_axis
        table = np.bincount(rows * np.int32(len(target_axis)) + columns, weights, minlength=cost.size)
        path = _cheapest_path(table.reshape(cost.shape).cumsum(0).cumsum(1), cost, shapes)
        self.lengths = np.array([(source_axis[i], target_axis[j]) for i, j in path])

    def __len__(self):
        return len(self.lengths)

    def first_holding(self, source_lengths, target_lengths):
        """The number of the first shape that holds each pair of lengths: uint16 (n,), in `[0, len(self))`."""
        source, target = self.lengths.T
        return np.maximum(_places(source, source_lengths), _places(target, target_lengths))


def _rounded(lengths, multiple, limit):
    """The rounded lengths that occur, rising, and for each length its place among them."""
    steps = rounded_lengths(lengths.max(), multiple)
    if limit is not None:
        steps = np.unique(np.minimum(steps, limit))
    occurs = np.bincount(_places(steps, lengths), minlength=len(steps)) > 0
    return steps[occurs], _places(steps[occurs], lengths)


def _places(axis, lengths):
    """The place of the first length of the axis that is at least as large: uint16, as the shape of `lengths`.

    By a table with one entry for each length: ten million are looked up in a fraction of the time of a
        search.
    """
    return np.searchsorted(axis, np.arange(axis[-1] + 1)).astype("uint16")[lengths]


def _cheapest_path(below, cost, steps):
    """The cheapest rising path of at most `steps` cells to the last cell of the table.

    Args:
        below: (I, J), how many pairs fit into each cell.
        cost: (I, J), what one of them costs there.
        steps: how many cells the path may have.

    Returns:
        List of (i, j); the last is (I - 1, J - 1).
    """
    # best[k, i, j] is the least cost of a path of k + 1 cells that ends in (i, j); it came from the cell
    # came_from.
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
