"""Fetch a model into the cache, verified by checksum. An interrupted download can be resumed.

No host is built in. The source is a folder or a URL that contains the model's directory under its name, such
as `pretrained/` of a clone or a copy of it on a web server; or a repository on the Hugging Face Hub. A file
is only accepted if it has the SHA-256 that the index of this package, the caller, or on the Hub the model's
own manifest has for it.
"""

import os
import shutil
import urllib.request
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
        name: the name of the model, or `hf://user/name` on the Hugging Face Hub.
        source: a folder, or the URL of a folder, that contains the directory `name`; or `hf://user`.
        sha256: the last entry of the model's `manifest.json`. Required for a URL and a model that the index
            does not list.
        report: called with a line of text: how much is downloaded, or that there is nothing to do.

    Returns:
        The `Path` of the verified directory.

    Raises:
        PresetError: the model does not exist or differs from the expected one, a file is longer than its
            manifest states, the connection failed too often, or the file system reports an error or has no
            room. The message names the file and the cause.
    """
    if (source is None) != hub.is_address(name):
        raise PresetError(f"{name}: expected a name with a source, or {hub.PREFIX}USER/NAME without one")
    if source is None:
        source, _, name = f"{hub.PREFIX}{hub.repository(name)}".rpartition("/")
    if "/" in name:
        raise PresetError(f"{name}: expected the name of a model, got a path")
    manifests.check_names("fetch", [name, "config.json"])
    sha256 = sha256 and sha256.lower()
    address, kind = _parse_source(f"{str(source).rstrip('/')}/{name}")
    report = report or (lambda text: None)
    folder = cache.hub_place(address).parent if kind == "hub" else cache.cache_folder()
    folder = folder.absolute()
    place, partial = folder / name, folder / f".{name}.partial"
    url, headers = address, {} if kind == "url" else None
    if kind == "hub":
        url, headers = hub.files_of(address)
    else:
        _check_known(name, address, kind == "url", sha256)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic.locked(folder / f".{name}.fetch.lock"):  # a second call waits
            partial.mkdir(exist_ok=True)
            manifest = _expected_manifest(address, url, headers, partial, sha256)
            if _is_complete(place, manifest):
                report(f"{name}: exists already and is complete")
            else:
                size = _check_room(name, manifest["files"], partial)
                if headers is not None:
                    report(f"{name}: downloading {size / 1e6:.1f} MB")
                bring(url, manifest["files"], partial, headers)
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
        where = getattr(error, "filename", None) or address
        raise PresetError(f"{where}: {getattr(error, 'strerror', None) or error}") from error
    return model_directory.read_directory(place).path


def _parse_source(source):
    """Returns the path or the address of a folder, and its kind: "folder", "url" or "hub"."""
    scheme, separator, rest = source.partition("://")
    if hub.is_address(source):
        return source, "hub"
    if not separator or scheme in ("http", "https"):
        return source, "url" if separator else "folder"
    if scheme == "file" and rest.removeprefix("localhost").startswith("/"):
        return urllib.request.url2pathname(rest.removeprefix("localhost")), "folder"
    raise PresetError(f"{source}: expected a folder, or a URL with http, https, hf or file")


def _check_known(name, address, is_remote, sha256):
    """Raises PresetError for an unknown name before anything is created in the cache."""
    parent = Path(address).parent
    if name in cache.index():
        if sha256 not in (None, cache.index()[name]["manifest"]["sha256"]):
            raise PresetError(f"{name}: the included model of this name has another SHA-256")
    elif is_remote and sha256 is None:
        raise PresetError(
            f"{name}: to fetch it from {address}, give its SHA-256, the last entry of its "
            f"{manifests.MANIFEST}; this keraszoo does not include it{suggestion(name, cache.index())}"
        )
    if not is_remote and not parent.is_dir():
        raise PresetError(f"{parent}: no such folder")
    if not is_remote and not Path(address).is_dir():
        itself = parent.name == name and (parent / manifests.MANIFEST).is_file()
        hint = suggestion(name, model_directory.names_in(parent))
        hint = f"; expected the folder that contains it, {parent.parent}" if itself else hint
        raise PresetError(f"{parent}: has no model {name}{hint}")


def _expected_manifest(address, url, headers, partial, sha256):
    """Returns the manifest from the index, or the one at the source if the caller gives its SHA-256."""
    name = address.rpartition("/")[2]
    if not hub.is_address(address) and name in cache.index() and sha256 is None:
        return cache.index()[name]["manifest"]
    file = partial / manifests.MANIFEST
    file.unlink(missing_ok=True)  # of an earlier call, perhaps an older one
    try:
        bring(url, {manifests.MANIFEST: {"size": manifests.MOST_JSON, "sha256": None}}, partial, headers)
        manifest = manifests.read_manifest(partial)
    finally:
        file.unlink(missing_ok=True)
    if sha256 not in (None, manifest["sha256"]):
        raise PresetError(f"{address}: its manifest has the SHA-256 {manifest['sha256']}, not {sha256}")
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
