"""The layers that a Transformer stacks (Vaswani et al., 2017, section 3.1)."""

import keras
import numpy as np

from keraszoo.layers.arguments import check_sizes, require
from keraszoo.layers.feed_forward import FeedForward
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import Masked
from keraszoo.layers.mixture_of_experts import MixtureOfExperts
from keraszoo.layers.multi_head_attention import MultiHeadAttention


class TransformerLayer(KernelOptions):
    """Base of encoder and decoder layer: sublayers in residual connections with layer normalisation.

        post-norm (the paper):  x <- LayerNorm(x + Dropout(Sublayer(x)))
        pre-norm:               x <- x + Dropout(Sublayer(LayerNorm(x)))

    A stack of pre-norm layers needs one more LayerNorm at its end, which the model supplies.

    Departures from `TransformerEncoder` and `TransformerDecoder` of KerasHub: the number of heads comes
    first, the defaults of dropout (0.1, the paper's) and epsilon (1e-6) are others, and the decoder always
    attends to a memory and returns a pair.

    Args:
        num_heads: H; the width of the inputs must be a multiple of it.
        intermediate_dim: d_ff of the feed-forward sublayer.
        pre_norm: normalise before the sublayer instead of after the sum.
        dropout: residual dropout, on the output of each sublayer.
        attention_dropout, hidden_dropout: on attention weights, and inside the feed-forward sublayer, as in
            tensor2tensor; the paper has neither. `None`: as `dropout`.
        activation: of the feed-forward sublayer.
        use_bias: biases in the attention projections.
        rotary, relative: rotary and relative positions in self-attention, see `MultiHeadAttention`.
        epsilon: of the layer normalisation.
        num_experts, experts_per_token: if given, the feed-forward sublayer is a `MixtureOfExperts` of so many
            networks of width `intermediate_dim`, and each position uses so many of them.
        kernel_initializer and so on: of all sublayers, as for `KernelOptions`.

    Raises:
        ValueError: if a size is not a positive integer, or H does not divide the width of the inputs.
    """

    def __init__(
        self,
        num_heads,
        intermediate_dim,
        pre_norm=False,
        dropout=0.1,
        attention_dropout=None,
        hidden_dropout=None,
        activation="relu",
        use_bias=True,
        rotary=False,
        relative=None,
        epsilon=1e-6,
        num_experts=None,
        experts_per_token=2,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(num_heads=num_heads)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.num_heads = int(num_heads)
        self.intermediate_dim = intermediate_dim
        self.pre_norm = pre_norm
        self.dropout = dropout
        self.attention_dropout = dropout if attention_dropout is None else attention_dropout
        self.hidden_dropout = dropout if hidden_dropout is None else hidden_dropout
        self.use_bias = use_bias
        self.rotary = rotary
        self.relative = relative
        self.epsilon = epsilon
        self.residual_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.num_experts = num_experts
        self.experts_per_token = experts_per_token
        inner = {"activation": activation, "dropout": self.hidden_dropout, **self.inherited()}
        inner |= {"name": "feed_forward"}
        if num_experts is None:
            self.feed_forward = FeedForward(intermediate_dim, **inner)
        else:
            self.feed_forward = MixtureOfExperts(num_experts, intermediate_dim, experts_per_token, **inner)
        self.self_attention_norm = self._norm("self_attention_norm")
        self.feed_forward_norm = self._norm("feed_forward_norm")

    def _norm(self, name):
        options = {"dtype": self.dtype_policy, "trainable": self.trainable}
        return keras.layers.LayerNormalization(epsilon=self.epsilon, **options, name=name)

    def _attention(self, width, name, **positions):
        heads = self.num_heads
        wanted = "The width of the inputs must be a multiple of num_heads"
        require(width % heads == 0, wanted, width=width, num_heads=heads)
        return MultiHeadAttention(
            heads,
            width // heads,
            dropout=self.attention_dropout,
            use_bias=self.use_bias,
            **positions,
            **self.inherited(),
            name=name,
        )

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: width})
        self.self_attention = self._attention(
            width, "self_attention", rotary=self.rotary, relative=self.relative
        )
        self.self_attention.build(inputs_shape, inputs_shape)
        self.self_attention_norm.build(inputs_shape)
        self.feed_forward.build(inputs_shape)
        self.feed_forward_norm.build(inputs_shape)

    def feed(self, x, mask=None, training=None):
        """The feed-forward sublayer; padding uses no expert."""
        masks = {} if self.num_experts is None else {"mask": mask}
        y = self.feed_forward(self.before(self.feed_forward_norm, x), **masks, training=training)
        return self.after(self.feed_forward_norm, x, y, training)

    def before(self, norm, x):
        return norm(x) if self.pre_norm else x

    def after(self, norm, x, output, training=None):
        x = x + self.residual_dropout(output, training=training)
        return x if self.pre_norm else norm(x)

    def last_maps(self):
        """The last `Dense` of each sublayer."""
        return [self.self_attention.W_o, self.feed_forward.W_2]

    def start_as_identity(self):
        """Sets the last weights of each sublayer to zero: with pre-norm, the layer is the identity."""
        for dense in self.last_maps():
            dense.set_weights([np.zeros_like(weight) for weight in dense.get_weights()])

    def get_config(self):
        return {**super().get_config(), "activation": self.feed_forward.get_config()["activation"]}


@keras.saving.register_keras_serializable(package="keraszoo")
class TransformerEncoderLayer(TransformerLayer):
    """Self-attention and a feed-forward network, each in a residual connection (figure 1, left).

    Args: as for `TransformerLayer`.

    Call arguments:
        inputs: `(B, S, D)`.
        mask: bool `(B, S)`, `True` = a real position, anywhere; filled in by Keras, and passed on.

    Returns:
        `(B, S, D)`.

    Example:

    >>> tuple(TransformerEncoderLayer(num_heads=2, intermediate_dim=8)(keras.ops.ones((1, 3, 4))).shape)
    (1, 3, 4)
    """

    def call(self, inputs, mask=None, training=None):
        y = self.before(self.self_attention_norm, inputs)
        context, _ = self.self_attention(y, y, value_mask=mask, training=training)
        x = self.after(self.self_attention_norm, inputs, context, training)
        return self.feed(x, mask, training)


@keras.saving.register_keras_serializable(package="keraszoo")
class TransformerDecoderLayer(TransformerLayer):
    """Causal self-attention, attention over a memory, and a feed-forward network (figure 1, right).

    A call reads all positions at once (teacher forcing). A decoder that steps calls `prepare` for the memory
    once per sentence, and the layer for each position with the `prepared` memory and a `cache`.

    Args: as for `TransformerLayer`.

    Call arguments:
        inputs: `(B, T, D)`.
        memory: `(B, S, D)`, the encoder's output; `None` with `prepared`.
        inputs_mask: bool `(B, T)`, `True` = a real position, anywhere; passed on with the outputs.
        memory_mask: bool `(B, S)`, `True` = a real position of the source.
        prepared: what `prepare` returned for a memory.
        cache: an object whose `attend(attention, x)` stores the keys and values of these positions, and
            returns what `attention` gives over all so far; `None`: the inputs are all positions.

    Returns:
        `(outputs, attention_weights)`: `(B, T, D)` and, over the memory, `(B, H, T, S)`.

    Example:

    >>> layer = TransformerDecoderLayer(num_heads=2, intermediate_dim=8)
    >>> outputs, attention_weights = layer(keras.ops.ones((1, 3, 4)), keras.ops.ones((1, 5, 4)))
    >>> tuple(outputs.shape), tuple(attention_weights.shape)
    ((1, 3, 4), (1, 2, 3, 5))
    """

    def build(self, inputs_shape, memory_shape):
        self.cross_attention = self._attention(inputs_shape[-1], "cross_attention")
        self.cross_attention.build(inputs_shape, memory_shape)
        super().build(inputs_shape)
        self.cross_attention_norm = self._norm("cross_attention_norm")
        self.cross_attention_norm.build(inputs_shape)
        self.masked = Masked(name="masked")

    def prepare(self, memory):
        """Returns keys and values of the memory, computed once per sentence."""
        return self.cross_attention.prepare(memory)

    def last_maps(self):
        return [*super().last_maps(), self.cross_attention.W_o]

    def call(
        self,
        inputs,
        memory=None,
        inputs_mask=None,
        memory_mask=None,
        training=None,
        prepared=None,
        cache=None,
    ):
        y = self.before(self.self_attention_norm, inputs)
        if cache is None:
            causal = {"value_mask": inputs_mask, "use_causal_mask": True}
            context, _ = self.self_attention(y, y, **causal, training=training)
        else:
            context, _ = cache.attend(self.self_attention, y)
        x = self.after(self.self_attention_norm, inputs, context, training)
        y = self.before(self.cross_attention_norm, x)
        context, weights = self.cross_attention(
            y, memory, prepared=prepared, value_mask=memory_mask, training=training
        )
        x = self.after(self.cross_attention_norm, x, context, training)
        x = self.feed(x, inputs_mask, training)
        return (x if inputs_mask is None else self.masked(x, mask=inputs_mask)), weights
