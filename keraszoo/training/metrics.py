"""Perplexity and accuracy over the real tokens of all batches."""

import keras
from keras import ops


class _TokenMean(keras.metrics.Metric):
    """Mean over the positions with a positive `sample_weight`, each with the same weight.

    `TokenBatches` gives a token the weight 1/N, N the real tokens of its batch. That suits a loss that sums,
    but a mean with these weights is a mean over batches, in which a small batch counts as much as a large
    one. `keras.metrics.Mean` averages each row first, and so weights a token by the length of its batch.
    """

    def __init__(self, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), initializer="zeros", name="total")
        self.count = self.add_variable((), initializer="zeros", name="count")

    def update_tokens(self, values, sample_weight):
        """Adds `values` (B, T) where `sample_weight` (B, T) or (B,) is positive; everywhere if it is None."""
        mask = ops.ones_like(values, dtype="bool")
        if sample_weight is not None:
            positive = ops.greater(sample_weight, 0)
            while len(positive.shape) < len(values.shape):
                positive = ops.expand_dims(positive, -1)
            mask = ops.logical_and(mask, positive)
        # A NaN on padding must not count; 0 * NaN would be NaN.
        self.total.assign_add(ops.sum(ops.where(mask, values, ops.zeros_like(values))))
        self.count.assign_add(ops.sum(ops.cast(mask, self.dtype)))

    def result(self):
        return self.total / self.count


@keras.saving.register_keras_serializable(package="keraszoo")
class Perplexity(_TokenMean):
    """The exponential of the mean negative log-probability (natural log) of a real token.

        perplexity = exp(-1/N sum_{i=1..N} ln p(y_i))

    over the N positions of all batches whose `sample_weight` is positive. Pass it to `compile` in
    `weighted_metrics`: Keras does not pass weights to plain `metrics`, and padding would count.

    Args:
        from_logits: whether `y_pred` holds logits; otherwise probabilities.
        name: the name in the logs.
        dtype: dtype of the sum.

    Call arguments (of `update_state`):
        y_true: token ids (B, T).
        y_pred: logits or probabilities (B, T, V).
        sample_weight: (B, T) or (B,); positions with a positive weight count. None counts every position.

    Returns:
        `result()`: a scalar, 1 at best, V for a uniform guess; NaN without a token.

    Example:

    >>> perplexity = Perplexity()
    >>> perplexity.update_state([[1, 0]], keras.ops.zeros((1, 2, 5)), sample_weight=[[0.5, 0.0]])
    >>> round(float(perplexity.result()), 4)
    5.0
    """

    def __init__(self, from_logits=True, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.from_logits = from_logits

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = ops.cast(y_pred, self.dtype)
        values = ops.sparse_categorical_crossentropy(y_true, y_pred, from_logits=self.from_logits)  # (B, T)
        self.update_tokens(values, sample_weight)

    def result(self):
        return ops.exp(super().result())

    def get_config(self):
        return {**super().get_config(), "from_logits": self.from_logits}


@keras.saving.register_keras_serializable(package="keraszoo")
class TokenAccuracy(_TokenMean):
    """The share of real tokens with the highest score.

    Args:
        name: the name in the logs.
        dtype: dtype of the sum.

    Call arguments (of `update_state`):
        y_true: token ids (B, T).
        y_pred: logits or probabilities (B, T, V). Of equal scores the lowest id wins.
        sample_weight: (B, T) or (B,); positions with a positive weight count. None counts every position.

    Returns:
        `result()`: a scalar in [0, 1]; NaN without a token.

    Example:

    >>> accuracy = TokenAccuracy()
    >>> accuracy.update_state([[1, 1]], keras.ops.array([[[0.0, 2.0], [3.0, 1.0]]]))
    >>> float(accuracy.result())
    0.5
    """

    def __init__(self, name="token_accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        chosen = ops.argmax(y_pred, axis=-1)  # (B, T)
        right = ops.equal(chosen, ops.cast(y_true, chosen.dtype))
        self.update_tokens(ops.cast(right, self.dtype), sample_weight)
