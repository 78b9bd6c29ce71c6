"""Attention before neural networks: kernel regression (Nadaraya, 1964; Watson, 1964)."""

import math
import numbers

import keras
from keras import ops

from keraszoo.layers.arguments import require, require_shapes
from keraszoo.layers.attention import Attention
from keraszoo.layers.masking import LOWEST, at_least_float32, masked_softmax

LEAST = 1e-19  # a bandwidth, whose inverse square fits float32


@keras.saving.register_keras_serializable(package="keraszoo")
class KernelAttention(Attention):
    """The Nadaraya-Watson estimate with a Gaussian kernel: near examples count more.

        f(x) = sum_i K(x - x_i) y_i / sum_j K(x - x_j),  K(u) = exp(-|u|^2 / 2 h^2)

    with x the query, x_i the keys, y_i the values and h the `bandwidth`. This is attention with the scores
    -|x - x_i|^2 / 2 h^2, in float32 at least. A query far from all keys gets the value of the nearest one
    that is not masked, where the plain formula gives 0 / 0. The differences take `(B, T, S, width)`.

    A learned bandwidth is trained as its logarithm. To fit it, predict each example from the others (an
    `attention_mask` with a diagonal of `False`): if an example sees itself, the error is least at h = 0.

    Args:
        bandwidth: h, or where learning starts, above 0; computed as 1e-19 at least.
        learn_bandwidth: whether h is a weight.
        dropout, seed, kwargs: as for `Attention`.

    Call arguments, outputs and errors: as for `Attention`; queries and keys have one width.

    Example:

    >>> import numpy as np
    >>> x = np.array([[[0.0], [1.0], [2.0]]])
    >>> y = np.array([[[5.0], [6.0], [7.0]]])
    >>> estimate, _ = KernelAttention(bandwidth=0.1)(np.array([[[1.0], [1.5]]]), y, key=x)
    >>> np.round(ops.convert_to_numpy(estimate)[0, :, 0], 3).tolist()
    [6.0, 6.5]

    References: Nadaraya: On Estimating Regression, 1964, https://doi.org/10.1137/1109020; Watson: Smooth
    Regression Analysis, 1964, https://www.jstor.org/stable/25049340.
    """

    def __init__(self, bandwidth=1.0, learn_bandwidth=False, **kwargs):
        super().__init__(**kwargs)
        fits = isinstance(bandwidth, numbers.Real) and 0 < bandwidth < math.inf
        require(fits, "bandwidth must be a number above 0", bandwidth=bandwidth)
        self.bandwidth = float(bandwidth)
        self.learn_bandwidth = learn_bandwidth

    def make_weights(self, query_shape, value_shape, key_shape):
        fits = query_shape[-1] == key_shape[-1]
        wanted = "A distance needs queries and keys of one width"
        require_shapes(fits, wanted, query=query_shape, key=key_shape)
        if self.learn_bandwidth:
            initializer = keras.initializers.Constant(math.log(self.bandwidth))
            self.log_bandwidth = self.add_weight(
                name="log_bandwidth", shape=(), initializer=initializer, autocast=False
            )

    def scores(self, query, keys):
        """-|x - x_i|^2 / 2, the scores of h = 1, at least in float32; `weigh` divides them by h^2."""
        query, keys = (ops.cast(x, at_least_float32(self.compute_dtype)) for x in (query, keys))
        return -0.5 * ops.sum(ops.square(query[:, :, None] - keys[:, None]), axis=-1)  # (B, T, S)

    def weigh(self, query, keys, mask, places):
        """Divides differences to the nearest key, which are small: adding to a row changes no softmax."""
        scores = self.scores(query, keys)
        kept = scores if mask is None else ops.where(mask, scores, LOWEST)
        nearest = ops.max(kept, axis=-1, keepdims=True, initial=LOWEST)
        factor = max(self.bandwidth, LEAST) ** -2.0
        if self.learn_bandwidth:
            factor = ops.exp(-2.0 * ops.maximum(ops.cast(self.log_bandwidth, scores.dtype), math.log(LEAST)))
        scores = (kept - ops.stop_gradient(nearest)) * factor
        return ops.cast(masked_softmax(scores, mask), self.compute_dtype)
