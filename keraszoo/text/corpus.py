"""A parallel corpus as token ids in flat arrays, in memory or mapped from a directory.

    header.json                              numbers of pairs and tokens, number types, special ids, dropped
    source_ids.bin, target_ids.bin           the ids of all sentences, concatenated
    source_offsets.bin, target_offsets.bin   int64, where each sentence begins; one more than there are pairs

All numbers are little-endian.
"""

import contextlib
import io
import itertools
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pydantic

from keraszoo.errors import DataError
from keraszoo.saving import atomic
from keraszoo.text.lines import located
from keraszoo.text.token_rows import TokenRows, flattened

CHUNK = 20_000  # pairs that are Python lists at a time
FORMAT = "keraszoo parallel corpus 1"
SIDES = ("source", "target")


class SpecialIds(NamedTuple):
    """The ids of `<pad>`, `<s>` and `</s>` of one side."""

    pad_id: int
    start_id: int
    end_id: int


class ParallelCorpus:
    """Pairs of sentences as token ids, without `<s>` and `</s>`.

    The ids of a side are one flat array (uint16 if the vocabulary is small enough, otherwise int32) with
    int64 offsets: a pair of 25 + 25 tokens takes about 120 bytes. A corpus with a `directory` is written
    there in chunks and mapped into memory, so only the disk limits its size.

    Use `from_pairs`, `from_ids` or `open` to make one.

    Attributes:
        sources, targets: `TokenRows`.
        source_special, target_special: `SpecialIds`.
        dropped: the number of pairs left out, `{"blank": n, "too_long": n}`.

    Example:

    >>> corpus = ParallelCorpus.from_ids([[5, 6], [7]], [[8], [9, 9, 9]], pad_id=0, start_id=2, end_id=3)
    >>> len(corpus), corpus.target(1).tolist(), corpus.source_lengths.tolist()
    (2, [9, 9, 9], [2, 1])
    """

    def __init__(self, sources, targets, source_special, target_special, dropped=None):
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} source sentences, but {len(targets)} target sentences")
        if len(sources) == 0:
            raise DataError("an empty corpus: expected at least one pair")
        self.sources = sources
        self.targets = targets
        self.source_special = SpecialIds(*source_special)
        self.target_special = SpecialIds(*target_special)
        self.dropped = dropped or {"blank": 0, "too_long": 0}

    @classmethod
    def from_pairs(cls, pairs, source_subwords, target_subwords, max_length=None, directory=None):
        """Encodes pairs of sentences.

        Pairs with a blank side, a side without tokens, or a side of more than `max_length` tokens are dropped
        and counted.

        Args:
            pairs: an iterable of (source, target) strings, as `read_pairs` gives it; read once, in chunks.
            source_subwords: the `Subwords` of the source side.
            target_subwords: those of the target side; the same object for a joint vocabulary.
            max_length: the largest number of tokens of a side, without `</s>`; no limit by default.
            directory: where to write the arrays; by default they stay in memory. An existing corpus is
                replaced once the new one is complete; other existing files are an error.

        Returns:
            A `ParallelCorpus`.

        Raises:
            DataError: no pair is left, text that is not valid Unicode, or a directory that cannot be written.
        """
        sides = (source_subwords, target_subwords)
        dropped = {"blank": 0, "too_long": 0}
        chunks = _encoded(pairs, sides, max_length, dropped)
        special = [SpecialIds(side.pad_id, side.start_id, side.end_id) for side in sides]
        dtypes = [np.dtype("<u2" if side.vocabulary_size <= 65_536 else "<i4") for side in sides]
        if directory is not None:
            _write_directory(Path(directory), chunks, dtypes, special, dropped)
            return cls.open(directory)
        files = [(io.BytesIO(), io.BytesIO()) for _ in sides]
        _write_rows(chunks, dtypes, files, dropped)
        rows = [
            TokenRows(np.frombuffer(ids.getbuffer(), dtype), np.frombuffer(offsets.getbuffer(), "<i8"))
            for (ids, offsets), dtype in zip(files, dtypes, strict=True)
        ]
        return cls(*rows, *special, dropped)

    @classmethod
    def from_ids(cls, source_ids, target_ids, *, pad_id, start_id, end_id):
        """Makes a corpus of existing ids, with the same special ids on both sides.

        Every pair is kept, including pairs without tokens.

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
        for name, side in zip(SIDES, sides, strict=True):
            wrong = np.flatnonzero((side.ids < 0) | np.isin(side.ids, special))
            if len(wrong):
                row = int(np.searchsorted(side.offsets, wrong[0], side="right")) - 1
                raise DataError(
                    f"{name} sentence {row} holds the id {side.ids[wrong[0]]}; expected ids that are not "
                    f"negative and not those of <pad>, <s> and </s>, {tuple(special)}"
                )
        return cls(*sides, special, special)

    @classmethod
    def open(cls, directory):
        """Maps a corpus written by `from_pairs`. File sizes are checked, token ids are not read.

        Raises:
            DataError: with the file: no such directory, not a corpus, or a file of the wrong size.
        """
        directory = atomic.locate(directory)
        header = _read_header(directory)
        rows = []
        for name in SIDES:
            side = getattr(header, name)
            ids = _mapped(directory / f"{name}_ids.bin", side.dtype, side.tokens)
            path = directory / f"{name}_offsets.bin"
            offsets = _mapped(path, "int64", header.pairs + 1)
            with located(path):
                rows.append(TokenRows(ids, offsets))
        return cls(*rows, *(header.special[name] for name in SIDES), header.dropped)

    @property
    def source_lengths(self):
        """The number of tokens of each source sentence: int32 (pairs,)."""
        return self.sources.lengths

    @property
    def target_lengths(self):
        """The number of tokens of each target sentence: int32 (pairs,)."""
        return self.targets.lengths

    def source(self, i):
        """Returns the ids of source sentence i: int32 (length,)."""
        return self.sources[i]

    def target(self, i):
        """Returns the ids of target sentence i: int32 (length,)."""
        return self.targets[i]

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


def _write_rows(chunks, dtypes, files, dropped):
    """Writes chunks of rows into files (ids, offsets), two per side.

    Returns:
        The number of pairs, and a list of the number of tokens of each side.
    """
    pairs, tokens = 0, [0, 0]
    for _, offsets_file in files:
        offsets_file.write(bytes(8))
    for chunk in chunks:
        pairs += len(chunk[0])
        for side, (ids_file, offsets_file) in enumerate(files):
            ids, offsets = flattened(chunk[side], dtypes[side])
            ids_file.write(ids.tobytes())
            offsets_file.write((offsets[1:] + tokens[side]).astype("<i8").tobytes())
            tokens[side] += len(ids)
    if pairs == 0 and any(dropped.values()):
        counts = f"{dropped['blank']} blank, {dropped['too_long']} too long"
        raise DataError(f"no pair is left of {sum(dropped.values())}: {counts}")
    if pairs == 0:
        raise DataError("an empty corpus: expected at least one pair")
    return pairs, tokens


def _write_directory(directory, chunks, dtypes, special, dropped):
    """Writes a corpus next to `directory` and moves it there once it is complete."""
    try:
        with (
            atomic.replace_directory(directory, check=lambda: _check_replaceable(directory)) as folder,
            contextlib.ExitStack() as stack,
        ):
            names = [[f"{side}_{name}.bin" for name in ("ids", "offsets")] for side in SIDES]
            files = [[stack.enter_context(open(folder / name, "wb")) for name in side] for side in names]
            pairs, tokens = _write_rows(chunks, dtypes, files, dropped)
            sides = [_Side(tokens=n, dtype=dtype.name) for n, dtype in zip(tokens, dtypes, strict=True)]
            both = dict(zip(SIDES, sides, strict=True))
            special = dict(zip(SIDES, special, strict=True))
            header = _Header(format=FORMAT, pairs=pairs, special=special, dropped=dropped, **both)
            (folder / "header.json").write_text(header.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write the corpus: {error.strerror or error}", directory) from None


def _check_replaceable(directory):
    if directory.is_dir() and any(directory.iterdir()):
        _read_header(directory)
    elif directory.exists() and not directory.is_dir():
        raise DataError("expected a directory for the corpus, got a file", directory)


_Count = Annotated[int, pydantic.Field(ge=0, strict=True)]


class _Side(pydantic.BaseModel):
    tokens: _Count
    dtype: Literal["uint16", "int32"]


class _Header(pydantic.BaseModel):
    format: Literal[FORMAT]
    pairs: _Count
    source: _Side
    target: _Side
    special: Annotated[dict[Literal[SIDES], tuple[_Count, _Count, _Count]], pydantic.Field(min_length=2)]
    dropped: dict[str, _Count]


def _read_header(directory):
    path = directory / "header.json"
    try:
        return _Header.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"not the directory of a parallel corpus: {error.strerror}", path) from None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"{where}: {first['msg']}".removeprefix(": ")
        raise DataError(f"damaged header of a parallel corpus: {problem}", path) from None


def _mapped(path, dtype, count):
    """Maps a file as a read-only array of numbers; an empty file cannot be mapped."""
    dtype = np.dtype(dtype).newbyteorder("<")
    try:
        size = path.stat().st_size
        if size != count * dtype.itemsize:
            raise DataError(f"damaged corpus: expected {count * dtype.itemsize} bytes, got {size}", path)
        return np.memmap(path, dtype, mode="r", shape=(count,)) if count else np.zeros(0, dtype)
    except OSError as error:
        raise DataError(f"damaged corpus: {error.strerror}", path) from None
