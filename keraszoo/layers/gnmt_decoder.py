"""A recurrent decoder whose first layer attends for all of its layers (Wu et al., 2016, section 3)."""

import keras
from keras import ops

from keraszoo.layers.arguments import require
from keraszoo.layers.attention_decoder import AttentionDecoder
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import Masked
from keraszoo.layers.mixture_of_experts import MixtureOfExperts
from keraszoo.layers.recurrent_stack import RecurrentStack


@keras.saving.register_keras_serializable(package="keraszoo")
class GNMTDecoder(KernelOptions):
    """A stack of recurrent layers that all read the context of the first one.

        c_i = attention(s^1_{i-1}, memory)        s^1_i = f(s^1_{i-1}, y_{i-1}, c_i)         `first`
        s^l_i = f(s^l_{i-1}, [x^{l-1}_i; c_i])    x^l_i = s^l_i + x^{l-1}_i for l > 2         `stack`

    with x^2 = s^2, and x^1 = s^1 or, with a mixture of experts, s^1 + MoE(s^1). With `context="current"` the
    query is s^1_i, and the first layer reads no context. Only the first layer waits for the attention; the
    others run over a whole sentence at once.

    Args:
        attention: an `Attention` layer whose weights have the shape `(B, T, S)`.
        units, cell, dropout, connections: as for `RecurrentStack`.
        num_layers: L, at least 2.
        context: as for `AttentionDecoder`.
        num_experts, experts_per_token, intermediate_dim: of a `MixtureOfExperts` between the first layer and
            the second; `None` of the first: none, and of the last: 4 U.
        kernel_initializer and others: as for `KernelOptions`, of all kernels but those of the attention.

    Call arguments: as for `AttentionDecoder`; `initial_state` has the states of all layers, as
        `RecurrentStack` returns them.

    Returns:
        `(outputs, attention_weights)`: x^L, `(B, T, U)`, and `(B, T, S)`.

    Raises:
        ValueError: if there are fewer than two layers, and as for `AttentionDecoder` and `RecurrentStack`.

    Example:

    >>> from keraszoo.layers.bahdanau_attention import BahdanauAttention
    >>> decoder = GNMTDecoder(BahdanauAttention(units=3), units=4, num_layers=3)
    >>> outputs, attention_weights = decoder(ops.ones((1, 2, 5)), ops.ones((1, 6, 7)))
    >>> tuple(outputs.shape), tuple(attention_weights.shape)
    ((1, 2, 4), (1, 2, 6))

    Reference: Wu et al.: Google's Neural Machine Translation System, 2016, https://arxiv.org/abs/1609.08144.
    """

    def __init__(
        self,
        attention,
        units,
        cell="lstm",
        num_layers=2,
        dropout=0.0,
        context="previous",
        connections="residual",
        num_experts=None,
        experts_per_token=2,
        intermediate_dim=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        require(num_layers > 1, "GNMTDecoder has at least two layers", num_layers=num_layers)
        self.supports_masking = True
        self.num_layers = int(num_layers)
        options = self.inherited()
        self.first = AttentionDecoder(attention, units, cell, context, **options, name="first")
        self.stack = RecurrentStack(
            units, cell, num_layers - 1, dropout, connections=connections, **options, name="stack"
        )
        self.masked = Masked(name="masked")
        self.intermediate_dim = intermediate_dim or 4 * self.stack.units
        self.experts = None
        if num_experts is not None:
            sizes = num_experts, self.intermediate_dim, experts_per_token
            self.experts = MixtureOfExperts(*sizes, dropout=dropout, **options, name="experts")

    def build(self, inputs_shape, memory_shape, initial_state_shape=None):
        self.first.build(inputs_shape, memory_shape)
        shape = (*inputs_shape[:-1], self.stack.units)
        self.stack.build(shape, context_shape=memory_shape)
        if self.experts is not None:
            self.experts.build(shape)

    def initial_state(self, given=None, rows=None):
        """The states of all layers, one after the other: a list of `(N, U)`; `None`: zeros."""
        return self.first.cell.as_state(given, rows, self.num_layers)

    def prepare(self, memory):
        """What the attention computes from the memory alone, once per sentence."""
        return self.first.prepare(memory)

    def step(self, inputs, state, prepared, position, memory_mask=None):
        """One position of every row, as `AttendingDecoder.step`."""
        count = self.first.cell.num_states
        outputs, weights, own = self.first.step(inputs, state[:count], prepared, position, memory_mask)
        x, context = self._between(outputs)  # (N, U), (N, D)
        x, above = self.stack.step(self.stack.project(x, context), state[count:], context=context)
        return x, weights, [*own, *above]

    def call(self, inputs, memory, initial_state=None, inputs_mask=None, memory_mask=None, training=None):
        self.first.check_inputs(inputs, memory)
        state = self.initial_state(initial_state, ops.shape(inputs)[0])
        count, masks = self.first.cell.num_states, {"inputs_mask": inputs_mask, "memory_mask": memory_mask}
        outputs, weights = self.first(inputs, memory, state[:count], **masks, training=training)
        x, context = self._between(outputs, inputs_mask, training)  # (B, T, U), (B, T, D)
        x = self.stack.between(x, training=training)
        x, *_ = self.stack(x, state[count:], mask=inputs_mask, context=context, training=training)
        return self.masked(x, mask=inputs_mask), weights

    def _between(self, outputs, mask=None, training=None):
        """What the second layer reads: x^1 and the context."""
        x, context = ops.split(outputs, [self.first.units], axis=-1)
        return x if self.experts is None else x + self.experts(x, mask=mask, training=training), context

    def get_config(self):
        own = {name: getattr(self.stack, name) for name in ("units", "cell", "dropout", "connections")}
        own["context"] = self.first.context
        if self.experts is not None:
            own |= {name: getattr(self.experts, name) for name in ("num_experts", "experts_per_token")}
        attention = keras.saving.serialize_keras_object(self.first.attention)
        return {**super().get_config(), **own, "attention": attention}
