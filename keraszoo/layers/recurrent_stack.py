"""A stack of recurrent layers (Sutskever, Vinyals and Le, 2014)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes, require
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import Masked
from keraszoo.layers.recurrent_cell import RecurrentCell
from keraszoo.layers.time_loop import over_time

CONNECTIONS = "plain", "residual", "fast_forward"


@keras.saving.register_keras_serializable(package="keraszoo")
class RecurrentStack(KernelOptions):
    """Recurrent layers of one direction; each layer reads the outputs of the one below.

        s^1_t = f(x_t, s^1_{t-1})        s^l_t = f(s^{l-1}_t, s^l_{t-1})

    A whole sequence passes layer by layer, so that the inputs of a layer are projected for all positions at
    once; `step` is one position through all layers. Padding is skipped at any place: with `backward` a
    sentence is read from its last word. The outputs keep the order of the words.

    Deep stacks learn poorly: a gradient passes through the gates of every layer. Two kinds of `connections`
    give it a linear path. x^l_t is what layer l passes on, W^l its projection, c_t the `context` if there is
    one:

        plain          x^l_t = s^l_t
        residual       x^l_t = s^l_t + x^{l-1}_t for l > 1                              (Wu et al., 2016)
        fast_forward   f^l_t = W^l [half(f^{l-1}_t); s^{l-1}_t; c_t] for l > 1, f^1_t = W^1 [x^0_t; c_t],
                       s^l_t = f(f^l_t, s^l_{t-1}), x^l_t = s^l_t                       (Zhou et al., 2016)

    half is the first half of the columns; f runs from the words to the last layer through no nonlinearity.

    Args:
        units: U, of each layer.
        cell: a kind of `RecurrentCell`.
        num_layers: how many layers.
        dropout: share of the inputs of each layer after the first that is dropped in training.
        backward: from the last word to the first.
        connections: `"plain"`, `"residual"` or `"fast_forward"`.
        kernel_initializer and others: as for `KernelOptions`, of all layers.

    Call arguments:
        inputs: `(B, T, E)`.
        initial_state: a list like `state`, or for one layer its s, `(B, U)`; `None`: zeros.
        mask: bool `(B, T)`, `True` = a word.
        inputs_mask: the same. Keras fills in `mask`, or `inputs_mask` if there is an `initial_state`.
        context: `(B, T, C)`, which every layer reads next to its input; `None`: nothing.

    Returns:
        `(outputs, *state)`, as `keras.layers.RNN` does with `return_state`: the last layer's x, `(B, T, U)`,
        zero at padding; and the layers' states after the last word that was read, one after the other,
        `(B, U)`: s, and for an LSTM s and c.

    Raises:
        ValueError: if `cell` or `connections` is unknown, a size is not a positive integer, or an input does
            not fit.

    Example:

    >>> stack = RecurrentStack(units=3, cell="lstm", num_layers=2)
    >>> outputs, *state = stack(ops.ones((2, 5, 4), "float32"))
    >>> tuple(outputs.shape), [tuple(part.shape) for part in state]
    ((2, 5, 3), [(2, 3), (2, 3), (2, 3), (2, 3)])

    References: Sutskever, Vinyals, Le, 2014, https://arxiv.org/abs/1409.3215; Wu et al., 2016,
    https://arxiv.org/abs/1609.08144; Zhou et al., 2016, https://arxiv.org/abs/1606.04199.
    """

    def __init__(
        self,
        units,
        cell="lstm",
        num_layers=1,
        dropout=0.0,
        backward=False,
        connections="plain",
        **kwargs,
    ):
        wanted = "RecurrentStack has no go_backwards: use backward, or BidirectionalEncoder"
        require("go_backwards" not in kwargs, wanted, **kwargs)
        super().__init__(**kwargs)
        check_sizes(units=units, num_layers=num_layers)
        check_choices(CONNECTIONS, connections=connections)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.units = int(units)
        self.cell = cell
        self.num_layers = int(num_layers)
        self.dropout = dropout
        self.backward = backward
        self.connections = connections
        self.between = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="between")
        self.masked = Masked(name="masked")
        self.cells = [
            RecurrentCell(units, cell, **self.inherited(), name=f"layer_{i}") for i in range(num_layers)
        ]

    def build(self, inputs_shape, initial_state_shape=None, context_shape=None):
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: inputs_shape[-1]})
        width, context = inputs_shape[-1], 0 if context_shape is None else context_shape[-1]
        for cell in self.cells:
            cell.build((inputs_shape[0], width + context))
            width = self.units + (cell.width // 2 if self.connections == "fast_forward" else 0)

    def as_state(self, given, rows=None):
        return self.cells[0].as_state(given, rows, self.num_layers)

    def _by_layer(self, state):
        count = self.cells[0].num_states
        return [(cell, state[i * count : (i + 1) * count]) for i, cell in enumerate(self.cells)]

    def project(self, inputs, context=None, below=None, layer=0):
        """What a layer computes from its inputs `(..., D)` alone; `below` is what the one below projected."""
        read = [inputs] if context is None else [inputs, context]
        if layer and self.connections == "fast_forward":
            read = [below[..., : below.shape[-1] // 2], *read]
        return self.cells[layer].project(ops.concatenate(read, axis=-1) if read[1:] else inputs)

    def pass_on(self, outputs, inputs, layer):
        """What a layer passes on, from its outputs and inputs `(..., U)`."""
        return outputs + inputs if layer and self.connections == "residual" else outputs

    def call(self, inputs, initial_state=None, mask=None, inputs_mask=None, training=None, context=None):
        mask = inputs_mask if mask is None else mask
        before, after, x, f = self.as_state(initial_state, ops.shape(inputs)[0]), [], inputs, None
        for i, (cell, own) in enumerate(self._by_layer(before)):

            def step(projected, state, cell=cell):
                state = cell.advance(projected, state)
                return state[0], state

            f = self.project(self.between(x, training=training) if i else x, context, f, i)
            outputs, own = over_time(step, f, own, mask, self.backward)  # (B, T, U)
            x, after = self.pass_on(outputs, x, i), after + own
        return self.masked(x, mask=mask), *after

    def step(self, projected, state, dropped=None, context=None):
        """One position through all layers: `(outputs, state)`, from what `project` returned for the first.

        `dropped` holds the factors `(N, U)` on the inputs of the layers after the first.
        """
        x, f, after = None, projected, []
        for i, (cell, own) in enumerate(self._by_layer(state)):
            if i:
                f = self.project(x if dropped is None else x * dropped[i - 1], context, f, i)
            own = cell.advance(f, own)
            x, after = self.pass_on(own[0], x, i), after + own
        return x, after
