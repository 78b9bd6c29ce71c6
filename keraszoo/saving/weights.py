"""Write and read the weights of a model as safetensors: by name, without the optimizer, all or none.

The header of a safetensors file gives the name, shape and dtype of each array, so a file is compared with a
model before an array is read. Its parser is written for files of strangers.
"""

import tempfile
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy
from ml_dtypes import bfloat16

from keraszoo.errors import PresetError
from keraszoo.saving import included_weights

WEIGHTS = "model.safetensors"  # in a model directory
HALF_LARGEST = float(np.finfo("float16").max)
TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": bfloat16, "I64": "int64"}
TYPES |= {"I32": "int32", "I8": "int8", "U8": "uint8", "BOOL": "bool"}


def names_of(model):
    """The weights of a model by name: dict of path without the model's own name -> variable.

    The names of an ensemble's weights start with the number of their model, such as `models.0/`.

    >>> import keras
    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="scores")])
    >>> list(names_of(model))
    ['scores/kernel', 'scores/bias']
    """
    members = model.members() if hasattr(model, "members") else [model]
    prefixes = [f"models.{i}/" for i in range(len(members))] if len(members) > 1 else [""]
    names = {}
    for member, prefix in zip(members, prefixes, strict=True):
        for weight in member.weights:
            _, own, name = weight.path.partition(f"{member.name}/")  # absent before the model is called
            name = prefix + (name if own else weight.path)
            if name in names:
                raise PresetError(f"two weights of model '{model.name}' are called '{name}'")
            names[name] = weight
    return names


def save_weights(model, path, dtype=None):
    """Writes the weights of a model to `path` in place, for use within `write_directory`.

    Args:
        model: a built Keras model.
        path: the file.
        dtype: `"float16"` rounds floating-point weights to half precision, which halves the size. Loading
            converts them to the dtype of the model. `None` stores each weight in its own dtype.

    Raises:
        PresetError: the model is not built, a weight is NaN, infinite or too large for `dtype`, `dtype` is
            unknown, or the file cannot be written.

    Example:

    >>> import keras, tempfile
    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save_weights(model, path)
    >>> load_weights(model, path)
    """
    path = Path(path)
    if dtype not in (None, "float16"):
        raise PresetError(f"{path}: weights are stored as they are or as float16, not as {dtype!r}")
    _check_built(model, path)
    if any(getattr(layer, "lora_enabled", False) for layer in model._flatten_layers()):
        model = _with_sums(model)
    arrays = {name: np.asarray(weight.numpy(), order="C") for name, weight in names_of(model).items()}
    for name, value in arrays.items():
        check_finite(path, name, value, HALF_LARGEST if dtype else np.inf)
        if dtype and value.dtype.kind == "f":
            arrays[name] = value.astype(dtype)
    try:
        path.write_bytes(safetensors.numpy.save(arrays))
    except OSError as error:
        raise PresetError(f"{path}: cannot be written: {error.strerror or error}") from error


def _with_sums(model):
    """A copy of a model with LoRA that has the sums W + A B in place of W, A and B, as Keras saves them."""
    copy = type(model).from_config(model.get_config())
    copy.build_from_config(model.get_build_config())
    with tempfile.TemporaryDirectory() as folder:
        model.save_weights(Path(folder, "sums.weights.h5"))
        copy.load_weights(Path(folder, "sums.weights.h5"))
    return copy


def load_weights(model, path, check=None):
    """Sets every weight of a model from a file that `save_weights` wrote.

    If anything is wrong, the model keeps all its old weights.

    Args:
        model: a built Keras model of the same architecture.
        path: the file.
        check: called without arguments after the file has been read. If it raises, no weight is set.

    Raises:
        PresetError: the file is missing, is not safetensors, or does not give each weight of the model, and
            no other, finite values of its shape.
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
    if check is not None:
        check()
    for name, value in values.items():
        weights[name].assign(value)


def stored_shapes(path):
    """Returns the shapes of the weights in a file without reading the weights: dict of name -> tuple.

    Raises:
        PresetError: the file is missing or is not safetensors.
    """
    if Path(path).name == included_weights.FILE:
        return {name: value.shape for name, value in included_weights.read(path).items()}
    with _reading(path), safetensors.safe_open(path, "numpy") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}


def check_shapes(path, wanted, skip=None):
    """Raises PresetError that names the first weight that differs between a file and a model.

    Args:
        path: the file.
        wanted: dict of name -> shape.
        skip: the end of names that are not compared; `None`: all are.
    """
    stored = stored_shapes(path)
    if skip:
        wanted, stored = (
            {n: x for n, x in some.items() if not n.endswith(skip)} for some in (wanted, stored)
        )
    for name, shape in wanted.items():
        if name not in stored:
            raise PresetError(f"{path}: has no weight '{name}'")
        if stored[name] != shape:
            raise PresetError(f"{path}: weight '{name}' is {stored[name]}, expected {shape}")
    for name in stored:
        if name not in wanted:
            raise PresetError(f"{path}: has a weight '{name}', which the model lacks")


def read_arrays(path):
    """The arrays of a file: dict of name -> NumPy array. Raises PresetError if it is not safetensors."""
    if path.name == included_weights.FILE:
        return included_weights.read(path)
    with _reading(path):
        arrays = safetensors.deserialize(path.read_bytes())
        return {
            name: np.frombuffer(array["data"], TYPES[array["dtype"]]).reshape(array["shape"])
            for name, array in arrays
        }


class _reading:
    """Turns every error of reading a file into a PresetError."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if isinstance(error, FileNotFoundError):
            raise PresetError(f"{self.path}: no such file") from None
        if isinstance(error, (OSError, safetensors.SafetensorError, KeyError, ValueError)):
            raise PresetError(f"{self.path}: is not a readable weight file (safetensors): {error}") from error


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
