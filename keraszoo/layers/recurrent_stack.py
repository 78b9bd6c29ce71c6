"""A stack of recurrent layers (Sutskever, Vinyals and Le, 2014)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes, require, require_shapes, shapes_fit
from keraszoo.layers.configured import Configured
from keraszoo.layers.dropout import Dropout
from keraszoo.layers.recurrent_cell import RecurrentCell
from keraszoo.layers.time_loop import over_time


@keras.saving.register_keras_serializable(package="keraszoo")
class RecurrentStack(Configured, keras.layers.Layer):
    """Recurrent layers of one direction; each layer reads the outputs of the one below.

        s^1_t = f(x_t, s^1_{t-1})        s^l_t = f(s^{l-1}_t, s^l_{t-1})

    A whole sequence passes layer by layer, so that the inputs of a layer are projected for all positions at
    once; `step` is one position through all layers. Padding is skipped at any place: with `backward` a
    sentence is read from its last word. The outputs keep the order of the words.

    Shapes: B batch, T positions, E width of the inputs, U `units`.

    Args:
        units: U, of each layer.
        cell: a kind of `RecurrentCell`.
        num_layers: how many layers.
        dropout: share of the inputs of each layer after the first that is dropped in training.
        backward: from the last word to the first.

    Call arguments:
        inputs: `(B, T, E)`.
        initial_state: list of the layers' states; for a single layer also its state alone, as a Keras RNN
            layer returns it; `None`: zeros.
        inputs_mask, mask: bool `(B, T)`, `True` = a word; Keras fills in one of them from an embedding that
            masks.

    Returns:
        `(outputs, state)`: the last layer's s, `(B, T, U)`, zero at padding; and the layers' states after the
        last word that was read, a list of lists of `(B, U)`.

    Raises:
        ValueError: if `cell` is unknown, or `units` or `num_layers` is not a positive integer.

    Example:

    >>> import numpy as np
    >>> stack = RecurrentStack(units=3, cell="lstm", num_layers=2)
    >>> outputs, state = stack(np.ones((2, 5, 4), "float32"))
    >>> tuple(outputs.shape), [len(layer) for layer in state]
    ((2, 5, 3), [2, 2])

    Reference: Sutskever, Vinyals, Le: Sequence to Sequence Learning with Neural Networks, 2014,
    https://arxiv.org/abs/1409.3215.
    """

    def __init__(self, units, cell="lstm", num_layers=1, dropout=0.0, backward=False, **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units, num_layers=num_layers)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.units = units
        self.dropout = dropout
        self.backward = backward
        self.between = Dropout(dropout, dtype=self.dtype_policy)
        self.cells = [
            RecurrentCell(units, cell, dtype=self.dtype_policy, name=f"layer_{i}") for i in range(num_layers)
        ]

    def build(self, inputs_shape, initial_state_shape=None):
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: inputs_shape[-1]})
        for cell in self.cells:
            cell.build((inputs_shape[0], inputs_shape[-1]))
            inputs_shape = (*inputs_shape[:-1], self.units)

    def zero_state(self, rows):
        """States of zero for so many rows: a list with each layer's."""
        return [cell.zero_state(rows) for cell in self.cells]

    def as_state(self, given, rows):
        """The list of the layers' states; of one layer also its state alone; `None`: zeros.

        Raises:
            ValueError: a list of another length, or a state that does not fit its layer.
        """
        if given is None:
            return self.zero_state(rows)
        if not isinstance(given, (list, tuple)) or not all(isinstance(one, (list, tuple)) for one in given):
            given = [given]
        require(
            len(given) == len(self.cells),
            f"initial_state must have {len(self.cells)} layers",
            layers=len(given),
        )
        return [cell.as_state(one, rows) for cell, one in zip(self.cells, given, strict=True)]

    def call(self, inputs, initial_state=None, inputs_mask=None, mask=None, training=None):
        inputs_mask = mask if inputs_mask is None else inputs_mask
        if inputs_mask is not None:
            shapes = {"inputs_mask": tuple(inputs_mask.shape), "inputs": tuple(inputs.shape)}
            fits = shapes_fit(shapes["inputs_mask"], shapes["inputs"][:2])
            require_shapes(fits, "inputs_mask must be (batch, length)", **shapes)
        state, x = [], inputs
        states = self.as_state(initial_state, ops.shape(inputs)[0])
        for i, (cell, first) in enumerate(zip(self.cells, states, strict=True)):

            def step(projected, before, cell=cell):
                after = cell.advance(projected, before)
                return after[0], after

            x = self.between(x, training=training) if i else x
            x, last = over_time(step, cell.project(x), first, inputs_mask, self.backward)  # (B, T, U)
            state.append(last)
        return x, state

    def step(self, projected, state, dropped=None):
        """One position through all layers.

        Args:
            projected: `(N, G U)`, what the first layer's `project` made of the inputs.
            state: list of the layers' states.
            dropped: list with a factor `(N, U)` on the inputs of each layer after the first, or `None`.

        Returns:
            `(outputs, state)`: `(N, U)` and the layers' next states.
        """
        after = [self.cells[0].advance(projected, state[0])]
        for i, cell in enumerate(self.cells[1:]):
            x = after[-1][0] if dropped is None else after[-1][0] * dropped[i]
            after.append(cell.advance(cell.project(x), state[i + 1]))
        return after[-1][0], after

    def compute_mask(self, inputs, inputs_mask=None):
        return inputs_mask, None

    def compute_output_shape(self, inputs_shape, initial_state_shape=None):
        states = [[(inputs_shape[0], self.units)] * cell.num_states for cell in self.cells]
        return (*inputs_shape[:-1], self.units), states

    def compute_output_spec(self, *args, **kwargs):
        return keras.Operation.compute_output_spec(self, *args, **kwargs)  # `call` checks its inputs
