"""Base class of the attention layers: scores, masked softmax, weighted sum."""

import inspect

import keras
from keras import ops

from keraszoo.layers.arguments import WeightedLayer, require, require_shapes, shapes_fit
from keraszoo.layers.dropout import Dropout
from keraszoo.layers.masking import both_masks, causal_mask, combine_masks, masked_softmax


class Attention(WeightedLayer):
    """Base class of the attention layers. Handles masks, softmax and weighted sum.

        e_tj = score(query_t, key_j)
        alpha_tj = exp(e_tj) / sum_k exp(e_tk)
        c_t = sum_j alpha_tj value_j

    with e the scores, alpha the `attention_weights` and c the `context`. A subclass supplies
    `scores(query, keys)`, `make_weights` if it has weights, `prepare(value, key)` if a part of the score
    depends only on the memory, `focus` if each query sees only a part of the memory, and `normalize` if it
    uses another softmax. A decoder that steps calls `prepare` once per sentence and `attend` at every step;
    `call` does both.

    A query of rank 2, `(B, U)`, is one step: it is treated as `(B, 1, U)`, and the outputs lose that axis.

    Departures from `keras.layers.Attention`: the inputs are separate arguments as in
    `keras.layers.MultiHeadAttention`; both outputs are always returned; a row that sees nothing is zero.

    Shapes: B batch, T queries, S values, D width of a value, H heads.

    Args:
        dropout: share of the attention weights dropped in training, in [0, 1).
        seed: seed of the dropout.

    Call arguments:
        query: `(B, T, ...)`, or `(B, ...)` for one step.
        value: `(B, S, D)`, the vectors that are summed.
        key: `(B, S, ...)`, the vectors that are compared with the queries; `None`: the values.
        query_mask: bool `(B, T)`, filled in by Keras. A query of padding is computed like any other; the mask
            that Keras attached to the query is passed on to the context.
        value_mask: bool `(B, S)`, `True` = attend; filled in by Keras behind `Embedding(mask_zero=True)`.
        key_mask: bool `(B, S)`, the same for keys; both must hold.
        attention_mask: bool `(T, S)` for all sentences, or `(B, T, S)`; in layers with heads also
            `(B, H, T, S)`. `True` = this query may see this value.
        training: whether dropout is on.
        use_causal_mask: query t sees values up to t, both counted from the first.
        positions: int `(T,)`, the positions of the queries, or `(1,)` if all share one position; `None`: 0 to
            T - 1. Read by layers whose scores or windows depend on positions.
        key_positions: int `(S,)`, those of the keys; only for layers that have them, `MultiHeadAttention`.

    Returns:
        `(context, attention_weights)`: `(B, T, D)` and `(B, T, S)`; for a query `(B, U)`, `(B, D)` and
        `(B, S)`. With heads the weights are `(B, H, T, S)` and `(B, H, S)`. If a query sees nothing, its
        weights and the sum are zero. The first output is this sum, or what the layer's equations make of it:
        `MultiHeadAttention` projects it, `MemoryHop` adds it to the query.

    Raises:
        ValueError: if an input or a mask has another rank, or batch sizes or lengths differ, as far as the
            static shapes show it.
    """

    weight_kinds = {}
    scores_rank = 3  # 4 in layers with heads

    def __init__(self, dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.dropout = dropout
        self.weight_dropout = Dropout(dropout, seed=seed, dtype=self.dtype_policy, autocast=False)

    def build(self, query_shape, value_shape, key_shape=None):
        self._check(query_shape, value_shape, key_shape)
        self.make_weights(query_shape, value_shape, value_shape if key_shape is None else key_shape)

    def make_weights(self, query_shape, value_shape, key_shape):
        """Adds the weights of the layer; the shape of the keys is known here. The base has none."""

    def prepare(self, value, key=None):
        """Returns what depends only on the memory, `(keys, values)` for `attend`, once per sentence."""
        return (value if key is None else key), value

    def scores(self, query, keys):
        """Returns the scores `(B, T, S)` of the queries against the keys that `prepare` returned."""
        raise TypeError(f"{type(self).__name__} is abstract: a subclass supplies scores(query, keys).")

    def focus(self, query, mask, positions, length):
        """Narrows what each query sees, before or after the softmax; the base narrows nothing.

        Args:
            query: `(B, T, ...)`.
            mask: bool `(B or 1, T or 1, S)`, or `None`.
            positions: as for `call`.
            length: S.

        Returns:
            `(mask, factor)`: the mask or a narrower one, and a factor `(B, T, S)` on the attention weights or
            `None`.
        """
        return mask, None

    def normalize(self, scores, mask):
        """Attention weights of scores, both `(B, T, S)`: a softmax over the positions that are not masked."""
        return masked_softmax(scores, mask)

    def look(self, query, keys, values, mask, training=None, positions=None, kept=None):
        """Does the work of `attend` for a query `(B, T, ...)` and one mask for everything.

        `kept` `(B, T, S)` replaces the layer's own dropout: what to multiply the weights with.
        """
        mask, factor = self.focus(query, mask, positions, ops.shape(values)[1])
        weights = self.normalize(self.scores(query, keys), mask)  # (B, T, S)
        weights = weights if factor is None else weights * ops.cast(factor, weights.dtype)
        dropped = self.weight_dropout(weights, training=training) if kept is None else weights * kept
        return ops.matmul(dropped, values), weights  # (B, T, D)

    def attend(
        self, query, keys, values, *, value_mask=None, attention_mask=None, training=None, **positions
    ):
        """Context and attention weights of queries over a prepared memory.

        Args:
            query: `(B, T, ...)`, or `(B, ...)` for one step.
            keys, values: what `prepare` returned.
            value_mask, attention_mask, training: as for `call`.
            positions: `positions=` and, where a layer has them, `key_positions=`, as for `call`; and
                `kept=`, as for `look`.

        Returns:
            `(context, attention_weights)`, as for `call`.
        """
        one_step = len(query.shape) == 2
        query = query[:, None] if one_step else query
        mask = combine_masks(value_mask, attention_mask, self.scores_rank)
        context, weights = self.look(query, keys, values, mask, training, **positions)
        return (context[:, 0], weights[..., 0, :]) if one_step else (context, weights)

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        training=None,
        use_causal_mask=False,
        positions=None,
        key_positions=None,
    ):
        self.check_inputs(query, value, key, query_mask, value_mask, key_mask, attention_mask)
        if use_causal_mask:
            queries = 1 if len(query.shape) == 2 else ops.shape(query)[1]
            attention_mask = both_masks(attention_mask, causal_mask(queries, ops.shape(value)[1]))
        masks = {"value_mask": both_masks(value_mask, key_mask), "attention_mask": attention_mask}
        fits = key_positions is None or self.scores_rank == 4
        require(fits, "key_positions need a layer with heads", layer=type(self).__name__)
        of_keys = {} if key_positions is None else {"key_positions": key_positions}
        keys, values = self.prepare(value, key, *of_keys.values())
        return self.attend(query, keys, values, **masks, training=training, positions=positions, **of_keys)

    def check_inputs(self, *inputs, **masks):
        """Raises a `ValueError` if inputs and masks, in the order of `call`, do not fit each other."""
        self._check(*map(_shape, inputs), **{name: _shape(mask) for name, mask in masks.items()})

    def _check(
        self, query, value, key=None, query_mask=None, value_mask=None, key_mask=None, attention_mask=None
    ):
        """Raises an error if static shapes do not fit; an unknown size fits every other."""
        steps = "query must be (batch, length, width) or, for one step, (batch, width)"
        require_shapes(len(query) in (2, 3), steps, query=query)
        key = value if key is None else key
        for name, shape in (("value", value), ("key", key)):
            require_shapes(len(shape) == 3, f"{name} must be (batch, length, width)", **{name: shape})
            fits = shapes_fit(query[:1], shape[:1])
            require_shapes(fits, f"query and {name} must have one batch size", query=query, **{name: shape})
        fits = shapes_fit(value[1:2], key[1:2])
        require_shapes(fits, "value and key must have one length", value=value, key=key)
        if query_mask is not None:
            fits = shapes_fit(query_mask, query[:-1])
            wanted = "query_mask must be (batch, query length) or, for one step, (batch,)"
            require_shapes(fits, wanted, query_mask=query_mask, query=query)
        for name, mask in (("value_mask", value_mask), ("key_mask", key_mask)):
            fits = mask is None or shapes_fit(mask, value[:2])
            require_shapes(fits, f"{name} must be (batch, value length)", **{name: mask}, value=value)
        if attention_mask is not None:
            steps, heads = query[1:-1] or (1,), self.scores_rank == 4
            wanted = {2: (*steps, value[1]), 3: (query[0], *steps, value[1])}
            if heads:
                wanted[4] = (query[0], self.num_heads, *steps, value[1])
            require_shapes(
                shapes_fit(attention_mask, wanted.get(len(attention_mask), ()), broadcast=True),
                "attention_mask must be (query length, value length) or (batch, query length, value length)"
                f"{' or (batch, heads, query length, value length)' * heads}",
                attention_mask=attention_mask,
                query=query,
                value=value,
            )

    def compute_mask(self, query, previous_mask=None):
        """The context has a vector for each query, and so its mask. Keras passes the query and its mask."""
        fits = previous_mask is not None and len(previous_mask.shape) == len(query.shape) - 1
        return (previous_mask if fits else None), None

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        self._check(query_shape, value_shape, key_shape)
        return (*query_shape[:-1], value_shape[-1]), (*query_shape[:-1], value_shape[1])

    def compute_output_spec(self, *args, **kwargs):
        given = inspect.signature(self.call).bind(*args, **kwargs).arguments
        checked = inspect.signature(self._check).parameters
        shapes = {name: _shape(x) for name, x in given.items() if name in checked}
        self._check(**shapes)
        outputs = self.compute_output_shape(*map(shapes.get, ("query", "value", "key")))
        return tuple(keras.KerasTensor(shape, dtype=self.compute_dtype) for shape in outputs)


def _shape(x):
    return None if x is None else tuple(x.shape)
