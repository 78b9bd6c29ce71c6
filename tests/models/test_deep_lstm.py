"""Deep LSTMs against their equations, word by word, and the reversal that nobody sees."""

import numpy as np
import pytest
from keras import ops

from keraszoo.models import DeepLSTM

to_numpy = ops.convert_to_numpy
V, E, U, L = 11, 5, 7, 3
SOURCES, TARGET_IN = [[4, 7, 3], [9, 5, 6, 10, 3]], [[2, 6, 8], [2, 5, 9]]


def sigma(a):
    return 1 / (1 + np.exp(-a))


def random_model(**sizes):
    model = DeepLSTM(V, **{"embedding_dim": E, "units": U, "num_layers": L, **sizes})
    model.build()
    rng = np.random.default_rng(0)
    for weight in model.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return model


def step(stack, x, state):
    """One word through all layers: i, f, c~, o of W x + U h + b."""
    after = []
    for cell, (h, c) in zip(stack.cells, state, strict=True):
        W, U_, b = map(to_numpy, (cell.W.kernel, cell.U.kernel, cell.W.bias))
        i, f, candidate, o = (x @ W + h @ U_ + b).reshape(4, U)
        c = sigma(f) * c + sigma(i) * np.tanh(candidate)
        x = sigma(o) * np.tanh(c)
        after.append((x, c))
    return x, after


def forward(model, source, target_in):
    """Logits of one sentence whose words are read in the order given."""
    embeddings = model.source_embedding, model.target_embedding
    E_x, E_y = (E**0.5 * to_numpy(one.embeddings) for one in embeddings)
    state = [(np.zeros(U), np.zeros(U))] * L
    for word in source:
        _, state = step(model.encoder, E_x[word], state)
    logits = []
    for word in target_in:
        x, state = step(model.decoder, E_y[word], state)
        logits.append(x @ to_numpy(model.output_layer.kernel) + to_numpy(model.output_layer.bias))
    return np.array(logits)


@pytest.mark.parametrize("reverse_source", [True, False])
def test_the_whole_forward_pass_with_the_source_reversed_over_its_true_length(reverse_source):
    model = random_model(reverse_source=reverse_source)
    source = np.array([row + [0] * (6 - len(row)) for row in SOURCES])
    logits = to_numpy(model((source, np.array(TARGET_IN))))
    for b, (words, target_in) in enumerate(zip(SOURCES, TARGET_IN, strict=True)):
        expected = forward(model, words[::-1] if reverse_source else words, target_in)
        np.testing.assert_allclose(logits[b], expected, atol=1e-5)


def test_reversing_by_hand_is_the_other_model():
    model, other = random_model(), random_model(reverse_source=False)
    target_in = np.array(TARGET_IN[:1])
    turned = to_numpy(other((np.array([SOURCES[1][::-1]]), target_in)))
    np.testing.assert_allclose(to_numpy(model((np.array([SOURCES[1]]), target_in))), turned, atol=1e-5)
    assert np.abs(to_numpy(other((np.array([SOURCES[1]]), target_in))) - turned).max() > 1e-3


def test_the_configuration_paper_has_the_parameters_of_the_paper():
    # Section 3.4: 4 layers of 1000 cells, 1000-d embeddings, 160,000 source and 80,000 target words; "384M
    # parameters of which 64M are pure recurrent connections (32M for the encoder and 32M for the decoder)"
    config = DeepLSTM.from_configuration("paper", source_vocabulary_size=9).get_config()
    L, U, E = (config[name] for name in ("num_layers", "units", "embedding_dim"))
    assert (config["cell"], config["reverse_source"], config["dropout"]) == ("lstm", True, 0.0)
    assert (L, U, E) == (4, 1000, 1000)
    recurrent = 2 * L * 4 * (U * U + U * U)
    assert recurrent == 64e6
    assert recurrent + 160_000 * E + 80_000 * E + U * 80_000 == 384e6


def test_a_tied_output_wants_one_width():
    with pytest.raises(
        ValueError, match="as wide as the embeddings. Received: readout_dim=7, embedding_dim=5"
    ):
        DeepLSTM(V, embedding_dim=5, units=7, tie_output=True)
