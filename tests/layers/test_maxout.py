"""Maxout against a loop."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers.maxout import maxout


@pytest.mark.parametrize("shape", [(10,), (2, 5, 22), (0, 5, 22)])
def test_maxout_equals_a_loop(shape):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    halved = ops.convert_to_numpy(maxout(ops.convert_to_tensor(x)))
    assert halved.shape == (*shape[:-1], shape[-1] // 2)
    for index in np.ndindex(halved.shape):
        *front, k = index
        assert halved[index] == max(x[(*front, 2 * k)], x[(*front, 2 * k + 1)])


def test_an_odd_width_has_no_pairs():
    with pytest.raises(ValueError, match=r"the width must be even. Received: x.shape=\(2, 3\)"):
        maxout(ops.ones((2, 3)))
