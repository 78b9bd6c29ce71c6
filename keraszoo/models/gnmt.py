"""GNMT: deep LSTMs with residual connections and attention from the first layer (Wu et al., 2016)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes, check_sizes, require
from keraszoo.layers.bahdanau_attention import BahdanauAttention
from keraszoo.layers.gnmt_decoder import GNMTDecoder
from keraszoo.layers.mixture_of_experts import MixtureOfExperts
from keraszoo.layers.recurrent_encoder import BidirectionalEncoder
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.models.recurrent_model import SMALL, TINY, AttendingModel


@keras.saving.register_keras_serializable(package="keraszoo")
class GNMT(AttendingModel):
    """Deep LSTMs on both sides; the first layer of the decoder attends for all of them (figure 1).

        x^1_j = [h->_j ; h<-_j]                                         `encoder`, both directions
        h^l_j = LSTM^l(x^{l-1}_j, h^l_{j-1}) for l > 1                  `upper`
        x^2_j = h^2_j,  x^l_j = h^l_j + x^{l-1}_j for l > 2             residual sums, also in `decoder`
        e_ij = g v^T / |v| tanh(W_q s^1_{i-1} + W_k x^L_j + b)          `decoder.first.attention`
        s^1_i = LSTM'^1([E' y_{i-1}; c_i], s^1_{i-1}),  c_i = sum_j alpha_ij x^L_j
        s^l_i = LSTM'^l([x'^{l-1}_i; c_i], s^l_{i-1}) for l > 1         `decoder.stack`
        p(y_i) ~ exp(W_o x'^L_i)                                        `output_layer`, or tied

    The query is the state of the first layer at the `"previous"` step, as in the paper's equation 4. With
    `context="current"` it is the state of this step, and the first layer reads no context; NVIDIA's GNMT v2
    is this model.

    With `num_experts`, a mixture of experts stands between the first two layers of the decoder, as in Shazeer
    et al. (appendix E), and between those of the encoder, where they have it one layer higher:
    x^1 + MoE(x^1) takes the place of x^1.

    Departures: biases; dropout and scaled embeddings (not in the configuration `paper`). The paper does not
    say what the decoder starts from, and what makes the score: as in NVIDIA's, zeros and the normalised score
    of Bahdanau.

    Args:
        units: U, of each layer and direction.
        num_layers: L, layers of the encoder and of the decoder, at least 2.
        attention_units: width of the hidden layer of the score; `None`: U.
        context: whose state is the query, `"previous"` or `"current"`.
        connections: between layers, as for `RecurrentStack`; `"residual"` in the paper.
        cell: a kind of `RecurrentCell`; `"lstm"` in the paper.
        num_experts, experts_per_token, intermediate_dim: of the `MixtureOfExperts`; `None` of the first:
            none, and of the last: 4 U.

    Other arguments, call arguments, Returns, Raises: as for `RecurrentModel`.

    Example:

    >>> model = GNMT(11, embedding_dim=4, units=6, num_layers=3)
    >>> tuple(model((ops.array([[4, 5, 3]]), ops.array([[2, 6]]))).shape)
    (1, 2, 11)

    References: Wu et al.: Google's Neural Machine Translation System, 2016, https://arxiv.org/abs/1609.08144;
    Shazeer et al., 2017, https://arxiv.org/abs/1701.06538.
    """

    configurations = {
        "paper": {"dropout": 0.2, "scale_embeddings": False},
        "small": {**SMALL, "num_layers": 4},
        "tiny": {**TINY, "num_layers": 3},
    }

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        embedding_dim=1024,
        units=1024,
        num_layers=8,
        attention_units=None,
        context="previous",
        connections="residual",
        cell="lstm",
        num_experts: int = None,
        experts_per_token=2,
        intermediate_dim: int = None,
        **kwargs,
    ):
        super().__init__(source_vocabulary_size, target_vocabulary_size, embedding_dim, **kwargs)
        check_sizes(num_layers=num_layers)
        check_optional_sizes(attention_units=attention_units, intermediate_dim=intermediate_dim)
        require(num_layers > 1, "GNMT has at least two layers on each side", num_layers=num_layers)
        dtype, dropout = self.dtype_policy, self.embedding_dropout.rate
        layers = {"cell": cell, "dropout": dropout, "connections": connections, "dtype": dtype}
        self.encoder = BidirectionalEncoder(units, cell, dtype=dtype, name="encoder")
        self.upper = RecurrentStack(units, num_layers=num_layers - 1, **layers, name="upper")
        attention = BahdanauAttention(attention_units or units, normalize=True, dtype=dtype, name="attention")
        experts = {"num_experts": num_experts, "experts_per_token": experts_per_token}
        experts["intermediate_dim"] = intermediate_dim or 4 * units
        self.experts = None
        if num_experts is not None:
            self.experts = MixtureOfExperts(**experts, dropout=dropout, dtype=dtype, name="experts")
        self.masks_target = num_experts is not None
        layers |= {"num_layers": num_layers, "context": context, **experts}
        self.decoder = GNMTDecoder(attention, units, **layers, name="decoder")
        self.make_output(units)

    def encode(self, source, training=None):
        mask = self.memory_mask(source)
        x = self.embed(self.source_embedding, source, training)  # (B, S, E)
        x, _ = self.encoder(x, mask=mask)  # (B, S, 2 U)
        x = x if self.experts is None else x + self.experts(x, mask=mask, training=training)
        memory, *_ = self.upper(self.upper.between(x, training=training), mask=mask, training=training)
        first = self.decoder.initial_state(rows=ops.shape(source)[0])
        return {"memory": memory, "memory_mask": mask, "first": first}

    def read(self, outputs, embedded, before, training=None):
        return self.logits(outputs, training)
