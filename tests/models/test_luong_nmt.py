"""Luong's model against the paper's equations, word by word, in all its forms."""

import numpy as np
import pytest
from keras import ops

from keraszoo.models import LuongNMT

to_numpy = ops.convert_to_numpy
V, E, U, R, D = 11, 5, 7, 3, 2
SOURCES, TARGET_IN = [[4, 7, 3], [9, 5, 6, 10, 7, 8, 3]], [[2, 6, 8, 4, 4], [2, 5, 9, 7, 5]]


def sigma(a):
    return 1 / (1 + np.exp(-a))


def random_model(**sizes):
    sizes = {"embedding_dim": E, "units": U, "num_layers": 2, "readout_dim": R, "half_width": D, **sizes}
    model = LuongNMT(V, **sizes)
    model.build()
    rng = np.random.default_rng(0)
    for weight in model.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return model


def lstm(stack, x, state, fed=0):
    after = []
    for i, (cell, (h, c)) in enumerate(zip(stack.cells, state, strict=True)):
        W, U_, b = map(to_numpy, (cell.W.kernel, cell.U.kernel, cell.W.bias))
        gates = x @ W + h @ U_ + b + (0 if i else fed)
        g_i, g_f, candidate, g_o = gates.reshape(4, U)
        c = sigma(g_f) * c + sigma(g_i) * np.tanh(candidate)
        x = sigma(g_o) * np.tanh(c)
        after.append((x, c))
    return x, after


def score(attention, h_t, h_s):
    if attention.score == "dot":
        return h_t @ h_s
    if attention.score == "general":
        return h_s @ to_numpy(attention.W_a.kernel) @ h_t
    joined = h_t @ to_numpy(attention.W_q.kernel) + h_s @ to_numpy(attention.W_k.kernel)
    return (np.tanh(joined) @ to_numpy(attention.v.kernel))[0]


def forward(model, source, target_in):
    """Logits and attention weights of one sentence."""
    embeddings = model.source_embedding, model.target_embedding
    E_x, E_y = (E**0.5 * to_numpy(one.embeddings) for one in embeddings)
    attention, decoder = model.decoder.attention, model.decoder
    state, S = [(np.zeros(U), np.zeros(U))] * 2, len(source)
    memory = [None] * S
    for j in reversed(range(S)) if model.encoder.backward else range(S):
        memory[j], state = lstm(model.encoder, E_x[source[j]], state)
    readout, logits, alphas = np.zeros(R), [], []
    for t, word in enumerate(target_in):
        fed = readout @ to_numpy(decoder.C.kernel) if decoder.input_feeding else 0
        h_t, state = lstm(decoder.stack, E_y[word], state, fed)
        place = t
        if attention.window == "predictive":
            place = S * sigma(
                (np.tanh(h_t @ to_numpy(attention.W_p.kernel)) @ to_numpy(attention.v_p.kernel))[0]
            )
        alpha = np.zeros(S)
        seen = [s for s in range(S) if attention.window is None or abs(s - place) <= D]
        for s in seen:
            alpha[s] = np.exp(score(attention, h_t, memory[s]))
        alpha = alpha / max(alpha.sum(), 1e-30)
        if attention.window == "predictive":
            alpha = alpha * np.exp(-((np.arange(S) - place) ** 2) / (2 * (D / 2) ** 2))
        context = sum(a * h_s for a, h_s in zip(alpha, memory, strict=True))
        readout = np.tanh(np.concatenate([context, h_t]) @ to_numpy(decoder.W_c.kernel))
        logits.append(readout @ to_numpy(model.output_layer.kernel) + to_numpy(model.output_layer.bias))
        alphas.append(alpha)
    return np.array(logits), np.array(alphas)


@pytest.mark.parametrize(
    ("score", "window", "input_feeding", "reverse_source"),
    [
        ("dot", None, True, False),
        ("general", "predictive", True, True),
        ("concat", "monotonic", False, True),
        ("general", "predictive", False, False),
    ],
)
def test_the_whole_forward_pass_is_that_of_the_paper(score, window, input_feeding, reverse_source):
    model = random_model(
        score=score, window=window, input_feeding=input_feeding, reverse_source=reverse_source
    )
    source = np.array([row + [0] * (8 - len(row)) for row in SOURCES])
    target_in = np.array(TARGET_IN)
    logits = to_numpy(model((source, target_in)))
    state, alphas = model.initial_state(model.encode(source)), []
    for t in range(5):
        _, state = model.step(target_in[:, t], state)
        alphas.append(to_numpy(state["attention_weights"]))
    for b, words in enumerate(SOURCES):
        expected, weights = forward(model, words, TARGET_IN[b])
        np.testing.assert_allclose(logits[b], expected, atol=1e-5)
        actual = np.array(alphas)[:, b]  # in the order of the words, reversed or not
        np.testing.assert_allclose(actual[:, : len(words)], weights, atol=1e-5)
        assert not actual[:, len(words) :].any()


def test_the_configuration_paper_has_the_sizes_of_the_paper():
    # section 4.1: 4 layers of 1000 cells, 1000-d embeddings, dropout 0.2, D = 10
    config = LuongNMT.from_configuration("paper", source_vocabulary_size=9).get_config()
    sizes = {"num_layers": 4, "units": 1000, "embedding_dim": 1000, "dropout": 0.2, "half_width": 10}
    form = {"score": "general", "window": "predictive", "input_feeding": True, "reverse_source": True}
    assert config == {**config, **sizes, **form, "cell": "lstm"}


def test_the_count_by_hand_is_the_count_of_a_model():
    layers = 2 * 4 * ((E * U + U * U + U) + (U * U + U * U + U))  # of both sides
    general, feeding, readout = U * U, R * 4 * U, 2 * U * R
    expected = 2 * V * E + layers + general + feeding + readout + R * V + V
    assert random_model().count_params() == expected
