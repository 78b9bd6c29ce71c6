"""Attention after the recurrence, global and local (Luong, Pham and Manning, 2015)."""

import numbers

import keras

from keraszoo.layers.arguments import check_optional_sizes
from keraszoo.layers.luong_attention import LuongAttention
from keraszoo.layers.luong_decoder import LuongDecoder
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.models.recurrent_model import SMALL, TINY, AttendingModel


@keras.saving.register_keras_serializable(package="keraszoo")
class LuongNMT(AttendingModel):
    """Two stacks of LSTMs with attention between their last layers.

        h_s = LSTM(E x_s)                              `encoder`; the decoder starts from its last states
        h_t = LSTM'([E' y_{t-1}; h~_{t-1}])            `decoder`, h~ with input feeding
        a_t(s) = align(h_t, h_s)                       `decoder.attention`, see `LuongAttention`
        h~_t = tanh(W_c [c_t; h_t])                    the readout (eq. 5)
        p(y_t) ~ exp(W_s h~_t)                         `output_layer`, or the target embedding (eq. 6)

    With `reverse_source`, as in the paper, the encoder reads from the last word to the first, so that the
    decoder starts next to the first one. Its outputs keep the order of the words, and so do attention weights
    and the positions of local attention.

    Departures: an output bias, and scaled embeddings (not in the configuration `paper`).

    Args:
        units: U, of each layer.
        num_layers: layers of the encoder and of the decoder.
        readout_dim: width of h~; `None`: U, or `embedding_dim` with `tie_output`.
        score: `"dot"`, `"general"` or `"concat"`.
        window: `None` or `"global"`, `"monotonic"` or `"local-m"`, `"predictive"` or `"local-p"`.
        half_width: D, of a window.
        attention_units: width of the hidden layers of `concat` and of local-p; `None`: U.
        input_feeding: feed the readout to the next step. Without it training runs the recurrence first and
            then attends from all positions at once.
        cell: a kind of `RecurrentCell`; `"lstm"` in the paper.
        reverse_source: read the source backward.

    Other arguments, call arguments, Returns, Raises: as for `RecurrentModel`.

    Example:

    >>> model = LuongNMT(11, embedding_dim=4, units=6, num_layers=1)
    >>> tuple(model((keras.ops.array([[4, 5, 3]]), keras.ops.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Luong, Pham, Manning, 2015, https://arxiv.org/abs/1508.04025.
    """

    configurations = {
        "paper": {"window": "predictive", "dropout": 0.2, "scale_embeddings": False},  # the best of table 1
        "small": {**SMALL, "num_layers": 2},
        "tiny": {**TINY, "num_layers": 1},
    }

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        embedding_dim=1000,
        units=1000,
        num_layers=4,
        readout_dim=None,
        score="general",
        window: str = None,
        half_width: numbers.Real = 10,
        attention_units=None,
        input_feeding=True,
        cell="lstm",
        reverse_source=True,
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, embedding_dim, **kwargs)
        check_optional_sizes(readout_dim=readout_dim, attention_units=attention_units)
        readout_dim = readout_dim or (embedding_dim if self.tie_output else units)
        dtype, dropout = self.dtype_policy, self.embedding_dropout.rate
        self.encoder = RecurrentStack(
            units, cell, num_layers, dropout, backward=reverse_source, dtype=dtype, name="encoder"
        )
        attention = LuongAttention(score, window, half_width, attention_units, dtype=dtype, name="attention")
        layers = units, cell, num_layers, readout_dim, input_feeding, dropout
        self.decoder = LuongDecoder(attention, *layers, dtype=dtype, name="decoder")
        self.make_output(readout_dim)

    def read(self, outputs, embedded, before, training=None):
        return self.logits(outputs, training)
