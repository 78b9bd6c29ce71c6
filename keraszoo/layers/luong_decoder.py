"""A recurrent decoder that attends to a memory after each step (Luong, Pham and Manning, 2015, section 3)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes
from keraszoo.layers.attention_decoder import AttendingDecoder
from keraszoo.layers.recurrent_stack import RecurrentStack


@keras.saving.register_keras_serializable(package="keraszoo")
class LuongDecoder(AttendingDecoder):
    """A stack of recurrent layers whose last state attends to the memory: state and context give the readout.

        h_t = stack(y_{t-1}, h_{t-1})             or, with input feeding, stack([y_{t-1}; h~_{t-1}], h_{t-1})
        c_t = attention(h_t, memory)
        h~_t = tanh(W_c [c_t; h_t])               (eq. 5), W_c -> `W_c`; h~_t is the readout, h~_0 = 0

    Without input feeding (section 3.3) the stack runs over the whole sentence, and then all its states attend
    at once; with it, training runs the decoder step by step.

    Args:
        attention, kernel_initializer and others: as for `AttendingDecoder`.
        units, cell, num_layers, dropout: as for `RecurrentStack`.
        readout_dim: R; `None`: U.
        input_feeding: feed the readout to the next step.

    Call arguments, Raises: as for `AttendingDecoder`.

    Returns:
        `(outputs, attention_weights)`: the readouts h~_t, `(B, T, R)`, in (-1, 1), and `(B, T, S)`.

    Example:

    >>> from keraszoo.layers.luong_attention import LuongAttention
    >>> decoder = LuongDecoder(LuongAttention("general"), units=4, num_layers=2)
    >>> outputs, attention_weights = decoder(ops.ones((1, 2, 5)), ops.ones((1, 6, 7)))
    >>> tuple(outputs.shape), tuple(attention_weights.shape)
    ((1, 2, 4), (1, 2, 6))

    Reference: Luong, Pham, Manning, 2015, https://arxiv.org/abs/1508.04025.
    """

    def __init__(
        self,
        attention,
        units,
        cell="lstm",
        num_layers=1,
        readout_dim=None,
        input_feeding=True,
        dropout=0.0,
        **kwargs,
    ):
        super().__init__(attention, **kwargs)
        check_optional_sizes(readout_dim=readout_dim)
        self.input_feeding = input_feeding
        self.stack = RecurrentStack(units, cell, num_layers, dropout, **self.inherited(), name="stack")
        self.units = self.stack.units
        self.readout_width = int(readout_dim or units)
        self.W_c = self.dense(self.readout_width, "W_c", activation="tanh")
        self.C = self.dense(self.stack.cells[0].width, "C") if input_feeding else None

    def build(self, inputs_shape, memory_shape, initial_state_shape=None):
        if not self.attention.built:  # a saved one comes with its weights
            self.attention.build((None, None, self.units), memory_shape)
        self.stack.build(inputs_shape)
        self.W_c.build((inputs_shape[0], memory_shape[-1] + self.units))
        if self.input_feeding:
            self.C.build((inputs_shape[0], self.readout_width))

    def initial_state(self, given=None, rows=None):
        """The state before the first step, from the state of the layers; h~_0 = 0."""
        layers = self.stack.as_state(given, rows)
        fed = ops.zeros((ops.shape(layers[0])[0], self.readout_width), dtype=self.compute_dtype)
        return {"layers": layers, "fed": fed}

    def project(self, inputs):
        return self.stack.project(inputs)

    def draw(self, inputs, memory):
        drawn, stack = super().draw(inputs, memory), self.stack
        if stack.dropout:
            states = ops.ones((*ops.shape(inputs)[:2], self.units), dtype=self.compute_dtype)
            drawn["dropped"] = [stack.between(states, training=True) for _ in stack.cells[1:]]
        return drawn

    def advance(self, read, state, prepared, memory_mask):
        projected = read["projected"]
        if self.input_feeding:
            projected = projected + self.C(state["fed"])
        hidden, layers = self.stack.step(projected, state["layers"], read.get("dropped"))  # (N, U)
        context, weights = self.attend(hidden, read, prepared, memory_mask)
        readout = self._read(context, hidden)  # (N, R)
        return readout, weights, {"layers": layers, "fed": readout}

    def _read(self, context, hidden):
        return self.W_c(ops.concatenate([context, hidden], axis=-1))

    def call(self, inputs, memory, initial_state=None, inputs_mask=None, memory_mask=None, training=None):
        if self.input_feeding:
            return super().call(inputs, memory, initial_state, inputs_mask, memory_mask, training)
        self.check_inputs(inputs, memory)
        hidden, *_ = self.stack(inputs, initial_state, mask=inputs_mask, training=training)  # (B, T, U)
        context, weights = self.attention(hidden, memory, value_mask=memory_mask, training=training)
        weights = ops.cast(weights, self.compute_dtype)
        return self.masked(self._read(context, hidden), mask=inputs_mask), weights

    def get_config(self):
        own = {name: getattr(self.stack, name) for name in ("cell", "num_layers", "dropout")}
        return {**super().get_config(), **own, "readout_dim": self.readout_width}
