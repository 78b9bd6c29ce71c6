"""Sequence to sequence learning with deep LSTMs (Sutskever, Vinyals and Le, 2014)."""

import keras
from keras import ops

from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.models.recurrent_model import RecurrentModel


@keras.saving.register_keras_serializable(package="keraszoo")
class DeepLSTM(RecurrentModel):
    """Two deep LSTMs: the first reads the source backward, and its states are where the second begins.

        h^l_j = LSTM^l(h^{l-1}_j, h^l_{j+1})            `encoder`, h^0_j = E x_j, from the last word on
        s^l_0 = h^l_1, cell states alike
        s^l_t = LSTM'^l(s^{l-1}_t, s^l_{t-1})           `decoder`, s^0_t = E' y_{t-1}
        p(y_t) ~ exp(W_o s^L_t)                         `output_kernel`, or the target embedding if tied

    "Reversing the source" (section 3.3), so that its first words stand next to the target's first words, is
    the model's business: it takes sentences as they are, and padding at their end stays out of it.

    There is no attention: everything that the decoder knows of the source are the L states it begins with.

    Departures: dropout, scaled embeddings (`scale_embeddings`; the preset `paper` has neither) and output
    biases (the paper has none); both sides begin at their own ends: the source is read from its `</s>`, the
    target from `<s>`.

    Presets: `paper` (4 layers of 1000 units, 1000-d embeddings); `small` and `tiny` for small data.

    Shapes: B batch, S source, T target, L `num_layers`, U `units`, V target vocabulary.

    Args:
        source_vocabulary_size: number of source ids.
        target_vocabulary_size: V; `None`: as the source.
        embedding_dim: width of the embeddings of both sides.
        units: U, of each layer.
        num_layers: L, layers of the encoder and of the decoder.
        cell: a kind of `RecurrentCell`; `"lstm"` in the paper.
        reverse_source: read the source backward.
        dropout: on embeddings, between layers and on the last layer's states.
        scale_embeddings: multiply embeddings, drawn from N(0, 1/E), by sqrt(E), as the Transformer does:
            Adam needs fewer steps then than from Keras' +-0.05 (RESULTS.md).
        share_embeddings: one embedding for source and target, which wants one joint vocabulary.
        tie_output: use the target embedding as W_o, which wants `embedding_dim` to be `units`.
        source_pad_id: id of padding in the source.

    Call arguments:
        inputs: `(source, target_in)`: int `(B, S)`, its padding masked, and int `(B, T)`, beginning with
            `<s>`.

    Returns:
        Logits `(B, T, V)`.

    Raises:
        ValueError: if `cell` is unknown, a size is not a positive integer, shared embeddings meet two
            vocabulary sizes, or a tied output another width.

    Example:

    >>> import numpy as np
    >>> model = DeepLSTM(11, embedding_dim=4, units=6, num_layers=2)
    >>> tuple(model((np.array([[4, 5, 3]]), np.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Sutskever, Vinyals, Le: Sequence to Sequence Learning with Neural Networks, 2014,
    https://arxiv.org/abs/1409.3215.
    """

    attends = False
    presets = {
        "paper": {"embedding_dim": 1000, "units": 1000, "num_layers": 4, "scale_embeddings": False},
        "small": {
            "embedding_dim": 256,
            "units": 256,
            "num_layers": 2,
            "dropout": 0.2,
            "share_embeddings": True,
            "tie_output": True,
        },
        "tiny": {"embedding_dim": 64, "units": 64, "num_layers": 2, "dropout": 0.1},
    }

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        embedding_dim=1000,
        units=1000,
        num_layers=4,
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
            "cell": cell,
            "reverse_source": reverse_source,
            "dropout": dropout,
            "scale_embeddings": scale_embeddings,
            "share_embeddings": share_embeddings,
            "tie_output": tie_output,
        }
        super().__init__(
            source_vocabulary_size, target_vocabulary_size, source_pad_id, sizes, units, **kwargs
        )
        layers = (units, cell, num_layers, dropout)
        self.encoder = RecurrentStack(
            *layers, backward=reverse_source, dtype=self.dtype_policy, name="encoder"
        )
        self.decoder = RecurrentStack(*layers, dtype=self.dtype_policy, name="decoder")

    def encode(self, source, training=None):
        mask = self.memory_mask(source)
        x = self.embed(self.source_embedding, source, training)  # (B, S, E)
        _, state = self.encoder(x, inputs_mask=mask, training=training)
        return {"memory": state, "memory_mask": mask}

    def decode(self, memory, target_in, training=None):
        embedded = self.embed(self.target_embedding, target_in, training)  # (B, T, E)
        hidden, _ = self.decoder(embedded, memory["memory"], training=training)  # (B, T, U)
        return self.logits(hidden, training), None

    def initial_state(self, memory, beam_width=1, length=None):
        rows = keras.tree.map_structure(lambda x: ops.repeat(x, beam_width, axis=0), memory["memory"])
        return {
            "memory": {"memory_mask": memory["memory_mask"]},
            "position": ops.zeros((), dtype="int32"),
            "recurrent": rows,
        }

    def step(self, tokens, state):
        projected = self.decoder.cells[0].project(self.embed(self.target_embedding, tokens))  # (N, G U)
        hidden, recurrent = self.decoder.step(projected, state["recurrent"])
        return self.logits(hidden), {**state, "position": state["position"] + 1, "recurrent": recurrent}
