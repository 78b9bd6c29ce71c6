"""RNNsearch's sizes, tied weights and errors; its equations are in test_equations.py."""

import numpy as np
import pytest
from keras import ops

from keraszoo.models import RNNSearch

to_numpy = ops.convert_to_numpy


def parameters(source, target, m, n, attention, readout):
    """Appendix A, counted by hand: m embedding_dim, n units; a GRU has three pairs of matrices and biases."""

    def gru(inputs):
        return 3 * (inputs * n + n * n + n)

    embeddings = (source + target) * m
    encoder = 2 * gru(m)
    initial = n * n + n
    alignment = n * attention + 2 * n * attention + attention
    decoder = gru(m + 2 * n)
    maxout = (n + m + 2 * n) * 2 * readout + 2 * readout
    output = readout * target + target
    return embeddings + encoder + initial + alignment + decoder + maxout + output


def test_the_count_by_hand_is_the_count_of_a_model():
    model = RNNSearch(11, 13, embedding_dim=5, units=8, attention_units=7, readout_dim=3)
    model.build()
    assert model.count_params() == parameters(11, 13, 5, 8, 7, 3)


def test_the_configuration_paper_has_the_count_of_the_appendix():
    config = RNNSearch.from_configuration("paper", source_vocabulary_size=9).get_config()
    n, m, readout = config["units"], config["embedding_dim"], config["readout_dim"]
    assert parameters(30_000, 30_000, m, n, config["attention_units"] or n, readout) == 80_442_000


@pytest.mark.parametrize(
    ("share", "tie", "tables"), [(False, False, 2), (True, False, 1), (False, True, 2), (True, True, 1)]
)
def test_tied_weights_are_one_variable(share, tie, tables):
    model = RNNSearch(23, embedding_dim=5, units=8, share_embeddings=share, tie_output=tie)
    model.build()
    assert len([w for w in model.trainable_variables if tuple(w.shape) == (23, 5)]) == tables
    outputs = [w for w in model.trainable_variables if w.shape[-1] == 23 and len(w.shape) == 2]
    assert len(outputs) == (0 if tie else 1)
    if tie:  # the logit of a word is its embedding times the readout: only the word's own logit changes
        pair = (np.array([[4, 5, 3]]), np.array([[1, 6]]))
        before = to_numpy(model(pair))
        E = to_numpy(model.target_embedding.embeddings).copy()
        E[9] *= 2
        model.target_embedding.embeddings.assign(E)
        after = to_numpy(model(pair))
        np.testing.assert_allclose(after[..., 9], 2 * before[..., 9], atol=1e-5)
        np.testing.assert_allclose(np.delete(after, 9, -1), np.delete(before, 9, -1), atol=1e-6)


def test_two_vocabularies():
    model = RNNSearch(11, 23, embedding_dim=5, units=6)
    assert tuple(model((np.array([[10, 3]]), np.array([[1, 22, 5]]))).shape) == (1, 3, 23)
    with pytest.raises(ValueError, match="one joint vocabulary. Received: source_vocabulary_size=11, target"):
        RNNSearch(11, 23, share_embeddings=True)


def test_dropout_works_in_training_alone():
    model = RNNSearch(11, embedding_dim=5, units=6, dropout=0.5)
    pair = (np.array([[10, 3]]), np.array([[1, 8, 5]]))
    plain = to_numpy(model(pair))
    np.testing.assert_array_equal(to_numpy(model(pair, training=False)), plain)
    assert np.abs(to_numpy(model(pair, training=True)) - plain).max() > 1e-4
