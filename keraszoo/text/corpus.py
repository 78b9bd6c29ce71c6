"""A parallel corpus as token ids in flat arrays."""

import itertools
from typing import NamedTuple

import numpy as np

from keraszoo.errors import DataError
from keraszoo.text.token_rows import TokenRows

CHUNK = 20_000  # pairs that are Python lists at a time
SIDES = ("source", "target")


class SpecialIds(NamedTuple):
    """The ids of `<pad>`, `<s>` and `</s>` of one side."""

    pad_id: int
    start_id: int
    end_id: int

    @classmethod
    def of(cls, subwords):
        """Those of a vocabulary."""
        return cls(subwords.pad_id, subwords.start_id, subwords.end_id)


class ParallelCorpus:
    """Pairs of sentences as token ids, without `<s>` and `</s>`.

    The ids of a side are one flat array (uint16 if the vocabulary is small enough, otherwise int32) with
    int64 offsets: a pair of 25 + 25 tokens takes about 120 bytes.

    Use `from_pairs` or `from_ids` to make one.

    Attributes:
        sources, targets: `TokenRows`: `sources[i]` is int32 (length,), `sources.lengths` int32 (pairs,).
        source_special, target_special: `SpecialIds`.
        dropped: the number of pairs left out, `{"blank": n, "too_long": n}`.

    Example:

    >>> corpus = ParallelCorpus.from_ids([[5, 6], [7]], [[8], [9, 9, 9]], pad_id=0, start_id=2, end_id=3)
    >>> len(corpus), corpus.targets[1].tolist(), corpus.sources.lengths.tolist()
    (2, [9, 9, 9], [2, 1])
    """

    def __init__(self, sources, targets, source_special, target_special, dropped=None):
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} source sentences, but {len(targets)} target sentences")
        if len(sources) == 0:
            raise DataError("an empty corpus: expected at least one pair")
        self.sources = sources
        self.targets = targets
        self.source_special = source_special
        self.target_special = target_special
        self.dropped = dropped or {"blank": 0, "too_long": 0}

    @classmethod
    def from_pairs(cls, pairs, source_subwords, target_subwords, max_length=None):
        """Encodes pairs of sentences.

        Pairs with a blank side, a side without tokens, or a side of more than `max_length` tokens are dropped
        and counted.

        Args:
            pairs: an iterable of (source, target) strings, as `read_pairs` gives it; read once, in chunks.
            source_subwords: the `Subwords` of the source side.
            target_subwords: those of the target side; the same object for a joint vocabulary.
            max_length: the largest number of tokens of a side, without `</s>`; no limit by default.

        Returns:
            A `ParallelCorpus`.

        Raises:
            DataError: no pair is left, or text that is not valid Unicode.
        """
        sides = (source_subwords, target_subwords)
        dropped = {"blank": 0, "too_long": 0}
        special = [SpecialIds.of(side) for side in sides]
        dtypes = ["uint16" if side.vocabulary_size <= 65_536 else "int32" for side in sides]
        buffers = [(bytearray(), bytearray()) for _ in sides]  # ids and lengths
        for chunk in _encoded(pairs, sides, max_length, dropped):
            for (ids, lengths), rows, dtype in zip(buffers, chunk, dtypes, strict=True):
                part = TokenRows.from_lists(rows, dtype)
                ids += part.ids.tobytes()
                lengths += part.lengths.tobytes()
        if not buffers[0][1] and any(dropped.values()):
            counts = f"{dropped['blank']} blank, {dropped['too_long']} too long"
            raise DataError(f"no pair is left of {sum(dropped.values())}: {counts}")
        rows = [
            TokenRows(np.frombuffer(ids, dtype), np.frombuffer(lengths, "int32"))
            for (ids, lengths), dtype in zip(buffers, dtypes, strict=True)
        ]
        return cls(*rows, *special, dropped)

    @classmethod
    def from_ids(cls, source_ids, target_ids, *, pad_id, start_id, end_id):
        """Makes a corpus of two lists of lists of ids, without the special ids, which both sides share.

        Every pair is kept, including pairs without tokens.

        Raises:
            DataError: sides of unequal length, no pair, or ids that are negative or special.
        """
        special = SpecialIds(pad_id, start_id, end_id)
        sides = [TokenRows.from_lists(rows) for rows in (source_ids, target_ids)]
        for name, side in zip(SIDES, sides, strict=True):
            wrong = np.flatnonzero((side.ids < 0) | np.isin(side.ids, special))
            if len(wrong):
                row = int(np.searchsorted(side.offsets, wrong[0], side="right")) - 1
                raise DataError(
                    f"{name} sentence {row} holds the id {side.ids[wrong[0]]}; expected ids that are not "
                    f"negative and not those of <pad>, <s> and </s>, {tuple(special)}"
                )
        return cls(*sides, special, special)

    def __len__(self):
        return len(self.sources)


def _encoded(pairs, sides, max_length, dropped):
    """Yields chunks of kept pairs as two lists of lists of ids; counts the others in `dropped`."""
    pairs = iter(pairs)
    while chunk := list(itertools.islice(pairs, CHUNK)):
        texts = list(zip(*chunk, strict=True))
        encoded = [subwords.encode(side) for subwords, side in zip(sides, texts, strict=True)]
        kept = [], []
        for source_text, target_text, source, target in zip(*texts, *encoded, strict=True):
            if not (source and target and source_text.strip() and target_text.strip()):
                dropped["blank"] += 1
            elif max_length is not None and max(len(source), len(target)) > max_length:
                dropped["too_long"] += 1
            else:
                kept[0].append(source)
                kept[1].append(target)
        yield kept
