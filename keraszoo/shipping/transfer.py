"""Brings the files of a model into a folder: copies or downloads, no longer than expected, and verified.

A stranger wrote the source. A copy opens plain files below the model's folder only, not links, devices or
pipes. A download ends at the first byte too many, whatever its headers say and however it is packed.
"""

import os
import stat
import time
from pathlib import Path

from keraszoo import __version__
from keraszoo.errors import PresetError
from keraszoo.saving import manifest as manifests

RETRIES = 4  # for each file of a server
TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 14  # bytes; a broken connection loses the last chunk


def bring(source, files, folder, headers=None):
    """Brings files into a folder. Those that are there and intact are kept.

    Args:
        source: a folder, or the URL of one.
        files: name -> `{"size": ..., "sha256": ...}`. With a SHA-256 of None, any content of at most this
            size is accepted.
        folder: an existing `Path`.
        headers: of the requests to a URL. None: `source` is a folder.

    Raises:
        PresetError: a file is not what is expected.
        OSError: it cannot be read or written, or the connection failed too often.
    """
    for name, entry in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry["sha256"] and target.is_file() and manifests.file_digest(target) == entry["sha256"]:
            continue
        if headers is None:
            _copy(Path(source), name, target, entry)
        else:
            _download_or_retry(f"{source}/{name}", target, entry, headers)


def _copy(source, name, target, entry):
    path = source / name
    if os.path.realpath(path) != os.path.join(os.path.realpath(source), name):
        raise PresetError(f"{path}: is a link, not a plain file")
    with open(path, "rb", opener=lambda *_: os.open(path, os.O_RDONLY | os.O_NONBLOCK)) as file:  # or a pipe
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise PresetError(f"{path}: is not a plain file")
        with open(target, "wb") as copy:
            _write(name, iter(lambda: file.read(CHUNK), b""), copy, entry["size"])
    _check(path, target, entry)


def _download_or_retry(url, target, entry, headers):
    import requests

    for attempt in range(RETRIES + 1):
        time.sleep(min(attempt, 10))
        try:
            _download(url, target, entry["size"], headers)
            return _check(url, target, entry)
        except (requests.RequestException, PresetError):
            if attempt == RETRIES:
                raise


def _download(url, target, size, headers):
    """Downloads a file, or continues an earlier download of it."""
    import requests

    part = target.with_name(f".{target.name}.part")
    start = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": f"keraszoo/{__version__}", **headers, "Accept-Encoding": "identity"}
    headers |= {"Range": f"bytes={start}-"} if start else {}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == 416:  # nothing is left of it, or it is too long: fetch it again
            part.unlink()
        elif 400 <= answer.status_code < 500:
            kind = FileNotFoundError if answer.status_code == 404 else OSError
            raise kind(f"{target.name}: {answer.status_code} {answer.reason}")  # it would stay the same
        answer.raise_for_status()
        is_rest = answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        with open(part, "ab" if is_rest else "wb") as file:
            _write(target.name, answer.iter_content(CHUNK), file, size)
    os.replace(part, target)


def _write(name, chunks, file, size):
    """Writes chunks to a file. Deletes it and raises OSError if there are more than `size` bytes."""
    for chunk in chunks:
        file.write(chunk)
        if file.tell() > size:
            os.unlink(file.name)
            raise OSError(f"{name} has more than the {size:,} bytes expected")


def _check(source, target, entry):
    """Deletes a file of other content than expected, and raises PresetError."""
    if entry["sha256"] not in (None, manifests.file_digest(target)):
        target.unlink()
        raise PresetError(f"{source}: its SHA-256 is not that of {manifests.MANIFEST}: damaged or changed")
