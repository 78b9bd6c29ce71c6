"""Words as the states of a pretrained encoder of subwords, which KerasHub builds."""

import keras
from keras import ops

from keraszoo.errors import import_extra
from keraszoo.layers.arguments import check_choices, check_optional_sizes, require
from keraszoo.models.word_features import WordFeatures

ENCODERS = (
    *("BertBackbone", "DebertaV3Backbone", "DistilBertBackbone", "ElectraBackbone"),
    *("RobertaBackbone", "XLMRobertaBackbone"),
)
POOLING = ("first", "mean")
POSITIONS = 512  # of an encoder that limits none


def gelu(x):
    """GELU: x times the normal distribution function of x, by erf."""
    return 0.5 * x * (1 + ops.erf(x * 2**-0.5))


def without_pooler(backbone, exact_gelu=False):
    """The part of a KerasHub backbone from subwords to their states, a functional `keras.Model`.

    `exact_gelu` replaces the approximation of GELU by tanh, with which KerasHub builds BERT. GELU by erf is
    that of this module, because ONNX does not have the erfc of TensorFlow's.
    """
    for layer in backbone._flatten_layers():
        if isinstance(layer, keras.layers.Dense) and layer.name == "feedforward_intermediate_dense":
            if exact_gelu or layer.activation is keras.activations.gelu:
                layer.activation = gelu
    output = backbone.output
    states = output["sequence_output"] if isinstance(output, dict) else output
    return keras.Model(backbone.input, states, name="backbone")


@keras.saving.register_keras_serializable(package="keraszoo")
class PretrainedWords(keras.layers.Layer):
    """Represents each word by a state of an encoder that reads the subwords of the sentence.

        s = backbone([start ; subwords ; end])        x_t = s_{f(t)}, or the mean of s over the subwords of t

    f(t) is the first subword of word t (Devlin et al. 2018, section 5.3). A sentence of more subwords than
    the encoder has positions is read in windows that overlap by a quarter. Each word is read in the window
    whose centre is nearest: there it has most context on both sides. What a sentence gets does not depend on
    the rest of the batch.

    Args:
        backbone: dict of plain values: `"class"`, one of `ENCODERS` in `keras_hub.models`, and the arguments
            of its constructor, and `"exact_gelu": True` for weights that were trained with GELU by erf, as
            those of Hugging Face are. The weights are random until `backbone.set_weights`.
        start_id, end_id: ids of the subwords around each window.
        pooling: `"first"`, or `"mean"` over all subwords of a word.
        max_positions: of a window, the two special ones included; `None`: all that the encoder has.
        train_backbone: whether the encoder is trained; a frozen one also runs without dropout.

    Call arguments:
        inputs: dict of int arrays. `"subwords"` `(B, L)`: ids plus 1, padding 0 at the end. `"words"`
            `(B, T)`: the place of each word's first subword in its row, from 1; padding is 0.

    Returns:
        `(B, T, D)`, with a mask of the words.

    Raises:
        ValueError: KerasHub is not installed; an encoder that is not in `ENCODERS`; an argument out of range.

    Example:

    >>> sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 8}
    >>> words = PretrainedWords({"class": "BertBackbone", "vocabulary_size": 9} | sizes, start_id=1, end_id=2)
    >>> inputs = {"words": ops.array([[1, 3, 0]]), "subwords": ops.array([[5, 6, 7, 9]])}  # of 2, and of 2
    >>> tuple(words(inputs).shape)
    (1, 3, 8)

    Reference: Devlin et al.: BERT, 2018, https://arxiv.org/abs/1810.04805.
    """

    features = ("words", "subwords")
    check, compute_mask = WordFeatures.check, WordFeatures.compute_mask

    def __init__(
        self,
        backbone,
        start_id=0,
        end_id=0,
        pooling="first",
        max_positions=None,
        train_backbone=True,
        **kwargs,
    ):
        super().__init__(**{"autocast": False, **kwargs})  # half precision would round ids
        check_choices(POOLING, pooling=pooling)
        check_optional_sizes(max_positions=max_positions)
        sizes = dict(backbone)
        kind, exact_gelu = sizes.pop("class", None), sizes.pop("exact_gelu", False)
        require(kind in ENCODERS, f"The class of the backbone must be one of {ENCODERS}", kind=kind)
        made = getattr(import_extra("keras_hub", "hub").models, kind)(**sizes, dtype=self.dtype_policy)
        self.backbone = without_pooler(made, exact_gelu)
        self.backbone.trainable = train_backbone
        most = sizes.get("max_sequence_length") or getattr(made, "max_sequence_length", None) or POSITIONS
        positions = min(most, max_positions or most)
        require(positions >= 6, "A window needs at least 6 positions", positions=positions)
        self.room = positions - 2
        self.stride = self.room - self.room // 4
        self.arguments = backbone, start_id, end_id, pooling, max_positions, train_backbone

    def call(self, inputs, training=None):
        features = self.check(inputs)
        words, subwords = features["words"], features["subwords"]
        lengths = ops.sum(ops.cast(subwords != 0, "int32"), axis=1, keepdims=True)  # (B, 1)
        states = self._windows(subwords, training)  # (B, N, D), N = windows x width
        if self.arguments[3] == "first":
            return self._at(states, ops.maximum(words - 1, 0), subwords, lengths)
        places = ops.zeros_like(subwords) + ops.arange(ops.shape(subwords)[1], dtype="int32")  # (B, L)
        states = self._at(states, places, subwords, lengths)  # (B, L, D)
        first = ops.any(places[:, :, None] + 1 == words[:, None], axis=2)  # (B, L)
        number = ops.cumsum(ops.cast(first, "int32"), axis=1)  # of the word of each subword
        own = ops.take_along_axis(number, ops.maximum(words - 1, 0), axis=1)  # (B, T)
        inside = (number[:, None] == own[:, :, None]) & (places < lengths)[:, None]  # (B, T, L)
        weights = ops.cast(inside & (words != 0)[:, :, None], states.dtype)
        return ops.matmul(weights / ops.maximum(ops.sum(weights, axis=2, keepdims=True), 1), states)

    def _windows(self, subwords, training):
        """The states of all windows, one after the other: `(B, windows x width, D)`."""
        _, start_id, end_id, *_, train_backbone = self.arguments
        rows, length = ops.shape(subwords)[0], ops.shape(subwords)[1]
        least, most = (min, max) if isinstance(length, int) else (ops.minimum, ops.maximum)
        width, windows = least(length, self.room), 1 + self._further(most(length - self.room, 0))
        window = ops.arange(windows, dtype="int32") * self.stride
        places = window[:, None] + ops.arange(width, dtype="int32")  # (windows, width)
        tokens = ops.take(subwords, ops.minimum(places, length - 1), axis=1)
        tokens = ops.reshape(ops.where(places < length, tokens, 0), (rows * windows, width))
        count = ops.sum(ops.cast(tokens != 0, "int32"), axis=1, keepdims=True)
        tokens = ops.pad(tokens - 1, [[0, 0], [1, 1]])
        place = ops.arange(width + 2, dtype="int32")[None]
        tokens = ops.where(place == 0, start_id, ops.where(place == count + 1, end_id, tokens))
        mask = ops.cast(place <= count + 1, "int32")
        tokens = tokens * mask
        inputs = {"token_ids": tokens, "segment_ids": ops.zeros_like(tokens), "padding_mask": mask}
        inputs = {name: inputs[name] for name in self.backbone.input}
        states = self.backbone(inputs, training=training if train_backbone else False)[:, 1:-1]
        return ops.reshape(states, (rows, windows * width, states.shape[-1]))

    def _at(self, states, places, subwords, lengths):
        """The states of subwords at places `(B, N)`, from 0, each in the window where it has most context."""
        length = ops.shape(subwords)[1]
        width = min(length, self.room) if isinstance(length, int) else ops.minimum(length, self.room)
        last = self._further(ops.maximum(lengths - self.room, 0))  # (B, 1), the last window of a row
        window = (2 * places - self.room + 1 + self.stride) // (2 * self.stride)
        window = ops.minimum(ops.maximum(window, 0), last)
        inside = ops.minimum(places - window * self.stride, width - 1)
        return ops.take_along_axis(states, (window * width + inside)[..., None], axis=1)

    def _further(self, beyond):
        """The number of windows after the first one that hold this many subwords more."""
        return (beyond + self.stride - 1) // self.stride

    def padding(self):
        """The smallest inputs, dict of zeros."""
        return {name: ops.zeros((1, 1), dtype="int32") for name in self.features}

    def get_config(self):
        names = ("backbone", "start_id", "end_id", "pooling", "max_positions", "train_backbone")
        return {**super().get_config(), **dict(zip(names, self.arguments, strict=True))}
