"""Sequence to sequence learning with deep LSTMs (Sutskever, Vinyals and Le, 2014)."""

import keras

from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.models.recurrent_model import SMALL, TINY, RecurrentModel


@keras.saving.register_keras_serializable(package="keraszoo")
class DeepLSTM(RecurrentModel):
    """Two deep LSTMs: the first reads the source backward, and the second starts from its states.

        h^l_j = LSTM^l(h^{l-1}_j, h^l_{j+1})            `encoder`, h^0_j = E x_j, from the last word on
        s^l_0 = h^l_1, and the same for cell states
        s^l_t = LSTM'^l(s^{l-1}_t, s^l_{t-1})           `decoder`, s^0_t = E' y_{t-1}
        p(y_t) ~ exp(W_o s^L_t)                         `output_layer`, or the target embedding if tied

    The model reverses the source itself (section 3.3), so that its first words are next to those of the
    target. There is no attention: the decoder sees the source only through the L states it starts from.

    Departures: dropout and scaled embeddings (not in the configuration `paper`), and output biases. The
    source is read from its `</s>`, and the target starts with `<s>`.

    Args:
        units: U, of each layer.
        num_layers: L, layers of the encoder and of the decoder.
        cell: a kind of `RecurrentCell`; `"lstm"` in the paper.
        reverse_source: read the source backward.
        connections: of the layers, as for `RecurrentStack`. With `"fast_forward"` it is the model Deep-ED of
            Zhou et al., but that all its layers read in one direction.

    Other arguments, call arguments, Returns, Raises: as for `RecurrentModel`.

    Example:

    >>> model = DeepLSTM(11, embedding_dim=4, units=6, num_layers=2)
    >>> tuple(model((keras.ops.array([[4, 5, 3]]), keras.ops.array([[2, 6]]))).shape)
    (1, 2, 11)

    Reference: Sutskever, Vinyals, Le, 2014, https://arxiv.org/abs/1409.3215.
    """

    attends = False
    configurations = {
        "paper": {"num_layers": 4, "scale_embeddings": False},
        "small": {**SMALL, "num_layers": 2},
        "tiny": {**TINY, "num_layers": 2},
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
        connections="plain",
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, embedding_dim, **kwargs)
        layers, dtype = (units, cell, num_layers, self.embedding_dropout.rate), self.dtype_policy
        options = {"connections": connections, "dtype": dtype}
        self.encoder = RecurrentStack(*layers, backward=reverse_source, **options, name="encoder")
        self.decoder = RecurrentStack(*layers, **options, name="decoder")
        self.make_output(units)

    def decode(self, memory, target_in, training=None):
        embedded = self.embed(self.target_embedding, target_in, training)  # (B, T, E)
        hidden, *_ = self.decoder(embedded, memory["first"], training=training)  # (B, T, U)
        return self.logits(hidden, training), None

    def step(self, tokens, state):
        projected = self.decoder.project(self.embed(self.target_embedding, tokens))  # (N, G U)
        hidden, recurrent = self.decoder.step(projected, state["recurrent"])
        return self.logits(hidden), {**state, "position": state["position"] + 1, "recurrent": recurrent}
