"""The attentions of Luong, Pham and Manning (2015): three scores, and windows over a part of the source."""

import numbers

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_optional_sizes, require, require_shapes
from keraszoo.layers.attention import Attention
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import all_masks, at_least_float32, masked_softmax

SCORES = ("dot", "general", "concat")
WINDOWS = (None, "monotonic", "predictive")
NAMES = {"global": None, "local-m": "monotonic", "local-p": "predictive"}  # in the paper


@keras.saving.register_keras_serializable(package="keraszoo")
class LuongAttention(KernelOptions, Attention):
    """Global and local attention with the scores of the paper.

        score(h_t, h_s) = h_t^T h_s                         `dot`         (section 3.1)
                          h_t^T W_a h_s                     `general`     W_a -> `W_a`
                          v_a^T tanh(W_a [h_t; h_s])        `concat`      W_a -> `W_q` and `W_k`, v_a -> `v`
        a_t(s) = softmax over s of score(h_t, h_s)                        (eq. 7)

    Without a window the softmax is over the whole source ("global"). With a window it is over the words at
    most D = `half_width` positions away from p_t ("local", section 3.2):

        local-m, "monotonic":   p_t = t
        local-p, "predictive":  p_t = S sigmoid(v_p^T tanh(W_p h_t))                            (eq. 9)
                                a_t(s) times exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2       (eq. 10)

    with S the number of words that the query may see (all real ones, unless an attention mask hides some), t
    and s counted from 0, and padding at the end. As in the paper, the weights of local-p sum to less than 1
    and are not normalised again; p_t gets its gradient only through the Gaussian. In local-m, a target
    position more than D beyond the end of the source sees nothing.

    `prepare` computes `W_a h_s` or `W_k h_s` once per sentence. The window is a mask: the cost is that of
    global attention.

    Args:
        score: `"dot"`, `"general"` or `"concat"`.
        window: `None`, `"monotonic"` or `"predictive"`, or the paper's `"global"`, `"local-m"`, `"local-p"`.
        half_width: D, in words; 10 in the paper.
        units: width of the hidden layers of `concat` and of local-p; `None`: that of the query.
        scale: multiply the scores by a learned number, which starts at 1. The paper has none.
        dropout, seed, kwargs: as for `Attention` and `KernelOptions`.

    Call arguments, outputs and errors: as for `Attention`. Windows read the positions; `dot` needs queries
    and keys of one width.

    Example:

    >>> attention = LuongAttention("dot", window="monotonic", half_width=1)
    >>> _, attention_weights = attention(ops.ones((1, 3, 4), "float32"), ops.ones((1, 5, 4), "float32"))
    >>> [round(weight, 2) for weight in ops.convert_to_numpy(attention_weights)[0, 2].tolist()]
    [0.0, 0.33, 0.33, 0.33, 0.0]

    Reference: Luong, Pham, Manning, 2015, https://arxiv.org/abs/1508.04025.
    """

    def __init__(self, score="general", window=None, half_width=10, units=None, *, scale=False, **kwargs):
        super().__init__(**kwargs)
        check_choices(SCORES, score=score)
        check_choices((*WINDOWS, *NAMES), window=window)
        fits = isinstance(half_width, numbers.Real) and half_width > 0
        require(fits, "half_width must be a number above 0", half_width=half_width)
        check_optional_sizes(units=units)
        self.score = score
        self.window = NAMES.get(window, window)
        self.half_width = half_width
        self.units = units
        self.scale = scale

    def make_weights(self, query_shape, value_shape, key_shape):
        wanted = 'The score "dot" needs queries and keys of one width'
        fits = self.score != "dot" or query_shape[-1] == key_shape[-1]
        require_shapes(fits, wanted, query=query_shape, key=key_shape)
        units = self.units or query_shape[-1]
        shapes = {}
        if self.score == "general":
            shapes["W_a"] = key_shape, query_shape[-1]
        if self.score == "concat":
            shapes |= {"W_q": (query_shape, units), "W_k": (key_shape, units), "v": ((None, units), 1)}
        if self.window == "predictive":
            shapes |= {"W_p": (query_shape, units), "v_p": ((None, units), 1)}
        for name, (inputs, outputs) in shapes.items():
            setattr(self, name, self.dense(outputs, name))
            getattr(self, name).build(inputs)
        if self.scale:
            self.g = self.add_weight(name="g", shape=(), initializer="ones")

    def prepare(self, value, key=None, positions=None):
        key = value if key is None else key
        if self.score == "dot":
            return key, value
        return (self.W_a(key) if self.score == "general" else self.W_k(key)), value

    def scores(self, query, keys):
        if self.score == "concat":
            scores = self.v(ops.tanh(self.W_q(query)[:, :, None] + keys[:, None]))[..., 0]
        else:
            scores = ops.matmul(query, ops.swapaxes(keys, -1, -2))
        return scores * ops.cast(self.g, scores.dtype) if self.scale else scores  # (B, T, S)

    def centers(self, query, mask, places):
        """p_t of each query, `(B, T)` or broadcast to it; the arguments are those of `weigh`."""
        dtype = at_least_float32(self.compute_dtype)
        if self.window == "monotonic":
            return ops.cast(places[0], dtype)[None]
        words = ops.size(places[1]) if mask is None else ops.sum(ops.cast(mask, dtype), axis=-1)  # S
        share = self.v_p(ops.tanh(self.W_p(query)))[..., 0]
        return ops.sigmoid(ops.cast(share, dtype)) * ops.cast(words, dtype)

    def weigh(self, query, keys, mask, places):
        if self.window is None:
            return super().weigh(query, keys, mask, places)
        centers = self.centers(query, mask, places)[..., None]
        distance = ops.cast(places[1], centers.dtype) - centers  # (B, T, S), or broadcast to it
        mask = all_masks(mask, ops.abs(distance) <= self.half_width)
        weights = masked_softmax(self.scores(query, keys), mask)
        if self.window == "monotonic":
            return weights
        sigma = self.half_width / 2
        return weights * ops.cast(ops.exp(-ops.square(distance) / (2 * sigma**2)), weights.dtype)
