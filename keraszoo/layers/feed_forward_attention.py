"""Attention without a query, over the words of one sentence (Raffel and Ellis, 2015)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes, require_shapes, shapes_fit
from keraszoo.layers.attention_inputs import static_shape
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import masked_softmax


@keras.saving.register_keras_serializable(package="keraszoo")
class FeedForwardAttention(KernelOptions):
    """Represents a sentence by the mean of its states, weighted by a small feed-forward net.

        e_j = v^T tanh(U h_j)        alpha_j = exp(e_j) / sum_k exp(e_k)        c = sum_j alpha_j h_j

    with h_j the values (U -> `U`, v -> `v`). The layer has no query, so it is not an `Attention`. A tagger
    that needs a vector per word multiplies the states by the weights: alpha_j h_j.

    Departures: the paper's experiments have one unit and a bias, e_j = tanh(w h_j + b), which bounds the
    ratio of two weights by e^2. Here v is added, and the bias is optional.

    Args:
        units: width of the hidden layer of the score.
        use_bias: add a bias inside the tanh.
        dropout, seed, kwargs: as for `Attention` and `KernelOptions`.

    Call arguments:
        value: `(B, S, D)`.
        mask: bool `(B, S)`, `True` = attend; filled in by Keras behind `Embedding(mask_zero=True)`.
        training: whether dropout is on.

    Returns:
        `(context, attention_weights)`: `(B, D)` and `(B, S)`. If everything is masked, both are zero.

    Raises:
        ValueError: if `units` is not a positive integer, or the input or its mask has another shape.

    Example:

    >>> states = ops.ones((2, 5, 4), "float32")
    >>> context, attention_weights = FeedForwardAttention(units=8)(states)
    >>> tuple(context.shape), tuple(attention_weights.shape)
    ((2, 4), (2, 5))

    Reference: Raffel, Ellis, 2015, https://arxiv.org/abs/1512.08756.
    """

    def __init__(self, units=None, use_bias=False, dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        check_sizes(units=units)
        self.units = int(units)
        self.use_bias = use_bias
        self.dropout = dropout
        self.seed = seed
        self.U = self.dense(self.units, "U", use_bias=use_bias)
        self.v = self.dense(1, "v")
        self.weight_dropout = keras.layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    def build(self, value_shape):
        self._check(value_shape)
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: value_shape[-1]})
        self.U.build(value_shape)
        self.v.build((None, self.units))

    def call(self, value, mask=None, training=None):
        self._check(static_shape(value), static_shape(mask))
        scores = self.v(ops.tanh(self.U(value)))[..., 0]  # (B, S)
        weights = masked_softmax(scores, mask)
        dropped = self.weight_dropout(weights, training=training)
        return ops.matmul(dropped[:, None], value)[:, 0], weights  # (B, D)

    def _check(self, value, mask=None):
        require_shapes(len(value) == 3, "value must be (batch, length, width)", value=value)
        fits = mask is None or shapes_fit(mask, value[:2])
        require_shapes(fits, "mask must be (batch, value length)", mask=mask, value=value)

    def compute_mask(self, value, previous_mask=None):
        return None  # one vector a sentence has no padding
