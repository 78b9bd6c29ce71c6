"""Taggers that are made from arguments with simple values, as recipes and model directories have them."""

import keras

from keraszoo.layers.arguments import check_sizes, require
from keraszoo.layers.bag_of_subwords import BagOfSubwords
from keraszoo.layers.character_encoder import CharacterEncoder
from keraszoo.models.configured_model import ConfiguredModel
from keraszoo.models.tag_head import TagHead
from keraszoo.models.tagging_model import TaggingModel
from keraszoo.models.word_features import WordFeatures


class WordTagger(TaggingModel):
    """Base of the included taggers: makes the `WordFeatures` and the `TagHead`; a subclass writes `encode`.

    Args:
        num_tags, crf, allowed, constrain: as for `TagHead`.
        vocabulary_size: V, rows of the table of vectors, 0 (padding) and 1 (unknown) included.
        vector_width: width of the word vectors.
        train_vectors: whether the table is trained.
        int8_vectors: store the table as int8 with a scale for each row, as Keras does; it is not trained.
        word_dropout: as for `WordFeatures`.
        characters: `None`, `"cnn"` or `"lstm"`: the kind of the `CharacterEncoder` of the spelling.
        character_vocabulary_size, character_dim, character_units, character_window: sizes of the
            `CharacterEncoder`; the first one also of the `BagOfSubwords`.
        subword_buckets: `buckets` of the `BagOfSubwords`; 0: none.
        casing_size, casing_dim: number of classes of casing, and the width of their embedding; 0: none.
        dropout: share dropped in training, of the embeddings of characters and of what a subclass documents.
        name, dtype, trainable: as for every Keras layer.

    Raises:
        ValueError: if a size is missing or out of range.
    """

    get_config = ConfiguredModel.get_config  # the arguments, not the parts

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
        name=None,
        dtype=None,
        trainable=True,
    ):
        check_sizes(num_tags=num_tags, vocabulary_size=vocabulary_size, vector_width=vector_width)
        fits = character_vocabulary_size or not (characters or subword_buckets)
        wanted = "{} must be given where it is used".format
        require(
            fits, wanted("character_vocabulary_size"), character_vocabulary_size=character_vocabulary_size
        )
        require(casing_size or not casing_dim, wanted("casing_size"), casing_size=casing_size)
        require(not (int8_vectors and train_vectors), "int8_vectors are not trained", train_vectors=True)
        policy, embedding = keras.dtype_policies.get(dtype), keras.layers.Embedding
        stored = policy
        if int8_vectors:  # Keras has no int8 for float16
            source = "float32" if policy.compute_dtype == "float16" else policy.name
            stored = keras.dtype_policies.get(f"int8_from_{source}")
        vectors = embedding(
            vocabulary_size, vector_width, trainable=train_vectors, dtype=stored, name="vectors"
        )
        spelling = subwords = casing = None
        if characters:
            sizes = character_dim, character_units, characters, character_window, dropout
            spelling = CharacterEncoder(character_vocabulary_size, *sizes, dtype=policy, name="characters")
        if casing_dim:
            casing = embedding(casing_size, casing_dim, dtype=policy, name="casing")
        if subword_buckets:
            sizes = character_vocabulary_size, vector_width, subword_buckets
            subwords = BagOfSubwords(*sizes, trainable=train_vectors, dtype=policy, name="subwords")
        words = WordFeatures(vectors, spelling, casing, subwords, word_dropout, dtype=policy, name="words")
        head = TagHead(num_tags, crf, allowed, constrain, dtype=policy, name="head")
        super().__init__(words, None, head, name=name, dtype=dtype, trainable=trainable)
        self.num_tags = num_tags
        self.vocabulary_size = vocabulary_size
        self.character_vocabulary_size = character_vocabulary_size
        self.casing_size = casing_size
        self.int8_vectors = int8_vectors
