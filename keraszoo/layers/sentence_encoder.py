"""A sentence as one vector: the sum of the embeddings of its words, with or without their order."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes
from keraszoo.layers.configured import Configured


def position_encoding(lengths, max_length, width):
    """The factors on the embeddings of words before the sum, so that the order of words matters.

        l_kj = (1 - j/J) - (k/d) (1 - 2j/J)

    with k = 1..d the place in the embedding, j = 1..J the place of the word, J the words of the sentence.

    Args:
        lengths: J, numbers of any shape `(...)`, at least 1.
        max_length: places j to compute; those beyond J belong to no word.
        width: d.

    Returns:
        float32 `(..., max_length, width)`.

    Example:

    >>> weights = position_encoding(ops.convert_to_tensor(2), max_length=2, width=4)
    >>> ops.convert_to_numpy(weights).tolist()  # the last word counts more towards the end of the vector
    [[0.5, 0.5, 0.5, 0.5], [0.25, 0.5, 0.75, 1.0]]

    Reference: Sukhbaatar, Szlam, Weston, Fergus: End-To-End Memory Networks, 2015, section 4.1,
    https://arxiv.org/abs/1503.08895.
    """
    places = ops.arange(1, max_length + 1, dtype="float32")
    j = (places / ops.cast(lengths, "float32")[..., None])[..., None]  # j/J, (..., max_length, 1)
    k = ops.arange(1, width + 1, dtype="float32") / width  # k/d
    return (1 - j) - k * (1 - 2 * j)


@keras.saving.register_keras_serializable(package="keraszoo")
class SentenceEncoder(Configured, keras.layers.Layer):
    """The embeddings of a sentence's words, summed into one vector.

        m = sum_j E x_j                       "bag"
        m = sum_j 2 l_j * E x_j               "position", l of `position_encoding`

    A bag of words is the same for "Mary gave John the milk" and "John gave Mary the milk".

    Departures: the paper has no factor of 2. With it the factors of a word are 1 on average, as in a bag and
    in the authors' code; without it the paper's initial embeddings and learning rate are too small.

    Shapes: J words, D `width`, V `vocabulary_size`.

    Args:
        vocabulary_size: V.
        width: D.
        encoding: `"position"` or `"bag"`.
        pad_id: the null word, whose embedding is zero.

    Call arguments:
        inputs: `(..., J)`, ids in [0, V), with padding at the end.
        reverse: return how well each word fits a vector, h E^T, as `logits(h)` does.

    Returns:
        `(..., D)`, zero where there is no word; with `reverse`, `(..., V)` for inputs `(..., D)`.

    Raises:
        ValueError: if `encoding` is unknown, or a size is not a positive integer.

    Example:

    >>> import numpy as np
    >>> encoder = SentenceEncoder(vocabulary_size=5, width=4)
    >>> story = np.array([[[1, 2, 3], [4, 0, 0]]])  # two sentences
    >>> tuple(encoder(story).shape)
    (1, 2, 4)

    Reference: Sukhbaatar, Szlam, Weston, Fergus: End-To-End Memory Networks, 2015, section 4.1,
    https://arxiv.org/abs/1503.08895.
    """

    def __init__(self, vocabulary_size, width, encoding="position", pad_id=0, **kwargs):
        super().__init__(**{"autocast": False, **kwargs})  # half precision would round ids
        check_choices(("position", "bag"), encoding=encoding)
        check_sizes(vocabulary_size=vocabulary_size, width=width)
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.encoding = encoding
        self.pad_id = pad_id

    def build(self, inputs_shape=None):
        initializer = keras.initializers.RandomNormal(stddev=0.1)
        self.E = self.add_weight(name="E", shape=(self.vocabulary_size, self.width), initializer=initializer)

    def embeddings(self):
        """E with a row of zeros for the null word, `(V, D)`."""
        is_word = ops.arange(self.vocabulary_size)[:, None] != self.pad_id
        return ops.cast(self.E * ops.cast(is_word, self.E.dtype), self.compute_dtype)

    def call(self, inputs, reverse=False):
        if reverse:
            return ops.matmul(ops.cast(inputs, self.compute_dtype), ops.transpose(self.embeddings()))
        inputs = ops.cast(inputs, "int32")
        embedded = ops.take(self.embeddings(), inputs, axis=0)  # (..., J, D)
        if self.encoding == "position":
            lengths = ops.sum(ops.cast(inputs != self.pad_id, "int32"), axis=-1)
            weights = position_encoding(ops.maximum(lengths, 1), ops.shape(inputs)[-1], self.width)
            embedded = embedded * ops.cast(2 * weights, embedded.dtype)
        return ops.sum(embedded, axis=-2)  # (..., D)

    def logits(self, hidden):
        """How well each word fits a vector: h E^T, `(..., D)` to `(..., V)`."""
        return self(hidden, reverse=True)

    def compute_output_shape(self, inputs_shape, reverse=False):
        return (*inputs_shape[:-1], self.vocabulary_size if reverse else self.width)

    def compute_output_spec(self, inputs, reverse=False):
        return keras.KerasTensor(self.compute_output_shape(inputs.shape, reverse), self.compute_dtype)
