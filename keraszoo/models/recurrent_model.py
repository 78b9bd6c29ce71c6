"""What the recurrent translation models share: embeddings, dropout and the output matrix."""

import math

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes, check_sizes
from keraszoo.layers.dropout import Dropout
from keraszoo.layers.linear import linear
from keraszoo.models.translation_model import TranslationModel

SIZES = "embedding_dim", "units", "num_layers", "encoder_layers"
OPTIONAL_SIZES = "decoder_units", "attention_units", "readout_dim"


class RecurrentModel(TranslationModel):
    """Base of the recurrent models: words in, and from a readout to the logits.

        x_j = E[j]                               or sqrt(D) E[j], E of width D
        p(y_t) ~ exp(W_o readout_t + b_o)        W_o -> `output_kernel`, or the target embedding if tied

    Args:
        source_vocabulary_size: number of source ids.
        target_vocabulary_size: number of target ids; `None`: as the source.
        source_pad_id: id of padding in the source.
        sizes: all other arguments of the model, for its configuration; of them `embedding_dim`, `dropout` (on
            embeddings and readout), `scale_embeddings` (the sqrt(D), with E drawn from N(0, 1/D)),
            `share_embeddings` (one embedding for source and target, which wants one joint vocabulary) and
            `tie_output` (the target embedding is W_o) are used here.
        readout_dim: width of the readout; with `tie_output` it is `embedding_dim`.

    Raises:
        ValueError: if a size is not a positive integer, shared embeddings meet two vocabulary sizes, or a
            tied output another width.
    """

    def __init__(
        self, source_vocabulary_size, target_vocabulary_size, source_pad_id, sizes, readout_dim, **kwargs
    ):
        target_vocabulary_size = target_vocabulary_size or source_vocabulary_size
        super().__init__(source_vocabulary_size, target_vocabulary_size, source_pad_id, **kwargs)
        check_sizes(**{name: sizes[name] for name in SIZES if name in sizes})
        check_optional_sizes(**{name: sizes[name] for name in OPTIONAL_SIZES if name in sizes})
        check_sizes(readout_dim=readout_dim)
        width, share, tie = sizes["embedding_dim"], sizes["share_embeddings"], sizes.get("tie_output", False)
        if share and source_vocabulary_size != target_vocabulary_size:
            raise ValueError(
                "share_embeddings wants one joint vocabulary. Received: "
                f"{source_vocabulary_size} source and {target_vocabulary_size} target ids"
            )
        if tie and readout_dim != width:
            raise ValueError(
                "tie_output wants a readout as wide as the embeddings. Received: "
                f"a readout of {readout_dim}, embedding_dim={width}"
            )
        self.sizes = sizes
        dtype = self.dtype_policy
        self.embedding_scale, initializer = 1.0, "uniform"
        if sizes["scale_embeddings"]:
            self.embedding_scale = math.sqrt(width)
            initializer = keras.initializers.RandomNormal(stddev=width**-0.5)

        def embedding(size, name):
            return keras.layers.Embedding(size, width, initializer, dtype=dtype, name=name)

        self.target_embedding = embedding(target_vocabulary_size, "target_embedding")
        self.source_embedding = (
            self.target_embedding if share else embedding(source_vocabulary_size, "source_embedding")
        )
        self.embedding_dropout = Dropout(sizes["dropout"], dtype=dtype, name="embedding_dropout")
        self.readout_dropout = Dropout(sizes["dropout"], dtype=dtype, name="readout_dropout")
        self.output_bias = self.add_weight(
            name="output_bias", shape=(target_vocabulary_size,), initializer="zeros"
        )
        self.output_kernel = None
        if not tie:
            self.output_kernel = self.add_weight(
                name="output_kernel",
                shape=(readout_dim, target_vocabulary_size),
                initializer="glorot_uniform",
            )

    def embed(self, embedding, words, training=None):
        """Embeddings of words: int `(...)` to `(..., E)`, some dropped in training."""
        return self.embedding_dropout(self.embedding_scale * embedding(words), training=training)

    def logits(self, readout, training=None):
        """`(..., R)` to `(..., V)`."""
        readout = self.readout_dropout(readout, training=training)
        kernel = self.output_kernel
        if kernel is None:
            kernel = ops.transpose(ops.cast(self.target_embedding.embeddings, readout.dtype))
        return linear(readout, kernel, self.output_bias)

    def get_config(self):
        return {**super().get_config(), **self.sizes}


def attending_state(memory, prepared, recurrent):
    """The state of a search whose steps attend to a memory.

    Args:
        memory: what `encode` returned.
        prepared: `(keys, values)` of it, B sentences.
        recurrent: the state of the decoder, tensors `(N, ...)`, nested.

    Returns:
        A dict as `TranslationModel` has it.
    """
    keys, values = prepared
    mask = memory["memory_mask"]
    rows = ops.shape(keras.tree.flatten(recurrent)[0])[0]
    return {
        "memory": {"memory_mask": mask, "keys": keys, "values": values},
        "position": ops.zeros((), dtype="int32"),
        "recurrent": recurrent,
        "attention_weights": ops.zeros((rows, ops.shape(mask)[1]), dtype="float32"),
    }


def attended(state, recurrent, attention_weights):
    """The state after one more step."""
    return {
        **state,
        "position": state["position"] + 1,
        "recurrent": recurrent,
        "attention_weights": ops.cast(attention_weights, "float32"),
    }
