"""Write and read the weights of a model in Keras' format `.weights.h5`, without the optimizer.

Keras itself also saves a compiled model's optimizer, which triples the size, writes a form of HDF5 without
checksums of names, shapes and addresses, and accepts features that a weight file does not need. Loading sets
all weights or none.
"""

import contextlib
import os
from pathlib import Path

import numpy as np

from keraszoo.errors import PresetError

WEIGHTS = "model.weights.h5"  # in a model directory
HALF_LARGEST = float(np.finfo("float16").max)


def save_weights(model, path, dtype=None):
    """Writes the weights of a model to `path` in place, for use within `write_directory`.

    Args:
        model: a built Keras model.
        path: the file; its name ends in `.weights.h5`.
        dtype: `"float16"` rounds floating-point weights to half precision, which halves the size. Loading
            converts them to the dtype of the model. `None` stores each weight in its own dtype.

    Raises:
        PresetError: the model is not built, a weight is NaN, infinite or too large for `dtype`, `dtype` is
            unknown, or the file cannot be written.

    Example:

    >>> import keras, tempfile
    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    >>> path = Path(tempfile.mkdtemp()) / "model.weights.h5"
    >>> save_weights(model, path)
    >>> load_weights(model, path)
    """
    path = Path(path)
    if dtype not in (None, "float16"):
        raise PresetError(f"{path}: weights are stored as they are or as float16, not as {dtype!r}")
    if not model.built:
        raise PresetError(f"{path}: model '{model.name}' has no weights yet: call it on a batch first")
    _check_finite(model, path, HALF_LARGEST if dtype else np.inf)
    try:
        _check_room(model, path)
        with _without_optimizer(model):
            model.save_weights(path)
        _rewrite(path, dtype)
    except (OSError, RuntimeError, ValueError) as error:  # HDF5 reports a full disk as any of these
        cause = error if isinstance(error, OSError) else OSError(str(error))
        raise PresetError(f"{path}: cannot be written: {_in_short(error)}") from cause


def load_weights(model, path, check=None):
    """Sets every weight of a model from a file that `save_weights` wrote.

    If anything is wrong, the model keeps all its old weights.

    Args:
        model: a built Keras model of the same architecture.
        path: the `.weights.h5` file.
        check: called without arguments after the file has been read. If it raises, no weight is set.

    Raises:
        PresetError: the file is missing, is not HDF5, contains links, filters or sizes beyond its own length,
            does not give each weight of the model finite values of the right shape, or contains other
            weights.
    """
    path = Path(path)
    if not model.built:
        raise PresetError(f"{path}: model '{model.name}' has no weights yet: call it on a batch first")
    stored = len(stored_shapes(path))
    if stored != len(model.weights):
        raise PresetError(f"{path}: holds {stored} weights, model '{model.name}' has {len(model.weights)}")
    before = [variable.numpy() for variable in model.weights]
    try:
        for variable, value in zip(model.weights, before, strict=True):
            if _is_float(variable):  # a weight that the file does not set stays NaN, which is detected below
                variable.assign(np.full(value.shape, np.nan, "float32"))
        with _without_optimizer(model):
            model.load_weights(path)
        _check_finite(model, path)
        if check is not None:
            check()
    except BaseException as error:
        for variable, value in zip(model.weights, before, strict=True):
            variable.assign(value)
        if isinstance(error, PresetError) or not isinstance(error, Exception):
            raise
        raise PresetError(f"{path}: does not fit model '{model.name}': {_in_short(error)}") from error


def _check_room(model, path):
    """Raises OSError if the disk is full. HDF5 would print many lines to stderr and crash at exit."""
    size = sum(int(np.prod(v.shape)) * np.dtype(v.numpy().dtype).itemsize for v in model.weights)
    size += 4096 * (len(model.weights) + 16)  # names, groups and rounding
    if not hasattr(os, "posix_fallocate"):  # macOS and Windows
        return
    with open(path, "wb") as file, open(_beside(path), "wb") as other:
        for each in file, other:
            os.posix_fallocate(each.fileno(), 0, size)


def _check_finite(model, path, largest=np.inf):
    for variable in model.weights:
        if not _is_float(variable):
            continue
        value = np.abs(variable.numpy().astype("float32"))
        if not np.isfinite(value).all():
            shape = tuple(variable.shape)
            raise PresetError(f"{path}: weight '{variable.path}' {shape} is missing, NaN or infinite")
        if value.size and value.max() > largest:
            raise PresetError(
                f"{path}: weight '{variable.path}' has {value.max():.3g}, too large for float16"
            )


def _rewrite(path, dtype):
    """Rewrites a weight file with checksums of its metadata (HDF5 1.10), floating-point arrays in `dtype`."""
    import h5py

    h5p, newest = h5py.h5p, h5py.h5f.LIBVER_V110
    whole, group, access = map(h5p.create, (h5p.FILE_CREATE, h5p.GROUP_CREATE, h5p.FILE_ACCESS))
    for each in whole, group:
        each.set_obj_track_times(False)  # the same weights give the same bytes
    access.set_libver_bounds(newest, newest)
    created = h5py.h5f.create(os.fsencode(_beside(path)), fcpl=whole, fapl=access)
    with h5py.File(path, "r") as old, h5py.File(created) as new:

        def copy(name, item):
            if isinstance(item, h5py.Group):
                copied = h5py.Group(h5py.h5g.create(new.id, name.encode(), gcpl=group))
            else:
                value = item[()]
                value = value.astype(dtype) if dtype and value.dtype.kind == "f" else value
                copied = new.create_dataset(name, data=value)
            copied.attrs.update(item.attrs)

        old.visititems(copy)
        new.attrs.update(old.attrs)
    os.replace(_beside(path), path)


def _beside(path):
    return path.with_name(f"new.{path.name}")


def stored_shapes(path):
    """Returns the shapes of the weights in a file without reading the weights.

    Returns:
        List of tuples.

    Raises:
        PresetError: the file is missing, is not HDF5, or contains anything other than plain arrays.
    """
    import h5py

    shapes, seen, claimed = [], set(), 0

    def visit(group):
        nonlocal claimed
        for name in group:
            where = f"{path}: '{group.name.rstrip('/')}/{name}'"
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise PresetError(f"{where} is a link to another place")
            item = group[name]
            address = h5py.h5o.get_info(item.id).addr
            if address in seen:
                raise PresetError(f"{where} occurs in the file twice")
            seen.add(address)
            if isinstance(item, h5py.Group):
                visit(item)
                continue
            _check_plain(item, where)
            shapes.append(tuple(item.shape))
            claimed += item.nbytes
            if claimed > size:
                raise PresetError(f"{where}: the file has {size} bytes, but claims to hold more")

    try:
        size = os.path.getsize(path)
        with h5py.File(path, "r") as file:
            visit(file)
    except PresetError:
        raise
    except FileNotFoundError:
        raise PresetError(f"{path}: no such file") from None
    except Exception as error:  # h5py raises many kinds of errors on damaged files
        raise PresetError(f"{path}: is not a readable weight file (HDF5): {_in_short(error)}") from error
    return shapes


def _check_plain(item, where):
    """Rejects named types, text, unusual numbers, compressed arrays and arrays stored in other files."""
    import h5py

    if not hasattr(item, "nbytes") or not (item.dtype.kind in "fiub" or item.dtype == "V2"):  # V2: bfloat16
        raise PresetError(f"{where} is not an array of numbers")
    if item.dtype.kind != "V" and not item.id.get_type().equal(h5py.h5t.py_create(item.dtype, logical=True)):
        raise PresetError(f"{where} has numbers of an unusual format")  # they would be read as others
    if item.is_virtual or item.external or item.chunks is not None:
        raise PresetError(f"{where} is not stored as a plain array inside the file")


@contextlib.contextmanager
def _without_optimizer(model):
    """Takes the optimizers from a model, and from those of an ensemble, while it is saved."""
    parts = {model, *(model.members() if hasattr(model, "members") else ())}
    trained = [part for part in parts if getattr(part, "optimizer", None)]
    optimizers = [part.optimizer for part in trained]
    for part in trained:
        part.optimizer = None
    try:
        yield
    finally:
        for part, optimizer in zip(trained, optimizers, strict=True):
            part.optimizer = optimizer


def _is_float(variable):
    return "float" in str(variable.dtype)


def _in_short(error):
    """Joins the first two lines of a message: Keras states the cause of a failed load in the second."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]) or type(error).__name__
