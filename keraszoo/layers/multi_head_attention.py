"""Multi-head attention (Vaswani et al., 2017, section 3.2.2), with what a decoder needs to step."""

import math

import keras
from keras import ops

from keraszoo.layers.attention import Attention
from keraszoo.layers.linear import linear
from keraszoo.layers.masking import combine_masks, masked_softmax
from keraszoo.layers.relative_positions import relative_scores, relative_values, relative_vectors
from keraszoo.layers.rotary_positions import rotate
from keraszoo.layers.sizes import check_optional_sizes, check_sizes


def _batch(x):
    """B where it is known, since no backend can infer it of a tensor without elements; else -1."""
    return -1 if x.shape[0] is None else x.shape[0]


@keras.saving.register_keras_serializable(package="keraszoo")
class MultiHeadAttention(Attention):
    """H scaled dot-product attentions side by side, each in a projection of its own.

        MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W^O
        head_i = softmax((Q W_i^Q) (K W_i^K)^T / sqrt(d_k)) (V W_i^V)

    The W_i^Q of all heads stand side by side in one matrix `W_q` `(width of Q, H * d_k)`, likewise `W_k`,
    `W_v`; `W_o` is `(H * d_v, output_dim)`. Plain matrix products are faster on a CPU than the einsums of
    `keras.layers.MultiHeadAttention`; `set_keras_weights` takes its weights and gives its numbers.

    W_q, W_k and W_v begin with half of Glorot's variance, as in PyTorch. With all of it, deep post-norm
    stacks begin by making all positions alike, and learn to look at the source late or never.

    Stepping: `prepare` gives the keys and values of a memory, computed once; for self-attention a decoder
    writes what `prepare` makes of each new position into a cache of fixed size and calls `attend` with a mask
    over the cache.

    With `rotary`, queries and keys are turned by the position they stand at, see `rotate`. With `relative`,
    each head adds vectors of the distance j - i to keys and values (Shaw et al., 2018), one for each distance
    up to k = `relative`, the same for all heads: `A_k` and `A_v`, `(2 k + 1, d_k)` and `(2 k + 1, d_v)`.

        e_ij = q_i (k_j + a^K_ij)^T / sqrt(d_k)        z_i = sum_j alpha_ij (v_j + a^V_ij)

    Shapes: B batch, T queries, S values, H heads, d_k `key_dim`, d_v `value_dim`.

    Args:
        num_heads: H.
        key_dim: d_k, the width of a query and a key in one head.
        value_dim: d_v, the width of a value in one head; `None`: d_k.
        output_dim: width of the context; `None`: the width of the query.
        use_bias: add biases b_q, b_k, b_v, b_o (Keras does, the paper's equations do not).
        rotary: rotary positions (Su et al., 2021); then `key_dim` is even.
        relative: relative positions: the largest distance k that has vectors of its own; `None`: none.
        dropout: share of the attention weights dropped in training.

    Call arguments: as for `Attention`, `positions` being read with `rotary` and `relative`, and beside them
        key_positions: int `(S,)`, where each key stands, or `(1,)` where all stand at one place; `None`: 0 to
            S - 1, whatever `positions` are. Self-attention of words that stand elsewhere wants both.

    Self-attention is `layer(x, x)`, causal with `use_causal_mask=True`.

    Returns:
        `(context, attention_weights)`: `(B, T, output_dim)` and `(B, H, T, S)`. A query that may see nothing
        has attention weights of zero and, as its heads are zero, the context b_o.

    Raises:
        ValueError: if `num_heads`, a width or `relative` is not a positive integer, or `key_dim` is odd with
            `rotary`.

    Example:

    >>> import numpy as np
    >>> layer = MultiHeadAttention(num_heads=2, key_dim=3)
    >>> context, attention_weights = layer(np.ones((1, 4, 6)), np.ones((1, 5, 7)))
    >>> tuple(context.shape), tuple(attention_weights.shape)
    ((1, 4, 6), (1, 2, 4, 5))

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    def __init__(
        self,
        num_heads,
        key_dim,
        value_dim=None,
        output_dim=None,
        use_bias=True,
        rotary=False,
        relative=None,
        dropout=0.0,
        **kwargs,
    ):
        super().__init__(dropout=dropout, **kwargs)
        check_sizes(num_heads=num_heads, key_dim=key_dim)
        check_optional_sizes(value_dim=value_dim, output_dim=output_dim, relative=relative)
        if rotary and key_dim % 2:
            raise ValueError(f"rotary positions turn pairs: key_dim must be even. Received: {key_dim}")
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim or key_dim
        self.output_dim = output_dim
        self.use_bias = use_bias
        self.rotary = rotary
        self.relative = relative

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = value_shape if key_shape is None else key_shape
        keys, values = self.num_heads * self.key_dim, self.num_heads * self.value_dim
        self.W_q, self.b_q = self._projection("q", query_shape[-1], keys)
        self.W_k, self.b_k = self._projection("k", key_shape[-1], keys)
        self.W_v, self.b_v = self._projection("v", value_shape[-1], values)
        self.W_o, self.b_o = self._projection("o", values, self.output_dim or query_shape[-1])
        if self.relative:
            self.A_k, self.A_v = (
                self.add_weight(name=name, shape=(2 * self.relative + 1, width), initializer="glorot_uniform")
                for name, width in (("A_k", self.key_dim), ("A_v", self.value_dim))
            )

    def _projection(self, name, inputs, outputs):
        initializer = keras.initializers.VarianceScaling(1 if name == "o" else 0.5, "fan_avg", "uniform")
        kernel = self.add_weight(name=f"W_{name}", shape=(inputs, outputs), initializer=initializer)
        bias = (
            self.add_weight(name=f"b_{name}", shape=(outputs,), initializer="zeros")
            if self.use_bias
            else None
        )
        return kernel, bias

    def _split_heads(self, x, width):
        x = ops.reshape(x, (_batch(x), ops.shape(x)[1], self.num_heads, width))
        return ops.transpose(x, (0, 2, 1, 3))  # (B, H, T, width)

    def _placed(self, x, positions):
        """Heads `(B, H, T, d_k)` turned by their positions, if they are to be."""
        if not self.rotary:
            return x
        return rotate(x, ops.arange(ops.shape(x)[2]) if positions is None else positions)

    def prepare(self, value, key=None, positions=None):
        """Keys `(B, H, S, d_k)` and values `(B, H, S, d_v)` of a memory; with `rotary`, `positions` `(S,)` or
        `(1,)` are where they stand, 0 to S - 1 by default.
        """
        keys = linear(value if key is None else key, self.W_k, self.b_k)
        values = linear(value, self.W_v, self.b_v)
        keys = self._placed(self._split_heads(keys, self.key_dim), positions)
        return keys, self._split_heads(values, self.value_dim)

    def scores(self, query, keys, positions=None, key_positions=None):
        queries = self._split_heads(linear(query, self.W_q, self.b_q), self.key_dim)
        queries = self._placed(queries, positions) * (1 / math.sqrt(self.key_dim))
        scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2))  # (B, H, T, S)
        if not self.relative:
            return scores
        return scores + relative_scores(queries, self._distances(self.A_k, scores, positions, key_positions))

    def _distances(self, vectors, scores, positions, key_positions):
        """`(T or 1, S, d)` vectors for scores `(B, H, T, S)`; who has no positions stands in order."""
        positions, key_positions = (
            ops.arange(ops.shape(scores)[axis], dtype="int32") if given is None else ops.cast(given, "int32")
            for given, axis in ((positions, 2), (key_positions, 3))
        )
        return relative_vectors(vectors, positions, key_positions)

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        attention_mask=None,
        use_causal_mask=False,
        positions=None,
        key_positions=None,
        training=None,
    ):
        keys, values = self.prepare(value, key, key_positions)
        mask = self._seen(query, value, value_mask, attention_mask, use_causal_mask)
        return self.attend(query, keys, values, mask, positions, key_positions, training=training)

    def attend(self, query, keys, values, mask=None, positions=None, key_positions=None, training=None):
        """See `Attention.attend`. `key_positions`, int `(S,)`, says where the keys of a cache stand, 0 to
        S - 1 by default; `relative` reads it.
        """
        mask = combine_masks(mask)
        mask = None if mask is None else mask[:, None]  # (B, 1, T or 1, S)
        scores = self.scores(query, keys, positions, key_positions)
        weights = masked_softmax(scores, mask)  # (B, H, T, S)
        dropped = weights if self.weight_dropout is None else self.weight_dropout(weights, training=training)
        heads = ops.matmul(dropped, values)  # (B, H, T, d_v)
        if self.relative:
            vectors = self._distances(self.A_v, scores, positions, key_positions)
            heads = heads + relative_values(dropped, vectors)
        heads = ops.transpose(heads, (0, 2, 1, 3))  # (B, T, H, d_v)
        heads = ops.reshape(heads, (_batch(heads), ops.shape(heads)[1], self.num_heads * self.value_dim))
        return linear(heads, self.W_o, self.b_o), weights

    def set_keras_weights(self, layer):
        """Takes the weights of a built `keras.layers.MultiHeadAttention`; both layers then give the same
        numbers.

        Raises:
            ValueError: if this layer is not built, or the other has other sizes; then nothing is taken.
        """
        if not self.built:
            raise ValueError("Build the layer (call it once) before it is given weights.")
        for name in ("num_heads", "key_dim", "value_dim", "use_bias"):
            if getattr(layer, name) != getattr(self, name):
                raise ValueError(
                    f"{name} is {getattr(self, name)}, the other layer's {getattr(layer, name)}."
                )
        dense = {
            "q": layer.query_dense,
            "k": layer.key_dense,
            "v": layer.value_dense,
            "o": layer.output_dense,
        }
        pairs = []  # nothing is assigned before everything fits
        for name, theirs in dense.items():
            kernel = getattr(self, f"W_{name}")
            if math.prod(theirs.kernel.shape) != math.prod(kernel.shape):
                raise ValueError(
                    f"W_{name} is {tuple(kernel.shape)}, "
                    f"the other layer's {theirs.name} kernel {tuple(theirs.kernel.shape)}."
                )
            pairs.append((kernel, theirs.kernel))
            if self.use_bias:
                pairs.append((getattr(self, f"b_{name}"), theirs.bias))
        for mine, theirs in pairs:
            mine.assign(ops.reshape(theirs, mine.shape))

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        context = (*query_shape[:2], self.output_dim or query_shape[-1])
        return context, (query_shape[0], self.num_heads, query_shape[1], value_shape[1])

    def get_config(self):
        own = {
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "output_dim": self.output_dim,
            "use_bias": self.use_bias,
            "rotary": self.rotary,
            "relative": self.relative,
        }
        return {**super().get_config(), **own}
