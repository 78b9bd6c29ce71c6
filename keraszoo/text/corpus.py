"""A parallel corpus as token ids in flat arrays, in memory or mapped from a directory."""

import itertools
from typing import NamedTuple

import numpy as np

from keraszoo.errors import DataError
from keraszoo.text import corpus_files
from keraszoo.text.token_rows import TokenRows, flattened

CHUNK = 20_000  # pairs that are Python lists at a time


class SpecialIds(NamedTuple):
    """The ids of one side's `<pad>`, `<s>` and `</s>`."""

    pad_id: int
    start_id: int
    end_id: int


class ParallelCorpus:
    """Pairs of sentences as token ids, without `<s>` and `</s>`.

    The ids of a side are one flat array (uint16 where the vocabulary allows, else int32) and int64 offsets: a
    pair of 25 + 25 tokens takes about 120 bytes. A corpus made with a `directory` is written there chunk by
    chunk and mapped into memory, so its size is bounded by the disk alone; `open` takes it up again.

    Made by `from_pairs`, `from_ids` or `open`.

    Attributes:
        sources, targets: `TokenRows`.
        source_special, target_special: `SpecialIds`.
        dropped: how many pairs were left out, `{"blank": n, "too_long": n}`.

    Example:

    >>> corpus = ParallelCorpus.from_ids([[5, 6], [7]], [[8], [9, 9, 9]], pad_id=0, start_id=2, end_id=3)
    >>> len(corpus), corpus.target(1).tolist(), corpus.source_lengths.tolist()
    (2, [9, 9, 9], [2, 1])
    """

    def __init__(self, sources, targets, source_special, target_special, dropped=None):
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} source sentences, but {len(targets)} target sentences")
        if len(sources) == 0:
            raise DataError("an empty corpus: no pair at all")
        self.sources = sources
        self.targets = targets
        self.source_special = SpecialIds(*source_special)
        self.target_special = SpecialIds(*target_special)
        self.dropped = dropped or {"blank": 0, "too_long": 0}

    @classmethod
    def from_pairs(cls, pairs, source_subwords, target_subwords, max_length=None, directory=None):
        """Encodes pairs of sentences.

        Pairs with a side that is blank or has no token are dropped and counted, and so are pairs with a side
        of more than `max_length` tokens.

        Args:
            pairs: an iterable of (source, target) strings, as `read_pairs` gives it; read once, in chunks.
            source_subwords: the `Subwords` of the source side.
            target_subwords: those of the target side; the same object for a joint vocabulary.
            max_length: the most tokens of a side, `</s>` not counted; no limit if not given.
            directory: where to write the arrays; in memory if not given. A corpus that is there is replaced
                when the new one is whole; anything else that is there is an error.

        Returns:
            A `ParallelCorpus`.

        Raises:
            DataError: no pair at all or none left, text that is no valid Unicode, or a directory that cannot
                be written.
        """
        dropped = {"blank": 0, "too_long": 0}
        chunks = _encoded(pairs, source_subwords, target_subwords, max_length, dropped)
        specials = [SpecialIds(s.pad_id, s.start_id, s.end_id) for s in (source_subwords, target_subwords)]
        dtypes = [_dtype(s.vocabulary_size) for s in (source_subwords, target_subwords)]
        if directory is not None:

            def describe(count):
                _check_any(count, dropped)
                return {"special": dict(zip(corpus_files.SIDES, specials, strict=True)), "dropped": dropped}

            corpus_files.write(directory, chunks, dtypes, describe)
            return cls.open(directory)
        sources, targets = _in_memory(chunks, dtypes)
        _check_any(len(sources), dropped)
        return cls(sources, targets, *specials, dropped)

    @classmethod
    def from_ids(cls, source_ids, target_ids, *, pad_id, start_id, end_id):
        """A corpus of ids that exist already, with the same special ids on both sides.

        Every pair is kept, also one of no tokens: pair i here is pair i there.

        Args:
            source_ids: a list of lists (or arrays) of ids, without `<s>` and `</s>`.
            target_ids: the same for the target side, of equal length.
            pad_id: the id of padding.
            start_id: the id of `<s>`.
            end_id: the id of `</s>`.

        Raises:
            DataError: sides of unequal length, no pair, or ids that are negative or special.
        """
        special = SpecialIds(pad_id, start_id, end_id)
        sides = [TokenRows.from_lists(rows) for rows in (source_ids, target_ids)]
        for name, side in zip(("source", "target"), sides, strict=True):
            wrong = (side.ids < 0) | np.isin(side.ids, special)
            if wrong.any():
                place = int(wrong.argmax())
                row = int(np.searchsorted(side.offsets, place, side="right")) - 1
                raise DataError(
                    f"{name} sentence {row} holds the id {side.ids[place]}; ids must not be negative, "
                    f"nor be those of <pad>, <s> or </s>, {tuple(special)}"
                )
        return cls(*sides, special, special)

    @classmethod
    def open(cls, directory):
        """Maps a corpus that `from_pairs` wrote; sizes are checked against the header, tokens are not read.

        Raises:
            DataError: no such directory, not a corpus, or a file that is cut or too long, which is named.
        """
        sources, targets, header = corpus_files.read(directory)
        specials = [SpecialIds(*header["special"][side]) for side in corpus_files.SIDES]
        return cls(sources, targets, *specials, header["dropped"])

    @property
    def source_lengths(self):
        """The number of tokens of each source sentence: int32 (pairs,)."""
        return self.sources.lengths

    @property
    def target_lengths(self):
        """The number of tokens of each target sentence: int32 (pairs,)."""
        return self.targets.lengths

    def source(self, i):
        """The ids of source sentence i: int32 (length,)."""
        return self.sources[i]

    def target(self, i):
        """The ids of target sentence i: int32 (length,)."""
        return self.targets[i]

    def __len__(self):
        return len(self.sources)


def _encoded(pairs, source_subwords, target_subwords, max_length, dropped):
    """Yields chunks of kept pairs as two lists of lists of ids; counts the others in `dropped`."""
    pairs = iter(pairs)
    while chunk := list(itertools.islice(pairs, CHUNK)):
        sources, targets = (
            subwords.encode([pair[side] for pair in chunk])
            for side, subwords in enumerate((source_subwords, target_subwords))
        )
        kept = []
        for (source_text, target_text), source, target in zip(chunk, sources, targets, strict=True):
            if not (source and target and source_text.strip() and target_text.strip()):
                dropped["blank"] += 1
            elif max_length is not None and max(len(source), len(target)) > max_length:
                dropped["too_long"] += 1
            else:
                kept.append((source, target))
        yield [source for source, _ in kept], [target for _, target in kept]


def _dtype(vocabulary_size):
    return "uint16" if vocabulary_size <= 65_536 else "int32"


def _in_memory(chunks, dtypes):
    """Two `TokenRows` of chunks of lists of ids, appended to buffers that grow: no id is there twice."""
    sides = [(bytearray(), bytearray()) for _ in dtypes]
    for chunk in chunks:
        for (ids, ends), rows, dtype in zip(sides, chunk, dtypes, strict=True):
            new_ids, offsets = flattened(rows, dtype)
            before = len(ids) // new_ids.itemsize
            ids += new_ids.tobytes()
            ends += (before + offsets[1:]).tobytes()
    return [
        TokenRows(np.frombuffer(ids, dtype), np.concatenate([[0], np.frombuffer(ends, "int64")]))
        for (ids, ends), dtype in zip(sides, dtypes, strict=True)
    ]


def _check_any(count, dropped):
    if count == 0:
        total = sum(dropped.values())
        raise DataError(
            f"no pair is left of {total}: {dropped['blank']} blank, {dropped['too_long']} too long"
            if total
            else "an empty corpus: no pair at all"
        )
