"""Find and list models by name: in the user's folder, in a clone, in the package and in the cache.

An installed package contains two models, and `index.json`: the description and the manifest of each shipped
model, and thus the size and the SHA-256 of each file. `keraszoo fetch` uses it to fill the cache.
"""

import json
import os
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.messages import suggestion
from keraszoo.saving import atomic, model_directory
from keraszoo.saving.manifest import MANIFEST
from keraszoo.saving.model_facts import describe
from keraszoo.shipping import cache, hub

HEADINGS = ("name", "task", "languages", "size", "score", "licence", "place")


def find(name_or_directory):
    """Returns the path of a model directory, given by its path, its name or its address on the Hub.

    An existing path takes precedence. Names are looked up in the folder `$KERASZOO_PRETRAINED`, in
    `pretrained/` of a clone or of the package, and in the cache of `keraszoo fetch`. A model on the Hugging
    Face Hub is fetched once, and then read from the cache without any request; `keraszoo fetch` looks for a
    newer one. The content is not verified here.

    Raises:
        PresetError: there is none; the message suggests similar names.
    """
    if not isinstance(name_or_directory, (str, Path)) or not str(name_or_directory):
        raise PresetError(f"expected the path or the name of a model directory, got {name_or_directory!r}")
    if hub.is_address(name_or_directory):
        from keraszoo.shipping.fetching import fetch

        return atomic.locate(cache.hub_place(name_or_directory)) or fetch(str(name_or_directory))
    path = atomic.locate(name_or_directory)
    if path is not None:
        return path
    name = str(name_or_directory)
    available = places()
    if name in available:
        return available[name]
    if name in cache.index():
        size = cache.index()[name]["about"]["size"] / 1e6
        raise PresetError(
            f"{name}: an included model, but not on this machine ({size:.1f} MB); get it with `keraszoo "
            f"fetch {name} --from FOLDER`, where FOLDER is pretrained/ of a clone"
        )
    known = {*available, *cache.index()}
    languages = {part for part in name.split("_") if len(part) == 2}
    near = {other for other in known if not languages or languages <= set(other.split("_"))}
    hint = suggestion(name, near) if near else "; `keraszoo list` shows those there are"
    raise PresetError(f"{name}: no such directory, and no included model of that name{hint}")


def places():
    """Returns the available model directories: a dict of name -> path, sorted by name.

    `$KERASZOO_PRETRAINED` takes precedence over `pretrained/` of a clone or of the package, and this over the
    cache. A cached model of another version of keraszoo is ignored.
    """
    directories = {name: path for name, path in _models_in(cache.cache_folder()) if _is_current(name, path)}
    package = Path(__file__).resolve().parents[1]
    clone = package.parent if (package.parent / "pyproject.toml").is_file() else None
    directories.update(_models_in((clone or package) / "pretrained"))
    chosen = os.environ.get("KERASZOO_PRETRAINED")
    if chosen:
        if not Path(chosen).is_dir():
            raise PresetError(f"{chosen}: KERASZOO_PRETRAINED names no directory")
        directories.update(_models_in(Path(chosen)))
    return dict(sorted(directories.items()))


def list_models():
    """Describes every model that has a name.

    Only the small files of each directory are read. Damaged weights are noticed when the model is loaded.

    Returns:
        List of dicts, sorted by name: `name`, the entries of `model_facts.describe`, and `place`: the
        directory, or `None` for an included model that is not on this machine. For a directory that cannot be
        read: `name`, `place` and `error`.
    """
    known = cache.index()
    models = {name: {"name": name, **known[name]["about"], "place": None} for name in known}
    for name, place in places().items():
        try:
            about = describe(model_directory.read_description(place))
        except PresetError as error:
            about = {"error": str(error)}
        models[name] = {"name": name, **about, "place": str(place)}
    return [models[name] for name in sorted(models)]


def as_table(models):
    """Yields the lines of a table of the models that `list_models` returns."""
    rows = [HEADINGS, *map(_row, models)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS) - 1)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])


def score_text(score):
    """Returns a score as text, such as `BLEU 45.27`, or an empty string for None."""
    return f"{score['name']} {score['value']:.2f}" if score else ""


def _row(model):
    if "error" in model:
        return (model["name"], "-", "-", "-", "-", "-", model["error"])
    return (
        model["name"],
        model["task"],
        " ".join(model["languages"]) or "-",
        f"{model['size'] / 1e6:.1f} MB",
        score_text(model["score"]) or "-",
        model["licence"] or "-",
        model["place"] or f"not here: keraszoo fetch {model['name']} --from FOLDER",
    )


def _models_in(folder):
    return [(name, folder / name) for name in model_directory.names_in(folder)]


def _is_current(name, path):
    if name not in cache.index():
        return True
    try:
        return json.loads((path / MANIFEST).read_bytes()) == cache.index()[name]["manifest"]
    except (OSError, ValueError, RecursionError):
        return True  # damaged: reading it reports the damage
