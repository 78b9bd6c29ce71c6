"""Maxout against a loop."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers.maxout import maxout


@pytest.mark.parametrize("shape", [(10,), (3, 14), (2, 5, 22), (0, 5, 22)])
def test_maxout_equals_a_loop(shape):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    halved = ops.convert_to_numpy(maxout(ops.convert_to_tensor(x)))
    assert halved.shape == (*shape[:-1], shape[-1] // 2)
    for index in np.ndindex(halved.shape):
        *front, k = index
        assert halved[index] == max(x[(*front, 2 * k)], x[(*front, 2 * k + 1)])


@pytest.mark.parametrize("width", [1, 3])
def test_an_odd_width_has_no_pairs(width):
    with pytest.raises(ValueError, match=rf"the width must be even. Received: x.shape=\(2, {width}\)"):
        maxout(ops.ones((2, width)))
