"""Replace a file or a directory in one step.

New content is written to a hidden name next to its target, flushed to the disk and moved in by one system
call. Any reader sees the old content or the new content, complete, also after `kill -9`, a full disk or a
power cut.

Linux exchanges two directories atomically (`renameat2`). On other systems, and on file systems that cannot,
the old directory is renamed to `.<name>.previous` before the new one is renamed into place. In between, the
target does not exist. Readers therefore call `locate`, which waits for a running writer or restores the old
directory. A lock file, `.<name>.lock`, admits one writer of a directory at a time.
"""

import contextlib
import ctypes
import glob
import os
import secrets
import shutil
import time
from pathlib import Path

from filelock import FileLock, Timeout

from keraszoo.errors import DataError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextlib.contextmanager
def replace_file(path, folders=False):
    """Yields a binary file that replaces `path` when the block ends; `folders` creates missing parents.

    If the block raises an exception, `path` stays as it was and no partial file remains. A new file has the
    permissions of the one that it replaces. Symbolic links are followed. Raises DataError if the file cannot
    be written, or another file that the block opens cannot be read.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    temporary = _hidden(target, "part")
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_char_device() or path.is_fifo():  # such as /dev/stdout: it is written to, not replaced
            with open(path, "wb") as file:
                yield file
            return
        with _moved(temporary, target):
            with open(temporary, "wb") as file:
                yield file
    except OSError as error:
        said, other = error.strerror or error, error.filename
        if isinstance(other, (str, bytes, os.PathLike)):
            other = Path(os.fsdecode(other))
            if other != temporary and not target.is_relative_to(other.resolve()):  # the block reads it
                raise DataError(f"cannot be read: {said}", other) from None
        raise DataError(f"cannot be written: {said}", path) from None


def check_room(path, largest=0, total=0):
    """Raises DataError at the start of long work if its result could not be written in the end.

    It makes a file for a moment under a name as long as any that writing to `path` takes, and has the file
    system reserve the room. So it notices names that are too long, `ulimit -f`, quotas and full disks.
    `largest` is the size of the largest file, `total` that of all of them and of all written next to them.
    """
    target = Path(os.path.realpath(path))
    missing = [parent for parent in target.parents if not os.path.exists(parent)]
    folder = target.parents[len(missing)]
    names = [_hidden(target, "part").name, *(parent.name for parent in missing)]
    trial = folder / f".{secrets.token_hex(4)}".ljust(max(map(len, map(os.fsencode, names))), "x")
    try:
        with open(trial, "wb") as file:
            if largest and hasattr(os, "posix_fallocate"):  # macOS and Windows lack it
                os.posix_fallocate(file.fileno(), 0, largest)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        size = f" (a file of {largest:,} bytes)" if largest else ""
        raise DataError(f"cannot be written: {error.strerror or error}{size}", path) from None
    finally:
        with contextlib.suppress(OSError):
            trial.unlink(missing_ok=True)
    if total > free:
        raise DataError(f"cannot be written: it takes {total:,} bytes, but only {free:,} are free", path)


@contextlib.contextmanager
def replace_directory(path, check=None):
    """Yields the `Path` of an empty temporary directory that replaces `path` when the block ends.

    If the block raises an exception, `path` stays as it was and the temporary directory is deleted. A second
    writer waits until the first one has finished. Missing parents are created, symbolic links are followed.
    `check` is called before the block and again before the replacement; it raises if the content of `path`
    must not be replaced. Raises OSError if the directory cannot be created, flushed or moved.
    """
    path = Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    check = check or (lambda: None)
    with locked(_beside(path, "lock")) as alone:
        _restore(path)
        if alone:  # what killed writers left
            for temporary in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 8}.new"):
                remove(temporary)
        check()
        temporary = _hidden(path, "new")
        with _moved(temporary, path, check):
            temporary.mkdir()
            yield temporary


def locate(path):
    """Returns the absolute path where the directory `path` can be read, or None if there is none.

    It repairs what a killed writer left. In a folder that is now read-only, the path is that of the old
    directory, which the writer renamed.
    """
    try:
        path = Path(path).resolve()
        previous, lock = _beside(path, "previous"), _beside(path, "lock")
        for _ in range(50):  # half a second: other writers may be between their two renames
            if path.exists():
                return path
            if previous.exists():
                try:
                    with locked(lock):  # a running writer has finished by now
                        _restore(path)
                except OSError:
                    return previous
            elif lock.exists():
                time.sleep(0.01)
            else:
                break
        return path if path.exists() else None
    except (OSError, ValueError):  # no file can have this name
        return None


@contextlib.contextmanager
def locked(path, wait=True):
    """Holds the lock file `path`, in an existing folder, and deletes it at the end.

    Yields True, or False on a file system without locks. If another process or thread holds the lock, it
    waits; with `wait=False` it raises filelock.Timeout, an `OSError`.
    """
    path.touch()  # FileLock would retry some of these errors forever
    lock = FileLock(path, blocking=wait, thread_local=False, poll_interval=0.01)
    try:
        lock.acquire()
    except Timeout:
        raise
    except OSError:
        pass
    try:
        yield lock.is_locked
    finally:
        path.unlink(missing_ok=True)  # FileLock notices that the file it waited for is gone
        lock.release()


def remove(path):
    """Deletes a directory or a file if it exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def exchange(first, second):
    """Exchanges two directories in one system call. Returns False if the file system cannot."""
    function = getattr(ctypes.CDLL(None), "renameat2", None)  # only Linux has it
    arguments = _AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE
    return function is not None and function(*arguments) == 0


@contextlib.contextmanager
def _moved(temporary, path, check=lambda: None):
    """Flushes what the block makes at `temporary` to the disk and moves it to `path`; else deletes it."""
    try:
        yield
        for item in (*temporary.rglob("*"), temporary):
            _sync(item)
        check()
        if path.exists():
            shutil.copymode(path, temporary)
        _move(temporary, path)
        _sync(path.parent)
    finally:
        with contextlib.suppress(OSError):
            remove(temporary)


def _move(temporary, path):
    """Moves `temporary` to `path`, and a directory at `path`, if any, to `temporary`."""
    if not temporary.is_dir() or not path.exists():
        os.rename(temporary, path)
    elif not exchange(temporary, path):
        previous = _beside(path, "previous")
        os.rename(path, previous)
        try:
            os.rename(temporary, path)
        except OSError:
            os.rename(previous, path)
            raise
        os.rename(previous, temporary)


def _restore(path):
    """Puts back the directory that a killed writer set aside, or marks it for deletion if `path` exists."""
    previous = _beside(path, "previous")
    if previous.exists():
        os.rename(previous, _hidden(path, "new") if path.exists() else path)


def _sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hidden(path, ending):
    return _beside(path, f"{secrets.token_hex(4)}.{ending}")


def _beside(path, ending):
    return path.with_name(f".{path.name}.{ending}")
