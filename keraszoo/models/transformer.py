"""The Transformer (Vaswani et al., 2017)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes
from keraszoo.layers.dropout import Dropout
from keraszoo.layers.embedding import TiedEmbedding
from keraszoo.layers.positions import added_positions
from keraszoo.layers.transformer import LayerNorm, TransformerDecoderLayer, TransformerEncoderLayer
from keraszoo.models.translation_model import TranslationModel


@keras.saving.register_keras_serializable(package="keraszoo")
class Transformer(TranslationModel):
    """An encoder and a decoder of stacked self-attention (figure 1 of the paper).

    Source and target words are embedded, multiplied by sqrt(d_model), and positions are added. The output
    matrix before the softmax is the transpose of the target embedding, and by default also of the source
    embedding ("three-way" tied, section 3.4), which needs one joint vocabulary.

    Configurations: `base` and `big` are the paper's (63 and 214 M parameters at a vocabulary of 37,000; the
    paper states 65 and 213), with residual dropout only; `small` (3 + 3 layers of 256) and `tiny` (4 + 4
    layers of 128) are for small data, with LayerNorm before the sublayers.

    Departures: biases in the projections (`use_bias`), as in Keras.

    Shapes: B batch, S source, T target, D d_model, H heads, V target vocabulary.

    Args:
        source_vocabulary_size: number of source ids.
        target_vocabulary_size: V; `None`: as the source.
        d_model: D, the width between layers.
        num_layers: N, layers in the encoder and in the decoder.
        num_decoder_layers: layers in the decoder; `None`: as in the encoder. A deep encoder with a shallow
            decoder translates as well and faster (Kasai et al. 2021, https://arxiv.org/abs/2006.10369).
        num_heads: H.
        intermediate_dim: d_ff, the width inside the feed-forward sublayers.
        dropout: residual dropout, also on the sums of embeddings and positions.
        attention_dropout: on attention weights, as in tensor2tensor; the paper has none. `None`: as
            `dropout`.
        hidden_dropout: inside the feed-forward sublayers; `None`: as `dropout`.
        pre_norm: LayerNorm before each sublayer (and once at the end of a stack) instead of after each sum.
        tie_embeddings: `"all"` (source, target and output share one matrix), `"target"` (target and output
            do).
        use_bias: biases in the attention projections.
        positions: `"sinusoidal"` (the paper), `"learned"` (one table for source and target), `"rotary"`
            (self-attention rotates its queries and keys) or `"relative"` (self-attention uses distances).
        max_positions: rows of the table of learned positions; words beyond it share the last row.
        max_distance: largest distance that has vectors of its own, for relative positions.
        source_pad_id: id of padding in the source.

    Call arguments and Returns: as for `TranslationModel`.

    Raises:
        ValueError: if `positions` or `tie_embeddings` is unknown, the latter is `"all"` with two vocabulary
            sizes, or a size is not a positive integer.

    Example:

    >>> import numpy as np
    >>> model = Transformer(11, d_model=8, num_layers=1, num_heads=2, intermediate_dim=16)
    >>> tuple(model((np.array([[4, 5, 3]]), np.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    of_sentences = "memory", "cache"
    configurations = {
        "base": {
            "d_model": 512,
            "num_layers": 6,
            "num_heads": 8,
            "intermediate_dim": 2048,
            "dropout": 0.1,
            "attention_dropout": 0.0,
            "hidden_dropout": 0.0,
        },
        "big": {
            "d_model": 1024,
            "num_layers": 6,
            "num_heads": 16,
            "intermediate_dim": 4096,
            "dropout": 0.3,
            "attention_dropout": 0.0,
            "hidden_dropout": 0.0,
        },
        "small": {
            "d_model": 256,
            "num_layers": 3,
            "num_heads": 4,
            "intermediate_dim": 1024,
            "pre_norm": True,
        },
        "tiny": {
            "d_model": 128,
            "num_layers": 4,
            "num_heads": 4,
            "intermediate_dim": 256,
            "dropout": 0.3,
            "pre_norm": True,
        },
    }

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        d_model=512,
        num_layers=6,
        num_decoder_layers: int = None,
        num_heads=8,
        intermediate_dim=2048,
        dropout=0.1,
        attention_dropout: float = None,
        hidden_dropout: float = None,
        pre_norm=False,
        tie_embeddings="all",
        use_bias=True,
        positions="sinusoidal",
        max_positions=1024,
        max_distance=16,
        source_pad_id=0,
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, source_pad_id, **kwargs)
        target_vocabulary_size = self.target_vocabulary_size
        check_choices(("all", "target"), tie_embeddings=tie_embeddings)
        if tie_embeddings == "all":
            self.require_joint_vocabulary('tie_embeddings="all"')
        decoder_layers = num_layers if num_decoder_layers is None else num_decoder_layers
        check_sizes(d_model=d_model, num_heads=num_heads, intermediate_dim=intermediate_dim)
        check_sizes(num_layers=num_layers, num_decoder_layers=decoder_layers)
        self.d_model = d_model
        self.num_heads = num_heads
        dtype = self.dtype_policy
        self.target_embedding = TiedEmbedding(
            target_vocabulary_size, d_model, dtype=dtype, name="target_embedding"
        )
        self.source_embedding = (
            self.target_embedding
            if tie_embeddings == "all"
            else TiedEmbedding(source_vocabulary_size, d_model, dtype=dtype, name="source_embedding")
        )
        self.positions = added_positions(positions, max_positions, dtype=dtype, name="positions")
        self.embedding_dropout = Dropout(dropout, dtype=dtype, name="embedding_dropout")
        layer = {
            "num_heads": num_heads,
            "intermediate_dim": intermediate_dim,
            "pre_norm": pre_norm,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "hidden_dropout": hidden_dropout,
            "use_bias": use_bias,
            "rotary": positions == "rotary",
            "relative": max_distance if positions == "relative" else None,
            "dtype": dtype,
        }
        self.encoder_layers = [
            TransformerEncoderLayer(**layer, name=f"encoder_{i}") for i in range(num_layers)
        ]
        self.decoder_layers = [
            TransformerDecoderLayer(**layer, name=f"decoder_{i}") for i in range(decoder_layers)
        ]
        self.encoder_norm = self.decoder_norm = None
        if pre_norm:
            self.encoder_norm = LayerNorm(dtype=dtype, name="encoder_norm")
            self.decoder_norm = LayerNorm(dtype=dtype, name="decoder_norm")

    def encode(self, source, training=None):
        mask = self.memory_mask(source)
        x = self.positions(self.source_embedding(source))  # (B, S, D)
        x = self.embedding_dropout(x, training=training)
        for layer in self.encoder_layers:
            x = layer(x, inputs_mask=mask, training=training)
        x = x if self.encoder_norm is None else self.encoder_norm(x)
        return {"memory": x, "memory_mask": mask}

    def decode(self, memory, target_in, training=None):
        """The attention weights are those of the last layer, the mean over its heads, as in `step`."""
        x, attention = self._decode_layers(memory, target_in, training)
        return self._logits(x), ops.mean(ops.cast(attention[-1], "float32"), axis=1)  # (B, T, S)

    def attention_heads(self, inputs):
        source, target_in = inputs
        _, weights = self._decode_layers(self.encode(source), target_in)
        return ops.cast(ops.stack(weights, axis=1), "float32")  # (B, L, H, T, S)

    def _decode_layers(self, memory, target_in, training=None):
        """The output of the last layer, `(B, T, D)`, and the weights of each, a list of `(B, H, T, S)`."""
        x = self.positions(self.target_embedding(target_in))  # (B, T, D)
        x, attention = self.embedding_dropout(x, training=training), []
        for layer in self.decoder_layers:
            x, weights = layer(x, memory["memory"], memory_mask=memory["memory_mask"], training=training)
            attention.append(weights)
        return x, attention

    def _logits(self, x):
        return self.target_embedding.logits(x if self.decoder_norm is None else self.decoder_norm(x))

    def initial_state(self, memory, beam_width=1, length=None):
        """The cache has room for `length` positions; a search lengthens it when it is full.

        `"history"` `(N, L)` holds, for each row and position, which row of the sentence wrote that word. When
        a search gives a row another parent, only its history changes, and the cache does not move.
        """
        layers = [layer.prepare(memory["memory"]) for layer in self.decoder_layers]
        mask = memory["memory_mask"]
        sentences, length = ops.shape(mask)[0], length or 1
        heads, width = self.num_heads, self.d_model // self.num_heads
        empty = ops.zeros((sentences, heads, length, beam_width * width), dtype=self.compute_dtype)
        rows = sentences * beam_width
        numbers = ops.broadcast_to(ops.arange(beam_width, dtype="int32"), (sentences, beam_width))
        memory = {"memory_mask": mask, "layers": [list(pair) for pair in layers], "row_numbers": numbers}
        return {
            "memory": memory,
            "cache": [[empty, empty] for _ in layers],
            "position": ops.zeros((), dtype="int32"),
            "history": ops.full((rows, length), -1, dtype="int32"),
            "attention_weights": ops.zeros((rows, ops.shape(mask)[1]), dtype="float32"),
        }

    def lengthen(self, state, extra):
        cache = keras.tree.map_structure(
            lambda x: ops.pad(x, ((0, 0), (0, 0), (0, extra), (0, 0))), state["cache"]
        )
        history = ops.pad(state["history"], ((0, 0), (0, extra)), constant_values=-1)
        return {**state, "cache": cache, "history": history}

    def free_axes(self, state):
        cache = keras.tree.map_structure(lambda _: (0, 2), state["cache"])
        return {**super().free_axes(state), "cache": cache, "history": (0, 1)}

    def step(self, tokens, state):
        """One position; `"attention_weights"` are those of the last layer, the mean over its heads."""
        memory, position = state["memory"], state["position"]
        mask = memory["memory_mask"]
        history, mine = state["history"], memory["row_numbers"]  # (N, L), (B, W)
        length, beam_width = ops.shape(history)[1], mine.shape[1]
        history = ops.where(
            ops.arange(length, dtype="int32") == position, ops.reshape(mine, (-1, 1)), history
        )  # (N, L)
        slots = ops.reshape(history, (-1, beam_width, length, 1)) == mine[:, None, None, :]  # (B, W, L, W)
        seen = ops.reshape(slots, (-1, beam_width, length * beam_width))

        here = (ops.arange(length, dtype="int32") == position)[:, None]  # (L, 1)
        heads, width = self.num_heads, self.d_model // self.num_heads

        def write_to(cache):
            """Stores the keys (or values) of all rows of a position side by side; returns them one by one."""

            def write(*new):
                new = [ops.reshape(part, (-1, heads, 1, beam_width * width)) for part in new]
                cache[:] = [ops.where(here, part, old) for part, old in zip(new, cache, strict=True)]
                return [ops.reshape(part, (-1, heads, length * beam_width, width)) for part in cache]

            return write

        x = ops.reshape(tokens, (-1, beam_width))  # rows of a sentence in place of positions: (B, W)
        x, place = self.target_embedding(x), ops.reshape(position, (1,))  # (B, W, D)
        if hasattr(self.positions, "encoding"):  # they are added to the words
            x = self.positions(x, positions=place)
        places, caches = ops.arange(length * beam_width, dtype="int32") // beam_width, []  # of the slots
        for layer, prepared, cache in zip(self.decoder_layers, memory["layers"], state["cache"], strict=True):
            caches.append(list(cache))
            x, weights = layer.step(x, prepared, mask, write_to(caches[-1]), seen, place, places)
        weights = ops.mean(ops.cast(weights, "float32"), axis=1)  # (B, W, S)
        logits = ops.reshape(self._logits(x), (-1, self.target_vocabulary_size))  # (N, V)
        return logits, {
            **state,
            "cache": caches,
            "position": position + 1,
            "history": history,
            "attention_weights": ops.reshape(weights, (-1, ops.shape(mask)[1])),
        }
