"""Rows of token ids of different lengths, in two flat arrays."""

import numpy as np


class TokenRows:
    """Sentences of token ids as two flat arrays, not millions of lists.

    Row i is `ids[offsets[i]:offsets[i + 1]]`. The `lengths` (rows,) sum to the number of ids, integers of any
    type.

    >>> rows = TokenRows.from_lists([[5, 6, 7], [], [8]])
    >>> rows.lengths.tolist(), rows[0].tolist(), rows.gather([2, 0])[0].tolist()
    ([3, 0, 1], [5, 6, 7], [8, 5, 6, 7])
    """

    def __init__(self, ids, lengths):
        self.ids = ids
        self.lengths = np.asarray(lengths, "int32")
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths, dtype="int64")])

    @classmethod
    def from_lists(cls, rows, dtype="int32"):
        """Makes rows of a list of lists (or arrays) of ids."""
        ids = np.fromiter((id_ for row in rows for id_ in row), dtype="int64")
        return cls(ids.astype(dtype), [len(row) for row in rows])

    def gather(self, indices):
        """Returns the ids of rows, concatenated int32 (sum of lengths,), and their lengths, int32 (n,)."""
        indices = np.asarray(indices)
        lengths = self.lengths[indices]
        # From the start of each row in the result to its start in the flat array.
        shift = self.offsets[indices] - (np.cumsum(lengths, dtype="int64") - lengths)
        positions = np.repeat(shift, lengths) + np.arange(lengths.sum(dtype="int64"))
        return self.ids[positions].astype("int32"), lengths

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        index = range(len(self))[index]
        return np.asarray(self.ids[self.offsets[index] : self.offsets[index + 1]], dtype="int32")


def padded(ids, lengths, shape, pad_id=0):
    """The flat ids and lengths that `gather` returns as int32 of a shape, filled up with `pad_id`.

    >>> padded([5, 6, 7], [1, 2], (3, 2)).tolist()
    [[5, 0], [6, 7], [0, 0]]
    """
    rows = np.full(shape, pad_id, "int32")
    rows[: len(lengths)][np.arange(shape[1]) < np.asarray(lengths)[:, None]] = ids
    return rows
