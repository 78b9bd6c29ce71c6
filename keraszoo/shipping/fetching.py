"""Fetch a model into the cache, verified by checksum, from a folder or the Hugging Face Hub.

A file is only accepted if it has the SHA-256 that the index of this package has for it, or else the model's
own manifest.
"""

import os
import shutil
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.messages import suggestion
from keraszoo.saving import atomic, model_directory
from keraszoo.saving import manifest as manifests
from keraszoo.saving.manifest import MANIFEST
from keraszoo.shipping import cache, hub


def fetch(name, source=None, sha256=None, report=None):
    """Copies or downloads a model directory into the cache, where `from_preset(name)` looks for it.

    Does nothing if it exists already. An interrupted download is continued by the next call.

    Args:
        name: the name of a directory in `source`, or `hf://user/name` on the Hugging Face Hub.
        source: a folder, such as `pretrained/` of a clone.
        sha256: the last entry of the `manifest.json` of the version that is accepted; any by default.
        report: called with a line of text: how much is downloaded, or that there is nothing to do.

    Returns:
        The `Path` of the verified directory.

    Raises:
        PresetError: the model does not exist or differs from the expected one, a file is longer than its
            manifest states, the connection failed too often, or the file system reports an error or has no
            room. The message names the file and the cause.
    """
    if (source is None) != hub.is_address(name):
        raise PresetError(f"{name}: expected a name with a folder, or {hub.PREFIX}USER/NAME without one")
    report = report or (lambda text: None)
    known = None if source is None else _check_source(name, source, sha256)
    place = (cache.hub_place(name) if source is None else cache.cache_folder() / name).absolute()
    origin = place.with_name(f".{place.name}.partial") if source is None else Path(source, name)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic.locked(place.with_name(f".{place.name}.fetch.lock")):  # a second call waits
            if source is None:
                origin.mkdir(exist_ok=True)
                _download(name, MANIFEST, origin, manifests.MOST_JSON)
            manifest = known or manifests.read_manifest(origin)
            if sha256 and sha256.lower() != manifest["sha256"]:
                raise PresetError(f"{name}: its manifest has the SHA-256 {manifest['sha256']}, not {sha256}")
            if _is_complete(place, manifest):
                report(f"{place.name}: exists already and is complete")
            else:
                size = _check_room(place, manifest["files"], origin if source is None else None)
                if source is None:
                    report(f"{place.name}: downloading {size / 1e6:.1f} MB")
                    for file, entry in manifest["files"].items():
                        _download(name, file, origin, entry["size"], entry["sha256"])
                else:
                    manifests.verify(origin, manifest)
                with atomic.replace_directory(place, check=lambda: _check_replaceable(place)) as directory:
                    for file in manifest["files"]:
                        (directory / file).parent.mkdir(parents=True, exist_ok=True)
                        (os.replace if source is None else shutil.copyfile)(origin / file, directory / file)
                    (directory / MANIFEST).write_bytes(manifests.serialise(manifest))
                    manifests.verify(directory, manifest)
            if source is None:
                atomic.remove(origin)
    except OSError as error:
        raise PresetError(f"{error.filename or name}: {error.strerror or error}") from error
    return model_directory.read_directory(place).path


def _download(address, name, folder, size, sha256=None):
    """Downloads a file of a model; raises PresetError, and deletes it, if it has another SHA-256."""
    if not hub.download(address, name, folder, size):
        raise PresetError(f"{address}: has no {name}")
    if sha256 not in (None, manifests.file_digest(folder / name)):
        (folder / name).unlink()
        raise PresetError(f"{address}: {name}: its SHA-256 is not that of {MANIFEST}: damaged or changed")


def _check_source(name, source, sha256):
    """Returns the manifest of an included model, or None; raises PresetError if it is not in the folder."""
    if "/" in name:
        raise PresetError(f"{name}: expected the name of a model, got a path")
    manifests.check_names("fetch", [name, "config.json"])
    known = cache.index().get(name, {}).get("manifest")
    if known and sha256 and sha256.lower() != known["sha256"]:
        raise PresetError(f"{name}: the included model of this name has another SHA-256")
    folder = Path(source)
    if not folder.is_dir():
        raise PresetError(f"{source}: no such folder")
    if not (folder / name).is_dir():
        itself = folder.name == name and (folder / MANIFEST).is_file()
        hint = suggestion(name, model_directory.names_in(folder))
        hint = f"; expected the folder that contains it, {folder.parent}" if itself else hint
        raise PresetError(f"{folder}: has no model {name}{hint}")
    return known


def _check_room(place, files, partial):
    """Returns the bytes still to come; raises PresetError if the disk has no room for them."""
    here = sum(path.stat().st_size for path in partial.rglob("*") if path.is_file()) if partial else 0
    size, free = sum(entry["size"] for entry in files.values()) - here, shutil.disk_usage(place.parent).free
    if size > free:
        raise PresetError(f"{place}: needs {size:,} bytes more, but only {free:,} are free")
    return size


def _is_complete(place, manifest):
    try:
        return model_directory.read_directory(place).manifest == manifest
    except PresetError:
        return False


def _check_replaceable(place):
    """Raises PresetError if `place` contains other files than those of a model, which may be damaged."""
    try:
        manifests.read_manifest(place)
    except PresetError:
        if (place / MANIFEST).is_file():
            return
    model_directory.check_replaceable(place)
