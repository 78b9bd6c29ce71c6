"""The RNN encoder-decoder: a sentence as one vector (Cho et al., 2014)."""

import keras
from keras import ops

from keraszoo.layers.linear import linear, maxout
from keraszoo.layers.recurrent_cell import RecurrentCell
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.layers.time_loop import over_time
from keraszoo.models.recurrent_model import RecurrentModel


@keras.saving.register_keras_serializable(package="keraszoo")
class RNNEncDec(RecurrentModel):
    """An encoder whose last state is the summary of the sentence, and a decoder that reads it at every step.

        h_j = f(e(x_j), h_{j-1})                            `encoder`, a GRU (eq. 5 to 8)
        c = tanh(V h_N)                                     `summary`                              (A.1.1)
        h'_0 = tanh(V' c)                                   `initial`                              (A.1.2)
        z_t, r_t = sigma(W e(y_{t-1}) + U h'_{t-1} + C c)   `decoder` has W and U, C is `C`
        h~_t = tanh(W e(y_{t-1}) + r_t * (U h'_{t-1} + C c))
        h'_t = z_t * h'_{t-1} + (1 - z_t) * h~_t
        s'_t = O_h h'_t + O_y e(y_{t-1}) + O_c c            `readout` (O_h, O_y), `readout_summary` (O_c)
        s_t = [max(s'_{t,2k-1}, s'_{t,2k})]_k               maxout of pairs
        p(y_t) ~ exp(G s_t)                                 `output_kernel`, or the target embedding if tied

    The equations are those of the paper's appendix: the reset gate of the encoder stands before the recurrent
    product, that of the decoder after it, around the summary too. With `cell="gru_reset_after"` it stands
    after it in both; an LSTM or plain tanh gets C c added to its U h'.

    There is no attention: everything that the decoder knows of the source is c, whatever the sentence's
    length.

    Departures, each of which can be switched off: dropout (the paper has none) and scaled embeddings
    (`scale_embeddings`); the preset `paper` has neither. Others: biases; the output matrix G is one, not a
    product of two; y_0 is the embedding of `<s>`, not zero.

    Presets: `paper` (1000 units, 100-d embeddings, maxout of 500); `small` and `tiny` for small data.

    Shapes: B batch, S source, T target, U `units`, V target vocabulary.

    Args:
        source_vocabulary_size: number of source ids.
        target_vocabulary_size: V; `None`: as the source.
        embedding_dim: width of the embeddings of both sides.
        units: U, of encoder, summary and decoder.
        readout_dim: width after maxout; `None`: half of U, or `embedding_dim` with `tie_output`.
        cell: a kind of `RecurrentCell`.
        dropout: on embeddings and on the readout.
        scale_embeddings: multiply embeddings, drawn from N(0, 1/E), by sqrt(E), as the Transformer does:
            Adam needs fewer steps then than from Keras' +-0.05 (RESULTS.md).
        share_embeddings: one embedding for source and target, which wants one joint vocabulary.
        tie_output: use the target embedding as G, which wants `readout_dim` to be `embedding_dim`.
        source_pad_id: id of padding in the source.

    Call arguments:
        inputs: `(source, target_in)`: int `(B, S)`, its padding masked, and int `(B, T)`, beginning with
            `<s>`.

    Returns:
        Logits `(B, T, V)`.

    Raises:
        ValueError: if `cell` is unknown, a size is not a positive integer, shared embeddings meet two
            vocabulary sizes, or a tied output another `readout_dim`.

    Example:

    >>> import numpy as np
    >>> model = RNNEncDec(11, embedding_dim=4, units=6)
    >>> tuple(model((np.array([[4, 5, 3]]), np.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
    Translation, 2014, https://arxiv.org/abs/1406.1078.
    """

    attends = False
    presets = {
        "paper": {"embedding_dim": 100, "units": 1000, "readout_dim": 500, "scale_embeddings": False},
        "small": {
            "embedding_dim": 256,
            "units": 352,
            "dropout": 0.2,
            "share_embeddings": True,
            "tie_output": True,
        },
        "tiny": {"embedding_dim": 64, "units": 64, "dropout": 0.1},
    }

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        embedding_dim=100,
        units=1000,
        readout_dim=None,
        cell="gru",
        dropout=0.0,
        scale_embeddings=True,
        share_embeddings=False,
        tie_output=False,
        source_pad_id=0,
        **kwargs,
    ):
        sizes = {
            "embedding_dim": embedding_dim,
            "units": units,
            "readout_dim": readout_dim,
            "cell": cell,
            "dropout": dropout,
            "scale_embeddings": scale_embeddings,
            "share_embeddings": share_embeddings,
            "tie_output": tie_output,
        }
        readout_dim = readout_dim or (embedding_dim if tie_output else units // 2)
        super().__init__(
            source_vocabulary_size, target_vocabulary_size, source_pad_id, sizes, readout_dim, **kwargs
        )
        dtype, dense = self.dtype_policy, keras.layers.Dense
        self.encoder = RecurrentStack(units, cell, dtype=dtype, name="encoder")
        self.summary = dense(units, activation="tanh", dtype=dtype, name="summary")
        self.initial = dense(units, activation="tanh", dtype=dtype, name="initial")
        kind = "gru_reset_after" if cell == "gru" else cell
        self.decoder = RecurrentCell(units, kind, dtype=dtype, name="decoder")
        self.decoder.build((None, embedding_dim))
        self.C = self.add_weight(name="C", shape=(units, self.decoder.width), initializer="glorot_uniform")
        self.readout = dense(2 * readout_dim, dtype=dtype, name="readout")
        self.readout_summary = dense(2 * readout_dim, use_bias=False, dtype=dtype, name="readout_summary")

    def encode(self, source, training=None):
        mask = self.memory_mask(source)
        x = self.embed(self.source_embedding, source, training)  # (B, S, E)
        _, state = self.encoder(x, inputs_mask=mask)
        return {"memory": self.summary(state[0][0]), "memory_mask": mask}

    def _heard(self, summary):
        """What decoder and readout hear of the summary at every step: `(B, G U)` and `(B, 2 l)`."""
        return linear(summary, self.C), self.readout_summary(summary)

    def decode(self, memory, target_in, training=None):
        summary = memory["memory"]  # (B, U)
        embedded = self.embed(self.target_embedding, target_in, training)  # (B, T, E)
        beside, read = self._heard(summary)

        def step(projected, state):
            after = self.decoder.advance(projected, state, beside)
            return after[0], after

        start = self.decoder.first_state(self.initial(summary))
        hidden, _ = over_time(step, self.decoder.project(embedded), start)  # (B, T, U)
        return self._read(hidden, embedded, read[:, None], training), None

    def _read(self, hidden, embedded, read, training=None):
        readout = self.readout(ops.concatenate([hidden, embedded], axis=-1)) + read  # (..., 2 l)
        return self.logits(maxout(readout), training)

    def initial_state(self, memory, beam_width=1, length=None):
        summary = ops.repeat(memory["memory"], beam_width, axis=0)  # (N, U)
        beside, read = self._heard(summary)
        return {
            "memory": {"memory_mask": memory["memory_mask"]},
            "position": ops.zeros((), dtype="int32"),
            "beside": beside,
            "read": read,
            "recurrent": self.decoder.first_state(self.initial(summary)),
        }

    def step(self, tokens, state):
        embedded = self.embed(self.target_embedding, tokens)  # (N, E)
        projected = self.decoder.project(embedded)
        recurrent = self.decoder.advance(projected, state["recurrent"], state["beside"])
        logits = self._read(recurrent[0], embedded, state["read"])
        return logits, {**state, "position": state["position"] + 1, "recurrent": recurrent}
