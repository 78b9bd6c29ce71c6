"""The attention tagger: the states of a recurrent net, weighted by attention."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_optional_sizes
from keraszoo.layers.feed_forward_attention import FeedForwardAttention
from keraszoo.layers.recurrent_encoder import BidirectionalEncoder
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.models.word_tagger import WordTagger

CONTEXTS = ("weighted", "concat", "scaled")


@keras.saving.register_keras_serializable(package="keraszoo")
class AttentionTagger(WordTagger):
    """A recurrent net over frozen word vectors whose states are weighted by attention over the sentence.

        h_j = GRU(x_j, h_{j-1})                                     `recurrent`
        e_j = v^T tanh(U h_j)        alpha = softmax(e)             `attention_vector`, with d_a = h/2
        c_j = alpha_j h_j                                           `context="weighted"`
        z_j = f(W_2 f(W_1 c_j + b_1) + b_2)                         `hidden_1`, `hidden_2`, f = ReLU
        p_j = softmax(W z_j + b)                                    `head`

    with x_j the vector of word j and h the width of the states. Dropout drops the same inputs at all words,
    as `keras.layers.GRU(dropout=0.5)` does. The softmax is over the words of the sentence: padding has weight
    0 and cannot change a tag.

    This form has a length bias: alpha sums to 1, so alpha_j h_j shrinks as 1/T with the length T of the
    sentence. There are two fixes: `"concat"`, c_j = [h_j ; alpha_j h_j], and `"scaled"`, c_j = T alpha_j h_j.

    `configurations["bidirectional"]` is the strongest form.

    Args:
        num_tags, vocabulary_size, vector_width: as for `WordTagger`, whose other arguments are taken by name.
        units: of the recurrent net, in one direction; h is this, or twice this.
        attention_units: d_a; `None`: h/2.
        hidden_units: width of both hidden layers; `None`: h.
        cell: a kind of `RecurrentCell`; the default is the GRU of Keras.
        bidirectional: read the sentence in both directions.
        context: `"weighted"`, `"concat"` or `"scaled"`.
        dropout: share of the inputs of the recurrent net dropped in training.

    Call arguments, returns, raises: as for `TaggingModel` and `WordTagger`.

    Example:

    >>> model = AttentionTagger(num_tags=3, vocabulary_size=9, vector_width=4, units=6)
    >>> tags, probabilities, attention_weights = model.tag({"words": ops.array([[4, 5, 0]])})
    >>> tuple(probabilities.shape), float(attention_weights[0, 2])
    ((1, 3, 3), 0.0)

    Reference: the attention is that of Raffel, Ellis: Feed-Forward Networks with Attention Can Solve Some
    Long-Term Memory Problems, 2015, https://arxiv.org/abs/1512.08756, without its sum.
    """

    attends = True
    configurations = {
        "base": {},
        "bidirectional": dict(bidirectional=True, context="concat", characters="cnn", casing_dim=8, crf=True),
        "tiny": {"units": 64, "dropout": 0.2},
    }

    def __init__(
        self,
        num_tags,
        vocabulary_size,
        vector_width=200,
        units=200,
        attention_units=None,
        hidden_units=None,
        cell="gru_reset_after",
        bidirectional=False,
        context="weighted",
        dropout=0.5,
        **kwargs,
    ):
        super().__init__(num_tags, vocabulary_size, vector_width, dropout=dropout, **kwargs)
        check_choices(CONTEXTS, context=context)
        check_optional_sizes(attention_units=attention_units, hidden_units=hidden_units)
        self.context = context
        dtype, dense = self.dtype_policy, keras.layers.Dense
        width = 2 * units if bidirectional else units
        recurrent = BidirectionalEncoder if bidirectional else RecurrentStack
        self.input_dropout = keras.layers.SpatialDropout1D(dropout, dtype=dtype, name="input_dropout")
        self.recurrent = recurrent(units, cell, dtype=dtype, name="recurrent")
        self.attention_vector = FeedForwardAttention(
            attention_units or max(width // 2, 1), dtype=dtype, name="attention_vector"
        )
        self.hidden_1 = dense(hidden_units or width, activation="relu", dtype=dtype, name="hidden_1")
        self.hidden_2 = dense(hidden_units or width, activation="relu", dtype=dtype, name="hidden_2")

    def encode(self, x, mask, training=None):
        x = self.input_dropout(x, training=training)  # (B, T, D)
        h = self.recurrent(x, mask=mask, training=training)[0]  # (B, T, h)
        _, weights = self.attention_vector(h, mask=mask)  # (B, T)
        c = weights[..., None] * h
        if self.context == "concat":
            c = ops.concatenate([h, c], axis=-1)
        if self.context == "scaled":
            c = c * ops.sum(ops.cast(mask, c.dtype), axis=1)[:, None, None]
        return self.hidden_2(self.hidden_1(c)), weights
