"""The Transformer (Vaswani et al., 2017)."""

import math

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes
from keraszoo.layers.positions import added_positions
from keraszoo.layers.transformer import TransformerDecoderLayer, TransformerEncoderLayer
from keraszoo.models.decoder_cache import CacheStep, LayerCache, cache_axes, empty_cache, lengthened_cache
from keraszoo.models.translation_model import TranslationModel

PAPER = {"attention_dropout": 0.0, "hidden_dropout": 0.0}  # the paper has residual dropout only


@keras.saving.register_keras_serializable(package="keraszoo")
class Transformer(TranslationModel):
    """An encoder and a decoder of stacked self-attention (figure 1 of the paper).

    Source and target words are embedded, multiplied by sqrt(d_model), and positions are added. The output
    matrix before the softmax is the transpose of the target embedding, and by default also of the source
    embedding ("three-way" tied, section 3.4), which needs one joint vocabulary.

    Configurations: `base` and `big` are the paper's (63 and 214 M parameters at a vocabulary of 37,000; the
    paper states 65 and 213); `small` and `tiny` are for small data.

    Departures: biases in the projections (`use_bias`), as in Keras.

    Args:
        source_vocabulary_size, target_vocabulary_size, source_pad_id: as for `TranslationModel`.
        d_model: D, the width between layers.
        num_layers: N, layers in the encoder and in the decoder.
        num_decoder_layers: layers in the decoder; `None`: N. A deep encoder with a shallow decoder translates
            as well and faster (Kasai et al. 2021, https://arxiv.org/abs/2006.10369).
        num_heads, intermediate_dim, attention_dropout, hidden_dropout, pre_norm, use_bias: as for
            `TransformerLayer`.
        dropout: residual dropout, also on the sums of embeddings and positions.
        tie_embeddings: `"all"` (source, target and output share one matrix), `"target"` (target and output
            do).
        positions: `"sinusoidal"` (the paper), `"learned"` (one table for source and target), `"rotary"`
            (self-attention rotates its queries and keys) or `"relative"` (self-attention uses distances).
        max_positions: rows of the table of learned positions; words beyond it share the last row.
        max_distance: largest distance that has vectors of its own, for relative positions.
        activation: of the feed-forward sublayers, a name of Keras.
        epsilon: of the layer normalisations.
        output_bias: add a trained bias to the logits. The paper has none.
        num_experts, experts_per_token: mixtures of experts as feed-forward sublayers, as for
            `TransformerLayer`; `None`: one network.

    Call arguments and Returns: as for `TranslationModel`.

    Raises:
        ValueError: if `positions` or `tie_embeddings` is unknown, the latter is `"all"` with two vocabulary
            sizes, or a size is not a positive integer.

    Example:

    >>> model = Transformer(11, d_model=8, num_layers=1, num_heads=2, intermediate_dim=16)
    >>> tuple(model((ops.array([[4, 5, 3]]), ops.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    of_sentences = "memory", "cache"
    configurations = {
        "base": dict(d_model=512, num_layers=6, num_heads=8, intermediate_dim=2048, dropout=0.1, **PAPER),
        "big": dict(d_model=1024, num_layers=6, num_heads=16, intermediate_dim=4096, dropout=0.3, **PAPER),
        "small": dict(d_model=256, num_layers=3, num_heads=4, intermediate_dim=1024, pre_norm=True),
        "tiny": dict(
            d_model=128, num_layers=4, num_heads=4, intermediate_dim=256, dropout=0.3, pre_norm=True
        ),
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
        activation="relu",
        epsilon=1e-6,
        output_bias=False,
        num_experts: int = None,
        experts_per_token=2,
        source_pad_id=0,
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, source_pad_id, **kwargs)
        check_choices(("all", "target"), tie_embeddings=tie_embeddings)
        if tie_embeddings == "all":
            self.require_joint_vocabulary('tie_embeddings="all"')
        decoder_layers = num_layers if num_decoder_layers is None else num_decoder_layers
        check_sizes(d_model=d_model, num_heads=num_heads, intermediate_dim=intermediate_dim)
        check_sizes(num_layers=num_layers, num_decoder_layers=decoder_layers)
        self.d_model = int(d_model)
        self.num_heads = int(num_heads)
        self.pre_norm = pre_norm
        self.epsilon = epsilon
        self.position_kind = positions
        self.num_experts = num_experts
        dtype = self.dtype_policy

        self.target_embedding = self.embedding(self.target_vocabulary_size, d_model, "target_embedding")
        self.source_embedding = self.target_embedding
        if tie_embeddings == "target":
            self.source_embedding = self.embedding(source_vocabulary_size, d_model, "source_embedding")
        self.positions = added_positions(positions, max_positions, dtype=dtype, name="positions")
        self.embedding_dropout = keras.layers.Dropout(dropout, dtype=dtype, name="embedding_dropout")
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
            "activation": activation,
            "epsilon": epsilon,
            "num_experts": num_experts,
            "experts_per_token": experts_per_token,
            "dtype": dtype,
        }
        self.encoder_layers = [
            TransformerEncoderLayer(**layer, name=f"encoder_{i}") for i in range(num_layers)
        ]
        self.decoder_layers = [
            TransformerDecoderLayer(**layer, name=f"decoder_{i}") for i in range(decoder_layers)
        ]
        self.encoder_norm = self._norm("encoder_norm")
        self.decoder_norm = self._norm("decoder_norm")
        if output_bias:
            size = (self.target_vocabulary_size,)
            self.output_bias = self.add_weight(name="output_bias", shape=size, initializer="zeros")

    def _norm(self, name):
        if not self.pre_norm:
            return keras.layers.Identity(dtype=self.dtype_policy, name=name)
        return keras.layers.LayerNormalization(epsilon=self.epsilon, dtype=self.dtype_policy, name=name)

    def embed(self, embedding, words, training=None, positions=None):
        """Embeddings of words, int `(B, T)`, times sqrt(D), with their positions: `(B, T, D)`."""
        x = embedding(ops.cast(words, "int32")) * math.sqrt(self.d_model)
        if self.position_kind in ("sinusoidal", "learned"):
            x = self.positions(x, positions=positions)
        return self.embedding_dropout(x, training=training)

    def encode(self, source, training=None):
        mask = self.memory_mask(source)
        x = self.embed(self.source_embedding, source, training)  # (B, S, D)
        for layer in self.encoder_layers:
            x = layer(x, mask=mask, training=training)
        return {"memory": self.encoder_norm(x), "memory_mask": mask}

    def decode(self, memory, target_in, training=None):
        """The attention weights are those of the last layer, the mean over its heads, as in `step`."""
        x, attention = self._decode_layers(memory, target_in, training)
        return self.logits(x), ops.mean(ops.cast(attention[-1], "float32"), axis=1)  # (B, T, S)

    def attention_heads(self, inputs):
        source, target_in = inputs
        _, weights = self._decode_layers(self.encode(source), target_in)
        return ops.cast(ops.stack(weights, axis=1), "float32")  # (B, L, H, T, S)

    def _decode_layers(self, memory, target_in, training=None):
        """The output of the last layer, `(B, T, D)`, and the weights of each, a list of `(B, H, T, S)`."""
        x, attention = self.embed(self.target_embedding, target_in, training), []
        masks = {"memory_mask": memory["memory_mask"]}
        if self.num_experts is not None:  # padding at the end changes nothing else
            masks["inputs_mask"] = self.target_mask(target_in)
        for layer in self.decoder_layers:
            x, weights = layer(x, memory["memory"], **masks, training=training)
            attention.append(weights)
        return x, attention

    def logits(self, x):
        return self.tied_logits(self.decoder_norm(x))

    def initial_state(self, memory, beam_width=1, length=None):
        mask = memory["memory_mask"]
        sentences, source = ops.shape(mask)
        prepared = [list(layer.prepare(memory["memory"])) for layer in self.decoder_layers]
        heads, width = self.num_heads, self.d_model // self.num_heads
        layers = len(prepared)
        return {
            "memory": {"memory_mask": mask, "prepared": prepared},
            "position": ops.zeros((), dtype="int32"),
            "attention_weights": ops.zeros((sentences * beam_width, source), dtype="float32"),
            **empty_cache(sentences, beam_width, length or 1, layers, heads, width, self.compute_dtype),
        }

    def lengthen(self, state, extra):
        return {**state, **lengthened_cache(state, extra)}

    def free_axes(self, state):
        return {**super().free_axes(state), **cache_axes(state)}

    def step(self, tokens, state):
        """One position; `"attention_weights"` are those of the last layer, the mean over its heads."""
        memory, mask = state["memory"], state["memory"]["memory_mask"]
        step = CacheStep(state, self.d_model // self.num_heads)
        x = ops.reshape(tokens, (-1, step.beam_width))  # rows of a sentence in place of positions: (B, W)
        x, cache = self.embed(self.target_embedding, x, positions=step.positions), []  # (B, W, D)
        parts = zip(self.decoder_layers, memory["prepared"], state["cache"], strict=True)
        for layer, prepared, kept in parts:
            own = LayerCache(step, kept)
            x, weights = layer(x, memory_mask=mask, prepared=prepared, cache=own)
            cache.append(own.kept)
        weights = ops.mean(ops.cast(weights, "float32"), axis=1)  # (B, W, S)
        return ops.reshape(self.logits(x), (-1, self.target_vocabulary_size)), {  # (N, V)
            **state,
            "cache": cache,
            "history": step.history,
            "position": state["position"] + 1,
            "attention_weights": ops.reshape(weights, (-1, ops.shape(mask)[1])),
        }
