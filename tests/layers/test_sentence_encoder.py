"""Sentences as sums of embeddings, with the position encoding by loops over the paper's formula."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import SentenceEncoder

to_numpy = ops.convert_to_numpy
V, D = 13, 7


def by_the_formula(J, d):
    """l_kj with k and j counted from 1 as in section 4.1; rows are words."""
    return np.array(
        [[(1 - j / J) - (k / d) * (1 - 2 * j / J) for k in range(1, d + 1)] for j in range(1, J + 1)]
    )


@pytest.mark.parametrize("width", [1, 7, 20])
@pytest.mark.parametrize("encoding", ["position", "bag"])
def test_equals_loops(encoding, width):
    ids = np.array([[[1, 2, 3, 4, 5], [6, 7, 0, 0, 0]], [[8, 8, 9, 0, 0], [0, 0, 0, 0, 0]]])
    encoder = SentenceEncoder(V, width, encoding)
    encoder(ids)
    E = np.random.default_rng(0).normal(size=(V, width))
    encoder.set_weights([E])
    actual = to_numpy(encoder(ids))
    for place in np.ndindex(2, 2):
        words = [i for i in ids[place] if i]
        weights = (
            2 * by_the_formula(len(words), width) if encoding == "position" else np.ones((len(words), width))
        )
        expected = sum((weights[j] * E[word] for j, word in enumerate(words)), np.zeros(width))
        np.testing.assert_allclose(actual[place], expected, atol=1e-5)


@pytest.mark.parametrize("encoding", ["position", "bag"])
def test_padding_changes_nothing_and_stands_for_nothing(encoding):
    encoder = SentenceEncoder(V, D, encoding, pad_id=4)
    expected = to_numpy(encoder(np.array([[1, 2, 3]])))
    for padded in ([1, 2, 3, 4, 4], [1, 4, 2, 3], [4, 4, 1, 2, 4, 3]):
        np.testing.assert_allclose(to_numpy(encoder(np.array([padded]))), expected, atol=1e-6)
    assert (to_numpy(encoder(np.array([[4, 4]]))) == 0).all()


def test_logits_are_products_with_the_embeddings():
    encoder = SentenceEncoder(V, D)
    hidden = np.random.default_rng(1).normal(size=(3, D)).astype("float32")
    encoder(np.array([[1]]))
    logits, E = to_numpy(encoder(hidden, reverse=True)), encoder.get_weights()[0]
    np.testing.assert_allclose(logits, hidden @ (E * (np.arange(V) > 0)[:, None]).T, atol=1e-5)


def test_the_first_embeddings_are_the_papers():
    encoder = SentenceEncoder(1000, 50)
    encoder.build()
    E = encoder.get_weights()[0]
    assert E.mean() == pytest.approx(0, abs=0.002) and E.std() == pytest.approx(0.1, abs=0.002)
