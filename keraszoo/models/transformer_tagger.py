"""The Transformer's encoder as a tagger."""

import keras

from keraszoo.layers.arguments import check_sizes
from keraszoo.layers.positions import added_positions
from keraszoo.layers.transformer import TransformerEncoderLayer
from keraszoo.models.word_tagger import WordTagger


@keras.saving.register_keras_serializable(package="keraszoo")
class TransformerTagger(WordTagger):
    """A stack of self-attention over the words, and a score for each tag at each word.

        x_j = W_in [word vector ; characters ; casing] + b_in + PE(j)       `inputs_map`, `positions`
        h = EncoderLayer^N(x)                                               `encoder_layers`
        e_j = W h_j + b                                                     `head`

    Trained from scratch on a few thousand sentences it scores lower than `RecurrentTagger`; it is meant for
    larger corpora and for comparison.

    Args:
        num_tags, vocabulary_size, vector_width: as for `WordTagger`, whose other arguments are taken by name.
        d_model, num_layers, num_heads, intermediate_dim, pre_norm, positions, max_positions, max_distance: as
            for `Transformer`.
        dropout: in the layers and on their inputs.

    Call arguments, returns, raises: as for `TaggingModel` and `WordTagger`. Padding has positions too: it
    stands at the end.

    Example:

    >>> sizes = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16}
    >>> model = TransformerTagger(num_tags=3, vocabulary_size=9, vector_width=4, **sizes)
    >>> tuple(model({"words": keras.ops.array([[4, 5, 0]])}).shape)
    (1, 3, 3)

    Reference: Vaswani et al.: Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762.
    """

    configurations = {
        "small": {"d_model": 256, "num_layers": 2, "num_heads": 4, "intermediate_dim": 512, "dropout": 0.2},
        "tiny": {"d_model": 64, "num_layers": 2, "num_heads": 2, "intermediate_dim": 128, "dropout": 0.1},
    }

    def __init__(
        self,
        num_tags,
        vocabulary_size,
        vector_width=200,
        d_model=256,
        num_layers=2,
        num_heads=4,
        intermediate_dim=512,
        pre_norm=True,
        positions="sinusoidal",
        max_positions=1024,
        max_distance=16,
        dropout=0.2,
        **kwargs,
    ):
        super().__init__(num_tags, vocabulary_size, vector_width, dropout=dropout, **kwargs)
        dtype = self.dtype_policy
        check_sizes(d_model=d_model, num_heads=num_heads, intermediate_dim=intermediate_dim)
        check_sizes(num_layers=num_layers)
        self.inputs_map = keras.layers.Dense(d_model, dtype=dtype, name="inputs_map")
        self.positions = added_positions(positions, max_positions, dtype=dtype, name="positions")
        self.input_dropout = keras.layers.Dropout(dropout, dtype=dtype, name="input_dropout")
        self.encoder_layers = [
            TransformerEncoderLayer(
                num_heads,
                intermediate_dim,
                pre_norm=pre_norm,
                dropout=dropout,
                rotary=positions == "rotary",
                relative=max_distance if positions == "relative" else None,
                dtype=dtype,
                name=f"encoder_{i}",
            )
            for i in range(num_layers)
        ]
        self.norm = None
        if pre_norm:
            self.norm = keras.layers.LayerNormalization(epsilon=1e-6, dtype=dtype, name="norm")

    def encode(self, x, mask, training=None):
        x = self.positions(self.inputs_map(x))  # (B, T, D)
        x = self.input_dropout(x, training=training)
        for layer in self.encoder_layers:
            x = layer(x, mask=mask, training=training)
        return (x if self.norm is None else self.norm(x)), None
