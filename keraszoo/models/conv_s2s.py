"""Convolutional sequence to sequence learning (Gehring et al., 2017)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes
from keraszoo.layers.dot_product_attention import ScaledDotProductAttention
from keraszoo.layers.gated_convolution import GatedConvolution
from keraszoo.layers.positions import LearnedPositions
from keraszoo.layers.weight_norm_dense import WeightNormDense
from keraszoo.models.translation_model import TranslationModel

HALF = 0.5**0.5  # keeps the variance of a sum of two


@keras.saving.register_keras_serializable(package="keraszoo")
class ConvS2S(TranslationModel):
    """Convolutions instead of recurrences, and attention in every layer of the decoder.

        e_j = E[x_j] + P[j]        g_i = E'[y_i] + P'[i]
        encoder:  h <- (GLU(conv(h)) + h) sqrt(0.5)              `encoder_convolutions`, h_0 = `encoder_in`(e)
        z = `encoder_out`(h)
        decoder:  h^l = GLU(causal conv(h^{l-1}))                `decoder_convolutions`, h^0 = `decoder_in`(g)
                  d^l_i = (W_d^l h^l_i + b_d^l + g_i) sqrt(0.5)  `queries`                             (eq. 1)
                  a^l_ij = softmax_j(d^l_i z_j)
                  c^l_i = sqrt(m) sum_j a^l_ij (z_j + e_j) sqrt(0.5)                                   (eq. 2)
                  h^l <- ((W_c^l c^l + b_c^l + h^l) sqrt(0.5) + h^{l-1}) sqrt(0.5)        `contexts`
        p(y_{i+1}) ~ exp(W_o `decoder_out`(h^L_i) + b_o)         `output_layer`, or the target embedding

    with m the number of source words. As there are L attentions, the gradient into z is divided by 2 L
    (section 3.4). All maps are weight-normalised. `decode` and `step` return the mean of the attention
    weights over the layers, `attention_heads` those of each.

    A step needs the last k - 1 inputs of each layer, so its cost does not grow with the position, but for the
    attention. Source and target have their own positions; words beyond the tables share the last row.

    Departures: the factors on d and on the values, the context's own sum and the maps between widths are
    those of the authors' code (fairseq); all layers have one width. The configuration `paper` is that of
    English to Romanian.

    Args:
        source_vocabulary_size, target_vocabulary_size, source_pad_id: as for `TranslationModel`.
        embedding_dim: width of the embeddings, of z and of the readout.
        units: U, width of the convolutions.
        num_layers: layers of the encoder and of the decoder.
        num_decoder_layers: L, layers of the decoder; `None`: `num_layers`.
        kernel_size: k, of all convolutions, odd.
        dropout: share dropped in training, of embeddings, inputs of convolutions and the readout.
        max_positions: rows of each table of positions.
        share_embeddings: one embedding for source and target, which needs one joint vocabulary.
        tie_output: use the target embedding as W_o.

    Call arguments and Returns: as for `TranslationModel`.

    Raises:
        ValueError: if a size is not a positive integer, `kernel_size` is even, or shared embeddings get two
            vocabulary sizes.

    Example:

    >>> model = ConvS2S(11, embedding_dim=4, units=6, num_layers=2)
    >>> tuple(model((ops.array([[4, 5, 3]]), ops.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Gehring et al., 2017, https://arxiv.org/abs/1705.03122.
    """

    configurations = {
        "paper": {"embedding_dim": 512, "units": 512, "num_layers": 20, "dropout": 0.2},
        "small": dict(num_layers=4, dropout=0.2, share_embeddings=True, tie_output=True),
        "tiny": {"embedding_dim": 64, "units": 64, "num_layers": 2},
    }

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        embedding_dim=256,
        units=256,
        num_layers=4,
        num_decoder_layers: int = None,
        kernel_size=3,
        dropout=0.1,
        max_positions=1024,
        share_embeddings=False,
        tie_output=False,
        source_pad_id=0,
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, source_pad_id, **kwargs)
        decoder_layers = num_layers if num_decoder_layers is None else num_decoder_layers
        check_sizes(embedding_dim=embedding_dim, units=units)
        check_sizes(num_layers=num_layers, num_decoder_layers=decoder_layers)
        if share_embeddings:
            self.require_joint_vocabulary("share_embeddings")
        self.units = int(units)
        self.tie_output = tie_output
        dtype, size = self.dtype_policy, self.target_vocabulary_size

        def embedding(size, side):
            normal = keras.initializers.RandomNormal(stddev=0.1)
            return self.embedding(size, embedding_dim, f"{side}_embedding", normal)

        def positions(side):
            normal = keras.initializers.RandomNormal(stddev=0.1)
            return LearnedPositions(max_positions, normal, dtype=dtype, name=f"{side}_positions")

        def dense(width, name, kept=1.0):  # kept: share of the inputs that dropout keeps
            normal = keras.initializers.VarianceScaling(kept, "fan_in", "untruncated_normal")
            return WeightNormDense(width, kernel_initializer=normal, dtype=dtype, name=name)

        def convolution(i, side):
            causal, name = side == "decoder", f"{side}_convolution_{i}"
            return GatedConvolution(units, kernel_size, causal, dropout, dtype=dtype, name=name)

        self.target_embedding = self.source_embedding = embedding(size, "target")
        if not share_embeddings:
            self.source_embedding = embedding(source_vocabulary_size, "source")
        self.source_positions, self.target_positions = positions("source"), positions("target")
        self.embedding_dropout = keras.layers.Dropout(dropout, dtype=dtype, name="embedding_dropout")
        self.readout_dropout = keras.layers.Dropout(dropout, dtype=dtype, name="readout_dropout")
        self.encoder_in = dense(units, "encoder_in", 1 - dropout)
        self.encoder_convolutions = [convolution(i, "encoder") for i in range(num_layers)]
        self.encoder_out = dense(embedding_dim, "encoder_out")
        self.decoder_in = dense(units, "decoder_in", 1 - dropout)
        self.decoder_convolutions = [convolution(i, "decoder") for i in range(decoder_layers)]
        self.queries = [dense(embedding_dim, f"query_{i}") for i in range(decoder_layers)]
        self.attention = ScaledDotProductAttention(scale=1.0, dtype=dtype, name="attention")
        self.contexts = [dense(units, f"context_{i}") for i in range(decoder_layers)]
        self.decoder_out = dense(embedding_dim, "decoder_out")
        if tie_output:
            self.output_bias = self.add_weight(name="output_bias", shape=(size,), initializer="zeros")
        else:
            self.output_layer = dense(size, "output", 1 - dropout)

    def encode(self, source, training=None):
        mask = self.memory_mask(source)
        e = self.source_positions(self.source_embedding(source))  # (B, S, E)
        e = self.embedding_dropout(e, training=training)
        h = self.encoder_in(e)  # (B, S, U)
        for convolution in self.encoder_convolutions:
            h = (convolution(h, mask=mask, training=training) + h) * HALF
        z = self.encoder_out(h)  # (B, S, E)
        share = 0.5 / len(self.decoder_convolutions)
        z = share * z + ops.stop_gradient((1 - share) * z)
        z = ops.where(mask[..., None], z, 0.0)
        return {"memory": z, "values": (z + e) * HALF, "memory_mask": mask}

    def attend(self, i, h, g, memory):
        """Queries the source with the outputs of convolution i: `(B, T, U)`, and the weights `(B, T, S)`."""
        query, mask = (self.queries[i](h) + g) * HALF, memory["memory_mask"]  # (B, T, E)
        context, weights = self.attention(query, memory["values"], memory["memory"], value_mask=mask)
        words = ops.sum(ops.cast(mask, "float32"), axis=1)[:, None, None]
        context = context * ops.cast(ops.sqrt(words), context.dtype)
        return (self.contexts[i](context) + h) * HALF, ops.cast(weights, "float32")

    def decode(self, memory, target_in, training=None):
        logits, weights = self._decode_layers(memory, target_in, training)
        return logits, sum(weights) / len(weights)

    def attention_heads(self, inputs):
        source, target_in = inputs
        _, weights = self._decode_layers(self.encode(source), target_in)
        return ops.stack(weights, axis=1)[:, :, None]  # (B, L, 1, T, S)

    def _decode_layers(self, memory, target_in, training=None):
        """The logits, `(B, T, V)`, and the weights of each layer, a list of `(B, T, S)`."""
        g = self.target_positions(self.target_embedding(target_in))  # (B, T, E)
        g = self.embedding_dropout(g, training=training)
        x, weights = self.decoder_in(g), []  # (B, T, U)
        for i, convolution in enumerate(self.decoder_convolutions):
            h, looked = self.attend(i, convolution(x, training=training), g, memory)
            x = (h + x) * HALF
            weights.append(looked)
        return self.logits(x, training), weights

    def logits(self, x, training=None):
        """`(..., U)` to `(..., V)`."""
        readout = self.readout_dropout(self.decoder_out(x), training=training)
        return self.tied_logits(readout) if self.tie_output else self.output_layer(readout)

    def initial_state(self, memory, beam_width=1, length=None):
        sentences, source = ops.shape(memory["memory_mask"])
        rows, layers = sentences * beam_width, self.decoder_convolutions
        sizes = [(rows, layer.kernel_size - 1, self.units) for layer in layers]
        return {
            "memory": memory,
            "position": ops.zeros((), dtype="int32"),
            "before": [ops.zeros(size, dtype=self.compute_dtype) for size in sizes],
            "attention_weights": ops.zeros((rows, source), dtype="float32"),
        }

    def step(self, tokens, state):
        memory, before, weights = state["memory"], [], []
        sentences, source = ops.shape(memory["memory_mask"])

        def by_sentence(x):  # (N, ...) to (B, W, ...)
            return ops.reshape(x, (sentences, -1, x.shape[-1]))

        position = ops.reshape(state["position"], (1,))
        g = self.target_positions(self.target_embedding(tokens), positions=position)  # (N, E)
        x, g = self.decoder_in(g), by_sentence(g)
        for i, convolution in enumerate(self.decoder_convolutions):
            h, inputs = convolution.step(x, state["before"][i])
            h, looked = self.attend(i, by_sentence(h), g, memory)  # (B, W, U), (B, W, S)
            x = (ops.reshape(h, (-1, self.units)) + x) * HALF
            before.append(inputs)
            weights.append(looked)
        return self.logits(x), {
            **state,
            "position": state["position"] + 1,
            "before": before,
            "attention_weights": ops.reshape(sum(weights) / len(weights), (-1, source)),
        }
