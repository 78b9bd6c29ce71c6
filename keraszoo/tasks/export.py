"""Exports of any task: writing their directories, and running SavedModels in a separate process."""

import contextlib
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from keraszoo.errors import KerasZooError
from keraszoo.saving import atomic

MARK = "keraszoo.json"  # marks a directory as an export of keraszoo


def exporter(task, format):
    """The module of a task's `export_formats` that writes a format and verifies what was written."""
    names = list(task.export_formats)
    if not names:
        raise KerasZooError(f"{type(task).__name__} has no export")
    if format not in names:
        raise KerasZooError(f"format: expected {', '.join(names[:-1])} or {names[-1]}, got {format!r}")
    return importlib.import_module(task.export_formats[format])


def format_of(directory):
    """The format of an export, told by its files; `"savedmodel"` of any other directory."""
    directory = Path(directory)
    if (directory / MARK).is_file() and (directory / "model.bin").is_file():
        return "ctranslate2"
    return "onnx" if any(directory.glob("*.onnx")) else "savedmodel"


def megabytes(directory):
    """The size of all files in a directory, in millions of bytes."""
    return sum(file.stat().st_size for file in Path(directory).rglob("*") if file.is_file()) / 1e6


def module_of(model):
    """Returns a `tf.Module` that holds the weights of a model."""
    import tensorflow as tf

    module = tf.Module()
    module.model_variables = [variable.value for variable in model.variables]
    return module


def check_export(directory):
    """Raises KerasZooError if an existing directory holds anything but an earlier export."""
    directory = Path(directory)
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return
    try:
        names = _files(directory)
        known = {*json.loads((directory / MARK).read_text())["entries"]}
    except (OSError, ValueError, KeyError, TypeError):
        wanted = "expected a new directory or an earlier export"
        raise KerasZooError(f"{directory}: {wanted}, got something else") from None
    if others := names - known:
        raise KerasZooError(
            f"{directory}: holds {min(others)!r}, which is no part of the export: not replaced"
        )


@contextlib.contextmanager
def replace_export(directory):
    """Yields the `Path` of a temporary directory that replaces a new directory or an earlier export.

    Raises KerasZooError: the directory holds something else, or it cannot be written.
    """
    try:  # `check_export` is also called before the block
        with atomic.replace_directory(directory, check=lambda: check_export(directory)) as place:
            yield place
    except OSError as error:
        raise KerasZooError(f"{directory}: cannot be written: {error.strerror or error}") from error


def write_mark(place, about):
    """Writes `keraszoo.json`, the last file: a dict, and the names that a later export may replace."""
    about = {**about, "entries": sorted({*_files(place), MARK})}
    (place / MARK).write_text(json.dumps(about, indent=2) + "\n")


def _files(directory):
    """The relative paths of all files in a directory, a set."""
    directory = Path(directory)
    return {file.relative_to(directory).as_posix() for file in directory.rglob("*") if not file.is_dir()}


def write_modules(directory, parts, about, finish=lambda place: None):
    """Writes SavedModels into one directory, all of them or none; see `replace_export`.

    `parts` maps folders (`""` is the directory) to functions that make `(module, signatures)`; `about` is
    further content of `keraszoo.json`; `finish` adds files to the folder that it is called with. Raises
    KerasZooError if the backend is not TensorFlow.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        raise KerasZooError(f"a SavedModel needs TensorFlow, the backend is {keras.backend.backend()}")
    import tensorflow as tf

    try:
        with replace_export(directory) as place:
            made = {name: make() for name, make in parts.items()}
            for name, (module, signatures) in made.items():
                tf.saved_model.save(module, str(place / name), signatures=signatures)
            finish(place)
            signatures = {name: sorted(signatures) for name, (_, signatures) in made.items()}
            write_mark(place, {**about, "signatures": signatures})
    except tf.errors.OpError as error:  # the last part of its message comes from the system
        reason = error.message.splitlines()[0].rsplit("; ")[-1]
        raise KerasZooError(f"{directory}: cannot be written: {reason}") from error


PROGRAM = """
import json, sys
import tensorflow as tf
import tensorflow_text
assert "keraszoo" not in sys.modules
loaded, name, texts, answers = tf.saved_model.load(sys.argv[1]), sys.argv[2], json.load(sys.stdin), []
function = getattr(loaded, name, None) or loaded.signatures[name]

def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.decode() if isinstance(value, bytes) else value

for i in range(0, len(texts), 64):
    outputs = function(text=tf.constant(texts[i:i + 64]))
    ragged = {key: hasattr(value, "to_list") for key, value in outputs.items()}
    columns = [plain(v.to_list() if ragged[key] else v.numpy().tolist()) for key, v in outputs.items()]
    answers += [dict(zip(outputs, row)) for row in zip(*columns)]
json.dump(answers, sys.stdout)
"""


def ask(directory, name, texts):
    """Runs a function or signature of a SavedModel in a process that imports neither Keras nor keraszoo.

    The function takes strings `(B,)` and returns a dict of tensors `(B, ...)`. Returns a dict for each text:
    its row of each output, bytes decoded. Raises KerasZooError if the process failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(Path(directory).absolute()), name],
            input=json.dumps(texts),
            capture_output=True,
            text=True,
            cwd=folder,
        )
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise KerasZooError(f"{directory}: the SavedModel cannot be run: {last}")
    return json.loads(run.stdout)
