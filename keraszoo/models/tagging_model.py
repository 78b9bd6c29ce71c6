"""The contract of a tagger: from features of words to scores of tags, and from these to tags."""

import keras
from keras import ops

from keraszoo.layers.configured_layer import ConfiguredLayer
from keraszoo.layers.replicas import over_replicas
from keraszoo.models.configured_model import ConfiguredModel

# Recurrent layers of Keras 3.16 drop the mask unless they are told not to.
PASS_MASKS_ON = keras.Model, keras.layers.RNN, keras.layers.Bidirectional, keras.layers.TimeDistributed


@keras.saving.register_keras_serializable(package="keraszoo")
class TaggingModel(ConfiguredLayer, ConfiguredModel):
    """A tagger made of three layers: features of words, an encoder of the sentence, and a tag head.

        x = words(features)        h = encoder(x)        scores = head(h)
        tags, probabilities, attention_weights = model.tag(features)

    Without a loss, as in `model.compile(optimizer)`, training minimises

        -sum_{b,t} w_bt log softmax(scores_bt)[y_bt]        or, with a CRF,        -sum_b w_b log p(y_b | x_b)

    where w_bt are the sample weights and w_b is the mean weight of the words of a sentence. Without
    `sample_weight` they are 1 / (words of the batch), on all devices together: stock `fit` under
    `MirroredStrategy` makes the update of one device. Padding has weight 0.

    A loss given to `compile` replaces that of a softmax. Keras' own take the mean on each device: the update
    is then that of one device only if all have the same number of words.

    Args:
        words: a `WordFeatures`, or another layer from a dict of features to `(B, T, D)` with its attribute
            `features` and its methods `check`, `compute_mask` and `padding`.
        encoder: any layer from `(B, T, D)` to `(B, T, h)`. It gets the mask as Keras' layers do. A subclass
            may write `encode` instead.
        head: a `TagHead`.

    Call arguments:
        features: dict of int arrays, such as `"words"` `(B, T)`. Padding is 0.

    Returns:
        Scores `(B, T, K)`: logits, or the emissions of a CRF, with the mask of the words.

    Raises:
        ValueError: if a feature is missing.

    Attributes:
        features: names of the features that the model reads, a tuple; it ignores others.
        attends: whether `tag` gives attention weights.

    Example: an encoder of one's own.

    >>> from keraszoo.models import TagHead, WordFeatures
    >>> words = WordFeatures(keras.layers.Embedding(9, 4))
    >>> encoder = keras.layers.Bidirectional(keras.layers.LSTM(8, return_sequences=True))
    >>> model = TaggingModel(words, encoder, TagHead(num_tags=3, crf=True))
    >>> model.compile("adam")
    >>> features, tags = {"words": ops.array([[4, 5, 2], [3, 0, 0]])}, ops.array([[1, 2, 0], [1, 0, 0]])
    >>> history = model.fit(features, tags, verbose=0)
    >>> tuple(model.tag(features)[0].shape)
    (2, 3)
    """

    attends = False

    def __init__(self, words, encoder, head, **kwargs):
        super().__init__(**kwargs)
        for layer in encoder._flatten_layers() if encoder is not None else ():
            if isinstance(layer, PASS_MASKS_ON):
                layer.supports_masking = True  # which Keras doubts
        self.words = words
        self.encoder = encoder
        self.head = head

    @property
    def features(self):
        return self.words.features

    def mask(self, features):
        """Bool `(B, T)`, `True` where there is a word."""
        return self.words.compute_mask(features)

    def encode(self, x, mask, training=None):
        """`(h, attention_weights)` of vectors `(B, T, D)`: `(B, T, h)`, and `(B, T)` or `None`."""
        return self.encoder(x), None

    def read(self, features, training=None):
        """`(scores, attention_weights)`: `(B, T, K)`, and `(B, T)` or `None`."""
        features = self.words.check(features)
        mask = self.mask(features)
        h, attention_weights = self.encode(self.words(features, training=training), mask, training)
        return self.head(h, mask=mask), attention_weights

    def call(self, features, training=None):
        return self.read(features, training)[0]

    def tag(self, features):
        """Tags sentences: `(tags, probabilities, attention_weights)`.

        These are int32 `(B, T)`, 0 at padding; `(B, T, K)`, the softmax or the marginals of the CRF, 0 at
        padding; and float32 `(B, T)` with sum 1, or `None` if the model does not attend.
        """
        scores, attention_weights = self.read(features, training=False)
        mask = self.mask(features)
        if attention_weights is not None:
            attention_weights = ops.cast(attention_weights, "float32")
        return self.head.decode(scores, mask), self.head.probabilities(scores, mask), attention_weights

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of a batch, a scalar, with the losses that layers add; see the class."""
        mask, weight = ops.cast(self.mask(x), y_pred.dtype), _of_words(sample_weight)  # (B, T)
        if self.loss is not None:
            if self.head.crf:
                raise ValueError("a model with a CRF has its own loss: compile it without one")
            weight = mask if weight is None else ops.cast(weight, mask.dtype) * mask
            return super().compute_loss(x, y, y_pred, weight, training)
        weight = mask / ops.maximum(over_replicas(ops.sum(mask)), 1) if weight is None else weight
        loss = self.head.loss(y_pred, y, mask, ops.cast(weight, mask.dtype))
        return loss + super().compute_loss() if self.losses else loss  # each device adds its share

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return super().compute_metrics(x, y, y_pred, _of_words(sample_weight))

    def build(self, input_shape=None):
        self.call(self.words.padding())


def _of_words(sample_weight):
    """Weights that broadcast to words: the weight `(B,)` of a sentence is that of each of its words."""
    is_of_sentences = sample_weight is not None and len(ops.shape(sample_weight)) == 1
    return sample_weight[:, None] if is_of_sentences else sample_weight
