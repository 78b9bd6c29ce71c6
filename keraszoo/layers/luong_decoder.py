"""A recurrent decoder that attends to a memory after each step (Luong, Pham and Manning, 2015, section 3)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes
from keraszoo.layers.attention_decoder import AttendingDecoder
from keraszoo.layers.linear import linear
from keraszoo.layers.recurrent_stack import RecurrentStack


@keras.saving.register_keras_serializable(package="keraszoo")
class LuongDecoder(AttendingDecoder):
    """A stack of recurrent layers whose last state attends to the memory: state and context give the readout.

        h_t = stack(y_{t-1}, h_{t-1})             or, with input feeding, stack([y_{t-1}; h~_{t-1}], h_{t-1})
        c_t = attention(h_t, memory)
        h~_t = tanh(W_c [c_t; h_t])               (eq. 5), W_c -> `W_c`; h~_t is the readout, h~_0 = 0

    Input feeding (section 3.3) tells the stack where it has looked, at the price of a loop over everything.
    Without it the recurrence does not depend on the attention: the stack runs over the whole sentence, and
    then all its states attend at once.

    In training with dropout and input feeding the units dropped between layers are the same at all positions.

    Shapes: B batch, T target, S source, D width of the memory, E width of the inputs, U `units`, R
    `readout_dim`.

    Args:
        attention: an `Attention` layer whose weights have the shape `(B, T, S)`.
        units: U, of each layer.
        cell: a kind of `RecurrentCell`.
        num_layers: how many layers.
        readout_dim: R; `None`: U.
        input_feeding: feed the readout to the next step.
        dropout: share of the inputs of each layer after the first that is dropped in training.

    Call arguments:
        inputs: `(B, T, E)`, embeddings of y_{t-1}.
        memory: `(B, S, D)`.
        initial_state: list of the layers' states, as a `RecurrentStack` returns it; for a single layer also
            its state alone, as a Keras RNN layer returns it; `None`: zeros.
        inputs_mask: not used; Keras fills it in.
        memory_mask: bool `(B, S)`, `True` = a word.

    Returns:
        `(outputs, attention_weights)`, as `AttentionDecoder` does: the readouts h~_t, `(B, T, R)`,
        in (-1, 1), and `(B, T, S)`.

    Raises:
        ValueError: if `cell` is unknown, or a size is not a positive integer.

    Example:

    >>> import numpy as np
    >>> from keraszoo.layers.luong_attention import LuongAttention
    >>> decoder = LuongDecoder(LuongAttention("general"), units=4, num_layers=2)
    >>> outputs, attention_weights = decoder(np.ones((1, 2, 5)), np.ones((1, 6, 7)))
    >>> tuple(outputs.shape), tuple(attention_weights.shape)
    ((1, 2, 4), (1, 2, 6))

    Reference: Luong, Pham, Manning: Effective Approaches to Attention-based Neural Machine Translation, 2015,
    https://arxiv.org/abs/1508.04025.
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
        self.units = units
        self.readout_width = readout_dim or units
        self.input_feeding = input_feeding
        self.stack = RecurrentStack(units, cell, num_layers, dropout, dtype=self.dtype_policy, name="stack")

    def build(self, inputs_shape, memory_shape, initial_state_shape=None):
        if not self.attention.built:  # a saved one comes with its weights
            self.attention.build((inputs_shape[0], None, self.units), memory_shape)
        self.stack.build(inputs_shape)

        def matrix(name, inputs, outputs):
            return self.add_weight(name=name, shape=(inputs, outputs), initializer="glorot_uniform")

        self.W_c = matrix("W_c", memory_shape[-1] + self.units, self.readout_width)
        self.C = matrix("C", self.readout_width, self.stack.cells[0].width) if self.input_feeding else None

    def initial_state(self, layers):
        """The state before the first step, from a list of the layers' states; h~_0 = 0."""
        if not self.input_feeding:
            return {"layers": layers}
        rows = ops.shape(layers[0][0])[0]
        fed = ops.zeros((rows, self.readout_width), dtype=layers[0][0].dtype)
        return {"layers": layers, "fed": fed}

    def output_width(self, memory_width):
        return self.readout_width

    def project(self, inputs):
        return self.stack.cells[0].project(inputs)

    def advance(self, projected, state, memory, memory_mask, position, kept=None, dropped=None):
        if self.input_feeding:
            projected = projected + linear(state["fed"], self.C)
        hidden, layers = self.stack.step(projected, state["layers"], dropped)  # (N, U)
        context, weights = self.attend(hidden, memory, memory_mask, position, kept)
        readout = self._read(context, hidden)  # (N, R)
        after = {"layers": layers, "fed": readout} if self.input_feeding else {"layers": layers}
        return readout, weights, after

    def _read(self, context, hidden):
        return ops.tanh(linear(ops.concatenate([context, hidden], axis=-1), self.W_c))

    def call(self, inputs, memory, initial_state=None, inputs_mask=None, memory_mask=None, training=None):
        self.check_inputs(inputs, memory, memory_mask)
        prepared = self.prepare(memory)
        if not self.input_feeding:
            # `call`: Keras would pass the mask of the inputs, and a step has none
            hidden, _ = self.stack.call(inputs, initial_state, training=training)  # (B, T, U)
            context, weights = self.attention(
                hidden, prepared=prepared, value_mask=memory_mask, training=training
            )
            return self._read(context, hidden), weights

        initial_state = self.stack.as_state(initial_state, ops.shape(inputs)[0])
        dropped = None
        if training and self.stack.dropout:  # drawn before the loop, in which JAX would draw the same again
            whole = ops.ones_like(initial_state[0][0])
            dropped = [self.stack.between(whole, training=True) for _ in self.stack.cells[1:]]

        state = self.initial_state(initial_state)
        width = self.readout_width
        return self.steps(inputs, state, width, prepared, memory_mask, training, dropped=dropped)
