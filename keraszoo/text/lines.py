"""Lines of text: read as they stand, whatever is around them, and written whole or not at all."""

import contextlib
import gzip
import sys
import zlib

from keraszoo.errors import DataError
from keraszoo.saving.whole_file import whole_file

LONGEST_LINE = 1 << 24  # bytes; a longer one is not a sentence but a file of another kind
BOM = b"\xef\xbb\xbf"


def read_lines(path):
    r"""Reads the lines of a UTF-8 text, one after the other; blank ones are kept.

    A line ends with `\n` or `\r\n` and with nothing else: U+2028, U+0085, form feeds and lone carriage
    returns stay inside it, so that lines of two files never shift against each other. A byte order mark at
    the start is dropped. Everything else is passed on as it stands, no-break spaces and control characters
    too: what becomes of them is the vocabulary's business (`Subwords` normalises by NFKC).

    Args:
        path: the file, plain or gzip (known by its first bytes, whatever its name), or `"-"` for standard
            input.

    Returns:
        An iterator of strings. An empty file gives none.

    Raises:
        DataError: while reading, with the path and the line: no such file, a directory, bytes that are not
            UTF-8, a NUL byte (a binary file, or UTF-16), damaged gzip, a line above 16 MiB.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "text.en")
    >>> _ = file.write_bytes(b"\xef\xbb\xbfA dog.\r\n\r\nA cat.")
    >>> list(read_lines(file))
    ['A dog.', '', 'A cat.']
    """
    for number, line in enumerate(raw_lines(path), start=1):
        yield decoded(line, path, number)


def write_lines(path, lines):
    """Writes lines as UTF-8, all of them or none: see `whole_file`.

    Raises:
        DataError: the file cannot be written.
    """
    with whole_file(path) as file:
        file.writelines(f"{line}\n".encode() for line in lines)


def raw_lines(path):
    """Yields the lines of a file as bytes, without the line end and the byte order mark."""
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    raise DataError(
                        f"a line above {LONGEST_LINE:,} bytes: not one sentence a line",
                        shown_name(path),
                        number,
                    )
                if number == 1:
                    line = line.removeprefix(BOM)
                yield line.removesuffix(b"\n").removesuffix(b"\r")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"damaged gzip: {error}", shown_name(path), number + 1) from None
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror or error}", shown_name(path)) from None


def decoded(line, path, number):
    """A line of `raw_lines` as text; DataError, with its number, for what is none."""
    if b"\0" in line:
        raise DataError("a NUL byte: a binary file, or text that is not UTF-8", shown_name(path), number)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"not UTF-8: byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line",
            shown_name(path),
            number,
        ) from None


def shown_name(path):
    """What messages call a file."""
    return "<stdin>" if str(path) == "-" else path


@contextlib.contextmanager
def _opened(path):
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    with open(path, "rb") as file:
        if str(path).endswith(".gz") or file.peek(2)[:2] == b"\x1f\x8b":
            with gzip.open(file) as unpacked:
                yield unpacked
        else:
            yield file
