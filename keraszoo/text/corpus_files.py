"""The files of a parallel corpus on the disk: flat arrays of numbers and a header that says how many.

    header.json                              counts and number types of each side, special ids, dropped pairs
    source_ids.bin, target_ids.bin           the ids, one sentence behind the other
    source_offsets.bin, target_offsets.bin   int64, where each sentence begins; one more than there are pairs

All numbers are little-endian.
"""

import json
from pathlib import Path

import numpy as np

from keraszoo.errors import DataError
from keraszoo.saving import atomic
from keraszoo.text.token_rows import TokenRows, flattened

FORMAT = "keraszoo parallel corpus 1"
SIDES = ("source", "target")


def write(directory, chunks, dtypes, describe):
    """Writes a corpus, chunk by chunk, beside its place, and puts it there when it is whole.

    Args:
        directory: its place. A corpus that is there is replaced; anything else but an empty directory is an
            error.
        chunks: an iterable of (sources, targets), two lists of lists of ids of equal length.
        dtypes: the number types of the two sides' ids, `"uint16"` or `"int32"`.
        describe: called with the number of pairs when all are written; returns what else belongs into the
            header, or raises, and then nothing is left behind.

    Raises:
        DataError: the directory cannot be written, or holds something that is not a corpus.
    """
    directory = Path(directory)
    try:
        with atomic.replacing(directory, check=lambda: _check_replaceable(directory)) as folder:
            pairs, tokens = _write_arrays(folder, chunks, dtypes)
            sides = {name: {"tokens": tokens[side], "dtype": dtypes[side]} for side, name in enumerate(SIDES)}
            header = {"format": FORMAT, "pairs": pairs, **sides, **describe(pairs)}
            (folder / "header.json").write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write the corpus: {error.strerror or error}", directory) from None


def read(directory):
    """Maps the arrays of a corpus; sizes are checked against the header, the tokens are not read.

    Returns:
        Two `TokenRows`, and the header, a dict.

    Raises:
        DataError: no such directory, not a corpus, or a file that is cut or too long; the message names it.
    """
    directory = atomic.locate(directory)
    header = _header(directory)
    sides = []
    for name in SIDES:
        ids = _mapped(directory / f"{name}_ids.bin", header[name]["dtype"], header[name]["tokens"])
        path = directory / f"{name}_offsets.bin"
        offsets = _mapped(path, "int64", header["pairs"] + 1)
        try:
            sides.append(TokenRows(ids, offsets))
        except DataError as error:
            raise DataError(str(error), path) from None
    return *sides, header


def _write_arrays(folder, chunks, dtypes):
    """Writes the four files; returns the number of pairs and of the tokens of each side."""
    pairs, tokens = 0, [0, 0]
    files = [
        (open(folder / f"{name}_ids.bin", "wb"), open(folder / f"{name}_offsets.bin", "wb")) for name in SIDES
    ]
    try:
        for _, offsets_file in files:
            offsets_file.write(bytes(8))
        for chunk in chunks:
            for side, (ids_file, offsets_file) in enumerate(files):
                ids, offsets = flattened(chunk[side], dtypes[side])
                ids_file.write(_little_endian(ids).tobytes())
                offsets_file.write(_little_endian(offsets[1:] + tokens[side]).tobytes())
                tokens[side] += len(ids)
            pairs += len(chunk[0])
    finally:
        for file in (file for both in files for file in both):
            file.close()
    return pairs, tokens


def _check_replaceable(directory):
    if directory.is_dir() and any(directory.iterdir()):
        _header(directory)
    elif directory.exists() and not directory.is_dir():
        raise DataError("there is a file where the corpus should be written", directory)


def _header(directory):
    path = Path(directory) / "header.json"
    try:
        header = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"not the directory of a parallel corpus: {error.strerror}", path) from None
    except ValueError:
        raise DataError("damaged header of a parallel corpus: not JSON", path) from None
    try:
        if header["format"] != FORMAT:
            raise DataError(f"expected the format {FORMAT!r}, got {header['format']!r}", path)
        numbers = [header["pairs"], *header["dropped"].values()]
        for name in SIDES:
            numbers += [header[name]["tokens"], *header["special"][name]]
            if header[name]["dtype"] not in ("uint16", "int32") or len(header["special"][name]) != 3:
                raise TypeError
        if any(type(number) is not int or number < 0 for number in numbers):
            raise TypeError
    except (KeyError, TypeError, AttributeError):
        raise DataError(
            "damaged header of a parallel corpus: a field is missing or of the wrong type", path
        ) from None
    return header


def _mapped(path, dtype, count):
    """A file as a read-only array of numbers; an empty one is no memory map: there is nothing to map."""
    dtype = np.dtype(dtype).newbyteorder("<")
    try:
        size = path.stat().st_size
        if size != count * dtype.itemsize:
            raise DataError(f"damaged corpus: expected {count * dtype.itemsize} bytes, got {size}", path)
        return np.memmap(path, dtype, mode="r", shape=(count,)) if count else np.zeros(0, dtype)
    except OSError as error:
        raise DataError(f"damaged corpus: {error.strerror}", path) from None


def _little_endian(numbers):
    return numbers.astype(numbers.dtype.newbyteorder("<"), copy=False)
