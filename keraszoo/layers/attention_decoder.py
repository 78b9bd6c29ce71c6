"""A recurrent decoder that attends to a memory before each step (Bahdanau et al., 2015, section 3.1)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, require, require_shapes, shapes_fit
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import Masked
from keraszoo.layers.recurrent_cell import RecurrentCell
from keraszoo.layers.time_loop import over_time


class AttendingDecoder(KernelOptions):
    """Base of the recurrent decoders that attend to a memory.

    `call` runs `advance` over all positions, and `step` runs it once. A subclass writes `initial_state`,
    `project`, which reads the inputs, and `advance`, the rest of a step.

    Args:
        attention: an `Attention` layer whose weights have the shape `(B, T, S)`.
        kernel_initializer and others: as for `KernelOptions`, of all kernels but those of the attention.

    Call arguments:
        inputs: `(B, T, E)`, the embedded words before each position.
        memory: `(B, S, D)`.
        initial_state: the state that a recurrent layer returns, or of one layer s, `(B, U)`; `None`: zeros.
        inputs_mask, memory_mask: bool `(B, T)` and `(B, S)`, `True` = a word; filled in by Keras. Padding of
            the inputs keeps the state.

    Raises:
        ValueError: if an argument is unknown or out of range, or an input does not fit.
    """

    def __init__(self, attention, **kwargs):
        super().__init__(**kwargs)
        fits = getattr(attention, "scores_rank", None) == 3
        require(fits, "attention must have weights (B, T, S)", attention=type(attention).__name__)
        self.supports_masking = True
        self.attention = attention
        if not self.trainable:
            attention.trainable = False
        self.masked = Masked(name="masked")

    def check_inputs(self, inputs, memory):
        fits = shapes_fit(inputs.shape, (memory.shape[0], None, None)) and len(memory.shape) == 3
        shapes = {"inputs": tuple(inputs.shape), "memory": tuple(memory.shape)}
        require_shapes(fits, "inputs and memory must be (batch, length, width), of one batch size", **shapes)

    def prepare(self, memory):
        """What the attention computes from the memory alone, once per sentence: nested tensors `(B, ...)`."""
        return self.attention.prepare(memory)

    def attend(self, queries, read, prepared, memory_mask):
        """Context `(N, D)` and attention weights `(N, S)` of queries `(N, U)`."""
        kept = read.get("kept")
        context, weights = self.attention(
            ops.reshape(queries, (ops.shape(prepared[1])[0], -1, queries.shape[-1])),
            prepared=prepared,
            value_mask=memory_mask,
            positions=ops.reshape(read["position"], (1,)),
            kept=None if kept is None else kept[:, None],
        )
        rows = (ops.reshape(x, (-1, *ops.shape(x)[2:])) for x in (context, weights))
        return tuple(ops.cast(x, self.compute_dtype) for x in rows)

    def step(self, inputs, state, prepared, position, memory_mask=None):
        """One position of every row.

        Args:
            inputs: `(N, E)`. The N / B rows of a sentence follow each other and share its memory.
            state: what `initial_state` or the last step returned.
            prepared: what `prepare` returned.
            position: scalar int, how many positions came before.
            memory_mask: bool `(B, S)`.

        Returns:
            `(outputs, attention_weights, state)`: `(N, ...)`, `(N, S)` and the next state.
        """
        read = {"projected": self.project(inputs), "position": position}
        return self.advance(read, state, prepared, memory_mask)

    def draw(self, inputs, memory):
        """The dropout of all positions: a dict of factors, nested tensors `(B, T, ...)`."""
        if not self.attention.dropout:
            return {}
        weights = ops.ones((*ops.shape(inputs)[:2], ops.shape(memory)[1]), dtype=self.compute_dtype)
        return {"kept": self.attention.weight_dropout(weights, training=True)}

    def call(self, inputs, memory, initial_state=None, inputs_mask=None, memory_mask=None, training=None):
        self.check_inputs(inputs, memory)
        prepared = self.prepare(memory)
        positions = ops.arange(ops.shape(inputs)[1], dtype="int32")[None, :, None]
        read = {"projected": self.project(inputs), "position": positions}
        read |= self.draw(inputs, memory) if training else {}

        def step(read, state):
            outputs, weights, state = self.advance(read, state, prepared, memory_mask)
            return (outputs, weights), state

        state = self.initial_state(initial_state, ops.shape(inputs)[0])
        (outputs, weights), _ = over_time(step, read, state, inputs_mask)
        return self.masked(outputs, mask=inputs_mask), weights


@keras.saving.register_keras_serializable(package="keraszoo")
class AttentionDecoder(AttendingDecoder):
    """A recurrent net that reads a context of its own at every step.

        c_i = attention(s_{i-1}, memory)        s_i = f(s_{i-1}, y_{i-1}, c_i)        (section 3.1, A.1.2)

    or, with `context="current"`, where the context is for what reads the outputs:

        s_i = f(s_{i-1}, y_{i-1})               c_i = attention(s_i, memory)

    f is a GRU as in the paper, an LSTM or a plain tanh, with matrices W of y (in `cell`), U of s (in `cell`)
    and C of c (`C`), for each gate. W y is computed for all positions at once, before the loop.

    Args:
        attention: an `Attention` layer whose weights have the shape `(B, T, S)`.
        units: U, the width of s.
        cell: a kind of `RecurrentCell`.
        context: whose state is the query: of the `"previous"` step, or of the `"current"` one.
        kernel_initializer and others: as for `KernelOptions`, of `C` and the cell.

    Call arguments, Raises: as for `AttendingDecoder`.

    Returns:
        `(outputs, attention_weights)`: [s_i ; c_i], `(B, T, U + D)`, and `(B, T, S)`.

    Example:

    >>> from keraszoo.layers.bahdanau_attention import BahdanauAttention
    >>> decoder = AttentionDecoder(BahdanauAttention(units=3), units=4)
    >>> outputs, attention_weights = decoder(ops.ones((1, 2, 5)), ops.ones((1, 6, 7)))
    >>> tuple(outputs.shape), tuple(attention_weights.shape)
    ((1, 2, 11), (1, 2, 6))

    Reference: Bahdanau, Cho, Bengio, 2015, https://arxiv.org/abs/1409.0473.
    """

    def __init__(self, attention, units, cell="gru", context="previous", **kwargs):
        super().__init__(attention, **kwargs)
        check_choices(("previous", "current"), context=context)
        self.context = context
        self.cell = RecurrentCell(units, cell, **self.inherited(), name="cell")
        self.units = self.cell.units
        self.C = self.dense(self.cell.width, "C") if context == "previous" else None

    def build(self, inputs_shape, memory_shape, initial_state_shape=None):
        if not self.attention.built:  # a saved one comes with its weights
            self.attention.build((None, None, self.units), memory_shape)
        self.cell.build((inputs_shape[0], inputs_shape[-1]))
        if self.C is not None:
            self.C.build(memory_shape)

    def initial_state(self, given=None, rows=None):
        """The cell's state with s_0 = `given`, `(B, U)`: a list of tensors; c_0 of an LSTM is zero."""
        return self.cell.as_state(given, rows)

    def project(self, inputs):
        return self.cell.project(inputs)

    def advance(self, read, state, prepared, memory_mask):
        before = self.C is not None  # whether the context comes before the step
        after = state if before else self.cell.advance(read["projected"], state)
        context, weights = self.attend(after[0], read, prepared, memory_mask)  # (N, D), (N, S)
        if before:
            after = self.cell.advance(read["projected"] + self.C(context), state)
        return ops.concatenate([after[0], context], axis=-1), weights, after

    def get_config(self):
        return {**super().get_config(), "cell": self.cell.cell}
