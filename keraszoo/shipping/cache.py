"""The index of the included models, and the folder of fetched models."""

import functools
import json
import os
from pathlib import Path

from keraszoo.errors import PresetError
from keraszoo.shipping import hub

INDEX = Path(__file__).resolve().with_name("index.json")


@functools.cache
def index():
    """Returns the included models: name -> `{"about": see model_facts.describe, "manifest": {...}}`."""
    return json.loads(INDEX.read_bytes()) if INDEX.is_file() else {}


def cache_folder():
    """Returns the folder of fetched models: `keraszoo/` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):  # the standard requires that other values are ignored
        return Path(chosen, "keraszoo")
    try:
        return Path.home() / ".cache" / "keraszoo"
    except RuntimeError as error:
        raise PresetError(f"there is no folder for fetched models: {error}; set XDG_CACHE_HOME") from error


def hub_place(address):
    """Returns where a model on the Hugging Face Hub is kept in the cache."""
    return cache_folder() / "hub" / hub.repository(address)
