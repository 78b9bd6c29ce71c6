"""The recurrent tagger: vectors, characters and casing, a bidirectional recurrent net, and a CRF."""

import keras
from keras import ops

from keraszoo.layers.arguments import require
from keraszoo.layers.multi_head_attention import MultiHeadAttention
from keraszoo.layers.recurrent_encoder import BidirectionalEncoder
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.models.word_tagger import WordTagger


@keras.saving.register_keras_serializable(package="keraszoo")
class RecurrentTagger(WordTagger):
    """The taggers of Huang et al. (2015), Ma and Hovy (2016) and Lample et al. (2016).

        x_j = [word vector ; characters ; casing]
        h_j = [h->_j ; h<-_j]                                       `recurrent`, layers of LSTMs or GRUs
        a_j = h_j + MultiHead(LayerNorm(h))_j                       `attention`, with `attention_heads`
        p(y | x) ~ exp(s(x, y)) of e_j = W a_j + b                  `head`: a CRF, or a softmax at every word

    Configurations: `ma_hovy` (one BiLSTM of 200, character CNN of 30 filters, CRF), `lample` (one BiLSTM of
    100, character LSTM of 25, CRF), `strong` (as `ma_hovy`, with casing, 100 filters over five characters,
    less dropout and a `word_dropout` of a quarter), `plain` (a GRU in one direction) and `tiny`.

    Departures: the papers also train the word vectors (`train_vectors`). Lample et al. have a further hidden
    layer before the CRF, dropout before the BiLSTM only, and replace half of the words that occur once by the
    unknown word.

    Args:
        num_tags, vocabulary_size, vector_width: as for `WordTagger`, whose other arguments are taken by name.
        units: of each layer and direction.
        num_layers: how many recurrent layers.
        cell: a kind of `RecurrentCell`.
        bidirectional: read the sentence in both directions.
        attention_heads: heads of the self-attention over the states, a divisor of their width; 0: none.
        dropout: share dropped in training, of the inputs of each recurrent layer, of the outputs of the last
            one, and of the embeddings of characters.

    Call arguments, returns, raises: as for `TaggingModel` and `WordTagger`. With `attention_heads`, the
    attention weights that `tag` returns are the mean over heads and querying words.

    Example:

    >>> model = RecurrentTagger(num_tags=3, vocabulary_size=9, vector_width=4, units=6, crf=True)
    >>> tuple(model({"words": ops.array([[4, 5, 0]])}).shape)
    (1, 3, 3)

    Reference: Ma, Hovy, 2016, https://arxiv.org/abs/1603.01354.
    """

    configurations = {
        "ma_hovy": {"characters": "cnn", "crf": True},
        "lample": dict(units=100, characters="lstm", character_dim=25, character_units=25, crf=True),
        "strong": {
            **dict(characters="cnn", character_units=100, character_window=5, casing_dim=8),
            **dict(dropout=0.35, word_dropout=0.25, crf=True),
        },
        "plain": {"cell": "gru_reset_after", "bidirectional": False},
        "tiny": {"units": 48, "dropout": 0.2, "crf": True},
    }

    def __init__(
        self,
        num_tags,
        vocabulary_size,
        vector_width=200,
        units=200,
        num_layers=1,
        cell="lstm",
        bidirectional=True,
        attention_heads=0,
        dropout=0.5,
        **kwargs,
    ):
        super().__init__(num_tags, vocabulary_size, vector_width, dropout=dropout, **kwargs)
        width = 2 * units if bidirectional else units
        fits = not (attention_heads and width % attention_heads)
        wanted = "The width of the states must be a multiple of attention_heads"
        require(fits, wanted, width=width, attention_heads=attention_heads)
        self.attends = attention_heads > 0
        dtype = self.dtype_policy
        recurrent = BidirectionalEncoder if bidirectional else RecurrentStack
        self.input_dropout = keras.layers.Dropout(dropout, dtype=dtype, name="input_dropout")
        self.recurrent = recurrent(
            units, cell, num_layers=num_layers, dropout=dropout, dtype=dtype, name="recurrent"
        )
        self.output_dropout = keras.layers.Dropout(dropout, dtype=dtype, name="output_dropout")
        self.norm = self.attention = None
        if attention_heads:
            self.norm = keras.layers.LayerNormalization(epsilon=1e-6, dtype=dtype, name="norm")
            self.attention = MultiHeadAttention(
                attention_heads, width // attention_heads, dtype=dtype, name="attention"
            )

    def encode(self, x, mask, training=None):
        x = self.input_dropout(x, training=training)  # (B, T, D)
        h, weights = self.recurrent(x, mask=mask, training=training)[0], None  # (B, T, h)
        if self.attention is not None:
            normal = self.norm(h)
            context, weights = self.attention(normal, normal, value_mask=mask, training=training)
            h, weights = h + context, _looked_at(weights, mask)
        return self.output_dropout(h, training=training), weights


def _looked_at(weights, mask):
    """The mean over heads and words of attention weights `(B, H, T, T)`: `(B, T)`."""
    words = ops.cast(mask, "float32")
    by_word = ops.mean(ops.cast(weights, "float32"), axis=1)  # (B, T, T)
    total = ops.matmul(words[:, None], by_word)[:, 0]
    return total / ops.maximum(ops.sum(words, axis=1, keepdims=True), 1)
