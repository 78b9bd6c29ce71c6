"""The directory that training writes, that `pretrained/` ships and that loading reads.

    config.json  <vocabulary>  model.weights.h5  metrics.json  README.md  manifest.json

`manifest.json` holds the size and the SHA-256 of every other file and is written last. A directory is read
only if it holds, file for file, what the manifest says: a flipped bit, a missing or an additional file is an
error before anything is parsed. That protects from damage and mix-ups, not from somebody who writes a
manifest of his own; against him stands that no pickle, no code and no path is in the format: reading it runs
nothing.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.saving import atomic
from keraszoo.saving import manifest as manifests
from keraszoo.saving.manifest import MANIFEST
from keraszoo.saving.weights import load_weights


@dataclass(frozen=True)
class Directory:
    """A model directory whose files were all found to be those of its manifest.

    Attributes:
        path: where it lies.
        config: the content of `config.json`.
        metrics: the content of `metrics.json`; empty if there is none.
        manifest: the content of `manifest.json`.
    """

    path: Path
    config: dict
    metrics: dict
    manifest: dict = field(repr=False)

    @property
    def names(self):
        """The names of the files, sorted, without the manifest."""
        return sorted(self.manifest["files"])

    def file(self, name):
        """Returns the path of a file; PresetError if the directory has none of that name."""
        if name not in self.manifest["files"]:
            raise PresetError(f"{self.path}: has no file '{name}'; it has {', '.join(self.names)}")
        return self.path / name

    def read_bytes(self, name):
        """Returns the content of a file, checked once more against the manifest."""
        path = self.file(name)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise PresetError(f"{path}: cannot be read: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != self.manifest["files"][name]["sha256"]:
            raise PresetError(f"{path}: changed after the directory was read; read it again")
        return content

    def load_weights(self, model, name="model.weights.h5"):
        """Sets every weight of `model` from a file, or none and PresetError; see `load_weights`.

        It is an error, too, if the directory was replaced since it was read: config and weights of two models
        never meet.
        """

        def check():
            if manifests.read_manifest(self.path) != self.manifest:
                raise PresetError(f"{self.path}: was replaced since it was read; read it again")

        load_weights(model, self.file(name), check=check)


def write_directory(path, files):
    """Writes a model directory at once: whoever reads sees the old one or the new one, whole, at any time.

    A killed writer, a full disk or an exception leaves the old directory as it was (see
    `keraszoo.saving.atomic`). Of two writers at a time the last one wins.

    Args:
        path: the directory; it is created, or replaced if it is a model directory itself.
        files: a dict of name -> content. A name is relative and plain, such as "config.json" or
            "source/words.txt". The content is bytes, text, a dict that becomes JSON, or a function that is
            called with the path to write. `config.json` must be among them; `manifest.json` is added.

    Raises:
        PresetError: what stands at `path` is not a model directory, or has files its manifest does not list;
            a name or a content is not as above; or the file system refuses. The message names path and cause.

    Example:

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "small"
    >>> write_directory(place, {"config.json": {"units": 8}, "words.txt": "a\\nb\\n"})
    >>> read_directory(place).config
    {'units': 8}
    """
    path = Path(path)
    manifests.check_names(path, files)
    try:
        with atomic.replacing(path, check=lambda: check_replaceable(path)) as directory:
            _fill(directory, files, path)
    except OSError as error:
        raise PresetError(f"{path}: cannot be written: {error.strerror or error}") from error


def _fill(directory, files, path):
    try:
        for name, content in files.items():
            write_file(directory, name, content)
        manifests.write_manifest(directory, files)
        _parse(directory, manifests.read_manifest(directory))  # what could not be read is not written either
    except PresetError as error:  # of the hidden directory nobody needs to know; the cause tells a full disk
        raise PresetError(str(error).replace(str(directory), str(path))) from error.__cause__ or error


def write_file(directory, name, content):
    """Writes one file of a directory; see `write_directory` for the kinds of content."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if callable(content):
        content(path)
        return
    try:
        if isinstance(content, dict):
            content = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if isinstance(content, str):
            content = content.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise PresetError(f"{name}: cannot be written as JSON or UTF-8: {error}") from error
    if not isinstance(content, bytes):
        kind = type(content).__name__
        raise PresetError(f"{name}: content must be bytes, text, a dict or a function, got {kind}")
    path.write_bytes(content)


def read_directory(path):
    """Reads a model directory after checking every file of it against the manifest.

    Args:
        path: the directory; `keraszoo.shipping.shipped.find` turns the name of a shipped one into it.

    Returns:
        A `Directory`.

    Raises:
        PresetError: there is no such directory, or it is not one of ours, incomplete, damaged or of another
            format. The message names the file.
    """
    while True:
        place = locate(path)
        if place is None or place.is_file():
            what = "is a file, not a model directory" if place else "no such model directory"
            beside = ", ".join(names_in(Path(path).parent)) or "none"
            raise PresetError(f"{path}: {what}; model directories beside it: {beside}")
        before = _identity(place)
        try:
            manifest = manifests.read_manifest(place)
            manifests.verify(place, manifest)
            return _parse(place, manifest)
        except PresetError:
            if before is not None and _identity(place) == before:
                raise  # otherwise a writer put another directory in place meanwhile: read that one


def glance(path):
    """Reads a model directory's small files alone: for lists, not for use. Arguments as `read_directory`."""
    manifest = manifests.read_manifest(path)
    return _parse(Path(path), manifest)


def names_in(folder):
    """The sorted names of the model directories in a folder; none if it cannot be read."""
    try:
        return sorted(item.parent.name for item in Path(folder).glob(f"[!.]*/{MANIFEST}"))
    except OSError:
        return []


def locate(path):
    """Returns where a directory can be read, or None: see `keraszoo.saving.atomic.locate`."""
    try:
        return atomic.locate(path)
    except (OSError, ValueError):  # a name that no file can have
        return None


def _identity(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _parse(place, manifest):
    config = manifests.read_json(place, "config.json", manifest)
    has_metrics = "metrics.json" in manifest["files"]
    metrics = manifests.read_json(place, "metrics.json", manifest) if has_metrics else {}
    return Directory(place, config, metrics, manifest)


def check_replaceable(path):
    """Raises PresetError if a model directory cannot be written to `path` because of what stands there.

    Nobody's files are deleted: only an empty folder or a model directory with nothing else is replaced.
    """
    path = Path(path)
    if not path.exists():
        return
    if not path.is_dir():
        raise PresetError(f"{path}: is a file; a model is saved into a directory")
    if not any(path.iterdir()):
        return
    names = set(manifests.list_files(path)) - {MANIFEST}
    if not (path / MANIFEST).is_file():
        raise PresetError(f"{path}: is not empty and no model directory (no {MANIFEST}): not overwritten")
    others = names - set(manifests.read_manifest(path)["files"])
    if others:
        raise PresetError(f"{path}: holds '{min(others)}', which is no part of the model: not overwritten")
