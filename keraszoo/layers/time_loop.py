"""The loop over the positions of a sequence."""

import keras
from keras import ops


class _Step:
    """A function as the cell that `keras.layers.RNN` loops over.

    The function closes over constants (a memory, its mask), because Keras' RNN takes none. `compute_dtype` is
    `None` so that each state keeps its dtype: a position is an integer.
    """

    compute_dtype = None

    def __init__(self, step):
        self.step = step
        self.state_size = []  # every state is given

    def call(self, inputs, state):
        return self.step(inputs, list(state))

    __call__ = call


def over_time(step, inputs, state, mask=None, backward=False):
    """Runs a step over all positions of a sequence, one after the other.

    It compiles to one loop for every length, and has a gradient on every backend. Compute before the loop
    what does not depend on the state (the projections of the inputs).

    Args:
        step: a function of `(inputs, state)`, `(B, E)` and a list of tensors, that returns `(outputs,
            state)`, `(B, D)` and a list of tensors of the same shapes and dtypes.
        inputs: `(B, T, E)`.
        state: list of tensors, the state before the first position.
        mask: bool `(B, T)`, `True` = a word: at padding the outputs are zero and the state is kept. Each
            state must then be `(B, ...)`.
        backward: run from the last position to the first. The outputs keep the order of the inputs.

    Returns:
        `(outputs, state)`: `(B, T, D)` and the state after the last position.

    Example:

    >>> import numpy as np
    >>> def add(x, state):
    ...     return state[0] + x, [state[0] + x]
    >>> outputs, state = over_time(add, np.ones((1, 3, 1), "float32"), [ops.zeros((1, 1))], backward=True)
    >>> ops.convert_to_numpy(outputs).ravel().tolist()
    [3.0, 2.0, 1.0]
    """
    loop = keras.layers.RNN(
        _Step(step),
        return_sequences=True,
        return_state=True,
        go_backwards=backward,
        zero_output_for_mask=True,
        dtype=keras.backend.standardize_dtype(inputs.dtype),
    )
    outputs, *state = loop.call(ops.convert_to_tensor(inputs), initial_state=state, mask=mask)
    return (ops.flip(outputs, axis=1) if backward else outputs), state
