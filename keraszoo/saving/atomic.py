"""Putting a directory in its place at one instant.

A directory is filled beside its place, under a hidden name, flushed to the disk, and moved in by one system
call. Whoever looks at the place sees the old directory or the new one, whole; so does whoever looks after a
`kill -9`, a full disk or a power cut.

Linux and macOS exchange two directories atomically (`renameat2`, `renamex_np`). Where the file system cannot,
the old directory is renamed to `.<name>.previous` and the new one renamed in: between these two calls the
place is empty. That instant is closed from the other side: readers go through `locate`, which waits for a
live writer and otherwise renames the old directory back.

Two locks keep writers apart. The parent folder is locked (`flock`) for the moments when names change, the
temporary directory as long as its writer lives: one that can be locked is what a dead writer left behind.
"""

import contextlib
import ctypes
import os
import re
import secrets
import shutil
import sys
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows: writers are then kept apart by their distinct temporary names alone
    fcntl = None

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # the same number is RENAME_SWAP on macOS


@contextlib.contextmanager
def replacing(path, check=None):
    """Yields an empty temporary directory that takes the place of `path` when the block ends.

    When the block raises, the temporary directory is deleted and `path` is left as it was. Of two writers the
    one whose block ends last wins; files of the two are never mixed.

    Args:
        path: the directory to create or to replace; missing parents are made. A symbolic link is followed.
        check: called without arguments with the parent locked, before the block and again just before the
            exchange; it raises if what stands at `path` must not be replaced.

    Returns:
        A context manager whose value is the temporary directory, a `Path` beside `path`.

    Raises:
        OSError: the directory cannot be made, flushed or moved in.

    Example:

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "model"
    >>> with replacing(place) as directory:
    ...     _ = (directory / "a.txt").write_text("new")
    >>> [file.name for file in place.iterdir()]
    ['a.txt']
    """
    path = Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    check = check or (lambda: None)
    with contextlib.ExitStack() as held:
        with locked(path.parent):
            clear(path)
            check()
            temporary = _temporary(path)
            temporary.mkdir()
            held.callback(remove, temporary)
            held.enter_context(locked(temporary))
        yield temporary
        flush(temporary)
        with locked(path.parent):
            check()
            place(temporary, path)


def locate(path):
    """Returns where the directory `path` can be read, after putting right what a killed writer left.

    Args:
        path: the place of the directory.

    Returns:
        `path`, absolute; None if nothing is there; or the old directory set aside beside it, if a writer died
        between its two renames and the folder is read-only, so that the old one cannot be put back.
    """
    path = Path(path).resolve()
    if path.exists():
        return path
    if not path.parent.is_dir():
        return None
    previous = _previous(path)
    with locked(path.parent):  # now no live writer is between its renames
        if not path.exists() and previous.exists():
            try:
                os.rename(previous, path)
            except OSError:
                return previous
        return path if path.exists() else None


def place(temporary, path):
    """Moves `temporary` to `path`, and what stood there to `temporary`; the parent must be locked."""
    if not path.exists():
        os.rename(temporary, path)
    elif not exchange(temporary, path):
        previous = _previous(path)
        discard(path)
        os.rename(path, previous)
        try:
            os.rename(temporary, path)
        except OSError:
            os.rename(previous, path)
            raise
        os.rename(previous, temporary)
    _sync(path.parent)


def exchange(first, second):
    """Exchanges two directories in one system call; False where the system or the file system has none."""
    name = {"linux": "renameat2", "darwin": "renamex_np"}.get(sys.platform)
    function = getattr(ctypes.CDLL(None), name, None) if name else None
    if function is None:
        return False
    first, second = os.fsencode(first), os.fsencode(second)
    if name == "renameat2":
        return function(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE) == 0
    return function(first, second, _RENAME_EXCHANGE) == 0


def flush(directory):
    """Waits until every file and folder below `directory` is on the disk."""
    for folder, _, names in os.walk(directory, topdown=False):
        for name in names:
            _sync(Path(folder, name))
        _sync(folder)


def clear(path):
    """Deletes what dead writers left beside `path` or puts it back in place; the parent must be locked."""
    previous = _previous(path)
    if previous.exists() and not path.exists():
        os.rename(previous, path)
    discard(path)
    left_over = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{8}\.new")
    for entry in list(path.parent.iterdir()):
        if left_over.fullmatch(entry.name):
            with contextlib.suppress(OSError), locked(entry, wait=False) as held:
                if held:
                    remove(entry)


def discard(path):
    """Deletes the directory set aside for `path`; renamed first, lest a half deleted one is put back."""
    if _previous(path).exists():
        rubbish = _temporary(path)
        os.rename(_previous(path), rubbish)
        remove(rubbish)


def remove(directory):
    """Deletes a directory that may be there or not."""
    shutil.rmtree(directory, ignore_errors=True)


def _temporary(path):
    return path.parent / f".{path.name}.{secrets.token_hex(4)}.new"


def _previous(path):
    return path.parent / f".{path.name}.previous"


@contextlib.contextmanager
def locked(directory, wait=True):
    """Holds the lock of a directory and yields True; False where it is taken or there are no locks."""
    if fcntl is None:
        yield False
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except OSError:  # taken, or a file system without locks
            held = False
        yield held
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked_anew(directory):
    """Makes a directory that may be there and holds its lock, although whoever held it before may delete it.

    A lock belongs to the directory that was opened, not to its name: who waited for one that is gone by then
    begins again with the next.
    """
    with contextlib.ExitStack() as opened:
        ours = False
        while not ours:
            with contextlib.suppress(FileExistsError):  # deleted this moment; a file is found out by `open`
                directory.mkdir(parents=True, exist_ok=True)
            if fcntl is None:
                break
            with contextlib.suppress(FileNotFoundError):
                descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                opened.callback(os.close, descriptor)
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                ours = os.path.samestat(os.fstat(descriptor), os.stat(directory))
        yield


def _sync(path):
    if os.name == "nt" and Path(path).is_dir():
        return  # Windows flushes no folders
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
