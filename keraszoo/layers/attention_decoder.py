"""A recurrent decoder that looks at a memory before each step (Bahdanau et al., 2015, section 3.1)."""

import keras
from keras import ops

from keraszoo.layers.recurrent_encoder import check_cell


class _AttentionCell(keras.layers.Layer):
    """One step of the decoder in the form that `keras.layers.RNN` loops over: the memory travels in the
    state, unchanged.
    """

    def __init__(self, attention, units, cell, **kwargs):
        super().__init__(**kwargs)
        self.attention = attention
        self.units = units
        self.cell = (
            keras.layers.GRUCell(units, reset_after=False, dtype=self.dtype_policy, name="cell")
            if cell == "gru"
            else keras.layers.LSTMCell(units, dtype=self.dtype_policy, name="cell")
        )
        self.num_states = 1 if cell == "gru" else 2
        self.state_size = [units] * self.num_states + [(None, None), (None, None), (None,)]

    def build(self, inputs_shape, memory_shape):
        if not self.attention.built:  # a saved one comes with its weights
            self.attention.build((inputs_shape[0], None, self.units), memory_shape)
        self.cell.build((inputs_shape[0], inputs_shape[-1] + memory_shape[-1]))
        self.output_size = 2 * self.units + memory_shape[-1]

    def step(self, inputs, state, memory, memory_mask=None, training=None):
        keys, values = memory
        query = ops.reshape(state[0], (ops.shape(values)[0], -1, self.units))  # (B, N / B, U)
        context, weights = self.attention.attend(query, keys, values, memory_mask, training=training)
        context = ops.reshape(context, (-1, values.shape[-1]))  # (N, D)
        weights = ops.reshape(weights, (-1, ops.shape(values)[1]))  # (N, S)
        _, state = self.cell(ops.concatenate([inputs, context], axis=-1), state, training=training)
        return context, weights, state

    def call(self, inputs, states, training=None):
        state, (keys, values, mask) = states[: self.num_states], states[self.num_states :]
        context, _, after = self.step(inputs, state, (keys, values), mask, training=training)
        return ops.concatenate([state[0], after[0], context], axis=-1), [*after, keys, values, mask]


@keras.saving.register_keras_serializable(package="keraszoo")
class AttentionDecoder(keras.layers.Layer):
    """A recurrent net whose every step reads a context of its own.

        c_i = attention(s_{i-1}, memory)        s_i = f(s_{i-1}, y_{i-1}, c_i)        (section 3.1, A.1.2)

    f is a GRU as in the paper (the context enters both gates and the candidate, by reading `[y_{i-1}; c_i]`)
    or an LSTM. The
    layer owns its cell: `step` is one position, `call` runs the same step over all positions.

    Shapes: B batch, T target, S source, D width of the memory, E width of the inputs, U `units`.

    Args:
        attention: an `Attention` layer whose weights have the shape `(B, T, S)`.
        units: U, the width of s.
        cell: `"gru"` or `"lstm"`.

    Call arguments:
        inputs: `(B, T, E)`, embeddings of y_{i-1}.
        memory: `(B, S, D)`.
        initial_state: what `initial_state` returned.
        memory_mask: bool `(B, S)`, `True` = a word.

    Returns:
        `(queries, states, contexts)`: s_{i-1} and s_i, `(B, T, U)`, and c_i, `(B, T, D)`.

    Raises:
        ValueError: if `cell` is unknown.

    Example:

    >>> import numpy as np
    >>> from keraszoo.layers.bahdanau_attention import BahdanauAttention
    >>> decoder = AttentionDecoder(BahdanauAttention(units=3), units=4)
    >>> start = decoder.initial_state(np.zeros((1, 4), "float32"))
    >>> queries, states, contexts = decoder(np.ones((1, 2, 5)), np.ones((1, 6, 7)), start)
    >>> tuple(states.shape), tuple(contexts.shape)
    ((1, 2, 4), (1, 2, 7))

    Reference: Bahdanau, Cho, Bengio: Neural Machine Translation by Jointly Learning to Align and Translate,
    2015, https://arxiv.org/abs/1409.0473.
    """

    def __init__(self, attention, units, cell="gru", **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.attention = attention
        self.units = units
        self.cell = check_cell(cell)
        self.one_step = _AttentionCell(attention, units, cell, dtype=self.dtype_policy, name="step")
        self.loop = keras.layers.RNN(
            self.one_step, return_sequences=True, dtype=self.dtype_policy, name="loop"
        )

    def build(self, inputs_shape, memory_shape, initial_state_shape=None):
        self.one_step.build(inputs_shape, memory_shape)
        self.loop.built = True  # it has no weights but those of the step

    def initial_state(self, first):
        """The cell's state with s_0 = `first`, `(B, U)`: a list of tensors; an LSTM's c_0 is zero."""
        return [first] if self.cell == "gru" else [first, ops.zeros_like(first)]

    def prepare(self, memory):
        """What the attention can know of the memory before any step: `(keys, values)`."""
        return self.attention.prepare(memory)

    def step(self, inputs, state, memory, memory_mask=None, training=None):
        """One position of every row; a sentence's rows stand side by side and share its memory.

        Args:
            inputs: `(N, E)`, N = B * rows of a sentence.
            state: the cell's, a list of `(N, U)`.
            memory: what `prepare` returned, B sentences.
            memory_mask: bool `(B, S)`.

        Returns:
            `(context, attention_weights, state)`: `(N, D)`, `(N, S)` and the cell's next state.
        """
        return self.one_step.step(inputs, state, memory, memory_mask, training=training)

    def call(self, inputs, memory, initial_state, inputs_mask=None, memory_mask=None, training=None):
        keys, values = self.prepare(memory)
        if memory_mask is None:
            memory_mask = ops.ones(ops.shape(memory)[:2], dtype="bool")
        states = [*initial_state, keys, values, ops.cast(memory_mask, self.compute_dtype)]
        outputs = self.loop(inputs, initial_state=states, training=training)  # (B, T, 2 U + D)
        return tuple(ops.split(outputs, [self.units, 2 * self.units], axis=-1))

    def get_config(self):
        own = {
            "attention": keras.saving.serialize_keras_object(self.attention),
            "units": self.units,
            "cell": self.cell,
        }
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config):
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})
