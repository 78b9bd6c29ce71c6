"""A sentence as one vector: the sum of the embeddings of its words, with or without their order."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes
from keraszoo.layers.kernel_options import Quantizable
from keraszoo.layers.masking import at_least_float32


@keras.saving.register_keras_serializable(package="keraszoo")
class SentenceEncoder(Quantizable):
    """The embeddings of a sentence's words, summed into one vector.

        m = sum_j E x_j                       "bag"
        m = sum_j 2 l_j * E x_j               "position", l_kj = (1 - j/J) - (k/d) (1 - 2j/J)

    with j = 1..J the words and k = 1..d the places in an embedding (E -> `E`, a
    `keras.layers.ReversibleEmbedding`). A bag of words is the same for "Mary gave John the milk" and "John
    gave Mary the milk". Padding at any place is skipped.

    Departures: the paper has no factor of 2. With it the factors of a word are 1 on average, as in a bag and
    in the authors' code; without it the paper's initial embeddings and learning rate are too small.

    Args:
        vocabulary_size: V.
        width: d.
        encoding: `"position"` or `"bag"`.
        pad_id: the null word, whose embedding is zero.

    Call arguments:
        inputs: `(..., J)`, ids in [0, V).
        reverse: return how well each word fits a vector, h E^T.

    Returns:
        `(..., d)`, zero where there is no word; with `reverse`, `(..., V)` for inputs `(..., d)`.

    Raises:
        ValueError: if `encoding` is unknown, or a size is not a positive integer.

    Example:

    >>> encoder = SentenceEncoder(vocabulary_size=5, width=4)
    >>> story = ops.array([[[1, 2, 3], [4, 0, 0]]])  # two sentences
    >>> tuple(encoder(story).shape)
    (1, 2, 4)

    Reference: Sukhbaatar, Szlam, Weston, Fergus, 2015, section 4.1, https://arxiv.org/abs/1503.08895.
    """

    def __init__(self, vocabulary_size, width, encoding="position", pad_id=0, **kwargs):
        super().__init__(**{"autocast": False, **kwargs})  # half precision would round ids
        check_choices(("position", "bag"), encoding=encoding)
        check_sizes(vocabulary_size=vocabulary_size, width=width)
        self.vocabulary_size, self.width = int(vocabulary_size), int(width)
        self.encoding = encoding
        self.pad_id = pad_id
        self.E = keras.layers.ReversibleEmbedding(
            self.vocabulary_size,
            self.width,
            embeddings_initializer=keras.initializers.RandomNormal(stddev=0.1),
            reverse_dtype=self.compute_dtype,
            dtype=self.policy_of("E"),
            trainable=self.trainable,
            name="E",
        )

    def build(self, inputs_shape=None):
        self.E.build()

    def call(self, inputs, reverse=False):
        if reverse:
            is_word = ops.arange(self.vocabulary_size, dtype="int32") != self.pad_id
            logits = ops.cast(self.E(inputs, reverse=True), self.compute_dtype)
            return ops.where(is_word, logits, 0)
        inputs = ops.cast(inputs, "int32")
        is_word = ops.cast(inputs != self.pad_id, "int32")  # (..., J)
        factors = ops.cast(is_word, self.compute_dtype)[..., None]
        if self.encoding == "position":
            lengths = ops.maximum(ops.sum(is_word, axis=-1, keepdims=True), 1)
            full = at_least_float32(self.compute_dtype)
            j = ops.cast(ops.cumsum(is_word, axis=-1), full) / ops.cast(lengths, full)
            k = ops.arange(1, self.width + 1, dtype=full) / self.width
            weights = (1 - j[..., None]) - k * (1 - 2 * j[..., None])  # (..., J, d)
            factors = factors * ops.cast(2 * weights, self.compute_dtype)
        x = ops.cast(self.E(inputs), self.compute_dtype)  # int8 gives float32 (Keras 3.15)
        return ops.sum(x * factors, axis=-2)  # (..., d)
