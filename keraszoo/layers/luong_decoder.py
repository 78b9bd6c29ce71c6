"""A recurrent decoder that looks at a memory after each step (Luong, Pham and Manning, 2015, section 3)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes
from keraszoo.layers.beams import by_sentence
from keraszoo.layers.linear import linear
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.layers.time_loop import over_time


@keras.saving.register_keras_serializable(package="keraszoo")
class LuongDecoder(keras.layers.Layer):
    """A stack of recurrent layers whose last state asks the memory for a context; both make up the readout.

        h_t = stack(y_{t-1}, h_{t-1})             or, with input feeding, stack([y_{t-1}; h~_{t-1}], h_{t-1})
        c_t = attention(h_t, memory)
        h~_t = tanh(W_c [c_t; h_t])               (eq. 5), W_c -> `W_c`; h~_t is the readout, h~_0 = 0

    Input feeding (section 3.3) tells the stack where it has looked; its price is a loop over everything.
    Without it the recurrence knows nothing of the attention: the stack runs over the whole sentence first,
    and all its states then ask at once.

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
        initial_state: list of the layers' states, as a `RecurrentStack` returns it; `None`: zeros.
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
        super().__init__(**kwargs)
        check_optional_sizes(readout_dim=readout_dim)
        self.supports_masking = True
        self.attention = attention
        self.units = units
        self.readout_dim = readout_dim
        self.input_feeding = input_feeding
        self.stack = RecurrentStack(units, cell, num_layers, dropout, dtype=self.dtype_policy, name="stack")

    def build(self, inputs_shape, memory_shape, initial_state_shape=None):
        if not self.attention.built:  # a saved one comes with its weights
            self.attention.build((inputs_shape[0], None, self.units), memory_shape)
        self.stack.build(inputs_shape)
        readout = self.readout_dim or self.units

        def matrix(name, inputs, outputs):
            return self.add_weight(name=name, shape=(inputs, outputs), initializer="glorot_uniform")

        self.W_c = matrix("W_c", memory_shape[-1] + self.units, readout)
        self.C = matrix("C", readout, self.stack.cells[0].width) if self.input_feeding else None

    def initial_state(self, layers):
        """The state before the first step, from a list of the layers' states; h~_0 = 0."""
        if not self.input_feeding:
            return {"layers": layers}
        rows = ops.shape(layers[0][0])[0]
        fed = ops.zeros((rows, self.readout_dim or self.units), dtype=layers[0][0].dtype)
        return {"layers": layers, "fed": fed}

    def prepare(self, memory):
        """What the attention can know of the memory before any step: `(keys, values)`."""
        return self.attention.prepare(memory)

    def step(self, inputs, state, memory, position, memory_mask=None, training=None):
        """One position of every row; a sentence's rows stand side by side and share its memory.

        Args:
            inputs: `(N, E)`, N = B * rows of a sentence.
            state: what `initial_state` returned.
            memory: what `prepare` returned, B sentences.
            position: scalar int, how many positions came before, which an attention may want to know.
            memory_mask: bool `(B, S)`.

        Returns:
            `(outputs, attention_weights, state)`: the readouts `(N, R)`, `(N, S)` and the next state.
        """
        projected = self.stack.cells[0].project(inputs)
        return self._step(projected, state, memory, memory_mask, position, training)

    def _step(self, projected, state, memory, memory_mask, position, training, dropped=None):
        if self.input_feeding:
            projected = projected + linear(state["fed"], self.C)
        hidden, layers = self.stack.step(projected, state["layers"], dropped)  # (N, U)
        query = by_sentence(hidden, memory[1], self.units)
        positions = ops.reshape(position, (1,))
        readout, weights = self._read(query, memory, memory_mask, positions, training)
        readout = ops.reshape(readout, (-1, readout.shape[-1]))  # (N, R)
        weights = ops.reshape(weights, (-1, ops.shape(memory[1])[1]))  # (N, S)
        after = {"layers": layers, "fed": readout} if self.input_feeding else {"layers": layers}
        return readout, weights, after

    def _read(self, hidden, memory, memory_mask, positions, training):
        """Readouts `(B, T, R)` and attention weights `(B, T, S)` of the last layer's states."""
        context, weights = self.attention.attend(
            hidden, *memory, value_mask=memory_mask, training=training, positions=positions
        )
        return ops.tanh(linear(ops.concatenate([context, hidden], axis=-1), self.W_c)), weights

    def call(self, inputs, memory, initial_state=None, inputs_mask=None, memory_mask=None, training=None):
        prepared = self.prepare(memory)
        if initial_state is None:
            initial_state = self.stack.zero_state(ops.shape(inputs)[0])
        if not self.input_feeding:
            hidden, _ = self.stack(inputs, initial_state, training=training)  # (B, T, U)
            return self._read(hidden, prepared, memory_mask, None, training)

        dropped = None
        if training and self.stack.dropout:  # drawn before the loop, in which JAX would draw the same again
            whole = ops.ones_like(initial_state[0][0])
            dropped = [self.stack.between(whole, training=True) for _ in self.stack.cells[1:]]

        def step(projected, state):
            state, position = state
            readout, weights, after = self._step(
                projected, state, prepared, memory_mask, position, training, dropped
            )
            return ops.concatenate([readout, weights], axis=-1), [after, position + 1]

        start = [self.initial_state(initial_state), ops.zeros((), dtype="int32")]
        outputs, _ = over_time(step, self.stack.cells[0].project(inputs), start)  # (B, T, R + S)
        width = self.readout_dim or self.units
        return outputs[..., :width], outputs[..., width:]

    def get_config(self):
        own = {
            "attention": keras.saving.serialize_keras_object(self.attention),
            "units": self.units,
            "cell": self.stack.cell,
            "num_layers": self.stack.num_layers,
            "readout_dim": self.readout_dim,
            "input_feeding": self.input_feeding,
            "dropout": self.stack.dropout,
        }
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config):
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})
