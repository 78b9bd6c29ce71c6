"""RNNsearch in its simplest form: tanh recurrences and one direction."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes
from keraszoo.layers.attention_decoder import AttentionDecoder
from keraszoo.layers.bahdanau_attention import BahdanauAttention
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.models.recurrent_model import TINY, AttendingModel


@keras.saving.register_keras_serializable(package="keraszoo")
class SimplifiedRNNSearch(AttendingModel):
    """Two plain recurrent nets with attention between them: RNNsearch as one would teach it.

        h_j = tanh(W_h x_j + U_h h_{j-1})                        `encoder`, j = 1, ..., T_x
        s_0 = h_{T_x}
        e_tj = V_a^T tanh(W_a s_{t-1} + U_a h_j)                 `decoder.attention`
        alpha_tj = exp(e_tj) / sum_k exp(e_tk)        c_t = sum_j alpha_tj h_j
        s_t = tanh(W_s y_{t-1} + U_s s_{t-1} + C_s c_t)          `decoder`
        y_t = softmax(W_y y_{t-1} + U_y s_t + C_y c_t)           `output_layer`: W_y over U_y over C_y

    with x_j and y_{t-1} embeddings. Unlike `RNNSearch` it has no gates, no second direction, no net for s_0
    and no maxout: each matrix of the equations, biases, dropout and the scale of the embeddings are all there
    is. The output matrix is the largest part: (E + 2 U) V.

    Args:
        units: U, of both nets.
        attention_units: width of the hidden layer of the score; `None`: U.
        cell: a kind of `RecurrentCell`; `"rnn"` is the tanh of the equations.

    Other arguments, call arguments, Returns, Raises: as for `RecurrentModel`, but the readout is too wide for
    `tie_output`.

    Example:

    >>> model = SimplifiedRNNSearch(11, embedding_dim=4, units=6)
    >>> tuple(model((ops.array([[4, 5, 3]]), ops.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Bahdanau, Cho, Bengio, 2015, https://arxiv.org/abs/1409.0473 (this model simplifies it).
    """

    configurations = {
        "small": {"embedding_dim": 128, "units": 192, "dropout": 0.2, "share_embeddings": True},
        "tiny": TINY,
    }

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        embedding_dim=128,
        units=192,
        attention_units=None,
        cell="rnn",
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, embedding_dim, **kwargs)
        check_optional_sizes(attention_units=attention_units)
        dtype = self.dtype_policy
        self.encoder = RecurrentStack(units, cell, dtype=dtype, name="encoder")
        attention = BahdanauAttention(attention_units or units, dtype=dtype, name="attention")
        self.decoder = AttentionDecoder(attention, units, cell, dtype=dtype, name="decoder")
        self.make_output(embedding_dim + 2 * units)

    def first(self, state, *_):
        return state

    def read(self, outputs, embedded, before, training=None):
        return self.logits(ops.concatenate([embedded, outputs], axis=-1), training)
