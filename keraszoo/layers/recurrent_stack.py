"""A stack of recurrent layers (Sutskever, Vinyals and Le, 2014)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes, require, require_shapes, shapes_fit
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masked import Masked
from keraszoo.layers.recurrent_cell import RecurrentCell
from keraszoo.layers.time_loop import over_time


@keras.saving.register_keras_serializable(package="keraszoo")
class RecurrentStack(KernelOptions):
    """Recurrent layers of one direction; each layer reads the outputs of the one below.

        s^1_t = f(x_t, s^1_{t-1})        s^l_t = f(s^{l-1}_t, s^l_{t-1})

    A whole sequence passes layer by layer, so that the inputs of a layer are projected for all positions at
    once; `step` is one position through all layers. Padding is skipped at any place: with `backward` a
    sentence is read from its last word. The outputs keep the order of the words.

    For both directions take `BidirectionalEncoder`: `keras.layers.Bidirectional` needs a layer that returns
    its outputs reversed.

    Shapes: B batch, T positions, E width of the inputs, U `units`.

    Args:
        units: U, of each layer.
        cell: a kind of `RecurrentCell`.
        num_layers: how many layers.
        dropout: share of the inputs of each layer after the first that is dropped in training.
        backward: from the last word to the first.
        kernel_initializer, bias_initializer and other options: as for `KernelOptions`, of all layers.

    Call arguments:
        inputs: `(B, T, E)`.
        initial_state: a list of tensors like the state that is returned, or for one layer its s `(B, U)`;
            `None`: zeros.
        mask: bool `(B, T)`, `True` = a word.
        inputs_mask: the same. Keras fills in `mask`, or `inputs_mask` if there is an `initial_state`.

    Returns:
        `(outputs, *state)`, as `keras.layers.RNN` does with `return_state`: the last layer's s, `(B, T, U)`,
        zero at padding; and the layers' states after the last word that was read, one after the other, each
        `(B, U)`. An LSTM has two for each layer, s and c.

    Raises:
        ValueError: if `cell` is unknown, `units` or `num_layers` is not a positive integer, or the mask or
            the state does not fit.

    Example:

    >>> import numpy as np
    >>> stack = RecurrentStack(units=3, cell="lstm", num_layers=2)
    >>> outputs, *state = stack(np.ones((2, 5, 4), "float32"))
    >>> tuple(outputs.shape), [tuple(part.shape) for part in state]
    ((2, 5, 3), [(2, 3), (2, 3), (2, 3), (2, 3)])

    Reference: Sutskever, Vinyals, Le: Sequence to Sequence Learning with Neural Networks, 2014,
    https://arxiv.org/abs/1409.3215.
    """

    def __init__(self, units, cell="lstm", num_layers=1, dropout=0.0, backward=False, **kwargs):
        fits, instead = "go_backwards" not in kwargs, "or take BidirectionalEncoder for both directions"
        require(fits, f"RecurrentStack has no go_backwards: use backward, {instead}", **kwargs)
        super().__init__(**kwargs)
        check_sizes(units=units, num_layers=num_layers)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.units = int(units)
        self.cell = cell
        self.num_layers = int(num_layers)
        self.dropout = dropout
        self.backward = backward
        self.between = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="between")
        self.masked = Masked(name="masked")
        self.cells = [
            RecurrentCell(units, cell, **self.options(), dtype=self.dtype_policy, name=f"layer_{i}")
            for i in range(num_layers)
        ]

    def build(self, inputs_shape, initial_state_shape=None):
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: inputs_shape[-1]})
        for cell in self.cells:
            cell.build((inputs_shape[0], inputs_shape[-1]))
            inputs_shape = (*inputs_shape[:-1], self.units)

    def as_state(self, given, rows=None):
        """The list of the layers' states, one after the other; of one layer also its s; `None`: zeros.

        Raises:
            ValueError: a list of another length, or a state that does not fit its layer.
        """
        if given is None:
            return [part for cell in self.cells for part in cell.zero_state(rows)]
        if self.num_layers == 1:
            return self.cells[0].as_state(given, rows)
        parts, wanted = given if isinstance(given, (list, tuple)) else [given], sum(self._sizes())
        fits = len(parts) == wanted
        require(
            fits, f"initial_state must have {self.num_layers} layers: {wanted} tensors", tensors=len(parts)
        )
        states = zip(self.cells, self._by_layer(parts), strict=True)
        return [part for cell, state in states for part in cell.as_state(state, rows)]

    def _sizes(self):
        return [cell.num_states for cell in self.cells]

    def _by_layer(self, state):
        """The state as a list of the layers' states."""
        count = self.cells[0].num_states
        return [list(state[i : i + count]) for i in range(0, len(state), count)]

    def call(self, inputs, initial_state=None, mask=None, inputs_mask=None, training=None):
        mask = inputs_mask if mask is None else mask
        if mask is not None:
            shapes = {"mask": tuple(mask.shape), "inputs": tuple(inputs.shape)}
            fits = shapes_fit(shapes["mask"], shapes["inputs"][:2])
            require_shapes(fits, "mask must be (batch, length)", **shapes)
        x, after = inputs, []
        before = self._by_layer(self.as_state(initial_state, ops.shape(inputs)[0]))
        for i, (cell, first) in enumerate(zip(self.cells, before, strict=True)):

            def step(projected, state, cell=cell):
                state = cell.advance(projected, state)
                return state[0], state

            x = self.between(x, training=training) if i else x
            x, last = over_time(step, cell.project(x), first, mask, self.backward)  # (B, T, U)
            after += last
        return self.masked(x, mask=mask), *after

    def step(self, projected, state, dropped=None):
        """One position through all layers.

        Args:
            projected: `(N, G U)`, what the first layer's `project` made of the inputs.
            state: list of the layers' states, one after the other.
            dropped: list with a factor `(N, U)` on the inputs of each layer after the first, or `None`.

        Returns:
            `(outputs, state)`: `(N, U)` and the layers' next states.
        """
        x, after = projected, []
        for i, (cell, own) in enumerate(zip(self.cells, self._by_layer(state), strict=True)):
            if i:
                x = cell.project(x if dropped is None else x * dropped[i - 1])
            own = cell.advance(x, own)
            x, after = own[0], after + own
        return x, after

    def get_config(self):
        own = {"units": self.units, "cell": self.cell, "num_layers": self.num_layers}
        return {**super().get_config(), **own, "dropout": self.dropout, "backward": self.backward}
