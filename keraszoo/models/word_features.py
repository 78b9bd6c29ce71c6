"""Words as vectors, each independent of the others: the first part of a tagger."""

import keras
from keras import ops

from keraszoo.layers.arguments import require
from keraszoo.layers.configured_layer import ConfiguredLayer

SMALLEST = 127 / 60_000  # the largest number of a row that int8 stores at its own scale
UNKNOWN = 1  # the row of a word without a vector; row 0 is padding
PARTS = ("vectors", "characters", "casing", "subwords")


@keras.saving.register_keras_serializable(package="keraszoo")
class WordFeatures(ConfiguredLayer):
    """Represents each word by its vector, and as options by its spelling and its casing.

        x_j = [vector of w_j ; characters of w_j ; casing of w_j]

    Args:
        vectors: a `keras.layers.Embedding` of words: row 0 is padding, row 1 a word without a vector.
        characters: a layer from ids `(B, T, C)` to `(B, T, F)`, such as `CharacterEncoder`, or `None`.
        casing: an embedding of classes of casing, or `None`.
        subwords: a `BagOfSubwords` as wide as the vectors, for words without one, or `None`. Words replaced
            by `word_dropout` still get the vector of the unknown word.
        word_dropout: share of the words that are replaced by the unknown word in training.

    Call arguments:
        inputs: dict of int arrays: `"words"` `(B, T)`, `"characters"` `(B, T, C)` if `characters` or
            `subwords` reads them, `"casing"` `(B, T)`; others are ignored. Padding is 0.

    Returns:
        `(B, T, D)`, with a mask of the words.

    Raises:
        ValueError: if a feature is missing, or `word_dropout` is not in [0, 1).

    Example:

    >>> words = WordFeatures(keras.layers.Embedding(9, 4), casing=keras.layers.Embedding(5, 2))
    >>> tuple(words({"words": ops.array([[4, 5, 0]]), "casing": ops.array([[1, 2, 0]])}).shape)
    (1, 3, 6)
    """

    def __init__(self, vectors, characters=None, casing=None, subwords=None, word_dropout=0.0, **kwargs):
        super().__init__(**{"autocast": False, **kwargs})  # half precision would round ids
        require(0 <= word_dropout < 1, "word_dropout must be in [0, 1)", word_dropout=word_dropout)
        self.vectors = vectors
        self.characters = characters
        self.casing = casing
        self.subwords = subwords
        self.word_dropout = word_dropout
        self.seed_generator = keras.random.SeedGenerator()

    @property
    def features(self):
        """Names of the features that the layer reads."""
        spelt = self.characters is not None or self.subwords is not None
        return ("words", *["characters"] * spelt, *["casing"] * (self.casing is not None))

    def build(self, inputs_shape=None):
        for name, rank in zip(PARTS, (2, 3, 2, 3), strict=True):
            if getattr(self, name) is not None:
                getattr(self, name).build((None,) * rank)

    def call(self, inputs, training=None):
        features = self.check(inputs)
        words, unknown = features["words"], features["words"] == UNKNOWN
        if training and self.word_dropout:
            draws = keras.random.uniform(ops.shape(words), seed=self.seed_generator)
            words = ops.where((draws < self.word_dropout) & (words != 0), UNKNOWN, words)
        vectors = self.vectors(words)
        if self.subwords is not None:
            vectors = ops.where(unknown[..., None], self.subwords(features["characters"]), vectors)
        parts = [vectors]
        if self.characters is not None:
            parts.append(self.characters(features["characters"], training=training))
        if self.casing is not None:
            parts.append(self.casing(features["casing"]))
        return ops.cast(
            ops.concatenate(parts, axis=-1), self.compute_dtype
        )  # int8 gives float32 (Keras 3.15)

    def compute_mask(self, inputs, previous_mask=None):
        """Bool `(B, T)`, `True` where there is a word."""
        return ops.not_equal(inputs["words"], 0)

    def check(self, inputs):
        """The features that the layer reads, as int32 tensors; raises an error that names missing ones."""
        missing = [name for name in self.features if name not in inputs]
        if missing:
            raise ValueError(
                f"The tagger reads the features {', '.join(self.features)}. "
                f"Received: {', '.join(sorted(inputs))}; missing: {', '.join(missing)}"
            )
        return {name: ops.cast(ops.convert_to_tensor(inputs[name]), "int32") for name in self.features}

    def padding(self):
        """The smallest inputs, dict of zeros."""
        ranks = {"words": 2, "characters": 3, "casing": 2}
        return {name: ops.zeros((1,) * ranks[name], dtype="int32") for name in self.features}

    def set_vectors(self, matrix):
        """Sets the rows of the table of vectors, which may be quantized.

        `matrix` is `(V, width)`; or `(V - 2, width)`, the vectors of the words alone: then padding is zero
        and the unknown word is the mean of all. Another shape, or NaN, raises a ValueError.
        """
        if not self.built:
            self.build()
        matrix = ops.convert_to_tensor(matrix, "float32")
        rows, width = self.vectors.input_dim, self.vectors.output_dim
        if tuple(matrix.shape) == (rows - 2, width) and rows > 2:
            special = ops.stack([ops.zeros((width,), dtype="float32"), ops.mean(matrix, axis=0)])
            matrix = ops.concatenate([special, matrix], axis=0)
        if tuple(matrix.shape) != (rows, width):
            raise ValueError(
                f"vectors must be ({rows}, {width}), or ({rows - 2}, {width}) without padding and unknown. "
                f"Received: shape {tuple(matrix.shape)}"
            )
        if not bool(ops.all(ops.isfinite(matrix))):
            raise ValueError("vectors must be finite. Received: NaN or infinity among them")
        weights = [matrix]
        if self.vectors.quantization_mode == "int8":
            # Half precision can store the scale of small rows and of padding, too.
            largest = ops.maximum(ops.max(ops.abs(matrix), axis=1, keepdims=True), SMALLEST)
            weights = ops.round(matrix * (127 / largest)), 127 / largest[:, 0]
        self.vectors.set_weights([ops.convert_to_numpy(weight) for weight in weights])
