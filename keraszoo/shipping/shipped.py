"""Where models that have a name are: in a clone, in a folder of one's own, in the cache.

A wheel carries no weights but the index of all that ship, `index.json` beside this file: the description and
the manifest of each, and so the size and the SHA-256 of every file. `keraszoo fetch` fills the cache by it.
"""

import difflib
import functools
import json
import os
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.saving import model_directory
from keraszoo.saving.manifest import MANIFEST

INDEX = Path(__file__).resolve().with_name("index.json")


@functools.cache
def index():
    """What ships, by name: a dict of `{"about": as in a list of models, "manifest": of its directory}`."""
    return json.loads(INDEX.read_bytes()) if INDEX.is_file() else {}


def cache_folder():
    """The folder of fetched models: `keraszoo/` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):  # the standard has it that other values are ignored
        return Path(chosen, "keraszoo")
    try:
        return Path.home() / ".cache" / "keraszoo"
    except RuntimeError as error:
        raise PresetError(f"there is no folder for fetched models: {error}; set XDG_CACHE_HOME") from error


def find(name_or_directory):
    """Returns the path of a model directory, given by its path or by the name of a shipped one.

    A path that exists wins. Shipped directories are looked for in the folder `$KERASZOO_PRETRAINED`, in
    `pretrained/` of a clone, and among those that `keraszoo fetch` put into the cache.

    Args:
        name_or_directory: a path or a name.

    Returns:
        The `Path` of the directory, not read yet.

    Raises:
        PresetError: there is neither; the message gives the names that come near.
    """
    if not isinstance(name_or_directory, (str, Path)) or not str(name_or_directory):
        raise PresetError(f"expected the path or the name of a model directory, got {name_or_directory!r}")
    path = model_directory.locate(name_or_directory)
    if path is not None:
        return path
    name = str(name_or_directory)
    there = places()
    if name in there:
        return there[name]
    if name in index():
        size = index()[name]["about"]["size"] / 1e6
        raise PresetError(
            f"{name}: ships with keraszoo, but is not on this machine ({size:.1f} MB); get it by `keraszoo "
            f"fetch {name} --from FOLDER`, a folder or a URL that has what pretrained/ of a clone has"
        )
    names = sorted({*there, *index()})
    hint = near(name, names) or f"shipped: {', '.join(names) or 'none'}"
    raise PresetError(f"{name}: no such directory, and no shipped model of that name; {hint}")


def near(name, names):
    """The end of an error message: which of some names may have been meant; empty if none is near."""
    found = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    return f"did you mean {' or '.join(found)}?" if found else ""


def list_presets():
    """Returns the sorted names of the model directories that `find` finds by name."""
    return list(places())


def places():
    """The model directories that are there: dict of name -> path, sorted; of one name the first folder's.

    The folders: `$KERASZOO_PRETRAINED`, `pretrained/` of a clone, the cache. What the cache has under the
    name of a shipped model counts only if it is that of this version of keraszoo.
    """
    found = {name: path for name, path in _in(cache_folder()) if _is_current(name, path)}
    above = Path(__file__).resolve().parents[2]
    if (above / "pyproject.toml").is_file():  # a clone; beside an installed package nothing is ours
        found.update(_in(above / "pretrained"))
    chosen = os.environ.get("KERASZOO_PRETRAINED")
    if chosen:
        if not Path(chosen).is_dir():
            raise PresetError(f"{chosen}: KERASZOO_PRETRAINED names no directory")
        found.update(_in(Path(chosen)))
    return dict(sorted(found.items()))


def _in(folder):
    return [(name, folder / name) for name in model_directory.names_in(folder)]


def _is_current(name, path):
    if name not in index():
        return True
    try:
        return json.loads((path / MANIFEST).read_bytes()) == index()[name]["manifest"]
    except (OSError, ValueError, RecursionError):
        return True  # damaged: whoever reads it is told so
