"""What every attention is: scores, a masked softmax, a weighted sum."""

import keras
from keras import ops

from keraszoo.layers.dropout import Dropout
from keraszoo.layers.masking import causal_mask, combine_masks, masked_softmax


class Attention(keras.layers.Layer):
    """Base of the attention layers: it owns masking, softmax and the weighted sum; a subclass supplies the
    scores.

        e_tj = score(query_t, key_j)        alpha_tj = exp(e_tj) / sum_k exp(e_tk)        c_t = sum_j alpha_tj
        value_j

    with e the scores, alpha the `attention_weights` and c the `context`. A subclass writes `scores(query,
    keys)`; and `prepare(value, key)` if something of the score depends on the memory alone, `focus` if
    queries see a part of the memory alone, `normalize` if the softmax is another. A decoder that steps calls
    `prepare` once a sentence and `attend` at every step, with the position of its queries; `call` is the two
    together.

    Shapes: B batch, T queries, S values, D width of a value, U width of what `prepare` makes.

    Args:
        dropout: share of the attention weights dropped in training, in [0, 1).

    Call arguments:
        query: `(B, T, ...)`.
        value: `(B, S, D)`, what is summed.
        key: `(B, S, ...)`, what is compared with the queries; `None`: the values.
        query_mask: accepted since Keras fills it in; a query of padding is not treated in any special way.
            The mask that an `Embedding(mask_zero=True)` gave the queries goes on with the context.
        value_mask: bool `(B, S)`, `True` = attend; arrives by itself from `Embedding(mask_zero=True)`.
        attention_mask: bool `(B, T, S)`, which query may see which value.
        use_causal_mask: query t sees values up to t alone, both counted from the first.
        positions: int `(T,)`, where each query stands, or `(1,)` where all stand at one place; `None`: 0 to
            T - 1. Layers whose scores or windows know of positions read it.
        training: whether dropout is on.

    Returns:
        `(context, attention_weights)`: `(B, T, D)` and `(B, T, S)`. Where a query may see nothing, both are
        zero.
    """

    def __init__(self, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.dropout = dropout
        self.weight_dropout = Dropout(dropout, dtype=self.dtype_policy) if dropout else None

    def prepare(self, value, key=None):
        """What depends on the memory alone: `(keys, values)` for `attend`, computed once a sentence."""
        return (value if key is None else key), value

    def scores(self, query, keys):
        """`(B, T, S)` scores of the queries against what `prepare` made of the memory."""
        raise TypeError(f"{type(self).__name__} is abstract: a subclass supplies scores(query, keys).")

    def focus(self, query, mask, positions, length):
        """Narrows what each query sees, before the softmax and after it; the base narrows nothing.

        Args:
            query: `(B, T, ...)`.
            mask: bool `(B, T or 1, S)`, or `None`.
            positions: as for `call`.
            length: S.

        Returns:
            `(mask, factor)`: the mask, or a narrower one; and what the attention weights are multiplied by,
            `(B, T, S)`, or `None`.
        """
        return mask, None

    def normalize(self, scores, mask):
        """Attention weights of scores, `(B, T, S)` both: a softmax over what is not masked."""
        return masked_softmax(scores, mask)

    def attend(self, query, keys, values, mask=None, positions=None, training=None):
        """Context and attention weights of queries over a prepared memory.

        Args:
            query: `(B, T, ...)`.
            keys, values: what `prepare` returned.
            mask: bool `(B, S)` or `(B, T, S)`, `True` = attend.
            positions: as for `call`.

        Returns:
            `(context, attention_weights)`, `(B, T, D)` and `(B, T, S)`.
        """
        mask, factor = self.focus(query, combine_masks(mask), positions, ops.shape(values)[1])
        weights = self.normalize(self.scores(query, keys), mask)  # (B, T, S)
        weights = weights if factor is None else weights * ops.cast(factor, weights.dtype)
        dropped = weights if self.weight_dropout is None else self.weight_dropout(weights, training=training)
        return ops.matmul(dropped, values), weights  # (B, T, D)

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
    ):
        keys, values = self.prepare(value, key)
        mask = self._seen(query, value, value_mask, attention_mask, use_causal_mask)
        return self.attend(query, keys, values, mask, positions, training=training)

    def _seen(self, query, value, value_mask, attention_mask, use_causal_mask):
        """The masks of a call as one, `(B or 1, T or 1, S)`, or `None`."""
        lengths = ops.shape(query)[1], ops.shape(value)[1]
        return combine_masks(value_mask, attention_mask, causal_mask(*lengths) if use_causal_mask else None)

    def compute_mask(self, query, previous_mask=None):
        """Keras gives the query and its mask: the context has a vector for each query, and so its mask."""
        return previous_mask, None

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        return (*query_shape[:2], value_shape[-1]), (*query_shape[:2], value_shape[1])

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout}
