"""Sinusoidal and learned positions, against the paper's formula and a table."""

import math

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import LearnedPositions, PositionalEncoding

to_numpy = ops.convert_to_numpy


def formula(positions, d_model, max_wavelength=10_000):
    """PE(pos, 2i) = sin(pos / w^(2i / d)), PE(pos, 2i + 1) = cos(the same), one number at a time."""
    table = np.zeros((len(positions), d_model))
    for t, position in enumerate(positions):
        for i in range(d_model // 2):
            angle = position / max_wavelength ** (2 * i / d_model)
            table[t, 2 * i], table[t, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return table


def test_sinusoids_are_added_by_the_formula_of_the_paper():
    x = np.random.default_rng(0).normal(size=(2, 50, 64)).astype("float32")
    np.testing.assert_allclose(to_numpy(PositionalEncoding()(x)), x + formula(range(50), 64), atol=1e-5)
    other = PositionalEncoding(max_wavelength=50)(np.zeros((1, 9, 6), "float32"))
    np.testing.assert_allclose(to_numpy(other)[0], formula(range(9), 6, 50), atol=1e-5)


def test_a_sequence_may_have_any_length():
    encoding = to_numpy(PositionalEncoding()(np.zeros((1, 5_001, 6), "float32")))[0]
    # an angle of 5,000 has a step of 5e-4 in float32
    np.testing.assert_allclose(encoding[-3:], formula([4998, 4999, 5000], 6), atol=1e-3)
    assert PositionalEncoding()(np.zeros((1, 0, 6), "float32")).shape == (1, 0, 6)


def table_of(max_positions, d_model):
    layer = LearnedPositions(max_positions)
    layer.build((None, None, d_model))
    table = np.random.default_rng(0).normal(size=(max_positions, d_model)).astype("float32")
    layer.P.assign(table)
    return layer, table


def test_learned_positions_are_rows_of_a_table_and_beyond_it_its_last_row():
    layer, table = table_of(3, 5)
    x = np.random.default_rng(1).normal(size=(2, 5, 5)).astype("float32")
    np.testing.assert_allclose(to_numpy(layer(x)), x + table[[0, 1, 2, 2, 2]], atol=1e-6)


@pytest.fixture(params=["sinusoidal", "learned"])
def layer(request):
    return PositionalEncoding() if request.param == "sinusoidal" else table_of(7, 4)[0]


@pytest.mark.parametrize("positions", [[3], np.array([3]), np.array([3, 5, 2], "int64")])
def test_positions_may_be_given(layer, positions):
    rows = to_numpy(layer(np.zeros((1, 7, 4), "float32")))[0]
    added = to_numpy(layer(np.zeros((2, len(positions), 4), "float32"), positions=positions))
    np.testing.assert_allclose(added[1], rows[positions], atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 4), (2, 1, 5, 4), (2, 3, 1, 5, 4)])
def test_positions_are_those_of_the_axis_before_the_last(layer, shape):
    rows = to_numpy(layer(np.zeros((1, 5, 4), "float32")))[0]
    added = to_numpy(layer(np.zeros(shape, "float32")))
    assert added.shape == shape
    np.testing.assert_array_equal(added, np.broadcast_to(rows, shape))


@pytest.mark.parametrize("positions", [[0, 1], [[0, 1, 2]], 3])
def test_there_are_as_many_positions_as_rows_or_one(layer, positions):
    with pytest.raises(ValueError, match=r"positions must be \(3,\) or \(1,\). Received: positions.shape="):
        layer(np.zeros((2, 3, 4), "float32"), positions=positions)
