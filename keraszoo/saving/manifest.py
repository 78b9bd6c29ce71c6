"""Write and verify the manifest of a model directory: the size and the SHA-256 of each of its files.

    {"format": 1, "keraszoo": "1.0.0", "keras": "3.15.1",
     "files": {"config.json": {"size": 312, "sha256": "9f86..."}, ...}, "sha256": "60303..."}

The last entry is the SHA-256 of the manifest without that entry, so damage to the manifest is detected, too.
"""

import contextlib
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
from keraszoo.messages import shown

FORMAT = 1
MANIFEST = "manifest.json"
MOST_JSON = 1 << 22  # bytes of a config, metrics or manifest; the history of a long run is the longest
MOST_FILES = 1000
MOST_BYTES = 1 << 34  # of one file; a sparse file of any size costs nothing to make and hours to hash

# Names that mean the same file on every system: not hidden, not absolute, no "..", no backslash, ASCII only.
_PART = r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}"
_NAME = re.compile(rf"{_PART}(/{_PART}){{0,3}}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def write_manifest(directory, names):
    """Writes the manifest of `directory`, which must contain exactly the files `names`."""
    difference = set(list_files(directory)) ^ set(names)
    if difference:
        raise PresetError(f"{min(difference)}: a function must write the file it is given and no other")
    files = {
        name: {"size": (directory / name).stat().st_size, "sha256": file_digest(directory / name)}
        for name in sorted(names)
    }
    versions = {"keraszoo": __version__, "keras": importlib.metadata.version("keras")}
    (directory / MANIFEST).write_bytes(serialise({"format": FORMAT, **versions, "files": files}))


def serialise(manifest):
    """Returns the bytes of a manifest with its SHA-256 as the last entry."""
    manifest = {key: value for key, value in manifest.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(manifest, indent=2).encode()).hexdigest()
    return json.dumps({**manifest, "sha256": digest}, indent=2).encode() + b"\n"


def read_manifest(directory):
    """Returns the manifest of `directory`. Raises PresetError if it is missing or malformed."""
    path = Path(directory, MANIFEST)
    if not os.path.lexists(path):
        raise PresetError(f"{directory}: is not a model directory: it has no {MANIFEST}")
    content = _read(path, MOST_JSON)
    manifest = _parse(path, content)
    version, files = manifest.get("format"), manifest.get("files")
    if type(version) is not int or version != FORMAT:
        raise PresetError(f"{path}: format {shown(version)} is unknown; this keraszoo reads format {FORMAT}")
    if content != serialise(manifest):
        raise PresetError(f"{path}: does not match its own SHA-256: damaged or changed")
    if not isinstance(files, dict):
        raise PresetError(f"{path}: 'files' must be an object")
    check_names(path, files)
    for name, entry in files.items():
        if not _is_entry(entry):
            raise PresetError(f"{path}: '{name}' must have a 'size' and a 'sha256' of 64 hexadecimal digits")
    return manifest


def verify(directory, manifest):
    """Raises PresetError naming the file unless `directory` contains exactly what `manifest` lists."""
    files = manifest["files"]
    names = set(list_files(directory)) - {MANIFEST}
    for name in sorted(set(files) - names):
        raise PresetError(f"{directory}/{name}: is missing, though {MANIFEST} lists it")
    for name in sorted(names - set(files)):
        raise PresetError(f"{directory}/{name}: is not listed in {MANIFEST}")
    for name, entry in sorted(files.items()):
        path = Path(directory, name)
        size = _size(path)
        if size != entry["size"]:
            raise PresetError(f"{path}: has {size} bytes, but {entry['size']} in {MANIFEST}: damaged")
        if size > MOST_BYTES:
            raise PresetError(f"{path}: has {size} bytes, more than the {MOST_BYTES} that are read")
        _check_digest(path, file_digest(path), entry)


def read_file(directory, name, manifest, most=MOST_BYTES):
    """Returns the bytes of the file `name`, which are verified against the manifest."""
    path = Path(directory, name)
    content = _read(path, most)
    _check_digest(path, hashlib.sha256(content).hexdigest(), manifest["files"][name])
    return content


def read_json(directory, name, manifest):
    """Returns the JSON object in the file `name`, which is verified against the manifest."""
    return _parse(Path(directory, name), read_file(directory, name, manifest, MOST_JSON))


def check_names(path, names):
    """Raises PresetError unless `names` are plain relative file names that include `config.json`."""
    seen = {}
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower().endswith(MANIFEST):
            raise PresetError(f"{path}: {shown(name)} cannot be the name of a file in a model directory")
        if name.lower() in seen:
            raise PresetError(f"{path}: '{seen[name.lower()]}' and '{name}' differ in case alone")
        seen[name.lower()] = name
    if "config.json" not in names:
        raise PresetError(f"{path}: a model directory must have a config.json")


def list_files(directory):
    """Returns the names of all files below `directory`. Raises PresetError for links, devices and pipes."""
    names = []
    with readable(directory):
        for folder, folders, files in os.walk(directory, onerror=_raise):
            for name in folders:
                if not stat.S_ISDIR(os.lstat(Path(folder, name)).st_mode):
                    raise PresetError(f"{Path(folder, name)}: is a link or a device, not a plain file")
            for name in files:
                _size(Path(folder, name))
                names.append(Path(folder, name).relative_to(directory).as_posix())
            if len(names) > MOST_FILES:
                raise PresetError(f"{directory}: has more than {MOST_FILES} files: not a model directory")
    return names


def file_digest(path):
    """Returns the SHA-256 of a file as hexadecimal digits."""
    with readable(path), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def readable(path):
    """Turns an OSError of its block into a PresetError in one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise PresetError(f"{error.filename or path}: cannot be read: {reason}") from error


def _raise(error):
    raise error


def _is_entry(entry):
    size, digest = (entry.get("size"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
    is_size = type(size) is int and 0 <= size < 1 << 63
    return is_size and isinstance(digest, str) and _SHA256.fullmatch(digest)


def _check_digest(path, digest, entry):
    if digest != entry["sha256"]:
        raise PresetError(f"{path}: its SHA-256 is not that of {MANIFEST}: damaged or changed")


def _size(path):
    """Returns the size of a plain file. Raises PresetError for anything else."""
    with readable(path):
        status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise PresetError(f"{path}: is a link or a device, not a plain file")
    return status.st_size


def _read(path, most):
    if _size(path) > most:
        raise PresetError(f"{path}: is larger than {most} bytes")
    with readable(path):
        return path.read_bytes()


def _parse(path, content):
    """Returns a JSON object. Also rejects what Python's parser accepts: NaN, 1e999 and duplicate keys."""
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
    return float(number) if math.isfinite(float(number)) else _refuse(number)


def _refuse(constant):
    raise ValueError(f"{constant:.40} is not a number of JSON")
