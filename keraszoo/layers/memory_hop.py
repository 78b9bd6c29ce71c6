"""One hop over a memory, whose result is the next query (Sukhbaatar et al., 2015)."""

import keras
from keras import ops

from keraszoo.layers.arguments import require_shapes
from keraszoo.layers.attention import Attention
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import masked_softmax


@keras.saving.register_keras_serializable(package="keraszoo")
class MemoryHop(KernelOptions, Attention):
    """Attention over a memory; the context is added to the query, which becomes the query of the next hop.

        p_i = Softmax(u^T m_i)                                    `attention_weights`            (1)
        o = sum_i p_i c_i                                                                        (2)
        u' = u + o, or u' = H u + o                               `next_query`, H if `use_map`   (4)

    with u the query, m_i the keys and c_i the values, all of one width. Hops are stacked by calling one
    layer, or several, on the query that the last one returned.

    While the weight `linear` is 1, the softmax is left out, p_i = u^T m_i: this is the linear start of
    section 4.1, and `hop.linear.assign(0)` ends it. The weight starts at 0 and is not trained.

    Args:
        use_map: whether u is mapped by H first; the paper does so if all hops share their weights. H starts
            as N(0, 0.1^2) unless `kernel_initializer` is given.
        dropout, seed, kwargs: as for `Attention` and `KernelOptions`. The paper has no dropout.

    Call arguments and errors: as for `Attention`.

    Returns:
        `(next_query, attention_weights)`: u', `(B, T, D)`, in place of the context, and `(B, T, S)`. If
        everything is masked, the weights and o are zero.

    Example:

    >>> query, keys, values = ops.ones((1, 1, 4)), ops.ones((1, 3, 4)), ops.ones((1, 3, 4))
    >>> hop = MemoryHop()
    >>> query, _ = hop(query, values, keys)
    >>> query, attention_weights = hop(query, values, keys)
    >>> query.shape[-1], attention_weights.shape[-1]
    (4, 3)

    Reference: Sukhbaatar, Szlam, Weston, Fergus, 2015, https://arxiv.org/abs/1503.08895.
    """

    def __init__(self, use_map=False, **kwargs):
        super().__init__(**kwargs)
        self.use_map = use_map

    def make_weights(self, query_shape, value_shape, key_shape):
        width, shapes = query_shape[-1], {"query": query_shape, "value": value_shape, "key": key_shape}
        fits = all(shape[-1] == width for shape in shapes.values())
        require_shapes(fits, "A hop needs queries, keys and values of one width", **shapes)
        if self.use_map:
            initializer = keras.initializers.RandomNormal(stddev=0.1)
            self.H = self.dense(width, "H", kernel_initializer=initializer)
            self.H.build(query_shape)
        self.linear = self.add_weight(name="linear", shape=(), initializer="zeros", trainable=False)

    def scores(self, query, keys):
        return ops.matmul(query, ops.swapaxes(keys, -1, -2))  # (B, T, S)

    def weigh(self, query, keys, mask, places):
        scores = self.scores(query, keys)
        bare = scores if mask is None else ops.where(mask, scores, ops.zeros_like(scores))
        return ops.where(self.linear > 0, bare, masked_softmax(scores, mask))

    def read(self, weights, values, query, places):
        context = super().read(weights, values, query, places)
        return (self.H(query) if self.use_map else query) + context  # (B, T, D)
