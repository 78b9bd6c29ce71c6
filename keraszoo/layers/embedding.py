"""One matrix for reading words and for predicting them (Press and Wolf, 2017)."""

import math

import keras
from keras import ops

from keraszoo.layers.arguments import WeightedLayer, check_sizes
from keraszoo.layers.linear import linear


@keras.saving.register_keras_serializable(package="keraszoo")
class TiedEmbedding(WeightedLayer):
    """An embedding whose transpose is the output matrix before the vocabulary softmax.

        embed(y) = sqrt(D) E[y]        logits(h) = h E^T

    E starts as N(0, 1/D) by default: embeddings have unit variance after the factor, and logits start small.

    Args:
        vocabulary_size: V.
        width: D.
        scale: multiply embeddings by sqrt(D), as the Transformer does.
        embeddings_initializer, embeddings_regularizer, embeddings_constraint: of E, as for
            `keras.layers.Embedding`.

    Call arguments:
        inputs: `(B, T)` ids in [0, V).
        reverse: return the logits of vectors, as `logits(h)` does.

    Returns:
        `(B, T, D)`; with `reverse`, `(..., V)` for inputs `(..., D)`.

    Raises:
        ValueError: if a size is not a positive integer.

    Example:

    >>> import numpy as np
    >>> embedding = TiedEmbedding(vocabulary_size=5, width=4)
    >>> embedded = embedding(np.array([[1, 2, 3]]))
    >>> tuple(embedded.shape), tuple(embedding.logits(embedded).shape)
    ((1, 3, 4), (1, 3, 5))

    Reference: Press, Wolf: Using the Output Embedding to Improve Language Models, 2017,
    https://arxiv.org/abs/1608.05859.
    """

    weight_kinds = {"embeddings": None}  # its default depends on the width

    def __init__(self, vocabulary_size, width, scale=True, **kwargs):
        super().__init__(**{"autocast": False, **kwargs})  # half precision would round ids
        check_sizes(vocabulary_size=vocabulary_size, width=width)
        self.supports_masking = True
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.scale = scale

    def build(self, inputs_shape=None):
        default = keras.initializers.RandomNormal(stddev=self.width**-0.5)
        self.E = self.new_weight("E", (self.vocabulary_size, self.width), "embeddings", default)

    def call(self, inputs, reverse=False):
        if reverse:
            matrix = ops.transpose(ops.cast(self.E, self.compute_dtype))
            return linear(ops.cast(inputs, self.compute_dtype), matrix)
        ids = ops.cast(inputs, "int32")
        embedded = ops.cast(ops.take(self.E, ids, axis=0), self.compute_dtype)  # (B, T, D)
        return embedded * math.sqrt(self.width) if self.scale else embedded

    def logits(self, hidden):
        """Returns the logits `(..., V)` of vectors `(..., D)`."""
        return self(hidden, reverse=True)

    def compute_output_shape(self, inputs_shape, reverse=False):
        return (*inputs_shape[:-1], self.vocabulary_size) if reverse else (*inputs_shape, self.width)

    def compute_output_spec(self, inputs, reverse=False):
        return keras.KerasTensor(self.compute_output_shape(inputs.shape, reverse), self.compute_dtype)
