"""The loss and the accuracy of a model whose output is a `CRF`, for stock `compile` and `fit`."""

import keras
from keras import ops

from keraszoo.layers.crf import as_lists, check_tags, log_likelihood, permit, split_chain
from keraszoo.layers.linear_chain import best_path, is_word


@keras.saving.register_keras_serializable(package="keraszoo")
class CRFLoss(keras.losses.Loss):
    """The negative log-likelihood of the gold tags, -log p(y | x), of a model whose output is a `CRF`.

    The loss of a batch is the mean over its sentences. A weight may be given for each sentence, `(B,)`, or
    for each word, `(B, T)`: the weight of a sentence is then the mean weight of its words. Padding does not
    count. Devices that share a batch make the update of one device if each has the same number of sentences.

    The arguments are those of every Keras loss; the dtype is at least float32.

    Call arguments:
        y_true: tags, int `(B, T)`; at padding they may be anything.
        y_pred: what `CRF` returned.
        sample_weight: `(B,)` or `(B, T)`.

    Returns:
        A scalar in nats, or `(B,)` without a reduction; NaN if a tag of a word is outside [0, K).
    """

    def __init__(self, reduction="sum_over_batch_size", name="crf_loss", dtype=None):
        double = keras.dtype_policies.get(dtype or keras.config.floatx()).compute_dtype == "float64"
        super().__init__(name=name, reduction=reduction, dtype="float64" if double else "float32")

    def __call__(self, y_true, y_pred, sample_weight=None):
        if sample_weight is not None and len(ops.shape(sample_weight)) == 2:
            words = ops.cast(is_word(split_chain(y_pred)[0]), y_pred.dtype)  # (B, T)
            weights = ops.cast(sample_weight, words.dtype) * words
            sample_weight = ops.sum(weights, axis=1) / ops.maximum(ops.sum(words, axis=1), 1)
        return super().__call__(y_true, y_pred, sample_weight)

    def call(self, y_true, y_pred):
        return -log_likelihood(y_pred, y_true)

    def get_config(self):
        return {**super().get_config(), "dtype": self.dtype}


@keras.saving.register_keras_serializable(package="keraszoo")
class CRFAccuracy(keras.metrics.Mean):
    """The share of words that get their gold tag in the best tagging, of a model whose output is a `CRF`.

    Keras' own `"accuracy"` compares tags with scores of the same length, which a chain does not have.

    Args:
        name, dtype: as for every Keras metric.
        allowed: what the tag scheme permits, as for `CRF`.

    Call arguments: as for `CRFLoss`. The weight of a sentence is that of each of its words.

    Example:

    >>> from keraszoo.layers import CRF
    >>> accuracy = CRFAccuracy()
    >>> accuracy.update_state(ops.array([[0, 1]]), CRF(num_tags=3)(ops.zeros((1, 2, 3))))
    >>> float(accuracy.result())  # all tags are equal: the first wins
    0.5
    """

    def __init__(self, name="accuracy", dtype=None, allowed=None):
        super().__init__(name=name, dtype=dtype)
        self.allowed = as_lists(allowed)

    def update_state(self, y_true, y_pred, sample_weight=None):
        scores, moves = split_chain(ops.convert_to_tensor(y_pred))
        tags, _ = best_path(scores, permit(moves, self.allowed))
        gold = check_tags(y_true, scores)
        weight = ops.cast(is_word(scores), self.dtype)  # (B, T)
        if sample_weight is not None:
            sample_weight = ops.cast(sample_weight, self.dtype)
            weight = weight * (sample_weight[:, None] if len(sample_weight.shape) == 1 else sample_weight)
        return super().update_state(gold == tags, weight)

    def get_config(self):
        return {**super().get_config(), "allowed": self.allowed}
