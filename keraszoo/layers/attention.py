"""Base class of the attention layers: scores, masked softmax, weighted sum."""

import keras
from keras import ops

from keraszoo.layers.attention_inputs import check_inputs, check_shapes
from keraszoo.layers.configured_layer import ConfiguredLayer
from keraszoo.layers.masking import Masked, all_masks, masked_softmax
from keraszoo.layers.positions import in_order


class Attention(ConfiguredLayer):
    """Base class of the attention layers. Handles masks, softmax and weighted sum.

        e_tj = score(query_t, key_j)
        alpha_tj = exp(e_tj) / sum_k exp(e_tk)
        c_t = sum_j alpha_tj value_j

    with e the scores, alpha the `attention_weights` and c the `context`. A subclass supplies `scores`;
    `make_weights` if it has weights; `prepare` if a part of the score depends only on the memory; `weigh` if
    it makes other weights of the scores; `read` if the context is not the plain sum. A decoder that steps
    calls `prepare` once per sentence and passes the result at each step as `prepared`.

    Departures from `keras.layers.Attention`: the inputs are separate arguments, both outputs are always
    returned, and a row that sees nothing is zero. Shapes: B batch, T queries, S values, D width, H heads.

    Args:
        dropout: share of the attention weights dropped in training, in [0, 1).
        seed: seed of the dropout.

    Call arguments:
        query: `(B, T, ...)`, or `(B, ...)` for one step, which is treated as T = 1.
        value: `(B, S, D)`, the vectors that are summed; `None` with `prepared`.
        key: `(B, S, ...)`, what is compared with the queries; `None`: the values.
        query_mask: bool `(B, T)`, passed on with the context. Keras fills in all three after an embedding.
        value_mask, key_mask: bool `(B, S)`, `True` = attend; both must hold.
        attention_mask: bool `(T, S)` for all sentences, or `(B, T, S)`; in layers with heads also
            `(B, H, T, S)`. `True` = this query may see this value.
        training, use_causal_mask: whether dropout is on; whether a query sees no values after its position.
        positions, key_positions: int, of the queries `(T,)`, or `(1,)` if all share one, and of the keys
            `(S,)`; `None`: counted from 0.
        prepared: what `prepare` returned for a memory, instead of `value` and `key`.
        kept: `(B, T, S)`, factors on the weights instead of dropout, drawn before a loop over positions.

    Returns:
        `(context, attention_weights)`: `(B, T, D)` and `(B, T, S)`, with heads `(B, H, T, S)`; without T for
        a query `(B, U)`. If a query sees nothing, its weights and the sum are zero.

    Raises:
        ValueError: if inputs or masks do not fit each other, or a mask holds other numbers than 0 and 1.
    """

    scores_rank = 3  # 4 in layers with heads

    def __init__(self, dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.dropout = dropout
        self.seed = seed
        self.weight_dropout = keras.layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)
        self.masked = Masked(name="masked")

    def build(self, query_shape, value_shape=None, key_shape=None):
        check_shapes(query_shape, value_shape, key_shape)
        self.make_weights(query_shape, value_shape, value_shape if key_shape is None else key_shape)

    def make_weights(self, query_shape, value_shape, key_shape):
        """Builds the weights and sublayers. The base has none."""

    def prepare(self, value, key=None, positions=None):
        """Returns what depends only on the memory, the pair `(keys, values)`; `positions` are the keys'."""
        return (value if key is None else key), value

    def scores(self, query, keys):
        """Returns the scores `(B, T, S)` of the queries against the keys that `prepare` returned."""
        raise TypeError(f"{type(self).__name__} is abstract: a subclass supplies scores(query, keys).")

    def weigh(self, query, keys, mask, places):
        """Returns the weights `(B, T, S)`; `mask` broadcasts to them, `places` are the positions of both."""
        return masked_softmax(self.scores(query, keys), mask)

    def read(self, weights, values, query, places):
        """Returns the context `(B, T, D)` of weights that dropout has seen."""
        return ops.matmul(weights, values)

    def call(
        self,
        query,
        value=None,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        training=None,
        use_causal_mask=False,
        positions=None,
        key_positions=None,
        prepared=None,
        kept=None,
        **kwargs,
    ):
        masks = {"query_mask": query_mask, "value_mask": value_mask, "key_mask": key_mask}
        check_inputs(self, kwargs, query, value, key, prepared, **masks, attention_mask=attention_mask)
        keys, values = self.prepare(value, key, key_positions) if prepared is None else prepared
        one_step = len(query.shape) == 2
        query = query[:, None] if one_step else query
        places = in_order(positions, query), in_order(key_positions, values)
        seen = places[0][:, None] >= places[1] if use_causal_mask else None  # (T or 1, S)
        of_values = [mask if mask is None else mask[:, None] for mask in (value_mask, key_mask)]
        mask = all_masks(attention_mask, seen, *of_values, heads=self.scores_rank == 4)
        weights = self.weigh(query, keys, mask, places)
        dropped = self.weight_dropout(weights, training=training) if kept is None else weights * kept
        context = self.read(dropped, values, query, places)
        context, weights = (context[:, 0], weights[..., 0, :]) if one_step else (context, weights)
        return (context if query_mask is None else self.masked(context, mask=query_mask)), weights
