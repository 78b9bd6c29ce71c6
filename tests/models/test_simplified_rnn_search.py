"""The simplified search against its equations, word by word."""

import numpy as np
import pytest
from keras import ops

from keraszoo.models import SimplifiedRNNSearch

to_numpy = ops.convert_to_numpy
V, E, U, A = 11, 5, 7, 3
SOURCES, TARGET_IN = [[4, 7, 3], [9, 5, 6, 10, 3]], [[2, 6, 8], [2, 5, 9]]


def random_model():
    model = SimplifiedRNNSearch(V, embedding_dim=E, units=U, attention_units=A)
    model.build()
    rng = np.random.default_rng(0)
    for weight in model.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return model


def forward(model, source, target_in):
    """Logits and attention weights of one sentence."""
    embeddings = model.source_embedding, model.target_embedding
    E_x, E_y = (E**0.5 * to_numpy(one.embeddings) for one in embeddings)
    (cell,) = model.encoder.cells
    W_h, U_h, b_h = map(to_numpy, (cell.W.kernel, cell.U.kernel, cell.W.bias))
    cell, attention = model.decoder.cell, model.decoder.attention
    W_s, U_s, C_s = (to_numpy(layer.kernel) for layer in (cell.W, cell.U, model.decoder.C))
    b_s = to_numpy(cell.W.bias)
    W_a, U_a, V_a = (to_numpy(w.kernel) for w in (attention.W_q, attention.W_k, attention.v))
    W_y, U_y, C_y = np.split(to_numpy(model.output_layer.kernel), [E, E + U])
    h, states = np.zeros(U), []
    for word in source:
        h = np.tanh(E_x[word] @ W_h + h @ U_h + b_h)
        states.append(h)
    s, logits, alphas = h, [], []
    for word in target_in:
        e = np.array([(np.tanh(s @ W_a + h_j @ U_a) @ V_a)[0] for h_j in states])
        alpha = np.exp(e) / np.exp(e).sum()
        c = sum(a * h_j for a, h_j in zip(alpha, states, strict=True))
        s = np.tanh(E_y[word] @ W_s + s @ U_s + c @ C_s + b_s)
        logits.append(E_y[word] @ W_y + s @ U_y + c @ C_y + to_numpy(model.output_layer.bias))
        alphas.append(alpha)
    return np.array(logits), np.array(alphas)


def test_the_whole_forward_pass_is_that_of_the_equations():
    model = random_model()
    source = np.array([row + [0] * (5 - len(row)) for row in SOURCES])
    target_in = np.array(TARGET_IN)
    logits = to_numpy(model((source, target_in)))
    state = model.initial_state(model.encode(source))
    alphas = []
    for t in range(3):
        _, state = model.step(target_in[:, t], state)
        alphas.append(to_numpy(state["attention_weights"]))
    for b, words in enumerate(SOURCES):
        expected, weights = forward(model, words, TARGET_IN[b])
        np.testing.assert_allclose(logits[b], expected, atol=1e-5)
        actual = np.array(alphas)[:, b]
        np.testing.assert_allclose(actual[:, : len(words)], weights, atol=1e-5)
        assert not actual[:, len(words) :].any()


def test_there_is_nothing_but_the_matrices_of_the_equations():
    of_h, of_s = E * U + U * U + U, E * U + U * U + U * U + U
    of_a, of_y = U * A + U * A + A, (E + 2 * U) * V + V
    assert random_model().count_params() == 2 * V * E + of_h + of_s + of_a + of_y


def test_its_output_cannot_be_tied():
    with pytest.raises(ValueError, match="tie_output needs a readout as wide as the embeddings"):
        SimplifiedRNNSearch(V, tie_output=True)
