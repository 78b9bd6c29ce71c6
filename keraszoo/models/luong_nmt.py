"""Attention after the recurrence, global and local (Luong, Pham and Manning, 2015)."""

import keras
from keras import ops

from keraszoo.layers.luong_attention import LuongAttention
from keraszoo.layers.luong_decoder import LuongDecoder
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.models.recurrent_model import RecurrentModel, attended, attending_state


@keras.saving.register_keras_serializable(package="keraszoo")
class LuongNMT(RecurrentModel):
    """Stacked LSTMs whose last layers meet in an attention.

        h_s = LSTM(E x_s)                              `encoder`, whose last states the decoder begins with
        h_t = LSTM'([E' y_{t-1}; h~_{t-1}])            `decoder`, h~ with input feeding
        a_t(s) = align(h_t, h_s)                       `decoder.attention`, see `LuongAttention`
        h~_t = tanh(W_c [c_t; h_t])                    the readout (eq. 5)
        p(y_t) ~ exp(W_s h~_t)                         `output_kernel`, or the target embedding (eq. 6)

    With `reverse_source`, as in the paper, the encoder reads from the last word to the first, so that the
    decoder begins beside the first one. What the encoder writes stays beside its word, so that attention
    weights and the places of local attention are those of the sentence as it was given.

    Departures: an output bias, and scaled embeddings (`scale_embeddings`), which the preset `paper` has not.
    Dropout is the paper's: on embeddings, between layers and on the readout.

    Presets: `paper` (4 layers of 1000 units, 1000-d embeddings, dropout 0.2, source reversed, input feeding,
    local-p with `general` and D = 10: the best of table 1); `small` and `tiny` for small data, with global
    attention.

    Shapes: B batch, S source, T target, U `units`, V target vocabulary.

    Args:
        source_vocabulary_size: number of source ids.
        target_vocabulary_size: V; `None`: as the source.
        embedding_dim: width of the embeddings of both sides.
        units: U, of each layer.
        num_layers: layers of the encoder and of the decoder.
        readout_dim: width of h~; `None`: U, or `embedding_dim` with `tie_output`.
        score: `"dot"`, `"general"` or `"concat"`.
        window: `None` or `"global"`, `"monotonic"` or `"local-m"`, `"predictive"` or `"local-p"`.
        half_width: D, of a window.
        attention_units: width of the hidden layers of `concat` and of local-p; `None`: U.
        input_feeding: feed the readout to the next step. Without it training runs the recurrence once and
            attends over all steps at once.
        cell: a kind of `RecurrentCell`; `"lstm"` in the paper.
        reverse_source: read the source backward.
        dropout: on embeddings, between layers and on the readout.
        scale_embeddings: multiply embeddings, drawn from N(0, 1/E), by sqrt(E), as the Transformer does:
            Adam needs fewer steps then than from Keras' +-0.05 (RESULTS.md).
        share_embeddings: one embedding for source and target, which wants one joint vocabulary.
        tie_output: use the target embedding as W_s, which wants `readout_dim` to be `embedding_dim`.
        source_pad_id: id of padding in the source.

    Call arguments:
        inputs: `(source, target_in)`: int `(B, S)`, its padding masked, and int `(B, T)`, beginning with
            `<s>`.

    Returns:
        Logits `(B, T, V)`.

    Raises:
        ValueError: if `cell`, `score` or `window` is unknown, a size is not a positive integer, shared
            embeddings meet two vocabulary sizes, or a tied output another `readout_dim`.

    Example:

    >>> import numpy as np
    >>> model = LuongNMT(11, embedding_dim=4, units=6, num_layers=1)
    >>> tuple(model((np.array([[4, 5, 3]]), np.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Luong, Pham, Manning: Effective Approaches to Attention-based Neural Machine Translation, 2015,
    https://arxiv.org/abs/1508.04025.
    """

    presets = {
        "paper": {
            "embedding_dim": 1000,
            "units": 1000,
            "num_layers": 4,
            "window": "predictive",
            "half_width": 10,
            "dropout": 0.2,
            "scale_embeddings": False,
        },
        "small": {
            "embedding_dim": 256,
            "units": 256,
            "num_layers": 2,
            "dropout": 0.2,
            "share_embeddings": True,
            "tie_output": True,
        },
        "tiny": {"embedding_dim": 64, "units": 64, "num_layers": 1, "dropout": 0.1},
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
        window=None,
        half_width=10,
        attention_units=None,
        input_feeding=True,
        cell="lstm",
        reverse_source=True,
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
            "num_layers": num_layers,
            "readout_dim": readout_dim,
            "score": score,
            "window": window,
            "half_width": half_width,
            "attention_units": attention_units,
            "input_feeding": input_feeding,
            "cell": cell,
            "reverse_source": reverse_source,
            "dropout": dropout,
            "scale_embeddings": scale_embeddings,
            "share_embeddings": share_embeddings,
            "tie_output": tie_output,
        }
        readout_dim = readout_dim or (embedding_dim if tie_output else units)
        super().__init__(
            source_vocabulary_size, target_vocabulary_size, source_pad_id, sizes, readout_dim, **kwargs
        )
        dtype = self.dtype_policy
        self.encoder = RecurrentStack(
            units, cell, num_layers, dropout, backward=reverse_source, dtype=dtype, name="encoder"
        )
        attention = LuongAttention(score, window, half_width, attention_units, dtype=dtype, name="attention")
        self.decoder = LuongDecoder(
            attention,
            units,
            cell,
            num_layers,
            readout_dim,
            input_feeding,
            dropout,
            dtype=dtype,
            name="decoder",
        )

    def encode(self, source, training=None):
        mask = self.memory_mask(source)
        x = self.embed(self.source_embedding, source, training)  # (B, S, E)
        annotations, state = self.encoder(x, inputs_mask=mask, training=training)
        return {"memory": annotations, "memory_mask": mask, "layers": state}

    def decode(self, memory, target_in, training=None):
        embedded = self.embed(self.target_embedding, target_in, training)  # (B, T, E)
        readout, weights = self.decoder(
            embedded,
            memory["memory"],
            memory["layers"],
            memory_mask=memory["memory_mask"],
            training=training,
        )
        return self.logits(readout, training), weights

    def initial_state(self, memory, beam_width=1, length=None):
        layers = keras.tree.map_structure(lambda x: ops.repeat(x, beam_width, axis=0), memory["layers"])
        prepared = self.decoder.prepare(memory["memory"])
        return attending_state(memory, prepared, self.decoder.initial_state(layers))

    def step(self, tokens, state):
        memory = state["memory"]
        readout, weights, recurrent = self.decoder.step(
            self.embed(self.target_embedding, tokens),
            state["recurrent"],
            (memory["keys"], memory["values"]),
            state["position"],
            memory["memory_mask"],
        )
        return self.logits(readout), attended(state, recurrent, weights)
