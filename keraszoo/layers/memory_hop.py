"""One hop over a memory: look, read, and ask again (Sukhbaatar et al., 2015)."""

import keras
from keras import ops

from keraszoo.layers.dot_product_attention import ScaledDotProductAttention
from keraszoo.layers.linear import linear as linear_map
from keraszoo.layers.masking import causal_mask, combine_masks, masked_softmax


@keras.saving.register_keras_serializable(package="keraszoo")
class MemoryHop(ScaledDotProductAttention):
    """Attention over a memory whose result is added to the query, to become the query of the next hop.

        p_i = Softmax(u^T m_i)                                    `attention_weights`            (1)
        o = sum_i p_i c_i                                                                        (2)
        u' = u + o, or u' = H u + o                               `next_query`, H if `use_map`   (4)

    with u the query, m_i the keys and c_i the values. Hops are stacked by calling one layer, or several, on
    the query that the last one returned.

    `linear=True` leaves out the softmax, p_i = u^T m_i: the linear start of section 4.1, from which training
    goes on to the softmax. A masked memory still has weight 0.

    Shapes: B batch, T queries, S memories, D width of queries, keys and values.

    Args:
        use_map: whether u is mapped by H (D x D) first; the paper does so where all hops share their weights.
        dropout: share of the attention weights dropped in training. The paper has none.

    Call arguments: as for `Attention`, and
        linear: bool, or a scalar tensor: leave out the softmax.

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

    def attend(self, query, keys, values, mask=None, positions=None, training=None, linear=False):
        """The next query and the attention weights; see `Attention.attend`."""
        scores, mask = self.scores(query, keys), combine_masks(mask)
        weights = masked_softmax(scores, mask)  # (B, T, S)
        if linear is not False:
            bare = scores if mask is None else ops.where(mask, scores, ops.zeros_like(scores))
            weights = ops.where(linear, bare, weights)
        dropped = weights if self.weight_dropout is None else self.weight_dropout(weights, training=training)
        kept = query if self.H is None else linear_map(query, self.H)
        return kept + ops.matmul(dropped, values), weights  # (B, T, D)

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
        training=None,
        linear=False,
    ):
        keys, values = self.prepare(value, key)
        causal = causal_mask(ops.shape(query)[1]) if use_causal_mask else None
        mask = combine_masks(value_mask, attention_mask, causal)
        return self.attend(query, keys, values, mask, positions, training=training, linear=linear)

    def get_config(self):
        config = super().get_config()
        del config["scale"]  # 1 by definition
        return {**config, "use_map": self.use_map}
