"""What the recurrent translation models share: embeddings, dropout, the output matrix, and stepping."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes, require
from keraszoo.models.translation_model import TranslationModel

# What the configurations `small` and `tiny` of most models share.
SMALL = {"embedding_dim": 256, "units": 256, "dropout": 0.2, "share_embeddings": True, "tie_output": True}
TINY = {"embedding_dim": 64, "units": 64, "dropout": 0.1}


class RecurrentModel(TranslationModel):
    """Base of the recurrent models: from words to embeddings, and from a readout to the logits.

        x_j = E[j]                               or sqrt(D) E[j], E of width D
        p(y_t) ~ exp(W_o readout_t + b_o)        W_o -> `output_layer`, or the target embedding if tied

    A subclass makes `encoder`, which returns outputs and its last state, and calls `make_output`.

    Args:
        source_vocabulary_size: number of source ids.
        target_vocabulary_size: V, number of target ids; `None`: as the source.
        embedding_dim: D, width of the embeddings of both sides.
        dropout: share dropped in training, of embeddings, readouts and inputs between layers.
        scale_embeddings: multiply embeddings, drawn from N(0, 1/D), by sqrt(D), as the Transformer does.
        share_embeddings: one embedding for source and target, which needs one joint vocabulary.
        tie_output: use the target embedding as W_o, which needs a readout of width `embedding_dim`.
        source_pad_id, target_pad_id: as for `TranslationModel`.

    Call arguments and Returns: as for `TranslationModel`.

    Raises:
        ValueError: if `cell` or another choice is unknown, a size is not a positive integer, shared
            embeddings get two vocabulary sizes, or a tied output another width.
    """

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        embedding_dim=256,
        dropout=0.0,
        scale_embeddings=True,
        share_embeddings=False,
        tie_output=False,
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, **kwargs)
        check_sizes(embedding_dim=embedding_dim)
        if share_embeddings:
            self.require_joint_vocabulary("share_embeddings")
        self.embedding_scale = embedding_dim**0.5 if scale_embeddings else 1.0
        self.tie_output = tie_output
        dtype, initializer = self.dtype_policy, None if scale_embeddings else "uniform"

        self.target_embedding = self.source_embedding = self.embedding(
            self.target_vocabulary_size, embedding_dim, "target_embedding", initializer
        )
        if not share_embeddings:
            self.source_embedding = self.embedding(
                source_vocabulary_size, embedding_dim, "source_embedding", initializer
            )
        self.embedding_dropout = keras.layers.Dropout(dropout, dtype=dtype, name="embedding_dropout")
        self.readout_dropout = keras.layers.Dropout(dropout, dtype=dtype, name="readout_dropout")

    def make_output(self, readout_dim):
        """Makes what turns a readout of this width into logits."""
        check_sizes(readout_dim=readout_dim)
        width, size = self.target_embedding.output_dim, self.target_vocabulary_size
        if self.tie_output:
            wanted = "tie_output needs a readout as wide as the embeddings"
            require(readout_dim == width, wanted, readout_dim=readout_dim, embedding_dim=width)
            self.output_bias = self.add_weight(name="output_bias", shape=(size,), initializer="zeros")
        else:
            self.output_layer = keras.layers.Dense(size, dtype=self.dtype_policy, name="output")

    def embed(self, embedding, words, training=None):
        """Embeddings of words: int `(...)` to `(..., D)`, some dropped in training."""
        return self.embedding_dropout(self.embedding_scale * embedding(words), training=training)

    def encode(self, source, training=None):
        mask = self.memory_mask(source)
        x = self.embed(self.source_embedding, source, training)  # (B, S, E)
        memory, *last = self.encoder(x, mask=mask, training=training)
        return {"memory": memory, "memory_mask": mask, "first": self.first(*last)}

    def first(self, *last):
        """What the decoder starts from, by the last state of the encoder: nested tensors `(B, ...)`."""
        return list(last)

    def logits(self, readout, training=None):
        """`(..., R)` to `(..., V)`."""
        readout = self.readout_dropout(readout, training=training)
        return self.tied_logits(readout) if self.tie_output else self.output_layer(readout)

    def initial_state(self, memory, beam_width=1, length=None):
        first = keras.tree.map_structure(lambda x: ops.repeat(x, beam_width, axis=0), memory["first"])
        return {
            "memory": {"memory_mask": memory["memory_mask"]},
            "position": ops.zeros((), dtype="int32"),
            "recurrent": first,
        }


class AttendingModel(RecurrentModel):
    """Base of the recurrent models that attend: a subclass makes `decoder` and writes `read`.

    Attributes:
        masks_target: whether the decoder is told which words of the target are padding.
    """

    masks_target = False

    def read(self, outputs, embedded, before, training=None):
        """Logits from the outputs of the decoder, `(B, T, ...)` or for one step `(N, ...)`, the embedded
        words, and the decoder's state before the first of these positions.
        """
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies read.")

    def decode(self, memory, target_in, training=None):
        embedded = self.embed(self.target_embedding, target_in, training)  # (B, T, D)
        first, mask = memory["first"], memory["memory_mask"]
        masks = {"memory_mask": mask}
        if self.masks_target:
            masks["inputs_mask"] = self.target_mask(target_in)
        outputs, weights = self.decoder(embedded, memory["memory"], first, **masks, training=training)
        return self.read(outputs, embedded, self.decoder.initial_state(first), training), weights

    def initial_state(self, memory, beam_width=1, length=None):
        state, mask = super().initial_state(memory, beam_width, length), memory["memory_mask"]
        rows = ops.shape(mask)[0] * beam_width
        return {
            **state,
            "memory": {"memory_mask": mask, "prepared": self.decoder.prepare(memory["memory"])},
            "recurrent": self.decoder.initial_state(state["recurrent"]),
            "attention_weights": ops.zeros((rows, ops.shape(mask)[1]), dtype="float32"),
        }

    def step(self, tokens, state):
        memory, before = state["memory"], state["recurrent"]
        embedded = self.embed(self.target_embedding, tokens)  # (N, D)
        outputs, weights, after = self.decoder.step(
            embedded, before, memory["prepared"], state["position"], memory["memory_mask"]
        )
        return self.read(outputs, embedded, before), {
            **state,
            "position": state["position"] + 1,
            "recurrent": after,
            "attention_weights": ops.cast(weights, "float32"),
        }
