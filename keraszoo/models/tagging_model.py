"""The contract of a tagger: from features of words to scores of tags, and from these to tags."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_rates, check_sizes, require
from keraszoo.layers.bag_of_subwords import MOST_BUCKETS, BagOfSubwords
from keraszoo.layers.character_encoder import CharacterEncoder
from keraszoo.layers.crf import CRF, permit
from keraszoo.layers.linear_chain import best_path, with_outside
from keraszoo.layers.masking import at_least_float32
from keraszoo.models.configured_model import ConfiguredModel

LEAST = 1e-9  # a probability whose logarithm is finite
SMALLEST = 127 / 60_000  # the largest number of a row that int8 stores at its own scale
UNKNOWN = 1  # the row of a word without a vector; row 0 is padding


class _Masked(keras.layers.Layer):
    """Passes scores on with a mask. On JAX, Keras drops the mask that a subclassed model computes."""

    def call(self, inputs):
        return inputs[0]

    def compute_mask(self, inputs, previous_mask=None):
        return inputs[1]


class TaggingModel(ConfiguredModel):
    """Base of the taggers: turns features into vectors of words, and scores into tags and a loss.

        scores = model(features)                                     # (B, T, K): logits, or a CRF's emissions
        tags, probabilities, attention_weights = model.tag(features)

    A word is represented by its frozen vector and, as options, by the output of a `CharacterEncoder` and an
    embedding of its casing. With `subword_buckets`, a word without a vector has that of a `BagOfSubwords`;
    words replaced by `word_dropout` still get the vector of the unknown word. A subclass writes
    `read(features, training)`, which returns the scores.

    Without a loss, as in `model.compile(optimizer)`, training minimises

        -sum_{b,t} w_bt log softmax(scores_bt)[y_bt]        or, with a CRF,        -sum_b w_b log p(y_b | x_b)

    where w_bt are the sample weights and w_b is the mean weight of the words of a sentence. It is a sum: with
    the weights 1 / (words of the whole batch) it is the mean over words, and stock `fit` under
    `MirroredStrategy` makes the update of one device. Without `sample_weight`, these weights are used,
    computed from the words on each device. Padding has weight 0.

    With `allowed` the tags of `tag` always obey the scheme. A model without a CRF then decodes by Viterbi
    with transitions of 0.

    Shapes: B batch, T words, C characters, K `num_tags`, V `vocabulary_size`.

    Args:
        num_tags: K; padding is no tag.
        vocabulary_size: V, rows of the table of vectors, 0 (padding) and 1 (unknown) included.
        vector_width: width of the word vectors.
        train_vectors: whether the table is trained.
        int8_vectors: store the table as int8 with a scale for each row (Keras' int8 quantization): a quarter
            of the memory, half the size of a file in half precision. Such a table is not trained.
        word_dropout: share of the words that are replaced by the unknown word in training.
        characters: `None`, `"cnn"` or `"lstm"`: the encoder of the spelling.
        character_vocabulary_size: number of character ids, 0 (padding) included; for `characters` and
            `subword_buckets`.
        character_dim: width of the embeddings of characters.
        character_units: filters, or units of each direction, of the character encoder.
        character_window: characters that a filter sees, an odd number.
        subword_buckets: `buckets` of the `BagOfSubwords`, at most 131,072; 0: none.
        casing_size: number of casing classes, 0 (padding) included; for `casing_dim`.
        casing_dim: width of the embedding of the casing; 0: none.
        dropout: share dropped in training, of the embeddings of characters and of what a subclass documents.
        crf: put a `CRF` on the scores.
        allowed, constrain: as for `CRF`; without a CRF they hold for decoding.

    Attributes:
        features: names of the features that the model reads; it ignores others.
        attends: whether `tag` gives attention weights.
    """

    attends = False

    def __init__(
        self,
        num_tags,
        vocabulary_size,
        vector_width=200,
        train_vectors=False,
        int8_vectors=False,
        word_dropout=0.0,
        characters: str = None,
        character_vocabulary_size=None,
        character_dim=30,
        character_units=30,
        character_window=3,
        subword_buckets=0,
        casing_size=None,
        casing_dim=0,
        dropout=0.0,
        crf=False,
        allowed=None,
        constrain="decode",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(num_tags=num_tags, vocabulary_size=vocabulary_size, vector_width=vector_width)
        fits = type(subword_buckets) is int and 0 <= subword_buckets <= MOST_BUCKETS
        wanted = f"subword_buckets must be an integer from 0 to {MOST_BUCKETS}"
        require(fits, wanted, subword_buckets=subword_buckets)
        spelt = characters or subword_buckets
        for name, used in (("character_vocabulary_size", spelt), ("casing_size", casing_dim)):
            size = self.arguments[name]
            require(size or not used, f"{name} must be given where it is used", **{name: size})
        check_rates(word_dropout=word_dropout)
        require(not (int8_vectors and train_vectors), "int8_vectors are not trained", train_vectors=True)
        self.num_tags = num_tags
        self.vocabulary_size = vocabulary_size
        self.word_dropout = word_dropout
        self.crf = crf
        self.int8_vectors = int8_vectors
        dtype, embedding = self.dtype_policy, keras.layers.Embedding
        full = at_least_float32(dtype.compute_dtype)  # no half precision: scores
        stored = dtype
        if int8_vectors:  # Keras has no int8 for float16
            source = "float32" if dtype.compute_dtype == "float16" else dtype.name
            stored = keras.dtype_policies.get(f"int8_from_{source}")
        self.vectors = embedding(
            vocabulary_size, vector_width, trainable=train_vectors, dtype=stored, name="vectors"
        )
        self.character_encoder = self.subwords = self.casing = self.chain = None
        if subword_buckets:
            self.subwords = BagOfSubwords(
                character_vocabulary_size,
                vector_width,
                subword_buckets,
                trainable=train_vectors,
                dtype=dtype,
                name="subwords",
            )
        if characters:
            self.character_encoder = CharacterEncoder(
                character_vocabulary_size,
                character_dim,
                character_units,
                characters,
                character_window,
                dropout=dropout,
                dtype=dtype,
                name="characters",
            )
        if casing_dim:
            self.casing = embedding(casing_size, casing_dim, dtype=dtype, name="casing")
        if crf or allowed is not None:
            # With frozen transitions of zero, a CRF is a softmax at every word that obeys the scheme.
            self.chain = CRF(num_tags, allowed, constrain, trainable=crf, dtype=full, name="crf")
        self.scores = keras.layers.Dense(num_tags, dtype=full, name="scores")
        self.prediction = keras.layers.Softmax(dtype=full, name="prediction")
        self.masked = _Masked(dtype=full, name="masked")
        self.word_dropout_seed = keras.random.SeedGenerator()

    @property
    def features(self):
        """Names of the features that the model reads, a tuple."""
        optional = {"characters": self.character_encoder or self.subwords, "casing": self.casing}
        return ("words", *(name for name, layer in optional.items() if layer is not None))

    def set_vectors(self, matrix):
        """Sets the rows of the table.

        Args:
            matrix: `(V, vector_width)`; or `(V - 2, vector_width)`, the vectors of the words alone: then
                padding is zero and the unknown word is the mean of all.

        Raises:
            ValueError: if it has another shape or is not finite; the table is then unchanged.
        """
        if not self.built:
            self.build()
        matrix = ops.convert_to_tensor(matrix, "float32")
        rows, width = self.vocabulary_size, self.vectors.output_dim
        if tuple(matrix.shape) == (rows - 2, width) and rows > 2:
            special = ops.stack([ops.zeros((width,)), ops.mean(matrix, axis=0)])
            matrix = ops.concatenate([special, matrix], axis=0)
        if tuple(matrix.shape) != (rows, width):
            raise ValueError(
                f"vectors must be ({rows}, {width}), or ({rows - 2}, {width}) without padding and unknown. "
                f"Received: shape {tuple(matrix.shape)}"
            )
        if not bool(ops.all(ops.isfinite(matrix))):
            raise ValueError("vectors must be finite. Received: NaN or infinity among them")
        weights = [matrix]
        if self.int8_vectors:
            # Half precision can store the scale of small rows and of padding, too.
            largest = ops.maximum(ops.max(ops.abs(matrix), axis=1, keepdims=True), SMALLEST)
            weights = ops.round(matrix * (127 / largest)), 127 / largest[:, 0]
        self.vectors.set_weights([ops.convert_to_numpy(weight) for weight in weights])

    def check_features(self, features):
        """The features that the model reads, as int32 tensors; raises an error that names missing ones."""
        missing = [name for name in self.features if name not in features]
        if missing:
            raise ValueError(
                f"{type(self).__name__} reads the features {', '.join(self.features)}. "
                f"Received: {', '.join(sorted(features))}; missing: {', '.join(missing)}"
            )
        return {name: ops.cast(ops.convert_to_tensor(features[name]), "int32") for name in self.features}

    def mask(self, features):
        """Bool `(B, T)`, `True` where there is a word."""
        return ops.not_equal(features["words"], 0)

    def represent(self, features, training=None):
        """The representation of each word, independent of the other words: `(B, T, D)`."""
        words = features["words"]
        unknown = words == UNKNOWN
        if training and self.word_dropout:
            draws = keras.random.uniform(ops.shape(words), seed=self.word_dropout_seed)
            unseen = ops.logical_and(draws < self.word_dropout, words != 0)
            words = ops.where(unseen, UNKNOWN, words)
        vectors = ops.cast(self.vectors(words), self.compute_dtype)
        if self.subwords is not None:
            spelt = self.subwords(features["characters"])
            vectors = ops.where(unknown[..., None], spelt, vectors)
        parts = [vectors]
        if self.character_encoder is not None:
            parts.append(self.character_encoder(features["characters"], training=training))
        if self.casing is not None:
            parts.append(self.casing(features["casing"]))
        return ops.concatenate(parts, axis=-1)

    def read(self, features, training=None):
        """`(scores, attention_weights)`: `(B, T, K)`, and `(B, T)` or `None`."""
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies read.")

    def call(self, features, training=None):
        features = self.check_features(features)
        scores, _ = self.read(features, training=training)
        return self.masked((scores, self.mask(features)))

    def tag(self, features):
        """Tags sentences, with probabilities and attention weights.

        Args:
            features: dict of int arrays, as for a call.

        Returns:
            `(tags, probabilities, attention_weights)`: int32 `(B, T)`, 0 at padding; float32 `(B, T, K)`, the
            softmax or the marginals of the CRF, 0 at padding; float32 `(B, T)`, sum 1 over the words of a
            sentence, or `None` if the model does not attend.
        """
        features = self.check_features(features)
        scores, attention_weights = self.read(features, training=False)
        mask = self.mask(features)
        tags = self.best_tags(features, scores)
        if self.crf:
            probabilities = self.chain.marginals(scores, mask)
        else:
            probabilities = ops.where(mask[..., None], self.prediction(scores), 0.0)
        if attention_weights is not None:
            attention_weights = ops.cast(attention_weights, "float32")
        return tags, probabilities, attention_weights

    def best_tags(self, features, scores):
        """The tags of sentences by their scores `(B, T, K)`: int32 `(B, T)`, 0 at padding."""
        mask = self.mask(features)
        if self.chain is None:
            return ops.where(mask, ops.cast(ops.top_k(scores, 1)[1][..., 0], "int32"), 0)
        return self.chain.decode(scores, mask)[0]

    def best_valid_tags(self, probabilities, mask):
        """The permitted tags with the highest product of probabilities `(B, T, K)`: int `(B, T)`."""
        permitted = self.chain is not None and self.chain.constrain != "none"
        scores, size = ops.log(ops.maximum(probabilities, LEAST)), self.num_tags
        moves = ops.zeros((size, size)), ops.zeros((size,)), ops.zeros((size,))
        scores, moves = with_outside(scores, mask, *moves)
        tags, _ = best_path(scores, permit(moves, self.chain.allowed if permitted else None))
        return ops.where(mask, tags, 0)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of a batch, a scalar; see the class. A loss given to `compile` replaces that of a softmax.

        Padding has no weight, and its mean is over the words. The losses of regularizers, and those that
        layers add, are added.

        Raises:
            ValueError: if a loss was given to a model with a CRF, which has its own.
        """
        mask, sample_weight = ops.cast(self.mask(x), y_pred.dtype), _of_words(sample_weight)  # (B, T)
        if self.loss is not None:
            if self.crf:
                raise ValueError("a model with a CRF has its own loss: compile it without one")
            weight = mask if sample_weight is None else ops.cast(sample_weight, mask.dtype) * mask
            return super().compute_loss(x, y, y_pred, weight, training)
        weight = mask / ops.maximum(ops.sum(mask), 1) if sample_weight is None else sample_weight
        weight = ops.cast(weight, mask.dtype) * mask
        if self.crf:
            weight = ops.sum(weight, axis=1) / ops.maximum(ops.sum(mask, axis=1), 1)
            return self._with_added(-ops.sum(weight * self.chain.log_likelihood(y_pred, y, mask)))
        y = ops.where(mask > 0, ops.cast(y, "int32"), 0)
        loss = ops.sum(weight * ops.sparse_categorical_crossentropy(y, y_pred, from_logits=True))
        return self._with_added(loss)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return super().compute_metrics(x, y, y_pred, _of_words(sample_weight))

    def _with_added(self, loss):
        """Adds the losses of layers; on several devices each adds its share, as in Keras."""
        return sum(map(self._aggregate_additional_loss, self.losses), loss)

    def build(self, input_shape=None):
        """Makes all weights, whose sizes do not depend on data."""
        shapes = {"words": (1, 2), "characters": (1, 2, 3), "casing": (1, 2)}
        self.call({name: ops.zeros(shapes[name], dtype="int32") for name in self.features})

    def compute_output_shape(self, input_shape):
        return (*input_shape["words"], self.num_tags)

    def compute_output_spec(self, features, training=None):
        shape = self.compute_output_shape({"words": features["words"].shape})
        return keras.KerasTensor(shape, self.scores.compute_dtype)

    def get_config(self):
        allowed = None if self.chain is None else self.chain.get_config()["allowed"]
        return {**super().get_config(), "allowed": allowed}


def _of_words(sample_weight):
    """Weights that broadcast to words: the weight `(B,)` of a sentence is that of each of its words."""
    is_of_sentences = sample_weight is not None and len(ops.shape(sample_weight)) == 1
    return sample_weight[:, None] if is_of_sentences else sample_weight
