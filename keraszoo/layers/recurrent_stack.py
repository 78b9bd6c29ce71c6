"""A stack of recurrent layers (Sutskever, Vinyals and Le, 2014)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes, require
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import Masked
from keraszoo.layers.recurrent_cell import RecurrentCell
from keraszoo.layers.time_loop import over_time


@keras.saving.register_keras_serializable(package="keraszoo")
class RecurrentStack(KernelOptions):
    """Recurrent layers of one direction; each layer reads the outputs of the one below.

        s^1_t = f(x_t, s^1_{t-1})        s^l_t = f(s^{l-1}_t, s^l_{t-1})

    A whole sequence passes layer by layer, so that the inputs of a layer are projected for all positions at
    once; `step` is one position through all layers. Padding is skipped at any place: with `backward` a
    sentence is read from its last word. The outputs keep the order of the words.

    Args:
        units: U, of each layer.
        cell: a kind of `RecurrentCell`.
        num_layers: how many layers.
        dropout: share of the inputs of each layer after the first that is dropped in training.
        backward: from the last word to the first.
        kernel_initializer and others: as for `KernelOptions`, of all layers.

    Call arguments:
        inputs: `(B, T, E)`.
        initial_state: a list like `state`, or for one layer its s, `(B, U)`; `None`: zeros.
        mask: bool `(B, T)`, `True` = a word.
        inputs_mask: the same. Keras fills in `mask`, or `inputs_mask` if there is an `initial_state`.

    Returns:
        `(outputs, *state)`, as `keras.layers.RNN` does with `return_state`: the last layer's s, `(B, T, U)`,
        zero at padding; and the layers' states after the last word that was read, one after the other,
        `(B, U)`: s, and for an LSTM s and c.

    Raises:
        ValueError: if `cell` is unknown, a size is not a positive integer, or an input does not fit.

    Example:

    >>> stack = RecurrentStack(units=3, cell="lstm", num_layers=2)
    >>> outputs, *state = stack(ops.ones((2, 5, 4), "float32"))
    >>> tuple(outputs.shape), [tuple(part.shape) for part in state]
    ((2, 5, 3), [(2, 3), (2, 3), (2, 3), (2, 3)])

    Reference: Sutskever, Vinyals, Le, 2014, https://arxiv.org/abs/1409.3215.
    """

    def __init__(self, units, cell="lstm", num_layers=1, dropout=0.0, backward=False, **kwargs):
        wanted = "RecurrentStack has no go_backwards: use backward, or BidirectionalEncoder"
        require("go_backwards" not in kwargs, wanted, **kwargs)
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
        return self.cells[0].as_state(given, rows, self.num_layers)

    def _by_layer(self, state):
        count = self.cells[0].num_states
        return [(cell, state[i * count : (i + 1) * count]) for i, cell in enumerate(self.cells)]

    def call(self, inputs, initial_state=None, mask=None, inputs_mask=None, training=None):
        mask = inputs_mask if mask is None else mask
        before, after, x = self.as_state(initial_state, ops.shape(inputs)[0]), [], inputs
        for cell, own in self._by_layer(before):

            def step(projected, state, cell=cell):
                state = cell.advance(projected, state)
                return state[0], state

            x = self.between(x, training=training) if after else x
            x, own = over_time(step, cell.project(x), own, mask, self.backward)  # (B, T, U)
            after += own
        return self.masked(x, mask=mask), *after

    def step(self, projected, state, dropped=None):
        """One position through all layers: `(outputs, state)`, from what the first cell's `project` returned.

        `dropped` holds the factors `(N, U)` on the inputs of the layers after the first.
        """
        x, after = projected, []
        for i, (cell, own) in enumerate(self._by_layer(state)):
            if i:
                x = cell.project(x if dropped is None else x * dropped[i - 1])
            own = cell.advance(x, own)
            x, after = own[0], after + own
        return x, after

    def get_config(self):
        own = {"units": self.units, "cell": self.cell, "num_layers": self.num_layers}
        return {**super().get_config(), **own, "dropout": self.dropout, "backward": self.backward}
