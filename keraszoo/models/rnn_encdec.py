"""The RNN encoder-decoder: a sentence as one vector (Cho et al., 2014)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes
from keraszoo.layers.maxout import maxout
from keraszoo.layers.recurrent_cell import RecurrentCell
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.layers.time_loop import over_time
from keraszoo.models.recurrent_model import SMALL, TINY, RecurrentModel


@keras.saving.register_keras_serializable(package="keraszoo")
class RNNEncDec(RecurrentModel):
    """An encoder whose last state is the summary of the sentence, and a decoder that reads it at every step.

        h_j = f(e(x_j), h_{j-1})                            `encoder`, a GRU (eq. 5 to 8)
        c = tanh(V h_N)                                     `source_summary`                       (A.1.1)
        h'_0 = tanh(V' c)                                   `initial`                              (A.1.2)
        z_t, r_t = sigma(W e(y_{t-1}) + U h'_{t-1} + C c)   `decoder` has W and U, C is `C`
        h~_t = tanh(W e(y_{t-1}) + r_t * (U h'_{t-1} + C c))
        h'_t = z_t * h'_{t-1} + (1 - z_t) * h~_t
        s'_t = O_h h'_t + O_y e(y_{t-1}) + O_c c            `readout` (O_h, O_y), `readout_summary` (O_c)
        s_t = [max(s'_{t,2k-1}, s'_{t,2k})]_k               maxout of pairs
        p(y_t) ~ exp(G s_t)                                 `output_layer`, or the target embedding if tied

    The equations are those of the paper's appendix: the reset gate of the encoder is applied before the
    recurrent product, that of the decoder after it and to the summary too. With `cell="gru_reset_after"` it
    is applied after the product in both; an LSTM or plain tanh adds C c to its U h'.

    There is no attention: the decoder sees the source only through c, however long the sentence is.

    Departures: dropout and scaled embeddings (not in the configuration `paper`); biases; the output matrix G
    is one matrix, not a product of two; y_0 is the embedding of `<s>`, not zero.

    Args:
        units: U, of encoder, summary and decoder.
        readout_dim: width after maxout; `None`: half of U, or `embedding_dim` with `tie_output`.
        cell: a kind of `RecurrentCell`.

    Other arguments, call arguments, Returns, Raises: as for `RecurrentModel`.

    Example:

    >>> model = RNNEncDec(11, embedding_dim=4, units=6)
    >>> tuple(model((ops.array([[4, 5, 3]]), ops.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Cho et al., 2014, https://arxiv.org/abs/1406.1078.
    """

    attends = False
    configurations = {
        "paper": {"embedding_dim": 100, "units": 1000, "readout_dim": 500, "scale_embeddings": False},
        "small": {**SMALL, "units": 352},
        "tiny": TINY,
    }

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        embedding_dim=100,
        units=1000,
        readout_dim=None,
        cell="gru",
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, embedding_dim, **kwargs)
        check_optional_sizes(readout_dim=readout_dim)
        readout_dim = readout_dim or (embedding_dim if self.tie_output else units // 2)
        dtype, dense = self.dtype_policy, keras.layers.Dense
        self.encoder = RecurrentStack(units, cell, dtype=dtype, name="encoder")
        self.source_summary = dense(units, activation="tanh", dtype=dtype, name="source_summary")
        self.initial = dense(units, activation="tanh", dtype=dtype, name="initial")
        kind = "gru_reset_after" if cell == "gru" else cell
        self.decoder = RecurrentCell(units, kind, dtype=dtype, name="decoder")
        self.decoder.build((None, embedding_dim))
        self.C = dense(self.decoder.width, use_bias=False, dtype=dtype, name="C")
        self.readout = dense(2 * readout_dim, dtype=dtype, name="readout")
        self.readout_summary = dense(2 * readout_dim, use_bias=False, dtype=dtype, name="readout_summary")
        self.make_output(readout_dim)

    def first(self, state, *_):
        return self.source_summary(state)

    def _start(self, summary):
        """What every step adds to U h' and to the readout, `(B, G U)` and `(B, 2 l)`; and h'_0."""
        start = self.decoder.as_state(self.initial(summary))
        return self.C(summary), self.readout_summary(summary), start

    def decode(self, memory, target_in, training=None):
        embedded = self.embed(self.target_embedding, target_in, training)  # (B, T, E)
        added, readout, start = self._start(memory["first"])

        def step(projected, state):
            after = self.decoder.advance(projected, state, added)
            return after[0], after

        hidden, _ = over_time(step, self.decoder.project(embedded), start)  # (B, T, U)
        return self._read(hidden, embedded, readout[:, None], training), None

    def _read(self, hidden, embedded, added, training=None):
        readout = self.readout(ops.concatenate([hidden, embedded], axis=-1)) + added  # (..., 2 l)
        return self.logits(maxout(readout), training)

    def initial_state(self, memory, beam_width=1, length=None):
        state = super().initial_state(memory, beam_width, length)
        added, readout, start = self._start(state["recurrent"])
        return {**state, "added": added, "readout": readout, "recurrent": start}

    def step(self, tokens, state):
        embedded = self.embed(self.target_embedding, tokens)  # (N, E)
        projected = self.decoder.project(embedded)
        recurrent = self.decoder.advance(projected, state["recurrent"], state["added"])
        logits = self._read(recurrent[0], embedded, state["readout"])
        return logits, {**state, "position": state["position"] + 1, "recurrent": recurrent}
