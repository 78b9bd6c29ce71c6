"""Fetch a model into the cache, verified by checksum. An interrupted download can be resumed.

The source is a folder that contains the model's directory, such as `pretrained/` of a clone, or the Hugging
Face Hub. A file is only accepted if it has the SHA-256 that the index of this package has for it, or else the
model's own manifest.
"""

import os
import shutil
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.messages import suggestion
from keraszoo.saving import atomic, model_directory
from keraszoo.saving import manifest as manifests
from keraszoo.shipping import cache, hub
from keraszoo.shipping.transfer import bring


def fetch(name, source=None, sha256=None, report=None):
    """Copies or downloads a model directory into the cache, where `from_preset(name)` looks for it.

    Does nothing if it exists already. Files of an interrupted call are kept in a hidden directory in the
    cache, and the next call continues there.

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
    sha256, report = sha256 and sha256.lower(), report or (lambda text: None)
    if source is None:
        place = cache.hub_place(name).absolute()
        (origin, headers), manifest = hub.files_of(name), None
    else:
        manifest = _check_source(name, source, sha256)
        place, origin, headers = cache.cache_folder().absolute() / name, Path(source, name), None
    partial = place.with_name(f".{place.name}.partial")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic.locked(place.with_name(f".{place.name}.fetch.lock")):  # a second call waits
            partial.mkdir(exist_ok=True)
            manifest = manifest or _manifest_of(name, origin, headers, partial, sha256)
            if _is_complete(place, manifest):
                report(f"{place.name}: exists already and is complete")
            else:
                size = _check_room(place.name, manifest["files"], partial)
                if headers is not None:
                    report(f"{place.name}: downloading {size / 1e6:.1f} MB")
                bring(origin, manifest["files"], partial, headers)
                with atomic.replace_directory(place, check=lambda: _check_replaceable(place)) as directory:
                    for file in manifest["files"]:
                        (directory / file).parent.mkdir(parents=True, exist_ok=True)
                        os.replace(partial / file, directory / file)
                    (directory / manifests.MANIFEST).write_bytes(manifests.serialise(manifest))
                    manifests.verify(directory, manifest)
            atomic.remove(partial)
    except PresetError:
        raise
    except (OSError, ValueError) as error:  # requests raises both
        where = getattr(error, "filename", None) or name
        raise PresetError(f"{where}: {getattr(error, 'strerror', None) or error}") from error
    return model_directory.read_directory(place).path


def _check_source(name, source, sha256):
    """Returns the manifest of an included model, or None; raises PresetError if it is not in the folder."""
    if "/" in name:
        raise PresetError(f"{name}: expected the name of a model, got a path")
    manifests.check_names("fetch", [name, "config.json"])
    known = cache.index().get(name, {}).get("manifest")
    if known and sha256 not in (None, known["sha256"]):
        raise PresetError(f"{name}: the included model of this name has another SHA-256")
    folder = Path(source)
    if not folder.is_dir():
        raise PresetError(f"{source}: no such folder")
    if not (folder / name).is_dir():
        itself = folder.name == name and (folder / manifests.MANIFEST).is_file()
        hint = suggestion(name, model_directory.names_in(folder))
        hint = f"; expected the folder that contains it, {folder.parent}" if itself else hint
        raise PresetError(f"{folder}: has no model {name}{hint}")
    return known


def _manifest_of(name, origin, headers, partial, sha256):
    """Returns the manifest at the origin; raises PresetError if it has another SHA-256."""
    file = partial / manifests.MANIFEST
    file.unlink(missing_ok=True)  # of an earlier call, perhaps an older one
    try:
        bring(origin, {manifests.MANIFEST: {"size": manifests.MOST_JSON, "sha256": None}}, partial, headers)
        manifest = manifests.read_manifest(partial)
    finally:
        file.unlink(missing_ok=True)
    if sha256 not in (None, manifest["sha256"]):
        raise PresetError(f"{name}: its manifest has the SHA-256 {manifest['sha256']}, not {sha256}")
    return manifest


def _check_room(name, files, folder):
    """Returns the bytes still to come. Raises PresetError if no model has such files, or without room."""
    for file, entry in files.items():
        if entry["size"] > manifests.MOST_BYTES:
            raise PresetError(f"{name}/{file}: has {entry['size']:,} bytes, more than any file of a model")
    here = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())  # of an earlier call
    size, free = sum(entry["size"] for entry in files.values()) - here, shutil.disk_usage(folder).free
    if size > free:
        raise PresetError(f"{folder}: {name} needs {size:,} bytes more, but only {free:,} are free")
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
        if (place / manifests.MANIFEST).is_file():
            return
    model_directory.check_replaceable(place)
