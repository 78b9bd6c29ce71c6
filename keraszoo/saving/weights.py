"""Write and read the weights of a model as safetensors: by name, without the optimizer, all or none.

The header of a safetensors file gives the name, shape and dtype of each array, so a file is compared with a
model before an array is read. Its parser is written for files of strangers.
"""

import contextlib
import tempfile
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy
from ml_dtypes import bfloat16

from keraszoo.errors import PresetError

WEIGHTS = "model.safetensors"  # in a model directory
HALF_LARGEST = float(np.finfo("float16").max)
TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": bfloat16, "I64": "int64"}
TYPES |= {"I32": "int32", "I8": "int8", "U8": "uint8", "BOOL": "bool"}


def names_of(model):
    """The weights of a model by name: dict of path without the model's own name -> variable.

    The names of an ensemble's weights start with the number of their model, such as `models.0/`.
    """
    members = model.members() if hasattr(model, "members") else [model]
    names = {}
    for i, member in enumerate(members):
        for weight in member.weights:
            _, own, name = weight.path.partition(f"{member.name}/")  # absent before the model is called
            name = (f"models.{i}/" if len(members) > 1 else "") + (name if own else weight.path)
            if name in names:
                raise PresetError(f"two weights of model '{model.name}' are called '{name}'")
            names[name] = weight
    return names


def save_weights(model, path, dtype=None):
    """Writes the weights of a built model to `path` in place, for use within `write_directory`.

    `dtype="float16"` rounds floating-point weights to half precision; loading converts them back. A row of
    zeros in an int8 matrix has a scale that is too large for it, so such scales stay as they are. Raises
    PresetError if another weight is, if one is NaN or infinite, or if the file cannot be written.
    """
    path = Path(path)
    if dtype not in (None, "float16"):
        raise PresetError(f"{path}: weights are stored as they are or as float16, not as {dtype!r}")
    _check_built(model, path)
    model, arrays = without_lora(model), {}
    for name, weight in names_of(model).items():
        value = np.asarray(weight.numpy(), order="C")
        rounded = dtype and value.dtype.kind == "f"
        if rounded and name.endswith("_scale") and np.max(value) > HALF_LARGEST:
            rounded = False
        check_finite(path, name, value, HALF_LARGEST if rounded else np.inf)
        arrays[name] = value.astype(dtype) if rounded else value
    try:
        path.write_bytes(safetensors.numpy.save(arrays))
    except OSError as error:
        raise PresetError(f"{path}: cannot be written: {error.strerror or error}") from error


def without_lora(model):
    """A model; for one with LoRA, a copy that has the sums W + A B, as Keras saves them."""
    if not any(getattr(layer, "lora_enabled", False) for layer in model._flatten_layers()):
        return model
    copy = type(model).from_config(model.get_config())
    copy.build_from_config(model.get_build_config())
    with tempfile.TemporaryDirectory() as folder:
        model.save_weights(Path(folder, "sums.weights.h5"))
        copy.load_weights(Path(folder, "sums.weights.h5"))
    return copy


def load_weights(model, path, check=lambda: None):
    """Sets every weight of a built model from a file that `save_weights` wrote, or none.

    `check` is called after the file has been read, and may raise. Raises PresetError unless the file gives
    each weight of the model, and no other, finite values of its shape.
    """
    path = Path(path)
    _check_built(model, path)
    weights = names_of(model)
    check_shapes(path, {name: tuple(weight.shape) for name, weight in weights.items()})
    values = read_arrays(path)
    for name, value in values.items():
        check_finite(path, name, value)
        if (value.dtype.kind in "iub") != (np.dtype(weights[name].dtype).kind in "iub"):
            raise PresetError(f"{path}: weight '{name}' is {value.dtype}, expected {weights[name].dtype}")
    check()
    for name, value in values.items():
        weights[name].assign(value)


def stored_shapes(path):
    """Returns the shapes of the weights in a file without reading the weights: dict of name -> tuple."""
    with _reading(path), safetensors.safe_open(path, "numpy") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}


def check_shapes(path, wanted, skip=()):
    """Raises PresetError that names the first weight that differs between a file and a model.

    `wanted` is a dict of name -> shape; names with an ending of the tuple `skip` are not compared.
    """
    stored = stored_shapes(path)
    for name in {**wanted, **stored}:
        if name.endswith(skip):
            continue
        if name not in stored:
            raise PresetError(f"{path}: has no weight '{name}'")
        if name not in wanted:
            raise PresetError(f"{path}: has a weight '{name}', which the model lacks")
        if stored[name] != wanted[name]:
            raise PresetError(f"{path}: weight '{name}' is {stored[name]}, expected {wanted[name]}")


def read_arrays(path):
    """The arrays of a file: dict of name -> NumPy array. Raises PresetError if it is not safetensors."""
    with _reading(path):
        return {
            name: np.frombuffer(array["data"], TYPES[array["dtype"]]).reshape(array["shape"])
            for name, array in safetensors.deserialize(path.read_bytes())
        }


@contextlib.contextmanager
def _reading(path):
    try:
        yield
    except FileNotFoundError:
        raise PresetError(f"{path}: no such file") from None
    except (OSError, safetensors.SafetensorError, KeyError, ValueError) as error:
        raise PresetError(f"{path}: is not a readable weight file (safetensors): {error}") from error


def _check_built(model, path):
    if not model.built:
        raise PresetError(f"{path}: model '{model.name}' has no weights yet: call it on a batch first")


def check_finite(path, name, value, largest=np.inf):
    """Raises PresetError if an array of a file has NaN, infinite numbers or ones above `largest`."""
    if value.dtype.kind in "iub" or not value.size:
        return
    size = np.abs(value.astype("float32")).max()
    if not np.isfinite(size):
        raise PresetError(f"{path}: weight '{name}' {value.shape} has NaN or infinite numbers")
    if size > largest:
        raise PresetError(f"{path}: weight '{name}' has {size:.3g}, too large for float16")
