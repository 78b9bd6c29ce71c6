"""One hop over a memory: look, read, and ask again (Sukhbaatar et al., 2015)."""

import keras
from keras import ops

from keraszoo.layers.dot_product_attention import ScaledDotProductAttention
from keraszoo.layers.linear import linear
from keraszoo.layers.masking import masked_softmax


@keras.saving.register_keras_serializable(package="keraszoo")
class MemoryHop(ScaledDotProductAttention):
    """Attention over a memory whose result is added to the query, to become the query of the next hop.

        p_i = Softmax(u^T m_i)                                    `attention_weights`            (1)
        o = sum_i p_i c_i                                                                        (2)
        u' = u + o, or u' = H u + o                               `next_query`, H if `use_map`   (4)

    with u the query, m_i the keys and c_i the values. Hops are stacked by calling one layer, or several, on
    the query that the last one returned.

    While the weight `linear` is 1, the softmax is left out, p_i = u^T m_i: the linear start of section 4.1,
    from which training goes on to the softmax by `hop.linear.assign(0)`. It begins at 0, and no gradient
    changes it. A masked memory has weight 0 in either case.

    Shapes: B batch, T queries, S memories, D width of queries, keys and values.

    Args:
        use_map: whether u is mapped by H (D x D) first; the paper does so where all hops share their weights.
        dropout: share of the attention weights dropped in training. The paper has none.

    Call arguments: as for `Attention`.

    Returns:
        `(next_query, attention_weights)`: `(B, T, D)` and `(B, T, S)`. Where everything is masked, o is zero.

    Raises:
        ValueError: if queries, keys and values differ in width.

    Example:

    >>> import numpy as np
    >>> query, keys, values = np.ones((1, 1, 4)), np.ones((1, 3, 4)), np.ones((1, 3, 4))
    >>> hop = MemoryHop()
    >>> query, _ = hop(query, values, keys)
    >>> query, attention_weights = hop(query, values, keys)
    >>> query.shape[-1], attention_weights.shape[-1]
    (4, 3)

    Reference: Sukhbaatar, Szlam, Weston, Fergus: End-To-End Memory Networks, 2015,
    https://arxiv.org/abs/1503.08895.
    """

    def __init__(self, use_map=False, dropout=0.0, **kwargs):
        super().__init__(scale=1.0, dropout=dropout, **kwargs)
        self.use_map = use_map

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        width = query_shape[-1]
        if value_shape[-1] != width:
            raise ValueError(
                "What is read is added to the query: values must be as wide. "
                f"Received: query of shape {tuple(query_shape)}, value of shape {tuple(value_shape)}"
            )
        self.H = None
        if self.use_map:
            initializer = keras.initializers.RandomNormal(stddev=0.1)
            self.H = self.add_weight(name="H", shape=(width, width), initializer=initializer)
        self.linear = self.add_weight(name="linear", shape=(), initializer="zeros", trainable=False)

    def normalize(self, scores, mask):
        weights = masked_softmax(scores, mask)
        bare = scores if mask is None else ops.where(mask, scores, ops.zeros_like(scores))
        return ops.where(self.linear > 0, bare, weights)

    def attend(self, query, keys, values, mask=None, positions=None, training=None):
        """The next query and the attention weights; see `Attention.attend`."""
        read, weights = super().attend(query, keys, values, mask, positions, training=training)
        kept = query if self.H is None else linear(query, self.H)
        return kept + read, weights  # (B, T, D)

    def get_config(self):
        config = super().get_config()
        del config["scale"]  # 1 by definition
        return {**config, "use_map": self.use_map}
