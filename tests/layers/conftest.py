"""A comparison of outputs that the tests of all layers share."""

import keras
import numpy as np
import pytest
from keras import ops


@pytest.fixture
def agree():
    """A check that two structures of arrays or tensors hold the same numbers."""

    def check(ours, theirs, atol=1e-5):
        pairs = zip(keras.tree.flatten(ours), keras.tree.flatten(theirs), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(ops.convert_to_numpy(one), ops.convert_to_numpy(other), atol=atol)

    return check
