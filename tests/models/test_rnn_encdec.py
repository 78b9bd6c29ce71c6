"""The RNN encoder-decoder against the equations of the paper's appendix, word by word."""

import numpy as np
import pytest
from keras import ops

from keraszoo.models import RNNEncDec

to_numpy = ops.convert_to_numpy
V, E, U, L = 11, 5, 7, 3  # the readout is of L after maxout
SOURCES, TARGET_IN = [[4, 7, 3], [9, 5, 6, 10, 3]], [[2, 6, 8], [2, 5, 9]]


def sigma(a):
    return 1 / (1 + np.exp(-a))


def random_model(**sizes):
    model = RNNEncDec(V, embedding_dim=E, units=U, readout_dim=L, **sizes)
    model.build()
    rng = np.random.default_rng(0)
    for weight in model.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return model


def dense(layer, x):
    return x @ to_numpy(layer.kernel) + (to_numpy(layer.bias) if layer.use_bias else 0)


def encoder_step(cell, x, h):
    """Eq. 5 to 8: the reset gate before the recurrent product."""
    W, U_zr, U_s = (to_numpy(layer.kernel) for layer in (cell.W, cell.U, cell.U_s))
    b = to_numpy(cell.W.bias)
    z, r = sigma(x @ W[:, : 2 * U] + h @ U_zr + b[: 2 * U]).reshape(2, U)
    candidate = np.tanh(x @ W[:, 2 * U :] + (r * h) @ U_s + b[2 * U :])
    return z * h + (1 - z) * candidate


def decoder_step(cell, C, y, h, c):
    """A.1.2: the reset gate around U h + C c."""
    W, b, U_, b_after = map(to_numpy, (*cell.W.weights, *cell.U.weights))
    from_state = h @ U_ + b_after + c @ C
    z, r = sigma((y @ W + b + from_state)[: 2 * U]).reshape(2, U)
    candidate = np.tanh((y @ W + b)[2 * U :] + r * from_state[2 * U :])
    return z * h + (1 - z) * candidate


def forward(model, source, target_in):
    """Logits of one sentence."""
    embeddings = model.source_embedding, model.target_embedding
    E_x, E_y = (E**0.5 * to_numpy(one.embeddings) for one in embeddings)
    h = np.zeros(U)
    for word in source:
        h = encoder_step(model.encoder.cells[0], E_x[word], h)
    c = np.tanh(dense(model.source_summary, h))
    h, logits = np.tanh(dense(model.initial, c)), []
    for word in target_in:
        h = decoder_step(model.decoder, to_numpy(model.C.kernel), E_y[word], h, c)
        s = dense(model.readout, np.concatenate([h, E_y[word]])) + dense(model.readout_summary, c)
        s = [max(s[2 * k], s[2 * k + 1]) for k in range(L)]
        logits.append(dense(model.output_layer, np.array(s)))
    return np.array(logits)


def test_the_whole_forward_pass_is_that_of_the_paper():
    model = random_model()
    source = np.array([row + [0] * (5 - len(row)) for row in SOURCES])
    logits = to_numpy(model((source, np.array(TARGET_IN))))
    for b, (words, target_in) in enumerate(zip(SOURCES, TARGET_IN, strict=True)):
        np.testing.assert_allclose(logits[b], forward(model, words, target_in), atol=1e-5)


def test_the_source_is_known_by_its_summary_alone():
    # two sentences with one summary are one sentence to the decoder, however long they are
    model = random_model()
    model.source_summary.kernel.assign(np.zeros((U, U)))
    one, other = (to_numpy(model((np.array([row]), np.array(TARGET_IN[:1])))) for row in SOURCES)
    np.testing.assert_array_equal(one, other)


def test_the_configuration_paper_has_the_sizes_of_the_paper():
    # 1000 hidden units, embeddings of 100, maxout of 500 (section 4.1.1), vocabularies of 15,000 words
    config = RNNEncDec.from_configuration("paper", source_vocabulary_size=9).get_config()
    names = ("units", "embedding_dim", "readout_dim", "cell", "dropout")
    assert [config[name] for name in names] == [1000, 100, 500, "gru", 0.0]


@pytest.mark.parametrize(
    ("cell", "both"), [("gru", ("gru", "gru_reset_after")), ("gru_reset_after", ("gru_reset_after",) * 2)]
)
def test_where_the_reset_gate_stands(cell, both):
    model = RNNEncDec(V, embedding_dim=E, units=U, cell=cell)
    assert (model.encoder.cells[0].cell, model.decoder.cell) == both


def test_the_count_by_hand_is_the_count_of_a_model():
    encoder = 3 * (E * U + U * U + U)
    decoder = 3 * (E * U + U * U + U + U) + U * 3 * U  # two biases; and C
    summary_and_initial = 2 * (U * U + U)
    readout = (U + E) * 2 * L + 2 * L + U * 2 * L
    assert random_model().count_params() == (
        2 * V * E + encoder + decoder + summary_and_initial + readout + L * V + V
    )
