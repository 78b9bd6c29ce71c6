"""Writes SavedModels of any task atomically, and runs them in a separate process."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import keras

from keraszoo.errors import KerasZooError
from keraszoo.saving import atomic

MARK = "keraszoo.json"  # marks a directory as an export


def module_of(model):
    """Returns a `tf.Module` that holds the weights of a model."""
    import tensorflow as tf

    module = tf.Module()
    module.model_variables = [variable.value for variable in model.variables]
    return module


def write_modules(directory, parts, about):
    """Writes SavedModels into one directory, all of them or none.

    Args:
        directory: a new one, or an earlier export, which is replaced.
        parts: dict of folder -> function that returns `(module, signatures)`; `""` is the directory itself.
        about: dict of further entries of `keraszoo.json`, in addition to the signatures.

    Raises:
        KerasZooError: another backend than TensorFlow, or the directory holds something else or cannot be
            written.
    """
    if keras.backend.backend() != "tensorflow":
        raise KerasZooError(f"a SavedModel needs TensorFlow, the backend is {keras.backend.backend()}")
    import tensorflow as tf

    directory = Path(directory)

    def check():
        if directory.exists() and any(directory.iterdir()) and not (directory / MARK).exists():
            raise KerasZooError(
                f"{directory}: expected a new directory or an earlier export, got something else"
            )

    made = {name: make() for name, make in parts.items()}
    about = {**about, "signatures": {name: sorted(signatures) for name, (_, signatures) in made.items()}}
    try:
        with atomic.replacing(directory, check=check) as place:
            for name, (module, signatures) in made.items():
                tf.saved_model.save(module, str(place / name), signatures=signatures)
            (place / MARK).write_text(json.dumps(about, indent=2) + "\n")
    except OSError as error:
        raise KerasZooError(f"{directory}: cannot be written: {error.strerror or error}") from error
    except tf.errors.OpError as error:  # the last part of its message comes from the system
        reason = error.message.splitlines()[0].rsplit("; ")[-1]
        raise KerasZooError(f"{directory}: cannot be written: {reason}") from error


def ask(directory, program, texts):
    """Runs a program on a SavedModel in a process that imports neither Keras nor keraszoo.

    Args:
        directory: the SavedModel, the program's only argument.
        program: Python that reads a list of texts from stdin and writes a list to stdout, both as JSON.
        texts: list of str.

    Returns:
        The list that the program wrote, as long as `texts`.

    Raises:
        KerasZooError: the program failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, "-c", program, str(Path(directory).absolute())],
            input=json.dumps(texts),
            capture_output=True,
            text=True,
            cwd=folder,
        )
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise KerasZooError(f"{directory}: the SavedModel cannot be run: {last}")
    return json.loads(run.stdout)
