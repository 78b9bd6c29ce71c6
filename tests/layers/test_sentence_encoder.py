"""Sentences as sums of embeddings; tests/models/test_memory_network.py has their formula and logits."""

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
