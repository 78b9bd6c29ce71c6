"""Putting a file in its place at one instant."""

import contextlib
import os
import secrets
from pathlib import Path

from keraszoo.errors import DataError


@contextlib.contextmanager
def whole_file(path, folders=False):
    """Yields a file, open for bytes, that takes the place of `path` when the block ends.

    It is written beside its place, flushed to the disk and renamed in: whoever looks sees the old file or the
    new one, whole. When the block raises, `path` is left as it was and nothing lies beside it.

    Args:
        path: the file to create or to replace.
        folders: make those that are missing.

    Returns:
        A context manager whose value is a binary file.

    Raises:
        DataError: the file cannot be written, by its name.

    Example:

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "a.txt")
    >>> with whole_file(place) as file:
    ...     _ = file.write(b"new")
    >>> [file.name for file in place.parent.iterdir()]
    ['a.txt']
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
