"""RNNsearch: jointly learning to align and translate (Bahdanau, Cho and Bengio, 2015)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes
from keraszoo.layers.attention_decoder import AttentionDecoder
from keraszoo.layers.bahdanau_attention import BahdanauAttention
from keraszoo.layers.maxout import maxout
from keraszoo.layers.recurrent_encoder import BidirectionalEncoder
from keraszoo.models.recurrent_model import SMALL, TINY, AttendingModel


@keras.saving.register_keras_serializable(package="keraszoo")
class RNNSearch(AttendingModel):
    """A bidirectional encoder, and a decoder that attends to the source before each word.

        h_j = [h->_j ; h<-_j]                                       annotations                   (A.2.1)
        s_0 = tanh(W_s h<-_1)                                       `initial`                     (A.2.2)
        c_i = sum_j alpha_ij h_j, e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j)                        (A.1.2)
        s_i = f(s_{i-1}, y_{i-1}, c_i)                              `decoder`
        t~_i = U_o s_{i-1} + V_o E y_{i-1} + C_o c_i                `readout`
        t_i = [max(t~_{i,2k-1}, t~_{i,2k})]_k                       maxout of pairs
        p(y_i) ~ exp(y_i^T W_o t_i)                `output_layer`, or the target embedding if tied

    Departures: dropout and scaled embeddings (not in the configuration `paper`); biases in the recurrences,
    the initial state, the readout and the output.

    Args:
        units: of each direction of the encoder.
        decoder_units: U, of the decoder; `None`: as `units`.
        attention_units: width of the hidden layer of the score; `None`: U.
        readout_dim: l, the width after maxout; `None`: half of U, or `embedding_dim` with `tie_output`.
        cell: a kind of `RecurrentCell`; `"gru"` in the paper.
        encoder_layers: bidirectional layers; the paper has one.

    Other arguments, call arguments, Returns, Raises: as for `RecurrentModel`.

    Example:

    >>> model = RNNSearch(11, embedding_dim=4, units=6)
    >>> tuple(model((ops.array([[4, 5, 3]]), ops.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Bahdanau, Cho, Bengio, 2015, https://arxiv.org/abs/1409.0473.
    """

    configurations = {
        "paper": {"embedding_dim": 620, "units": 1000, "readout_dim": 500, "scale_embeddings": False},
        "small": SMALL,
        "tiny": TINY,
    }

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        embedding_dim=620,
        units=1000,
        decoder_units=None,
        attention_units=None,
        readout_dim=None,
        cell="gru",
        encoder_layers=1,
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, embedding_dim, **kwargs)
        sizes = {"decoder_units": decoder_units, "attention_units": attention_units}
        check_optional_sizes(**sizes, readout_dim=readout_dim, encoder_layers=encoder_layers)
        decoder_units = decoder_units or units
        readout_dim = readout_dim or (embedding_dim if self.tie_output else decoder_units // 2)
        dtype, dropout = self.dtype_policy, self.embedding_dropout.rate
        self.encoder = BidirectionalEncoder(units, cell, encoder_layers, dropout, dtype=dtype, name="encoder")
        self.initial = keras.layers.Dense(decoder_units, activation="tanh", dtype=dtype, name="initial")
        attention = BahdanauAttention(attention_units or decoder_units, dtype=dtype, name="attention")
        self.decoder = AttentionDecoder(attention, decoder_units, cell, dtype=dtype, name="decoder")
        self.readout = keras.layers.Dense(2 * readout_dim, dtype=dtype, name="readout")
        self.make_output(readout_dim)

    def first(self, first_backward):
        return self.initial(first_backward)

    def read(self, outputs, embedded, before, training=None):
        states, contexts = ops.split(outputs, [self.decoder.units], axis=-1)  # (..., U), (..., D)
        queries = before[0]
        if len(states.shape) == 3:  # all positions: s_{i-1} is the state one position earlier
            queries = ops.concatenate([queries[:, None], states[:, :-1]], axis=1)
        readout = self.readout(ops.concatenate([queries, embedded, contexts], axis=-1))  # (..., 2 l)
        return self.logits(maxout(readout), training)
