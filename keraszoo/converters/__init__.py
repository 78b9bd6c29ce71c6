"""Public weights into our models: a table of names and a commented list of oddities for each family."""

import importlib
import os
from pathlib import Path

from keraszoo.converters.files import check_files, read_json
from keraszoo.errors import PresetError
from keraszoo.messages import shown
from keraszoo.saving.manifest import MANIFEST

FAMILIES = ("marian",)  # values of `model_type`, which are names of modules


def is_published(folder):
    """Whether a folder has a model as the Hub has it: a `config.json` with a `model_type`, no manifest."""
    folder = Path(folder)
    if not os.path.isfile(folder / "config.json") or os.path.exists(folder / MANIFEST):
        return False
    return "model_type" in read_json(folder, "config.json")


def family_of(folder):
    """The module that reads the model of a folder. Raises PresetError for a type that none reads."""
    kind = read_json(folder, "config.json").get("model_type")
    if kind not in FAMILIES:
        wanted = " or ".join(FAMILIES)
        raise PresetError(f"{folder}/config.json: model_type: expected {wanted}, got {shown(kind)}")
    return importlib.import_module(f"keraszoo.converters.{kind}")


def read(folder, source):
    """Reads a published model from a folder; its card names the `source`.

    See `read` of the module of its family.
    """
    folder = Path(folder)
    family = family_of(folder)
    check_files(folder, family.REQUIRED)
    return family.read(folder, source)
