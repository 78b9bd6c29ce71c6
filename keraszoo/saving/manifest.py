"""The manifest of a model directory: which files belong to it, their sizes and their SHA-256.

    {"format": 1, "keraszoo": "0.1.0", "keras": "3.15.1",
     "files": {"config.json": {"size": 312, "sha256": "9f86..."}, ...}, "sha256": "60303..."}

The last entry is the SHA-256 of the manifest before it was added: a manifest vouches for itself, too.
"""

import hashlib
import importlib.metadata
import json
import math
import os
import re
import stat
from pathlib import Path

from keraszoo import __version__
from keraszoo.errors import PresetError

FORMAT = 1
MANIFEST = "manifest.json"
MOST_JSON = 1 << 20  # bytes of a config, metrics or manifest; ours have a few thousand
MOST_FILES = 1000
MOST_BYTES = 1 << 34  # of one file; a sparse one of any size costs its author nothing, and hours to hash

# Names that mean one file on every system: not hidden, not absolute, no "..", no backslash, no Unicode forms.
_PART = r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}"
_NAME = re.compile(rf"{_PART}(/{_PART}){{0,3}}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def write_manifest(directory, names):
    """Writes the manifest of the files `names` of `directory`, which must be all that are there."""
    difference = set(list_files(directory)) ^ set(names)
    if difference:
        raise PresetError(f"{min(difference)}: a function must write the file it is given, and no other")
    files = {}
    for name in sorted(names):
        files[name] = {"size": (directory / name).stat().st_size, "sha256": _digest(directory / name)}
    versions = {"keraszoo": __version__, "keras": importlib.metadata.version("keras")}
    (directory / MANIFEST).write_bytes(serialise({"format": FORMAT, **versions, "files": files}))


def serialise(manifest):
    """Returns the bytes of a manifest, its own SHA-256 added."""
    digest = hashlib.sha256(json.dumps(manifest, indent=2).encode()).hexdigest()
    return json.dumps({**manifest, "sha256": digest}, indent=2).encode() + b"\n"


def read_manifest(directory):
    """Returns the manifest of `directory`; PresetError if there is none or its form is wrong."""
    path = Path(directory, MANIFEST)
    if not os.path.lexists(path):
        raise PresetError(f"{directory}: is not a model directory: it has no {MANIFEST}")
    content = _read(path)
    manifest = _parse(path, content)
    version, files = manifest.get("format"), manifest.get("files")
    if type(version) is not int or version != FORMAT:
        raise PresetError(f"{path}: format {version!r} is unknown; this keraszoo reads format {FORMAT}")
    if content != serialise({key: value for key, value in manifest.items() if key != "sha256"}):
        raise PresetError(f"{path}: is not as it was written: damaged or changed")
    if not isinstance(files, dict):
        raise PresetError(f"{path}: 'files' must be an object")
    check_names(path, files)
    for name, entry in files.items():
        size, digest = (entry.get("size"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
        is_size = type(size) is int and 0 <= size < 1 << 63
        if not is_size or not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise PresetError(f"{path}: '{name}' must have a 'size' and a 'sha256' of 64 hexadecimal digits")
    return manifest


def verify(directory, manifest):
    """Raises PresetError, which names the file, unless `directory` holds what `manifest` lists, no more."""
    files = manifest["files"]
    there = set(list_files(directory)) - {MANIFEST}
    for name in sorted(set(files) - there):
        raise PresetError(f"{directory}/{name}: is missing, though {MANIFEST} lists it")
    for name in sorted(there - set(files)):
        raise PresetError(f"{directory}/{name}: is not listed in {MANIFEST}")
    for name, entry in sorted(files.items()):
        path = Path(directory, name)
        size = _status(path).st_size
        if size != entry["size"]:
            raise PresetError(f"{path}: has {size} bytes, but {entry['size']} in {MANIFEST}: damaged")
        if size > MOST_BYTES:
            raise PresetError(f"{path}: has {size} bytes, more than the {MOST_BYTES} that are read")
        if _digest(path) != entry["sha256"]:
            raise PresetError(f"{path}: its SHA-256 is not that of {MANIFEST}: damaged or changed")


def read_json(directory, name, manifest):
    """Returns the JSON object in the file `name`, whose bytes are checked against the manifest as read."""
    path = Path(directory, name)
    content = _read(path)
    if hashlib.sha256(content).hexdigest() != manifest["files"][name]["sha256"]:
        raise PresetError(f"{path}: its SHA-256 is not that of {MANIFEST}: damaged or changed")
    return _parse(path, content)


def check_names(path, names):
    """Raises PresetError unless `names` are plain relative file names, `config.json` among them."""
    seen = {}
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower().endswith(MANIFEST):
            raise PresetError(f"{path}: {name!r} cannot be the name of a file in a model directory")
        if name.lower() in seen:
            raise PresetError(f"{path}: '{seen[name.lower()]}' and '{name}' differ in case alone")
        seen[name.lower()] = name
    if "config.json" not in names:
        raise PresetError(f"{path}: a model directory must have a config.json")


def list_files(directory):
    """Returns the names of all files below `directory`; PresetError for links, devices and the like."""
    names = []
    try:
        for folder, folders, files in os.walk(directory, onerror=_raise):
            for name in folders + files:
                path = Path(folder, name)
                mode = os.lstat(path).st_mode
                if not (stat.S_ISREG(mode) if name in files else stat.S_ISDIR(mode)):
                    raise PresetError(f"{path}: is a link or a device, not a plain file")
                if name in files:
                    names.append(path.relative_to(directory).as_posix())
            if len(names) > MOST_FILES:
                raise PresetError(f"{directory}: has more than {MOST_FILES} files: not a model directory")
    except OSError as error:
        raise PresetError(f"{error.filename or directory}: cannot be read: {error.strerror}") from error
    return names


def _raise(error):
    raise error


def _status(path):
    """The status of a plain file; PresetError for anything else."""
    try:
        status = os.lstat(path)
    except OSError as error:
        raise PresetError(f"{path}: cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise PresetError(f"{path}: is a link or a device, not a plain file")
    return status


def _digest(path):
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise PresetError(f"{path}: cannot be read: {error.strerror}") from error


def _read(path):
    """Returns the bytes of a plain file of sane size."""
    _status(path)
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_JSON + 1)
    except OSError as error:
        raise PresetError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > MOST_JSON:
        raise PresetError(f"{path}: is larger than {MOST_JSON} bytes")
    return content


def _parse(path, content):
    """Returns a JSON object; what Python's parser lets pass (NaN, 1e999, a key twice) is an error here."""
    try:
        value = json.loads(
            content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise PresetError(f"{path}: is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise PresetError(f"{path}: must hold a JSON object, got {type(value).__name__}")
    return value


def _unique(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is given twice")
    return value


def _finite(number):
    value = float(number)
    return value if math.isfinite(value) else _refuse(number)


def _refuse(constant):
    raise ValueError(f"{constant} is not a number of JSON")
