"""Sentences as sums of embeddings; loops over the formula are in tests/models/test_memory_network.py."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import SentenceEncoder

to_numpy = ops.convert_to_numpy
V, D = 13, 7


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
