"""A tagger over a pretrained encoder of KerasHub, such as BERT or XLM-R."""

import keras

from keraszoo.layers.arguments import check_sizes
from keraszoo.models.configured_model import ConfiguredModel
from keraszoo.models.pretrained_words import PretrainedWords
from keraszoo.models.tag_head import TagHead
from keraszoo.models.tagging_model import TaggingModel


@keras.saving.register_keras_serializable(package="keraszoo")
class PretrainedTagger(TaggingModel):
    """A pretrained encoder of subwords, and a score for each tag at each word.

        x_t = state of the first subword of word t           `words`, a `PretrainedWords`
        e_t = W dropout(x_t) + b                             `head`

    `EntityTagger.for_sentences(..., model="pretrained", backbone=...)` loads an encoder with its weights and
    its tokenizer; the constructor alone makes random weights.

    Args:
        num_tags, crf, allowed, constrain: as for `TagHead`.
        backbone, start_id, end_id, pooling, max_positions, train_backbone: as for `PretrainedWords`.
        dropout: share dropped in training of the states; inside of the encoder, it is the backbone's own.

    Call arguments, returns, raises: as for `TaggingModel` and `PretrainedWords`.

    Example:

    >>> sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 8}
    >>> model = PretrainedTagger(num_tags=3, backbone={"class": "BertBackbone", "vocabulary_size": 9} | sizes)
    >>> features = {"words": keras.ops.array([[1, 3, 0]]), "subwords": keras.ops.array([[5, 6, 7]])}
    >>> tuple(model(features).shape)
    (1, 3, 3)

    Reference: Devlin et al.: BERT, 2018, section 5.3, https://arxiv.org/abs/1810.04805.
    """

    configurations = {"base": {}}
    vocabulary_size = character_vocabulary_size = casing_size = None
    get_config = ConfiguredModel.get_config  # the arguments, not the parts

    def __init__(
        self,
        num_tags,
        backbone: dict,
        start_id=0,
        end_id=0,
        pooling="first",
        max_positions=None,
        train_backbone=True,
        dropout=0.1,
        crf=True,
        allowed=None,
        constrain="decode",
        name=None,
        dtype=None,
        trainable=True,
    ):
        check_sizes(num_tags=num_tags)
        policy = keras.dtype_policies.get(dtype)
        options = start_id, end_id, pooling, max_positions, train_backbone
        words = PretrainedWords(dict(backbone), *options, dtype=policy, name="words")
        encoder = keras.layers.Dropout(dropout, dtype=policy, name="encoder")
        head = TagHead(num_tags, crf, allowed, constrain, dtype=policy, name="head")
        super().__init__(words, encoder, head, name=name, dtype=dtype, trainable=trainable)
        self.num_tags = num_tags
        self.subword_vocabulary_size = backbone.get("vocabulary_size", backbone.get("vocab_size"))

    def encode(self, x, mask, training=None):
        return self.encoder(x, training=training), None

    def enable_lora(self, rank, lora_alpha=None):
        """Adds LoRA to the dense layers of the encoder and freezes its other weights; see `ConfiguredModel`.

        The scores of tags and the CRF are new, so all of them are trained.
        """
        head = [(layer, layer.trainable) for layer in self.head._flatten_layers()]
        embeddings = [
            layer
            for layer in self.words.backbone._flatten_layers()
            if isinstance(layer, keras.layers.Embedding) and layer.trainable
        ]
        for layer in (*embeddings, self.head):
            layer.trainable = False
        try:
            super().enable_lora(rank, lora_alpha)
        except ValueError:
            for layer in embeddings:
                layer.trainable = True
            raise
        finally:
            for layer, trainable in head:  # the head itself comes first
                layer.trainable = trainable
