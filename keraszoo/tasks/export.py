"""SavedModels of any task: written whole, and asked in a process of their own."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import keras

from keraszoo.errors import KerasZooError
from keraszoo.saving import atomic

MARK = "keraszoo.json"  # stands in an export, so that it is known as ours


def module_of(model):
    """A `tf.Module` that holds the weights of a model."""
    import tensorflow as tf

    module = tf.Module()
    module.model_variables = [variable.value for variable in model.variables]
    return module


def write_modules(directory, parts, about):
    """Writes SavedModels into one directory, all of them or none.

    Args:
        directory: a new one, or an earlier export, which is replaced.
        parts: dict of folder -> function that makes `(module, signatures)`; the folder `""` is the directory.
        about: dict of what else stands in `keraszoo.json`, beside the signatures and their outputs.

    Raises:
        KerasZooError: another backend than TensorFlow, something else in the directory's place, or a disk
            that refuses.
    """
    if keras.backend.backend() != "tensorflow":
        raise KerasZooError(f"a SavedModel is written by TensorFlow; this is {keras.backend.backend()}")
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
    except tf.errors.OpError as error:  # of its message, the last part is what the system said
        reason = error.message.splitlines()[0].rsplit("; ")[-1]
        raise KerasZooError(f"{directory}: cannot be written: {reason}") from error


def ask(directory, program, texts):
    """Runs a program on a SavedModel, where neither Keras nor keraszoo is imported.

    Args:
        directory: of the SavedModel, the program's only argument.
        program: Python that reads a list of texts from stdin and writes a list to stdout, both as JSON.
        texts: list of str.

    Returns:
        What the program wrote, of the length of `texts`.

    Raises:
        KerasZooError: it failed.
    """
    with tempfile.TemporaryDirectory() as nowhere:
        run = subprocess.run(
            [sys.executable, "-c", program, str(Path(directory).absolute())],
            input=json.dumps(texts),
            capture_output=True,
            text=True,
            cwd=nowhere,
        )
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise KerasZooError(f"{directory}: the SavedModel cannot be run: {last}")
    return json.loads(run.stdout)
