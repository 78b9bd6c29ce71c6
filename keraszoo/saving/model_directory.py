"""Write and read model directories: what training writes, `pretrained/` ships and loading reads.

    config.json  <vocabulary>  model.safetensors  metrics.json  README.md  manifest.json

`manifest.json` holds the size and the SHA-256 of every other file and is written last. A directory is only
read if its files are exactly those of the manifest. A flipped bit, a missing file or an additional file is an
error before anything is parsed. This detects damage and mix-ups, but not an author who writes a matching
manifest. The format is safe against such authors because it contains no pickle, no code and no path: reading
it runs nothing.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.saving import atomic
from keraszoo.saving import manifest as manifests
from keraszoo.saving.manifest import MANIFEST
from keraszoo.saving.weights import WEIGHTS, load_weights


@dataclass(frozen=True)
class Directory:
    """A model directory whose files match its manifest.

    Attributes:
        path: its `Path`.
        config: the content of `config.json`, a dict.
        metrics: the content of `metrics.json`, a dict; empty if the file does not exist.
        manifest: the content of `manifest.json`, a dict.
    """

    path: Path
    config: dict
    metrics: dict
    manifest: dict = field(repr=False)

    @property
    def names(self):
        """The sorted names of the files, without the manifest."""
        return sorted(self.manifest["files"])

    def file(self, name):
        """Returns the path of a file. Raises PresetError if the directory has no file of that name."""
        if name not in self.manifest["files"]:
            raise PresetError(f"{self.path}: has no file '{name}'; it has {', '.join(self.names)}")
        return self.path / name

    @property
    def weights(self):
        """The path of the weights, `model.safetensors`."""
        return self.file(WEIGHTS)

    def read_bytes(self, name):
        """Returns the content of a file, which is verified against the manifest again."""
        self.file(name)
        return manifests.read_file(self.path, name, self.manifest)

    def read_text(self, name):
        """Returns the content of a file in UTF-8. Raises PresetError if it is in another encoding."""
        try:
            return self.read_bytes(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise PresetError(f"{self.path / name}: is not UTF-8: {error}") from error

    def load_weights(self, model):
        """Sets all weights of `model` from its file, or none; see `keraszoo.saving.weights.load_weights`.

        Raises PresetError: the file does not fit, or the directory was replaced after it was read.
        """

        def check():
            if manifests.read_manifest(self.path) != self.manifest:
                raise PresetError(f"{self.path}: was replaced after it was read; read it again")

        load_weights(model, self.weights, check=check)


def write_directory(path, files):
    """Writes a model directory in one step: readers see the old directory or the new one, at any time.

    A killed writer, a full disk or an exception leaves the old directory unchanged; see
    `keraszoo.saving.atomic`.

    Args:
        path: the directory. It is created, or replaced if it is a model directory.
        files: a dict of name -> content. A name is relative and plain, such as "config.json" or
            "source/words.txt". The content is bytes, text, a dict that becomes JSON, or a function that is
            called with the path to write. `config.json` is required. `manifest.json` is added.

    Raises:
        PresetError: `path` is not a model directory or contains files its manifest does not list, a name or a
            content is invalid, or the file system reports an error.

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
        with atomic.replace_directory(path, check=lambda: check_replaceable(path)) as directory:
            try:
                for name, content in files.items():
                    _write_file(directory, name, content)
                manifests.write_manifest(directory, files)
                _parse(directory, manifests.read_manifest(directory))  # refuses what could not be read back
            except PresetError as error:  # hides the temporary directory; the cause may be a full disk
                raise PresetError(str(error).replace(str(directory), str(path))) from error.__cause__ or error
    except OSError as error:
        raise PresetError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write_file(directory, name, content):
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
    """Reads a model directory after verifying all its files against the manifest.

    Args:
        path: the directory; `keraszoo.shipping.shipped.find` returns it for the name of an included model.

    Returns:
        A `Directory`.

    Raises:
        PresetError: the directory does not exist, or it is incomplete, damaged, of another format or not a
            model directory. The message names the file.
    """
    while True:
        place = atomic.locate(path)
        if place is None or place.is_file():
            problem = "is a file, not a model directory" if place else "no such model directory"
            neighbours = ", ".join(names_in(Path(path).parent)) or "none"
            raise PresetError(f"{path}: {problem}; model directories in the same folder: {neighbours}")
        before = _identity(place)
        try:
            manifest = manifests.read_manifest(place)
            manifests.verify(place, manifest)
            return _parse(place, manifest)
        except PresetError:
            if before is not None and _identity(place) == before:
                raise  # otherwise a writer has replaced the directory: read the new one


def read_description(path):
    """Reads the JSON files of a model directory without verifying the other files."""
    return _parse(Path(path), manifests.read_manifest(path))


def names_in(folder):
    """Returns the sorted names of the model directories in a folder, [] if the folder cannot be read."""
    try:
        return sorted(item.parent.name for item in Path(folder).glob(f"[!.]*/{MANIFEST}"))
    except OSError:
        return []


def check_replaceable(path):
    """Raises PresetError if `path` contains anything other than a model directory.

    Only an empty folder or a model directory without additional files may be replaced.
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
