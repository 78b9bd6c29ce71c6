"""The attentions of Luong, Pham and Manning (2015): three scores, and windows over a part of the source."""

import numbers

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_optional_sizes, require, require_shapes
from keraszoo.layers.attention import Attention
from keraszoo.layers.bahdanau_attention import additive_scores
from keraszoo.layers.linear import linear

SCORES = ("dot", "general", "concat")
WINDOWS = (None, "monotonic", "predictive")
NAMES = {"global": None, "local-m": "monotonic", "local-p": "predictive"}  # in the paper


@keras.saving.register_keras_serializable(package="keraszoo")
class LuongAttention(Attention):
    """Global and local attention with the scores of the paper.

        score(h_t, h_s) = h_t^T h_s                         `dot`         (section 3.1)
                          h_t^T W_a h_s                     `general`     W_a -> `W_a`
                          v_a^T tanh(W_a [h_t; h_s])        `concat`      W_a -> `W_q` and `W_k`, v_a -> `v`
        a_t(s) = softmax over s of score(h_t, h_s)                        (eq. 7)

    Without a window the softmax is over the whole source ("global"). With a window it is over the words at
    most D positions away from p_t ("local", section 3.2):

        local-m, "monotonic":   p_t = t
        local-p, "predictive":  p_t = S sigmoid(v_p^T tanh(W_p h_t))                            (eq. 9)
                                a_t(s) times exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2       (eq. 10)

    with S the number of words that the query may see (all real ones, unless an attention mask hides some), t
    and s counted from 0. As in the paper, the weights of local-p sum to less than 1 and are not normalised
    again; p_t gets its gradient only through the Gaussian.
    Padding stands at the end. In local-m, a target position more than D beyond the end of the source sees
    nothing: weights and context are zero.

    `W_a h_s` or `W_k h_s` is computed once per sentence, by `prepare`. The window is a mask: all scores are
    computed, so the cost is that of global attention.

    Shapes: B batch, T queries, S values, D width of a value; D in the equations is `half_width`.

    Args:
        score: `"dot"`, `"general"` or `"concat"`.
        window: `None`, `"monotonic"` or `"predictive"`, or the paper's names for the same: `"global"`,
            `"local-m"` or `"local-p"`.
        half_width: D of the equations, in words; 10 in the paper.
        units: width of the hidden layers of `concat` and of local-p; `None`: that of the query.
        dropout: share of the attention weights dropped in training.
        seed: seed of the dropout.
        kernel_initializer, kernel_regularizer, kernel_constraint: of all matrices and vectors, as for
            `keras.layers.Dense`.

    Call arguments: as for `Attention`; local-m reads `positions`.

    Returns:
        `(context, attention_weights)`: `(B, T, D)` and `(B, T, S)`.

    Raises:
        ValueError: if score or window is unknown, `half_width` is not a number above 0, `units` is not a
            positive integer, or queries and keys of `dot` differ in width; or for inputs as in `Attention`.

    Example:

    >>> import numpy as np
    >>> attention = LuongAttention("dot", window="monotonic", half_width=1)
    >>> _, attention_weights = attention(np.ones((1, 3, 4), "float32"), np.ones((1, 5, 4), "float32"))
    >>> [round(weight, 2) for weight in ops.convert_to_numpy(attention_weights)[0, 2].tolist()]
    [0.0, 0.33, 0.33, 0.33, 0.0]

    Reference: Luong, Pham, Manning: Effective Approaches to Attention-based Neural Machine Translation, 2015,
    https://arxiv.org/abs/1508.04025.
    """

    weight_kinds = {"kernel": "glorot_uniform"}

    def __init__(
        self, score="general", window=None, half_width=10, units=None, dropout=0.0, seed=None, **kwargs
    ):
        super().__init__(dropout, seed, **kwargs)
        check_choices(SCORES, score=score)
        check_choices((*WINDOWS, *NAMES), window=window)
        fits = isinstance(half_width, numbers.Real) and half_width > 0
        require(fits, "half_width must be a number above 0", half_width=half_width)
        check_optional_sizes(units=units)
        self.score = score
        self.window = NAMES.get(window, window)
        self.half_width = half_width
        self.units = units

    def make_weights(self, query_shape, value_shape, key_shape):
        query, key = query_shape[-1], key_shape[-1]
        units = self.units or query
        fits = self.score != "dot" or query == key
        wanted = 'The score "dot" needs queries and keys of one width'
        require_shapes(fits, wanted, query=query_shape, key=key_shape)
        if self.score == "general":
            self.W_a = self.new_weight("W_a", (key, query))
        if self.score == "concat":
            self.W_q = self.new_weight("W_q", (query, units))
            self.W_k = self.new_weight("W_k", (key, units))
            self.v = self.new_weight("v", (units, 1))
        if self.window == "predictive":
            self.W_p = self.new_weight("W_p", (query, units))
            self.v_p = self.new_weight("v_p", (units, 1))

    def prepare(self, value, key=None):
        key = value if key is None else key
        kernel = {"dot": None, "general": "W_a", "concat": "W_k"}[self.score]
        return (key if kernel is None else linear(key, getattr(self, kernel))), value

    def scores(self, query, keys):
        if self.score == "concat":
            return additive_scores(linear(query, self.W_q), keys, self.v)
        return ops.matmul(query, ops.swapaxes(keys, -1, -2))  # (B, T, S)

    def centers(self, query, mask, positions, length):
        """p_t of each query, float32 `(B or 1, T or 1)`; the arguments are those of `focus`."""
        if self.window == "monotonic":
            positions = ops.arange(ops.shape(query)[1]) if positions is None else positions
            return ops.cast(positions, "float32")[None]
        words = length if mask is None else ops.sum(ops.cast(mask, "float32"), axis=-1)  # S, (B, T or 1)
        share = linear(ops.tanh(linear(query, self.W_p)), self.v_p)[..., 0]
        return ops.sigmoid(ops.cast(share, "float32")) * ops.cast(words, "float32")

    def focus(self, query, mask, positions, length):
        if self.window is None:
            return mask, None
        centers = self.centers(query, mask, positions, length)[..., None]
        distance = ops.cast(ops.arange(length), "float32") - centers  # (B or 1, T or 1, S)
        near = ops.abs(distance) <= self.half_width
        mask = near if mask is None else ops.logical_and(mask, near)
        if self.window == "monotonic":
            return mask, None
        sigma = self.half_width / 2
        return mask, ops.exp(-ops.square(distance) / (2 * sigma**2))
