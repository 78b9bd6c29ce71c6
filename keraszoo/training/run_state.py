"""All numbers of a compiled model that decide how its training goes on."""

import numpy as np
from keras import ops

from keraszoo.errors import PresetError
from keraszoo.training.distribution import shared_by_workers


def model_state(model):
    """The weights, the states of random numbers, the optimizer's moments and counts, and running metrics.

    Args:
        model: a compiled model whose optimizer is built.

    Returns:
        A dict of lists of NumPy arrays. Where a model is trained by several workers the running metrics, to
        which each has a share, are not in it.
    """
    variables = _variables(model)
    if shared_by_workers(model):
        del variables["metrics"]
    return {name: [_array(variable) for variable in some] for name, some in variables.items() if some}


def set_model_state(model, state):
    """Gives a model what `model_state` returned; all of it or nothing.

    The running metrics are left out, because `fit` sets them to zero when it begins; see `set_metrics`.

    Raises:
        PresetError: the state is not one of such a model.
    """
    variables = {name: some for name, some in _variables(model).items() if some and name != "metrics"}
    for name, some in variables.items():
        shapes = [tuple(variable.shape) for variable in some]
        stored = [array.shape for array in state.get(name, [])]
        if shapes != stored:
            raise PresetError(
                f"a checkpoint of another model: {name}: expected {len(shapes)} arrays, got {len(stored)}"
                + next((f", {b} for {a}" for a, b in zip(shapes, stored, strict=False) if a != b), "")
            )
    for name, some in variables.items():
        for variable, array in zip(some, state[name], strict=True):
            variable.assign(array)


def set_metrics(model, state):
    """Gives the running metrics of a model what they were; those that it has not yet are left out."""
    for variable, array in zip(model.metrics_variables, state.get("metrics", []), strict=False):
        variable.assign(array)


def _variables(model):
    return {
        "variables": model.variables,
        "optimizer": model.optimizer.variables,
        "metrics": model.metrics_variables,
    }


def _array(variable):
    # A copy: the variable goes on changing. Not of its value: on many devices NumPy takes no such scalar.
    return np.array(ops.convert_to_numpy(variable))
