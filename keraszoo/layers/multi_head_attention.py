"""Multi-head attention (Vaswani et al., 2017, section 3.2.2), with what a decoder needs to step."""

import math

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes, check_sizes, require
from keraszoo.layers.attention import Attention
from keraszoo.layers.linear import linear
from keraszoo.layers.masking import both_masks, masked_softmax
from keraszoo.layers.positions import relative_scores, relative_values, relative_vectors, rotate


def _batch(x):
    """B if it is known, because no backend can infer it for a tensor without elements; else -1."""
    return -1 if x.shape[0] is None else x.shape[0]


@keras.saving.register_keras_serializable(package="keraszoo")
class MultiHeadAttention(Attention):
    """H scaled dot-product attentions in parallel, each on its own projections.

        MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W^O
        head_i = softmax((Q W_i^Q) (K W_i^K)^T / sqrt(d_k)) (V W_i^V)

    The W_i^Q of all heads form one matrix `W_q` `(width of Q, H * d_k)`; `W_k` and `W_v` likewise. `W_o` is
    `(H * d_v, output width)`. Plain matrix products are faster on a CPU than the einsums of
    `keras.layers.MultiHeadAttention`, whose weights, reshaped, give the same numbers.

    Arguments have the order and the meaning of `keras.layers.MultiHeadAttention`. Departures:

    - The pair `(context, attention_weights)` is always returned; there is no `return_attention_scores`.
    - `query_mask` is passed on but masks nothing, and a query that sees nothing has weights of zero.
    - Inputs have one sequence axis, so `attention_axes` is `None` or 1.
    - `W_q`, `W_k`, `W_v` start with half of Glorot's variance, as in PyTorch. With the full variance, deep
      post-norm stacks start by making all positions similar, and learn to attend to the source late or
      never.

    Stepping: `prepare` gives the keys and values of a memory. For self-attention a decoder writes the keys
    and values of each new position into a cache of fixed size and calls `attend` with a mask over the cache.

    With `rotary`, queries and keys are turned by their position, see `positions.rotate`. With `relative`,
    each head adds vectors of the distance j - i to keys and values (Shaw et al., 2018). There is one vector
    for each distance up to k = `relative`, the same for all heads, in `A_k` `(2 k + 1, d_k)` and `A_v`
    `(2 k + 1, d_v)`.

        e_ij = q_i (k_j + a^K_ij)^T / sqrt(d_k)        z_i = sum_j alpha_ij (v_j + a^V_ij)

    Shapes: B batch, T queries, S values, H heads, d_k `key_dim`, d_v `value_dim`.

    Args:
        num_heads: H.
        key_dim: d_k, the width of a query and a key in one head.
        value_dim: d_v, the width of a value in one head; `None`: d_k.
        dropout: share of the attention weights dropped in training.
        use_bias: add biases b_q, b_k, b_v, b_o (Keras does, the paper's equations do not).
        output_shape: width of the context, an integer; `None`: the width of the query.
        attention_axes: `None` or 1, the sequence axis.
        sliding_window: each query sees only keys at distances below this; `None`: all.
        flash_attention: compute the context by the backend's flash attention. `True`: always, with an error
            where the backend, the device or the dtype does not support it; `False`: never; `None`: on an
            accelerator under JAX if supported, unless `keras.config.disable_flash_attention()` was called. It
            excludes `dropout` (as in Keras), `relative` and a `value_dim` that is not `key_dim`. A flash
            kernel has no attention weights: they are computed separately, and a compiled program drops that
            computation if nothing reads them.
        kernel_initializer, kernel_regularizer, kernel_constraint: of the matrices of all projections.
        bias_initializer, bias_regularizer, bias_constraint: of their biases.
        activity_regularizer: of the outputs of all projections.
        use_gate: multiply the heads by sigmoid(Q W_g + b_g) before `W_o`.
        seed: seed of the dropout.
        rotary: rotary positions (Su et al., 2021); then `key_dim` is even.
        relative: relative positions: the largest distance k that has its own vectors; `None`: none.

    Call arguments: as for `Attention`; `rotary`, `relative` and `sliding_window` read `positions`, and
        key_positions: int `(S,)`, the positions of the keys, or without `relative` `(1,)` if all share
            one position; `None`: 0 to S - 1, for any `positions`. Self-attention of words at other positions
            needs both.

    Self-attention is `layer(x, x)`, causal with `use_causal_mask=True`.

    Returns:
        `(context, attention_weights)`: `(B, T, output_shape)` and `(B, H, T, S)`; for a query `(B, width)`,
        `(B, output_shape)` and `(B, H, S)`. A query that sees nothing has attention weights of zero and the
        context b_o.

    Raises:
        ValueError: if a size is not a positive integer, `key_dim` is odd with `rotary`, `attention_axes` is
            another, `flash_attention` is combined with `dropout`, `relative` or a `value_dim` that is not
            `key_dim`, or for inputs as in `Attention`.

    Example:

    >>> import numpy as np
    >>> layer = MultiHeadAttention(num_heads=2, key_dim=3)
    >>> context, attention_weights = layer(np.ones((1, 4, 6)), np.ones((1, 5, 7)))
    >>> tuple(context.shape), tuple(attention_weights.shape)
    ((1, 4, 6), (1, 2, 4, 5))

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    weight_kinds = {"kernel": "glorot_uniform", "bias": "zeros"}
    scores_rank = 4

    def __init__(
        self,
        num_heads,
        key_dim,
        value_dim=None,
        dropout=0.0,
        use_bias=True,
        output_shape=None,
        attention_axes=None,
        sliding_window=None,
        flash_attention=None,
        kernel_initializer=None,
        bias_initializer=None,
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        use_gate=False,
        seed=None,
        *,
        rotary=False,
        relative=None,
        **kwargs,
    ):
        super().__init__(
            dropout,
            seed,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        if isinstance(output_shape, (tuple, list)) and len(output_shape) == 1:
            (output_shape,) = output_shape
        check_sizes(num_heads=num_heads, key_dim=key_dim)
        check_optional_sizes(
            value_dim=value_dim, output_shape=output_shape, sliding_window=sliding_window, relative=relative
        )
        fits = attention_axes in (None, 1, (1,), [1])
        wanted = "attention_axes must be None or 1: inputs are (batch, length, width)"
        require(fits, wanted, attention_axes=attention_axes)
        fits = not (rotary and key_dim % 2)
        require(fits, "rotary positions turn pairs: key_dim must be even", key_dim=key_dim)
        widths = value_dim in (None, key_dim)
        fits = not flash_attention or (widths and not dropout and not relative)
        wanted = "flash attention supports neither dropout nor relative positions nor a value_dim of its own"
        require(fits, wanted, dropout=dropout, relative=relative, value_dim=value_dim)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim or key_dim
        self.use_bias = use_bias
        self.output_dim = output_shape  # Keras layers have a property `output_shape`
        self.sliding_window = sliding_window
        self.flash_attention = flash_attention
        self.projection_regularizer = keras.regularizers.get(activity_regularizer)  # not of the outputs
        self.use_gate = use_gate
        self.rotary = rotary
        self.relative = relative

    def make_weights(self, query_shape, value_shape, key_shape):
        keys, values = self.num_heads * self.key_dim, self.num_heads * self.value_dim
        self.W_q, self.b_q = self._projection("q", query_shape[-1], keys)
        self.W_k, self.b_k = self._projection("k", key_shape[-1], keys)
        self.W_v, self.b_v = self._projection("v", value_shape[-1], values)
        if self.use_gate:
            self.W_g, self.b_g = self._projection("g", query_shape[-1], values)
        self.W_o, self.b_o = self._projection("o", values, self.output_dim or query_shape[-1])
        if self.relative:
            self.A_k, self.A_v = (
                self.add_weight(name=name, shape=(2 * self.relative + 1, width), initializer="glorot_uniform")
                for name, width in (("A_k", self.key_dim), ("A_v", self.value_dim))
            )

    def _projection(self, name, inputs, outputs):
        default = keras.initializers.VarianceScaling(0.5 if name in "qkv" else 1, "fan_avg", "uniform")
        kernel = self.new_weight(f"W_{name}", (inputs, outputs), default=default)
        return kernel, self.new_weight(f"b_{name}", (outputs,), "bias") if self.use_bias else None

    def _project(self, x, name):
        x = linear(x, getattr(self, f"W_{name}"), getattr(self, f"b_{name}"))
        if self.projection_regularizer is not None:
            loss = self.projection_regularizer(x)
            self.add_loss(loss / ops.cast(ops.shape(x)[0], loss.dtype))  # per sentence, as in Keras
        return x

    def _split_heads(self, x, width):
        x = ops.reshape(x, (_batch(x), ops.shape(x)[1], self.num_heads, width))
        return ops.transpose(x, (0, 2, 1, 3))  # (B, H, T, width)

    def _placed(self, x, positions):
        """Heads `(B, H, T, d_k)`, turned by their positions if the layer is `rotary`."""
        if not self.rotary:
            return x
        return rotate(x, ops.arange(ops.shape(x)[2]) if positions is None else positions)

    def prepare(self, value, key=None, positions=None):
        """Returns keys `(B, H, S, d_k)` and values `(B, H, S, d_v)` of a memory; with `rotary`, `positions`
        `(S,)` or `(1,)` are those of the keys, 0 to S - 1 by default.
        """
        keys = self._split_heads(self._project(value if key is None else key, "k"), self.key_dim)
        values = self._split_heads(self._project(value, "v"), self.value_dim)
        return self._placed(keys, positions), values

    def look(self, query, keys, values, mask, training=None, positions=None, key_positions=None):
        """See `Attention.look`. `key_positions`, int `(S,)`, are those of the keys in a cache."""
        queries = self._placed(self._split_heads(self._project(query, "q"), self.key_dim), positions)
        queries = queries * (1 / math.sqrt(self.key_dim))
        places = [  # of queries and keys, int32; by default they are in order
            ops.arange(ops.shape(x)[2], dtype="int32") if given is None else ops.cast(given, "int32")
            for x, given in ((queries, positions), (keys, key_positions))
        ]
        if self.sliding_window:
            distances = ops.abs(places[0][:, None] - places[1][None, :])  # (T or 1, S)
            mask = both_masks(mask, (distances < self.sliding_window)[None, None])
        scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2))  # (B, H, T, S)
        if self.relative:
            scores = scores + relative_scores(queries, relative_vectors(self.A_k, *places))
        weights = masked_softmax(scores, mask)
        if self._uses_flash():
            heads = self._flash(queries, keys, values, mask)
        else:
            dropped = self.weight_dropout(weights, training=training)
            heads = ops.matmul(dropped, values)  # (B, H, T, d_v)
            if self.relative:
                heads = heads + relative_values(dropped, relative_vectors(self.A_v, *places))
        heads = ops.transpose(heads, (0, 2, 1, 3))  # (B, T, H, d_v)
        heads = ops.reshape(heads, (_batch(heads), ops.shape(heads)[1], self.num_heads * self.value_dim))
        if self.use_gate:
            heads = heads * ops.sigmoid(self._project(query, "g"))
        return self._project(heads, "o"), weights

    def _uses_flash(self):
        if self.flash_attention is not None:
            return self.flash_attention
        if self.dropout or self.relative or self.value_dim != self.key_dim:
            return False
        if keras.backend.backend() != "jax" or keras.config.is_flash_attention_enabled() is False:
            return False  # `is_flash_attention_enabled` is None by default: where possible
        return not keras.distribution.list_devices()[0].startswith("cpu")

    def _flash(self, queries, keys, values, mask):
        """Returns the heads, by the flash attention of the backend."""
        if mask is not None:  # the kernels want whole rows
            mask = both_masks(mask, ops.ones((ops.shape(queries)[2], ops.shape(keys)[2]), dtype="bool"))
        inputs = (ops.transpose(x, (0, 2, 1, 3)) for x in (queries, keys, values))  # (B, T or S, H, d)
        heads = ops.dot_product_attention(*inputs, mask=mask, scale=1.0, flash_attention=self.flash_attention)
        heads = ops.transpose(heads, (0, 2, 1, 3))  # (B, H, T, d_v)
        return heads if mask is None else ops.where(ops.any(mask, axis=-1, keepdims=True), heads, 0)

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        context, weights = super().compute_output_shape(query_shape, value_shape, key_shape)
        context = (*query_shape[:-1], self.output_dim or query_shape[-1])
        return context, (weights[0], self.num_heads, *weights[1:])
