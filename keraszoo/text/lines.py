"""Reads and writes lines of text, plain or gzip."""

import contextlib
import gzip
import os
import re
import stat
import sys
import zlib

from keraszoo.errors import DataError
from keraszoo.saving.atomic import replace_file

LONGEST_LINE = 1 << 20  # bytes
BOM = b"\xef\xbb\xbf"
CARRIAGE_RETURN = re.compile(rb"\r+[^\r\n]")  # not part of a line end

_pipes = set()  # those that this process has opened


def read_lines(path):
    r"""Reads the lines of a UTF-8 file one by one. Blank lines are kept.

    Only `\n` and `\r\n` end a line. U+2028, U+0085, form feeds and lone carriage returns stay inside it, so
    the lines of parallel files cannot shift against each other. Byte order marks at the start of a line are
    dropped: joined files have them anywhere. Nothing else is changed; `Subwords` normalises text.

    Args:
        path: the file, plain or gzip (recognised by its first bytes), or `"-"` for standard input.

    Raises:
        DataError: while reading, with the path and the line: no such file, a directory, bytes that are not
            UTF-8, a NUL byte (a binary file, or UTF-16), damaged gzip, a line above 1 MiB, line ends of
            carriage returns alone.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "text.en")
    >>> _ = file.write_bytes(b"\xef\xbb\xbfA dog.\r\n\r\nA cat.")
    >>> list(read_lines(file))
    ['A dog.', '', 'A cat.']
    """
    number = 0
    with open_bytes(path, line=lambda: number + 1) as file:
        while line := file.readline(LONGEST_LINE):
            number += 1
            if number == 1 and b"\r" in line.rstrip(b"\r\n") and not (line.endswith(b"\n") and file.peek(1)):
                check_line_ends(line, path, number)  # it is the only line: the others end in CR alone
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                message = f"expected one sentence per line, got a line above {LONGEST_LINE:,} bytes"
                raise DataError(message, path, number)
            yield _decoded(line.removesuffix(b"\n").removesuffix(b"\r"), path, number).lstrip("\ufeff")


def read_text(path):
    """Reads a UTF-8 file, plain or gzip, or `"-"` for standard input, with its line ends; returns a str.

    A byte order mark at its start is dropped.

    Raises:
        DataError: as for `read_lines`, but lines may be of any length and end with a carriage return.
    """
    with open_bytes(path) as file:
        lines = enumerate(file.read().split(b"\n"), start=1)
        return "\n".join(_decoded(line, path, number) for number, line in lines).removeprefix("\ufeff")


def read_rows(path):
    """Reads lines of several fields like `read_lines`, and raises DataError for any lone carriage return."""
    for number, line in enumerate(read_lines(path), start=1):
        if "\r" in line:
            check_line_ends(line.encode(), path, number)
        yield line


def check_line_ends(line, path, number):
    """Raises DataError if a line, bytes, contains a carriage return that is not part of its line end."""
    if CARRIAGE_RETURN.search(line):
        message = "a carriage return (CR) inside the line: expected line ends of LF or CR LF; tr '\\r' '\\n'"
        raise DataError(f"{message} converts a file with line ends of CR alone", path, number)


def write_lines(path, lines):
    """Writes lines as UTF-8. If `lines` raises, the old file stays; see `replace_file`.

    Raises:
        DataError: the file cannot be written.
    """
    with replace_file(path) as file:
        file.writelines(f"{line}\n".encode() for line in lines)


@contextlib.contextmanager
def open_bytes(path, line=lambda: None):
    """Opens a plain or gzip file, or standard input for `"-"`, to read bytes.

    Raises:
        DataError: the file cannot be opened or read (`line()` is its current line), or it is a pipe that was
            read before: opening it again would wait forever.
    """
    try:
        if str(path) == "-":
            yield sys.stdin.buffer
            return
        status = os.stat(path)
        if stat.S_ISFIFO(status.st_mode):
            pipe = status.st_dev, status.st_ino
            if pipe in _pipes:
                raise DataError("a pipe, which is read only once; expected a file", path)
            _pipes.add(pipe)
        with open(path, "rb", buffering=1 << 20) as file:
            if str(path).endswith(".gz") or file.peek(2)[:2] == b"\x1f\x8b":
                with gzip.open(file) as unpacked:
                    yield unpacked
            else:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"damaged gzip: {error}", path, line()) from None
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror or error}", path) from None


def _decoded(line, path, number):
    if b"\0" in line:
        raise DataError("a NUL byte: a binary file, or text that is not UTF-8", path, number)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line"
        raise DataError(message, path, number) from None


@contextlib.contextmanager
def located(path, line=None):
    """Adds the file, and the line if given, to the message of a DataError raised inside."""
    try:
        yield
    except DataError as error:
        raise DataError(str(error), path, line) from None
