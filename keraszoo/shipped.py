"""Where models that have a name are: in a clone, in a folder of one's own, in the cache.

A wheel carries no weights but the index of all that ship, `index.json` in this package: the description and
the manifest of each, and so the size and the SHA-256 of every file. `keraszoo fetch` fills the cache by it.
"""

import functools
import json
import os
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.manifest import MANIFEST

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


def places():
    """The model directories that are there: dict of name -> path, sorted; of one name the first folder's.

    The folders: `$KERASZOO_PRETRAINED`, `pretrained/` of a clone, the cache. What the cache has under the
    name of a shipped model counts only if it is that of this version of keraszoo.
    """
    found = {name: path for name, path in _in(cache_folder()) if _is_current(name, path)}
    here = Path(__file__).resolve().parent
    if here.with_name("pyproject.toml").is_file():  # in a clone; beside an installed package nothing is ours
        found.update(_in(here.with_name("pretrained")))
    chosen = os.environ.get("KERASZOO_PRETRAINED")
    if chosen:
        if not Path(chosen).is_dir():
            raise PresetError(f"{chosen}: KERASZOO_PRETRAINED names no directory")
        found.update(_in(Path(chosen)))
    return dict(sorted(found.items()))


def _in(folder):
    return [(name, folder / name) for name in model_directories(folder)]


def model_directories(folder):
    """The sorted names of the model directories in a folder."""
    try:
        return sorted(item.parent.name for item in Path(folder).glob(f"[!.]*/{MANIFEST}"))
    except OSError:
        return []


def _is_current(name, path):
    if name not in index():
        return True
    try:
        return json.loads((path / MANIFEST).read_bytes()) == index()[name]["manifest"]
    except (OSError, ValueError, RecursionError):
        return True  # damaged: whoever reads it is told so
