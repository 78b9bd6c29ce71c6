"""Reads and writes the files of a checkpoint, and checks what a stranger may have written into one."""

import contextlib
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
NUMBERS = "biufV"  # kinds of NumPy's dtypes; V: bfloat16
FILES = "files/"  # begins the names of arrays that are the bytes of files


class Note(Entries, extra="ignore"):
    """What `config.json` of every directory in a folder of checkpoints has."""

    decides: dict
    versions: dict[str, str]


class _Step(Note):
    step: Annotated[int, Field(ge=0)]


class Finished(Note):
    """The `config.json` of the note that a run is finished."""

    finished: dict


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run at one step, and what decides it; `versions` are those of the libraries."""

    step: int
    arrays: dict = field(repr=False)  # name -> NumPy array
    plain: dict = field(repr=False)  # JSON values
    files: dict = field(repr=False)  # name -> bytes, such as vocabularies
    decides: dict = field(repr=False)
    versions: dict = field(repr=False)


def write_checkpoint(path, checkpoint):
    """Writes a `Checkpoint` as a directory, completely or not at all; raises PresetError if it cannot."""
    config = {"task": TASK, "step": checkpoint.step, "decides": checkpoint.decides}
    arrays = dict(checkpoint.arrays)
    for name, content in checkpoint.files.items():
        arrays[FILES + name] = np.frombuffer(content, "uint8")
    files = {
        "config.json": {**config, "versions": checkpoint.versions},
        "state.json": json.dumps(checkpoint.plain),  # may hold an infinite perplexity
        "arrays.npz": lambda file: np.savez(file, **arrays),
    }
    model_directory.write_directory(path, files)


def read_checkpoint(path):
    """Reads one checkpoint after verifying every file; raises PresetError if it is damaged or none."""
    directory = model_directory.read_directory(path)
    task = directory.config.get("task")
    if task != TASK:
        raise PresetError(f"{path}: expected a checkpoint, got a directory for {shown(task)}")
    config = checked(_Step, directory.config, f"{path}: config.json")
    with usable(path, "checkpoint"):
        plain = dict(json.loads(directory.read_bytes("state.json")).items())
        arrays = _read_arrays(directory.file("arrays.npz"))
        files = {name for name in arrays if name.startswith(FILES)}
        files = {name.removeprefix(FILES): arrays.pop(name).tobytes() for name in files}
    return Checkpoint(config.step, arrays, plain, files, config.decides, config.versions)


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


def _read_arrays(path):
    with zipfile.ZipFile(path) as file:
        if sum(entry.file_size for entry in file.infolist()) > os.path.getsize(path):
            raise ValueError(f"{path.name} claims to hold more than it has")  # no writer compresses it
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    if any(array.dtype.kind not in NUMBERS for array in arrays.values()):
        raise ValueError(f"{path.name} holds other things than numbers")
    return arrays
