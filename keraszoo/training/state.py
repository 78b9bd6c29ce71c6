"""What a checkpoint holds: the state of a model and the progress of its run, as arrays and JSON."""

import numpy as np
from keras import ops
from pydantic import StrictBool

from keraszoo.errors import PresetError
from keraszoo.saving.entries import Entries
from keraszoo.training.checkpoint_files import NUMBERS
from keraszoo.training.distribution import shared_by_workers

ARRAY = "__array__"  # the key of a dict that stands for an array; its value is the array's name


def pack(state):
    """Splits a nested state into arrays and JSON.

    Args:
        state: dict of JSON values, NumPy arrays and NumPy numbers, and of dicts, lists and tuples of these.

    Returns:
        `(arrays, plain)`: dict from names to arrays, and the state with these names instead of arrays.

    Raises:
        TypeError: an array of something other than numbers.

    Example:

    >>> pack({"best": 1.5, "last": [np.zeros(2)]})
    ({'last/0': array([0., 0.])}, {'best': 1.5, 'last': [{'__array__': 'last/0'}]})
    """
    arrays = {}

    def plain(value, path):
        if isinstance(value, (np.ndarray, np.generic)):
            if value.dtype.kind not in NUMBERS:
                raise TypeError(f"a checkpoint cannot hold an array of {value.dtype}: {'/'.join(path)}")
            arrays["/".join(path)] = np.asarray(value)
            return {ARRAY: "/".join(path), **({"number": True} if isinstance(value, np.generic) else {})}
        if isinstance(value, dict):
            return {str(key): plain(item, (*path, str(key))) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item, (*path, str(i))) for i, item in enumerate(value)]
        return value

    state = plain(state, ())
    return arrays, state


def unpack(arrays, plain):
    """Joins what `pack` split. Tuples come back as lists, and keys of dicts as str.

    Example:

    >>> unpack(*pack({"row": np.arange(2), "rate": np.float32(0.5)}))
    {'row': array([0, 1]), 'rate': np.float32(0.5)}
    """
    if isinstance(plain, list):
        return [unpack(arrays, item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if ARRAY in plain:
        return arrays[plain[ARRAY]][()] if "number" in plain else arrays[plain[ARRAY]]
    return {key: unpack(arrays, item) for key, item in plain.items()}


class Best(Entries, strict=False, allow_inf_nan=True):
    """The best period of a run: its number, its figures, and the weights after it."""

    period: int
    figures: dict[str, float]
    weights: list


class Progress(Entries, strict=False, allow_inf_nan=True):
    """What a run has done so far, apart from its model.

    Attributes:
        step: number of steps of `fit` made; with parts, several of them make an update.
        over: whether the run has ended before its last step.
        seconds: time spent in saving.
        elapsed: how long earlier sessions trained, in seconds.
        periods: numbers of the periods that were evaluated.
        figures: dict from names to lists of float, one for each of these periods.
        best: the `Best` of these periods, or None.
        last: lists of the weights of the last periods.
    """

    step: int = 0
    over: StrictBool = False
    seconds: float = 0.0
    elapsed: float = 0.0
    periods: list[int] = []
    figures: dict[str, list[float]] = {}
    best: Best | None = None
    last: list[list] = []

    def reopen(self):
        """Forgets the end of the last period, which goes on."""
        self.periods, self.last = self.periods[:-1], self.last[:-1]
        self.figures = {name: values[:-1] for name, values in self.figures.items()}


def model_state(model):
    """Returns what decides how the training of a compiled model continues: a dict of lists of arrays.

    These are weights and states of random numbers, the optimizer's variables and running metrics. The metrics
    of several workers are left out, since each has only a share.
    """
    variables = _variables(model)
    if not shared_by_workers(model):
        variables["metrics"] = model.metrics_variables
    # Copies, since the variables keep changing.
    return {
        name: [np.array(ops.convert_to_numpy(variable)) for variable in some]
        for name, some in variables.items()
    }


def set_model_state(model, state):
    """Restores what `model_state` returned, all of it or nothing, except for the running metrics.

    Raises:
        PresetError: the state belongs to another model.
    """
    variables = _variables(model)
    for name, some in variables.items():
        check_arrays(name, some, state[name])
    for name, some in variables.items():
        for variable, array in zip(some, state[name], strict=True):
            variable.assign(array)


def check_arrays(name, variables, arrays):
    """Raises PresetError unless arrays are finite values of variables."""
    if not all(np.isfinite(array).all() for array in arrays if array.dtype.kind == "f"):
        raise PresetError(f"{name}: not all numbers are finite")
    shapes, stored = [tuple(variable.shape) for variable in variables], [array.shape for array in arrays]
    if shapes != stored:
        raise PresetError(
            f"a checkpoint of another model: {name}: expected {len(shapes)} arrays, got {len(stored)}"
            + next((f", {b} for {a}" for a, b in zip(shapes, stored, strict=False) if a != b), "")
        )


def _variables(model):
    return {"variables": model.variables, "optimizer": model.optimizer.variables}
