"""Recurrent cells by their equations: Elman 1990, Cho 2014, Hochreiter and Schmidhuber 1997."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes, require, shapes_fit
from keraszoo.layers.configured import Configured
from keraszoo.layers.linear import linear

GATES = {"rnn": 1, "gru": 3, "gru_reset_after": 3, "lstm": 4}


@keras.saving.register_keras_serializable(package="keraszoo")
class RecurrentCell(Configured, keras.layers.Layer):
    """One step of a recurrent net: computes the next state from an input x_t and the state before it.

        rnn               s_t = tanh(W x_t + U s_{t-1} + b)                       (Elman, 1990)
        gru               z_t = sigma(W_z x_t + U_z s_{t-1} + b_z)                update gate
                          r_t = sigma(W_r x_t + U_r s_{t-1} + b_r)                reset gate
                          s~_t = tanh(W_s x_t + U_s (r_t * s_{t-1}) + b_s)
                          s_t = z_t * s_{t-1} + (1 - z_t) * s~_t                  (Cho et al., 2014, eq. 5-8)
        gru_reset_after   s~_t = tanh(W_s x_t + b_s + r_t * (U_s s_{t-1} + b'_s)), the rest as above
        lstm              i_t, f_t, o_t = sigma(W x_t + U s_{t-1} + b)            input, forget, output gate
                          c_t = f_t * c_{t-1} + i_t * tanh(W_c x_t + U_c s_{t-1} + b_c)
                          s_t = o_t * tanh(c_t)

    The matrices of all gates are columns of `W` and `U`, in Keras' order: z, r, s~ or i, f, c, o. With these
    weights a layer of Keras gives the same numbers:

        rnn               SimpleRNN(units)                    [W, U, b]
        gru               GRU(units, reset_after=False)       [W, [U U_s], b]
        gru_reset_after   GRU(units)                          [W, U, [b, b_after]]
        lstm              LSTM(units)                         [W, U, b]

    The cells are our own for three reasons. A decoder can step with them and add a context inside the gates.
    `project` computes the products `W x_t + b` of all positions at once, before the loop; `advance` does the
    rest of a step. And the cuDNN kernels of Keras do not compile under XLA, fail on rows of padding and make
    an exported graph depend on a GPU.

    For a whole sequence take `RecurrentStack`: this is no cell of `keras.layers.RNN`.

    Departure from the papers: biases. The bias of the forget gate is 1 at first.

    Shapes: N rows, E width of the inputs, U `units`, G gates.

    Args:
        units: U.
        cell: `"rnn"`, `"gru"`, `"gru_reset_after"` or `"lstm"`.

    Call arguments:
        inputs: `(N, E)`.
        state: list of `(N, U)`: s, and for an LSTM s and c.

    Returns:
        The next state, a list like `state`.

    Raises:
        ValueError: if `cell` is unknown, or `units` is not a positive integer.

    Example:

    >>> import numpy as np
    >>> cell = RecurrentCell(units=3, cell="lstm")
    >>> s, c = cell(np.ones((2, 4), "float32"), cell.first_state(np.zeros((2, 3), "float32")))
    >>> tuple(s.shape)
    (2, 3)

    Reference: Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
    Translation, 2014, https://arxiv.org/abs/1406.1078.
    """

    def __init__(self, units, cell="gru", **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units)
        check_choices(tuple(sorted(GATES)), cell=cell)
        self.units = units
        self.cell = cell
        self.width = GATES[cell] * units  # of what `project` gives
        self.num_states = 2 if cell == "lstm" else 1

    def build(self, inputs_shape, state_shape=None):
        units, width = self.units, self.width
        self.W = self.add_weight(name="W", shape=(inputs_shape[-1], width), initializer="glorot_uniform")
        recurrent = 2 * units if self.cell == "gru" else width
        self.U = self.add_weight(name="U", shape=(units, recurrent), initializer="orthogonal")
        self.U_s = (
            self.add_weight(name="U_s", shape=(units, units), initializer="orthogonal")
            if self.cell == "gru"
            else None
        )
        self.b = self.add_weight(name="b", shape=(width,), initializer=self._bias)
        self.b_after = (
            self.add_weight(name="b_after", shape=(width,), initializer="zeros")
            if self.cell == "gru_reset_after"
            else None
        )

    def _bias(self, shape, dtype=None):
        forget = ops.arange(self.width) // self.units == 1
        return ops.cast(forget if self.cell == "lstm" else ops.zeros_like(forget), dtype)

    def first_state(self, first):
        """The state with s_0 = `first`, `(N, U)`: a list of tensors; c_0 of an LSTM is zero."""
        return [first, ops.zeros_like(first)] if self.cell == "lstm" else [first]

    def as_state(self, given, rows):
        """The state of a first s `(N, U)`, or of the list that a Keras RNN layer returns; `None`: zeros.

        Raises:
            ValueError: a list of another length, or another shape.
        """
        if given is None:
            return self.zero_state(rows)
        state = list(given) if isinstance(given, (list, tuple)) else self.first_state(given)
        count, shapes = self.num_states, [tuple(part.shape) for part in state]
        rows = rows if isinstance(rows, int) else None
        fits = len(state) == count and all(shapes_fit(shape, (rows, self.units)) for shape in shapes)
        wanted = f"the state must be a list of {count} x ({rows or 'batch'}, {self.units})"
        require(fits, wanted, shapes=shapes)
        return state

    def zero_state(self, rows):
        """The state of zeros of so many rows."""
        return self.first_state(ops.zeros((rows, self.units), dtype=self.compute_dtype))

    def project(self, inputs):
        """`W x + b` of any number of positions: `(..., E)` to `(..., G U)`."""
        return linear(inputs, self.W, self.b)

    def advance(self, projected, state, added=None):
        """One step from what `project` made of the input.

        Args:
            projected: `(N, G U)`.
            state: list of `(N, U)`.
            added: `(N, G U)` or `None`: added to U s_{t-1}, for `gru_reset_after` inside the reset gate.

        Returns:
            The next state, a list like `state`.
        """
        s, units = state[0], self.units
        if self.cell == "gru":
            projected = projected if added is None else projected + added
            gates = ops.sigmoid(projected[:, : 2 * units] + linear(s, self.U))
            z, r = gates[:, :units], gates[:, units:]
            candidate = ops.tanh(projected[:, 2 * units :] + linear(r * s, self.U_s))
            return [z * s + (1 - z) * candidate]

        recurrent = linear(s, self.U, self.b_after)
        recurrent = recurrent if added is None else recurrent + added
        if self.cell == "rnn":
            return [ops.tanh(projected + recurrent)]
        if self.cell == "gru_reset_after":
            gates = ops.sigmoid(projected[:, : 2 * units] + recurrent[:, : 2 * units])
            z, r = gates[:, :units], gates[:, units:]
            candidate = ops.tanh(projected[:, 2 * units :] + r * recurrent[:, 2 * units :])
            return [z * s + (1 - z) * candidate]
        i, f, candidate, o = ops.split(projected + recurrent, 4, axis=-1)
        c = ops.sigmoid(f) * state[1] + ops.sigmoid(i) * ops.tanh(candidate)
        return [ops.sigmoid(o) * ops.tanh(c), c]

    def call(self, inputs, state):
        return self.advance(self.project(inputs), state)
