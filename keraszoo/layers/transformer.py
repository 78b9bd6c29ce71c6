"""The layers that a Transformer stacks (Vaswani et al., 2017, section 3.1)."""

import keras
from keras import ops

from keraszoo.layers.arguments import WeightedLayer, check_sizes, require
from keraszoo.layers.dropout import Dropout
from keraszoo.layers.feed_forward import FeedForward
from keraszoo.layers.masking import causal_mask
from keraszoo.layers.multi_head_attention import MultiHeadAttention


@keras.saving.register_keras_serializable(package="keraszoo")
class LayerNorm(keras.layers.LayerNormalization):
    """`keras.layers.LayerNormalization` with an epsilon of 1e-6, as Transformers have it.

        y = gamma * (x - mu) / sqrt(sigma^2 + epsilon) + beta
        mu = 1/D sum_d x_d        sigma^2 = 1/D sum_d (x_d - mu)^2        (section 3)

    Args:
        axis: the axis that is normalised.
        epsilon: added to the variance.
        kwargs: all further arguments of `keras.layers.LayerNormalization`.

    Call arguments:
        inputs: `(..., D)`.

    Returns:
        `(..., D)`; beta where all D inputs are equal. Computed in float32 in half precision.

    Example:

    >>> import numpy as np
    >>> tuple(LayerNorm()(np.array([[1.0, 3.0]], "float32")).shape)
    (1, 2)

    Reference: Ba, Kiros, Hinton: Layer Normalization, 2016, https://arxiv.org/abs/1607.06450.
    """

    def __init__(self, axis=-1, epsilon=1e-6, **kwargs):
        super().__init__(axis, epsilon, **kwargs)


class TransformerLayer(WeightedLayer):
    """Base of encoder and decoder layer: sublayers in residual connections with layer normalisation.

        post-norm (the paper):  x <- LayerNorm(x + Dropout(Sublayer(x)))
        pre-norm:               x <- x + Dropout(Sublayer(LayerNorm(x)))

    A stack of pre-norm layers needs one more LayerNorm at its end, which the model supplies.

    Args:
        num_heads: H; the width of the inputs must be a multiple of it.
        intermediate_dim: d_ff of the feed-forward sublayer.
        pre_norm: normalise before the sublayer instead of after the sum.
        dropout: residual dropout, on the output of each sublayer.
        attention_dropout: dropout on attention weights; `None`: as `dropout`.
        hidden_dropout: dropout inside the feed-forward sublayer; `None`: as `dropout`.
        activation: of the feed-forward sublayer.
        use_bias: biases in the attention projections.
        rotary, relative: rotary and relative positions in self-attention, see `MultiHeadAttention`.
        epsilon: of the layer normalisation.
        kernel_initializer, kernel_regularizer, kernel_constraint: of all matrices of the sublayers. `None`:
            the default of each sublayer.
        bias_initializer, bias_regularizer, bias_constraint: of all their biases.
    """

    sublayers = ("self_attention", "feed_forward")

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
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        check_sizes(num_heads=num_heads)
        self.num_heads = num_heads
        self.pre_norm = pre_norm
        self.attention_dropout = dropout if attention_dropout is None else attention_dropout
        self.hidden_dropout = dropout if hidden_dropout is None else hidden_dropout
        self.use_bias = use_bias
        self.rotary = rotary
        self.relative = relative
        self.residual_dropout = Dropout(dropout, dtype=self.dtype_policy)
        self.norms = {
            name: LayerNorm(epsilon=epsilon, dtype=self.dtype_policy, name=f"{name}_norm")
            for name in self.sublayers
        }
        self.feed_forward = FeedForward(
            intermediate_dim,
            activation,
            self.hidden_dropout,
            **self.weight_options(),
            dtype=self.dtype_policy,
            name="feed_forward",
        )

    def get_config(self):
        activation = keras.activations.serialize(self.feed_forward.activation)
        return {**super().get_config(), "activation": activation}

    def _make_attention(self, width, name, **options):
        heads = self.num_heads
        wanted = "The width of the inputs must be a multiple of num_heads"
        require(width % heads == 0, wanted, width=width, num_heads=heads)
        return MultiHeadAttention(
            heads,
            width // heads,
            use_bias=self.use_bias,
            **self.weight_options(),
            **options,
            dropout=self.attention_dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def _build(self, inputs_shape, memory_shape=None):
        width = inputs_shape[-1]
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: width})
        self.self_attention = self._make_attention(
            width, "self_attention", rotary=self.rotary, relative=self.relative
        )
        if memory_shape is not None:
            self.cross_attention = self._make_attention(width, "cross_attention")
        self.self_attention.build(inputs_shape, inputs_shape)
        if memory_shape is not None:
            self.cross_attention.build(inputs_shape, memory_shape)
        self.feed_forward.build(inputs_shape)
        for norm in self.norms.values():
            norm.build(inputs_shape)

    def start_as_identity(self):
        """Sets the last weights of each sublayer to zero: with pre-norm, the layer is the identity."""
        for name in self.sublayers:
            sublayer = getattr(self, name)
            last = sublayer.W_2 if name == "feed_forward" else sublayer.W_o
            for weight in last.weights:
                weight.assign(ops.zeros(weight.shape, weight.dtype))

    def residual(self, name, x, sublayer, training=None):
        """Returns the sum of x and its sublayer, and the other outputs of the sublayer."""
        norm = self.norms[name]
        output, *rest = sublayer(norm(x) if self.pre_norm else x)
        x = x + self.residual_dropout(output, training=training)
        return (x if self.pre_norm else norm(x)), *rest

    def _fed_forward(self, x, training):
        def feed_forward(x):
            return (self.feed_forward(x, training=training),)

        return self.residual("feed_forward", x, feed_forward, training)[0]


@keras.saving.register_keras_serializable(package="keraszoo")
class TransformerEncoderLayer(TransformerLayer):
    """Self-attention and a feed-forward network, each in a residual connection (figure 1, left).

    Args: as for `TransformerLayer`.

    Call arguments:
        inputs: `(B, S, D)`.
        inputs_mask: bool `(B, S)`, `True` = a real position.
        mask: the same; Keras fills it in under this name behind an embedding that masks.

    Returns:
        `(B, S, D)`.

    Example:

    >>> import numpy as np
    >>> tuple(TransformerEncoderLayer(num_heads=2, intermediate_dim=8)(np.ones((1, 3, 4))).shape)
    (1, 3, 4)
    """

    def build(self, inputs_shape):
        self._build(inputs_shape)

    def call(self, inputs, inputs_mask=None, mask=None, training=None):
        inputs_mask = mask if inputs_mask is None else inputs_mask

        def self_attention(x):
            return self.self_attention(x, x, value_mask=inputs_mask, training=training)

        x, _ = self.residual("self_attention", inputs, self_attention, training)
        return self._fed_forward(x, training)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


@keras.saving.register_keras_serializable(package="keraszoo")
class TransformerDecoderLayer(TransformerLayer):
    """Causal self-attention, attention over a memory, and a feed-forward network (figure 1, right).

    `call` reads all positions at once (teacher forcing). A decoder that steps calls `prepare` for the memory
    once per sentence and `step` for each position; both run the same sublayers.

    Args: as for `TransformerLayer`.

    Call arguments:
        inputs: `(B, T, D)`.
        memory: `(B, S, D)`, the encoder's output.
        inputs_mask: not used, but filled in by Keras: padding is at the end, where causality hides it.
        memory_mask: bool `(B, S)`, `True` = a real position of the source.

    Returns:
        `(outputs, attention_weights)`: `(B, T, D)` and, over the memory, `(B, H, T, S)`.

    Example:

    >>> import numpy as np
    >>> layer = TransformerDecoderLayer(num_heads=2, intermediate_dim=8)
    >>> outputs, attention_weights = layer(np.ones((1, 3, 4)), np.ones((1, 5, 4)))
    >>> tuple(outputs.shape), tuple(attention_weights.shape)
    ((1, 3, 4), (1, 2, 3, 5))
    """

    sublayers = ("self_attention", "cross_attention", "feed_forward")

    def build(self, inputs_shape, memory_shape):
        self._build(inputs_shape, memory_shape)

    def prepare(self, memory):
        """Returns keys and values of the memory for `step`, computed once per sentence."""
        return self.cross_attention.prepare(memory)

    def call(self, inputs, memory, inputs_mask=None, memory_mask=None, training=None):
        seen = causal_mask(ops.shape(inputs)[1])  # (1, T, T)
        return self.step(inputs, self.prepare(memory), memory_mask, None, seen, training=training)

    def step(
        self, inputs, memory, memory_mask, write, mask, positions=None, key_positions=None, training=None
    ):
        """Runs the sublayers over new positions, with the earlier ones in a cache.

        Args:
            inputs: `(B, T, D)`, the new positions.
            memory: what `prepare` returned.
            memory_mask: bool `(B, S)`.
            write: a function that takes the keys and values of the new positions, keeps them, and returns
                those of all positions so far; `None`: there are no others.
            mask: bool `(T, L)` or `(B, T, L)`, which of these L positions each new one may see.
            positions: int `(T,)`, the new positions, or `(1,)` if all are one; `None`: 0 to T - 1.
            key_positions: int `(L,)`, the positions of the keys that `write` returns; `None`: 0 to L - 1.

        Returns:
            `(outputs, attention_weights)`, as `call`.
        """

        def self_attention(x):
            new = self.self_attention.prepare(x, positions=positions)
            return self.self_attention(
                x,
                prepared=new if write is None else write(*new),
                attention_mask=mask,
                training=training,
                positions=positions,
                key_positions=key_positions,
            )

        def cross_attention(x):
            return self.cross_attention(x, prepared=memory, value_mask=memory_mask, training=training)

        x, _ = self.residual("self_attention", inputs, self_attention, training)
        x, weights = self.residual("cross_attention", x, cross_attention, training)
        return self._fed_forward(x, training), weights

    def compute_output_shape(self, inputs_shape, memory_shape):
        return inputs_shape, (inputs_shape[0], self.num_heads, inputs_shape[1], memory_shape[1])
