"""Getting a shipped model into the cache: by checksum, to be taken up where it broke, and offline ever after.

No host is built in: a source is a folder or a URL in which the model's directory lies under its name, such as
`pretrained/` of a clone or a copy of it on any web server. What comes from there is believed only if it has
the SHA-256 that the index of this package, or the caller, has for it.
"""

import hashlib
import os
import time
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.saving import atomic, model_directory
from keraszoo.saving import manifest as manifests
from keraszoo.shipping import shipped
from keraszoo.shipping.remote_files import BrokenTransfer, Folder

TRIES = 5  # in a row that bring no further byte
PAUSE = 0.5  # seconds before the second, and more before each later one


def fetch(name, source, folder=None, sha256=None, report=None):
    """Copies or downloads a model directory, unless it is there already.

    What came of an interrupted call is kept beside its place, under a hidden name, and taken up by the next.

    Args:
        name: the name of the model.
        source: a folder, or a URL of one, in which the directory `name` lies.
        folder: where to put it; by default the cache, where `from_preset(name)` finds it.
        sha256: of a model that the index does not know: the last entry of its `manifest.json`. From a local
            folder it may be left out.
        report: called with a line of text if there is nothing to do.

    Returns:
        The `Path` of the directory, which was read and checked.

    Raises:
        PresetError: the model is not there or not the one that was asked for, the connection broke too often,
            or the disk refuses. The message names file and cause.
    """
    if "/" in name:
        raise PresetError(f"{name}: expected the name of a model, got a path")
    manifests.check_names("fetch", [name, "config.json"])
    folder = Path(folder or shipped.cache_folder()).absolute()
    place, partial = folder / name, folder / f".{name}.partial"
    source = Folder(f"{str(source).rstrip('/')}/{name}")
    _check_known(name, source, sha256)
    try:
        with atomic.locked_anew(partial):  # of two calls one waits for the other
            manifest = _manifest(name, source, partial, sha256)
            if _is_there(place, manifest):
                if report is not None:
                    report(f"{name}: is there already, as it should be")
            else:
                for file, entry in manifest["files"].items():
                    _complete(source, file, partial / file, **entry)
                with atomic.replacing(place, check=lambda: _check_replaceable(place)) as directory:
                    _move(partial, directory, manifest)
                    manifests.verify(directory, manifest)
            atomic.remove(partial)
    except OSError as error:
        raise PresetError(f"{error.filename or place}: {error.strerror or error}") from error
    return model_directory.read_directory(place).path


def _check_known(name, source, sha256):
    """Raises PresetError for a name that nobody knows, before anything is made in the cache."""
    if name in shipped.index():
        return
    if not source.is_remote:
        place = Path(source.address)
        if not place.exists():
            there = model_directory.names_in(place.parent)
            hint = shipped.near(name, there) or f"it has {', '.join(there) or 'none'}"
            raise PresetError(f"{place.parent}: has no model {name}; {hint}")
    elif sha256 is None:
        hint = shipped.near(name, shipped.index())
        raise PresetError(
            f"{name}: does not ship with this keraszoo: to get it from {source} its SHA-256 is "
            f"wanted, the last entry of its {manifests.MANIFEST}{'; ' if hint else ''}{hint}"
        )


def _manifest(name, source, partial, sha256):
    """The manifest that the files must have: the index's, or one that the caller vouches for."""
    if name in shipped.index() and sha256 is None:
        return shipped.index()[name]["manifest"]
    content = b"".join(source.read(manifests.MANIFEST, 0, manifests.MOST_JSON))
    (partial / manifests.MANIFEST).write_bytes(content)
    manifest = manifests.read_manifest(partial)
    if sha256 not in (None, manifest["sha256"]):
        raise PresetError(f"{source}: its manifest has the SHA-256 {manifest['sha256']}, not {sha256}")
    return manifest


def _is_there(place, manifest):
    try:
        return model_directory.read_directory(place).manifest == manifest
    except PresetError:
        return False


def _check_replaceable(place):
    """A damaged model directory may be replaced; whatever else somebody has there may not."""
    try:
        manifests.read_manifest(place)
    except PresetError:
        if (place / manifests.MANIFEST).is_file():
            return
    model_directory.check_replaceable(place)


def _complete(source, name, path, size, sha256):
    """Reads what is missing of one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tries, said = 0, ""
    while tries < TRIES:
        time.sleep(PAUSE * tries)
        have = path.stat().st_size if path.exists() else 0
        if have > size or (have == size and not _is_right(path, sha256)):
            path.unlink()  # the beginning of another version
            have = 0
        try:
            with open(path, "ab") as file:
                for chunk in source.read(name, have, size) if have < size else ():
                    file.write(chunk)
        except BrokenTransfer as error:
            said = str(error)
        got = path.stat().st_size
        if got == size and _is_right(path, sha256):
            return
        if got == size and not have:
            path.unlink()
            raise PresetError(f"{source}/{name}: its SHA-256 is not the one expected; nothing of it is kept")
        tries = tries + 1 if got <= have else 1
    raise PresetError(
        f"{source}/{name}: {said or 'it ended early'}; {path.stat().st_size:,} of {size:,} bytes are kept, "
        "and the same command goes on from there"
    )


def _is_right(path, sha256):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256


def _move(partial, directory, manifest):
    for name in manifest["files"]:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(partial / name, directory / name)
    content = manifests.serialise({key: value for key, value in manifest.items() if key != "sha256"})
    (directory / manifests.MANIFEST).write_bytes(content)
