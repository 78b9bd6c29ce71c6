"""A recurrent decoder that attends to a memory before each step (Bahdanau et al., 2015, section 3.1)."""

import keras
from keras import ops

from keraszoo.layers.arguments import require, require_shapes, shapes_fit
from keraszoo.layers.configured import Configured
from keraszoo.layers.linear import linear
from keraszoo.layers.recurrent_cell import RecurrentCell
from keraszoo.layers.time_loop import over_time


class AttendingDecoder(Configured, keras.layers.Layer):
    """Base of the recurrent decoders that attend to a memory.

    `step` is one position of every row, and `call` runs the same step over all positions. Several rows
    (hypotheses) may belong to one sentence: they follow each other and share its memory. A subclass writes
    `project`, which reads the inputs, and `advance`, the rest of a step.

    The dropout of the attention is drawn by `call` for all positions, before the loop, in which JAX would
    draw the same numbers at each; `step` has none.

    Args:
        attention: an `Attention` layer whose weights have the shape `(B, T, S)`.
    """

    def __init__(self, attention, /, **kwargs):
        super().__init__(**kwargs)
        fits = getattr(attention, "scores_rank", None) == 3
        require(fits, "attention must have weights (B, T, S)", attention=type(attention).__name__)
        self.supports_masking = True
        self.attention = attention

    def check_inputs(self, inputs, memory, memory_mask=None):
        """Raises a `ValueError` if the arguments of `call` do not fit each other."""
        for name, x in (("inputs", inputs), ("memory", memory)):
            wanted = f"{name} must be (batch, length, width)"
            require_shapes(len(x.shape) == 3, wanted, **{name: tuple(x.shape)})
        shapes = {"inputs": tuple(inputs.shape), "memory": tuple(memory.shape)}
        fits = shapes_fit(shapes["inputs"][:1], shapes["memory"][:1])
        require_shapes(fits, "inputs and memory must have one batch size", **shapes)
        if memory_mask is not None:
            shapes = {"memory_mask": tuple(memory_mask.shape), "memory": shapes["memory"]}
            fits = shapes_fit(shapes["memory_mask"], shapes["memory"][:2])
            require_shapes(fits, "memory_mask must be (batch, memory length)", **shapes)

    def prepare(self, memory):
        """What the attention computes from the memory alone: `(keys, values)`, once a sentence."""
        return self.attention.prepare(memory)

    def attend(self, rows, memory, memory_mask, position, kept=None):
        """Context `(N, D)` and attention weights `(N, S)` of one query for each row, `(N, U)`.

        `kept` `(N, S)` is what dropout multiplies the weights with.
        """
        keys, values = memory
        sentences = ops.shape(values)[0]
        each = 1 if isinstance(sentences, int) and sentences == 0 else -1  # JAX cannot infer it
        queries = ops.reshape(rows, (sentences, each, rows.shape[-1]))
        context, weights = self.attention(
            queries,
            prepared=(keys, values),
            value_mask=memory_mask,
            positions=ops.reshape(position, (1,)),
            kept=None if kept is None else kept[:, None],
        )
        context = ops.cast(ops.reshape(context, (-1, values.shape[-1])), rows.dtype)
        return context, ops.cast(ops.reshape(weights, (-1, ops.shape(values)[1])), rows.dtype)

    def step(self, inputs, state, memory, position, memory_mask=None):
        """One position of every row.

        Args:
            inputs: `(N, E)`, N = B * rows of a sentence.
            state: what `initial_state` returned.
            memory: what `prepare` returned, B sentences.
            position: scalar int, how many positions came before; some kinds of attention use it.
            memory_mask: bool `(B, S)`.

        Returns:
            `(outputs, attention_weights, state)`: `(N, ...)`, `(N, S)` and the next state.
        """
        return self.advance(self.project(inputs), state, memory, memory_mask, position)

    def steps(self, inputs, state, width, memory, memory_mask, training, **others):
        """Outputs `(B, T, width)` and attention weights of all positions, by `advance`."""
        read = self.project(inputs)
        gates, drops = read.shape[-1], training and self.attention.dropout
        if drops:
            whole = ops.ones((*ops.shape(read)[:2], ops.shape(memory[1])[1]), dtype=read.dtype)
            kept = self.attention.weight_dropout(whole, training=True)  # (B, T, S)
            read = ops.concatenate([read, kept], axis=-1)

        def step(read, state):
            state, position = state
            kept = read[:, gates:] if drops else None
            outputs, weights, after = self.advance(
                read[:, :gates], state, memory, memory_mask, position, kept, **others
            )
            return ops.concatenate([outputs, weights], axis=-1), [after, position + 1]

        both, _ = over_time(step, read, [state, ops.zeros((), dtype="int32")])
        outputs = ops.reshape(both[..., :width], (*ops.shape(both)[:2], width))  # keeps the width in graphs
        return outputs, both[..., width:]

    def output_width(self, memory_width):
        """The width of the outputs over a memory of a width."""
        raise TypeError(f"{type(self).__name__} is abstract: a decoder supplies output_width.")

    def compute_output_shape(self, inputs_shape, memory_shape, initial_state_shape=None):
        outputs = (*inputs_shape[:-1], self.output_width(memory_shape[-1]))
        return outputs, (*inputs_shape[:-1], memory_shape[1])

    def compute_output_spec(self, *args, **kwargs):
        return keras.Operation.compute_output_spec(self, *args, **kwargs)  # `call` checks its inputs

    def get_config(self):
        return {**super().get_config(), "attention": keras.saving.serialize_keras_object(self.attention)}

    @classmethod
    def from_config(cls, config):
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})


@keras.saving.register_keras_serializable(package="keraszoo")
class AttentionDecoder(AttendingDecoder):
    """A recurrent net that reads a context of its own at every step.

        c_i = attention(s_{i-1}, memory)        s_i = f(s_{i-1}, y_{i-1}, c_i)        (section 3.1, A.1.2)

    f is a GRU as in the paper, an LSTM or a plain tanh, with matrices W of y (in `cell`), U of s (in `cell`)
    and C of c, for each gate. W y is computed for all positions at once, before the loop.

    Shapes: B batch, T target, S source, D width of the memory, E width of the inputs, U `units`.

    Args:
        attention: an `Attention` layer whose weights have the shape `(B, T, S)`.
        units: U, the width of s.
        cell: a kind of `RecurrentCell`.

    Call arguments:
        inputs: `(B, T, E)`, embeddings of y_{i-1}.
        memory: `(B, S, D)`.
        initial_state: s_0 `(B, U)`, or the list of states that a Keras RNN layer returns: `[s_0]`, or
            `[s_0, c_0]` for an LSTM; `None`: zeros.
        inputs_mask: not used; Keras fills it in.
        memory_mask: bool `(B, S)`, `True` = a word.

    Returns:
        `(outputs, attention_weights)`, as `LuongDecoder` does: [s_i ; c_i], `(B, T, U + D)`, and `(B, T, S)`.

    Raises:
        ValueError: if `cell` is unknown, or the attention or the state does not fit.

    Example:

    >>> import numpy as np
    >>> from keraszoo.layers.bahdanau_attention import BahdanauAttention
    >>> decoder = AttentionDecoder(BahdanauAttention(units=3), units=4)
    >>> outputs, attention_weights = decoder(np.ones((1, 2, 5)), np.ones((1, 6, 7)))
    >>> tuple(outputs.shape), tuple(attention_weights.shape)
    ((1, 2, 11), (1, 2, 6))

    Reference: Bahdanau, Cho, Bengio: Neural Machine Translation by Jointly Learning to Align and Translate,
    2015, https://arxiv.org/abs/1409.0473.
    """

    def __init__(self, attention, units, cell="gru", **kwargs):
        super().__init__(attention, **kwargs)
        self.units = units
        self.cell = RecurrentCell(units, cell, dtype=self.dtype_policy, name="cell")

    def build(self, inputs_shape, memory_shape, initial_state_shape=None):
        if not self.attention.built:  # a saved one comes with its weights
            self.attention.build((inputs_shape[0], None, self.units), memory_shape)
        self.cell.build((inputs_shape[0], inputs_shape[-1]))
        shape = (memory_shape[-1], self.cell.width)
        self.C = self.add_weight(name="C", shape=shape, initializer="glorot_uniform")

    def initial_state(self, first):
        """The cell's state with s_0 = `first`, `(B, U)`: a list of tensors; c_0 of an LSTM is zero."""
        return self.cell.first_state(first)

    def output_width(self, memory_width):
        return self.units + memory_width

    def project(self, inputs):
        return self.cell.project(inputs)

    def advance(self, projected, state, memory, memory_mask, position, kept=None):
        context, weights = self.attend(state[0], memory, memory_mask, position, kept)
        after = self.cell.advance(projected + linear(context, self.C), state)
        return ops.concatenate([after[0], context], axis=-1), weights, after

    def call(self, inputs, memory, initial_state=None, inputs_mask=None, memory_mask=None, training=None):
        self.check_inputs(inputs, memory, memory_mask)
        state = self.cell.as_state(initial_state, ops.shape(inputs)[0])
        width = self.output_width(memory.shape[-1])
        return self.steps(inputs, state, width, self.prepare(memory), memory_mask, training)
