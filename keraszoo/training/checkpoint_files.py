"""Reads and writes the arrays of a checkpoint, and checks what a stranger may have written into one."""

import contextlib
import itertools
import json
import os
import zipfile
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import Field

from keraszoo.errors import KerasZooError, PresetError
from keraszoo.messages import shown
from keraszoo.saving import model_directory
from keraszoo.saving.entries import Entries, checked

TASK = "checkpoint"


class Note(Entries, extra="ignore"):
    """What `config.json` of every directory in a folder of checkpoints has."""

    identity: dict
    versions: dict[str, str]


class _Step(Note):
    step: Annotated[int, Field(ge=0)]
    brought: list[str]


class Finished(Note):
    """The `config.json` that replaces the checkpoints of a finished run."""

    finished: dict


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run at one step.

    Attributes:
        step: number of steps made.
        parts: name -> state, a dict of JSON values and lists of NumPy arrays.
        files: name -> bytes, files of the run such as vocabularies.
        identity: dict that decides the run.
        versions: versions of the libraries that made it.
    """

    step: int
    parts: dict = field(repr=False)
    files: dict = field(repr=False)
    identity: dict = field(repr=False)
    versions: dict = field(repr=False)


def read_checkpoint(path):
    """Reads one checkpoint after verifying every file.

    Raises:
        PresetError: it is damaged, incomplete, or not a checkpoint.
    """
    directory = model_directory.read_directory(path)
    task = directory.config.get("task")
    if task != TASK:
        raise PresetError(f"{path}: expected a checkpoint, got a directory for {shown(task)}")
    config = checked(_Step, directory.config, f"{path}: config.json")
    with usable(path, "checkpoint"):
        parts = {name: dict(part) for name, part in json.loads(directory.read_bytes("state.json")).items()}
        for name in set(parts) & {name.removesuffix(".npz") for name in directory.names}:
            parts[name] |= _read_arrays(directory.file(f"{name}.npz"))
        for array in itertools.chain.from_iterable(filter(is_arrays, parts.get("model", {}).values())):
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError("its arrays are not finite")
        files = {name: directory.read_bytes(name) for name in config.brought}
    return Checkpoint(config.step, parts, files, config.identity, config.versions)


@contextlib.contextmanager
def usable(path, what):
    """Turns the errors of a block that reads the content of a stranger's file into one PresetError."""
    try:
        yield
    except KerasZooError:
        raise
    except (
        *(AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError),
        *(RecursionError, MemoryError, OSError, NotImplementedError, zipfile.BadZipFile),
    ) as error:
        said = " ".join(f"{path}: not a valid {what}: {type(error).__name__}: {error}".split())
        raise PresetError(f"{said:.300}") from error


def is_arrays(value):
    """Whether a value is a list of arrays, which is stored as such and not as JSON."""
    return isinstance(value, list) and len(value) > 0 and all(isinstance(item, np.ndarray) for item in value)


def writer(lists):
    """Makes a function that writes lists of arrays to a `.npz`, each array as `<list>/<number>`."""
    arrays = {f"{key}/{i}": array for key, value in lists.items() for i, array in enumerate(value)}
    return lambda path: np.savez(path, **arrays)


def _read_arrays(path):
    lists = {}
    with zipfile.ZipFile(path) as file:
        if sum(entry.file_size for entry in file.infolist()) > os.path.getsize(path):
            raise ValueError(f"{path.name} claims to hold more than it has")  # `_writer` does not compress
    with np.load(path, allow_pickle=False) as arrays:
        for name in arrays.files:
            if arrays[name].dtype.kind not in "biufV":  # V: bfloat16
                raise ValueError(f"{path.name} holds other things than numbers")
            lists.setdefault(name.rpartition("/")[0], []).append(arrays[name])
    return lists
