"""Models against the equations of their papers, word by word, and the papers' sizes."""

import numpy as np
import pytest
from keras import ops

from keraszoo import models

to_numpy = ops.convert_to_numpy
V, E, U, R, A = 11, 5, 7, 3, 3
SOURCES, TARGET_IN = [[4, 7, 3], [9, 5, 6, 10, 7, 8, 3]], [[2, 6, 8, 4, 4], [2, 5, 9, 7, 5]]


def with_random_weights(model):
    model.build()
    rng = np.random.default_rng(0)
    for weight in model.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return model


def dense(layer, x):
    return x @ to_numpy(layer.kernel) + (to_numpy(layer.bias) if layer.use_bias else 0)


def advance(cell, x, state, added=None):
    """The next state of a cell (test_recurrent_cell.py); `added` is what a decoder adds to U s."""
    x, added, *state = (
        None if part is None else ops.convert_to_tensor(part[None], "float32") for part in (x, added, *state)
    )
    return [to_numpy(part)[0] for part in cell.advance(cell.project(x), state, added)]


def through_layers(stack, x, states, added=None):
    for i, cell in enumerate(stack.cells):
        states[i] = advance(cell, x, states[i], None if i else added)
        x = states[i][0]
    return x


def embeddings(model):
    tables = model.source_embedding, model.target_embedding
    return (E**0.5 * to_numpy(table.embeddings) for table in tables)


def deep_lstm(model, source, target_in):
    E_x, E_y = embeddings(model)
    states = [[np.zeros(U)] * 2 for _ in model.encoder.cells]
    for word in reversed(source) if model.get_config()["reverse_source"] else source:
        through_layers(model.encoder, E_x[word], states)
    logits = [
        dense(model.output_layer, through_layers(model.decoder, E_y[word], states)) for word in target_in
    ]
    return logits, None


def rnn_encdec(model, source, target_in):
    """Appendix A.1: the decoder has its reset gate around U h + C c."""
    E_x, E_y = embeddings(model)
    state = [np.zeros(U)]
    for word in source:
        state = advance(model.encoder.cells[0], E_x[word], state)
    c = np.tanh(dense(model.source_summary, state[0]))
    state, logits = [np.tanh(dense(model.initial, c))], []
    for word in target_in:
        state = advance(model.decoder, E_y[word], state, dense(model.C, c))
        s = dense(model.readout, np.concatenate([*state, E_y[word]])) + dense(model.readout_summary, c)
        logits.append(dense(model.output_layer, s.reshape(R, 2).max(1)))
    return logits, None


def attend(attention, state, memory, position=0):
    """Context and attention weights of a query (test_scores.py, test_luong_attention.py)."""
    query, memory = (ops.convert_to_tensor(part, "float32")[None] for part in (state, np.array(memory)))
    return (
        to_numpy(part)[0] for part in attention(query, memory, positions=ops.convert_to_tensor([position]))
    )


def simplified(model, source, target_in):
    E_x, E_y = embeddings(model)
    attention, cell = model.decoder.attention, model.decoder.cell
    state, memory, logits, alphas = [np.zeros(U)], [], [], []
    for word in source:
        state = advance(model.encoder.cells[0], E_x[word], state)
        memory.append(state[0])
    for word in target_in:
        c, alpha = attend(attention, state[0], memory)
        state = advance(cell, E_y[word], state, dense(model.decoder.C, c))
        logits.append(dense(model.output_layer, np.concatenate([E_y[word], state[0], c])))
        alphas.append(alpha)
    return logits, alphas


def rnn_search(model, source, target_in):
    """Appendix A.2: s_0 = tanh(W_s h<-_1); t~ = U_o s_{i-1} + V_o E y_{i-1} + C_o c_i; maxout of pairs."""
    E_x, E_y = embeddings(model)
    attention, cell, encoder = model.decoder.attention, model.decoder.cell, model.encoder
    directions = []
    for stacks, words in ((encoder.left_to_right, source), (encoder.right_to_left, source[::-1])):
        states = [[np.zeros(U)]]
        for word in words:
            states.append(advance(stacks[0].cells[0], E_x[word], states[-1]))
        directions.append([s for (s,) in states[1:]])
    memory = np.concatenate([directions[0], directions[1][::-1]], axis=1)
    state, logits, alphas = [np.tanh(dense(model.initial, directions[1][-1]))], [], []
    for word in target_in:
        c, alpha = attend(attention, state[0], memory)
        t = dense(model.readout, np.concatenate([state[0], E_y[word], c])).reshape(R, 2).max(1)
        state = advance(cell, E_y[word], state, dense(model.decoder.C, c))
        logits.append(dense(model.output_layer, t))
        alphas.append(alpha)
    return logits, alphas


def luong(model, source, target_in):
    E_x, E_y = embeddings(model)
    attention, decoder = model.decoder.attention, model.decoder
    states, S = [[np.zeros(U)] * 2 for _ in decoder.stack.cells], len(source)
    memory = [None] * S
    for j in reversed(range(S)) if model.get_config()["reverse_source"] else range(S):
        memory[j] = through_layers(model.encoder, E_x[source[j]], states)
    readout, logits, alphas = np.zeros(R), [], []
    for t, word in enumerate(target_in):
        fed = dense(decoder.C, readout) if decoder.input_feeding else None
        h_t = through_layers(decoder.stack, E_y[word], states, fed)
        c, alpha = attend(attention, h_t, memory, t)
        readout = np.tanh(dense(decoder.W_c, np.concatenate([c, h_t])))
        logits.append(dense(model.output_layer, readout))
        alphas.append(alpha)
    return logits, alphas


SIZES = {"embedding_dim": E, "units": U}
LUONG = {**SIZES, "num_layers": 2, "readout_dim": R, "half_width": 2}
MODELS = {  # a class, before the comma, its equations and its arguments
    "DeepLSTM": (deep_lstm, dict(SIZES, num_layers=3)),
    "DeepLSTM, not reversed": (deep_lstm, dict(SIZES, num_layers=3, reverse_source=False)),
    "LuongNMT, dot, global": (luong, dict(LUONG, score="dot", reverse_source=False)),
    "LuongNMT": (luong, dict(LUONG, score="general", window="local-p", reverse_source=True)),
    "LuongNMT, concat, local-m": (luong, dict(LUONG, score="concat", window="local-m", reverse_source=True)),
    "LuongNMT, local-p, without input feeding": (
        luong,
        dict(LUONG, window="local-p", input_feeding=False, reverse_source=False),
    ),
    "RNNEncDec": (rnn_encdec, dict(SIZES, readout_dim=R)),
    "RNNSearch": (rnn_search, dict(SIZES, attention_units=A, readout_dim=R)),
    "SimplifiedRNNSearch": (simplified, dict(SIZES, attention_units=A)),
}


def make(name):
    return with_random_weights(getattr(models, name.partition(",")[0])(V, **MODELS[name][1]))


@pytest.mark.parametrize("name", MODELS)
def test_logits_and_attention_weights_equal_the_equations(name):
    model, forward = make(name), MODELS[name][0]
    source, target_in = np.array([row + [0] * (8 - len(row)) for row in SOURCES]), np.array(TARGET_IN)
    logits, weights = to_numpy(model((source, target_in))), None
    if model.attends:
        weights = to_numpy(model((source, target_in), return_attention_weights=True)[1])
    for b, words in enumerate(SOURCES):
        expected, alphas = forward(model, words, TARGET_IN[b])
        np.testing.assert_allclose(logits[b], expected, atol=1e-5)
        if model.attends:  # in the order of the words, reversed or not
            np.testing.assert_allclose(weights[b, :, : len(words)], alphas, atol=1e-5)
            assert not weights[b, :, len(words) :].any()


# Of both sides, with 4 gates: LSTMs of two layers.
LSTMS = 2 * 4 * ((E * U + U * U + U) + (U * U + U * U + U))
GRU = 3 * (E * U + U * U + U)
COUNTS = {
    "LuongNMT, dot, global": LSTMS + R * 4 * U + 2 * U * R + R * V + V,  # fed readout, readout, output
    # a second bias after the reset gate and C; c and the first state; the readout before maxout
    "RNNEncDec": GRU + (GRU + 3 * U + 3 * U * U) + 2 * (U * U + U) + (2 * U + E + 1) * 2 * R + R * V + V,
    "SimplifiedRNNSearch": (E * U + U * U + U)
    + (E * U + 2 * U * U + U)
    + (2 * U * A + A)
    + (E + 2 * U) * V
    + V,
}


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_are_those_of_the_equations(name):
    assert make(name).count_params() == 2 * V * E + COUNTS[name]


DEEP = {"num_layers": 4, "units": 1000, "embedding_dim": 1000, "cell": "lstm", "reverse_source": True}
WIDE = {"units": 1000, "readout_dim": 500, "cell": "gru", "dropout": 0.0}
PAPERS = {
    "GNMT": {"num_layers": 8, "cell": "lstm", "connections": "residual"},  # figure 1
    "DeepLSTM": DEEP | {"dropout": 0.0},  # section 3.4
    # section 4.1
    "LuongNMT": DEEP
    | {"dropout": 0.2, "half_width": 10, "score": "general", "window": "predictive", "input_feeding": True},
    "RNNEncDec": WIDE | {"embedding_dim": 100},  # section 4.1.1; vocabularies of 15,000 words
    # appendix A.2.3
    "RNNSearch": WIDE
    | {"embedding_dim": 620, "encoder_layers": 1, "share_embeddings": False, "tie_output": False},
}


@pytest.mark.parametrize("name", PAPERS)
def test_the_configuration_paper_has_the_sizes_of_the_paper(name):
    config = getattr(models, name).from_configuration("paper", source_vocabulary_size=9).get_config()
    assert config == {**config, **PAPERS[name], "scale_embeddings": False}


def test_the_source_is_known_by_its_summary_alone():
    """Two sentences with one summary are one sentence to the decoder, however long they are."""
    model = with_random_weights(models.RNNEncDec(V, **SIZES))
    model.source_summary.kernel.assign(np.zeros((U, U)))
    one, other = (to_numpy(model((np.array([row]), np.array(TARGET_IN[:1])))) for row in SOURCES)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("encoder", ["gru", "gru_reset_after"])
def test_the_decoder_of_rnn_encdec_has_its_reset_gate_after_the_product(encoder):
    model = models.RNNEncDec(V, **SIZES, cell=encoder)
    assert (model.encoder.cells[0].cell, model.decoder.cell) == (encoder, "gru_reset_after")


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (models.DeepLSTM, "as wide as the embeddings. Received: readout_dim=7, embedding_dim=5"),
        (models.SimplifiedRNNSearch, "tie_output needs a readout as wide as the embeddings"),
    ],
)
def test_an_output_of_another_width_cannot_be_tied(cls, said):
    with pytest.raises(ValueError, match=said):
        cls(V, **SIZES, tie_output=True)
