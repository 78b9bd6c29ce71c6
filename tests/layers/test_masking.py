"""The masked softmax against a loop, and what may be a mask."""

import math

import numpy as np
import pytest
from keras import ops

from keraszoo.layers.masking import as_bool, masked_softmax

to_numpy = ops.convert_to_numpy


def test_softmax_equals_a_loop_over_what_is_kept():
    rng = np.random.default_rng(0)
    scores, mask = rng.normal(size=(3, 5, 7)).astype("float32") * 4, rng.random((3, 5, 7)) < 0.5
    mask[1, 2] = False  # nothing to attend to
    expected = np.zeros(scores.shape)
    for b, t in np.ndindex(3, 5):
        kept = np.flatnonzero(mask[b, t])
        e = {j: math.exp(scores[b, t, j]) for j in kept}
        for j in kept:
            expected[b, t, j] = e[j] / sum(e.values())
    weights = to_numpy(masked_softmax(ops.convert_to_tensor(scores), mask))
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    assert (weights[~mask] == 0).all()  # exactly zero, not merely small


@pytest.mark.parametrize(
    ("scores", "mask", "weights"),
    [
        ([-1e6, 50.0], [True, False], [1, 0]),  # a kept score loses to no masked one
        ([-3e9, -3e9, 0.0], [True, True, False], [0.5, 0.5, 0]),
    ],
)
def test_low_scores_share_a_row_whose_highest_is_masked(scores, mask, weights):
    actual = masked_softmax(ops.convert_to_tensor(np.array([scores], "float32")), np.array([mask]))
    np.testing.assert_allclose(to_numpy(actual), [weights])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_keeps_its_type_and_has_no_nan(dtype):
    # -1e9 is beyond float16: the softmax must not be taken in it
    scores = ops.cast(ops.convert_to_tensor([[60000.0, -60000.0, 0.0], [1.0, 1.0, 1.0]]), dtype)
    weights = masked_softmax(scores, np.array([[True, True, False], [False] * 3]))
    assert dtype in str(weights.dtype)
    np.testing.assert_allclose(to_numpy(ops.cast(weights, "float32")), [[1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("mask", [[0.0, -1e9], [0.0, 0.5], [1, 2], [0, -1]])
def test_a_mask_of_other_numbers_than_0_and_1_is_an_error(mask):
    with pytest.raises(ValueError, match="A mask must be bool, True = keep, not numbers that are added"):
        as_bool(np.array(mask))


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32", "float16"])
def test_a_mask_of_0_and_1_may_have_any_dtype(dtype):
    assert to_numpy(as_bool(np.array([0, 1], dtype))).tolist() == [False, True]
