"""Sinusoidal and learned positions: against the paper's formula, and the rotation that a shift is."""

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


def encoding(length, d_model, **options):
    return to_numpy(PositionalEncoding(**options)(np.zeros((1, length, d_model), "float32")))[0]


@pytest.mark.parametrize(("length", "d_model"), [(1, 2), (7, 10), (50, 64)])
def test_values_of_the_paper(length, d_model):
    np.testing.assert_allclose(encoding(length, d_model), formula(range(length), d_model), atol=1e-5)


def test_first_rows_by_eye():
    # At position 0 all sines are 0 and all cosines 1; the second pair of four turns 100 times slower.
    rows = [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    np.testing.assert_allclose(encoding(2, 4), rows, atol=1e-6)


def test_any_length_and_another_wavelength():
    # an angle of 5,000 has a step of 5e-4 in float32
    np.testing.assert_allclose(encoding(5_001, 6)[-3:], formula([4998, 4999, 5000], 6), atol=1e-3)
    np.testing.assert_allclose(encoding(9, 6, max_wavelength=50), formula(range(9), 6, 50), atol=1e-5)
    assert encoding(0, 6).shape == (0, 6)


def test_a_shift_is_one_rotation_wherever_it_starts():
    # section 3.5: PE(t + k) is a linear function of PE(t), the same for every t: each pair (sin, cos) is
    # turned by k times its rate
    d_model, length = 16, 40
    table = encoding(length, d_model).astype("float64")
    for k in (1, 5, 17):
        rotation = np.zeros((d_model, d_model))
        for i in range(d_model // 2):
            angle = k / 10_000 ** (2 * i / d_model)
            pair = [2 * i, 2 * i + 1]  # sine and cosine
            rotation[2 * i, pair] = math.cos(angle), math.sin(angle)
            rotation[2 * i + 1, pair] = -math.sin(angle), math.cos(angle)
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(d_model), atol=1e-12)
        for t in range(length - k):
            np.testing.assert_allclose(rotation @ table[t], table[t + k], atol=1e-5)


@pytest.mark.parametrize("positions", [[3], np.array([3]), np.array([3, 5, 2], "int64")])
def test_given_positions_are_encoded(positions):
    inputs = np.zeros((2, len(positions), 10), "float32")
    rows = to_numpy(PositionalEncoding()(inputs, positions=positions))
    np.testing.assert_allclose(rows[1], encoding(7, 10)[positions], atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 4), (2, 1, 5, 4), (2, 3, 5, 4), (2, 3, 1, 5, 4)])
@pytest.mark.parametrize("layer", [PositionalEncoding(), LearnedPositions(7)], ids=["sinusoidal", "learned"])
def test_positions_are_those_of_the_axis_before_the_last(layer, shape):
    rows = to_numpy(layer(np.zeros((1, 5, 4), "float32")))[0]
    added = to_numpy(layer(np.zeros(shape, "float32")))
    assert added.shape == shape
    np.testing.assert_array_equal(added, np.broadcast_to(rows, shape))
    assert np.abs(rows[0] - rows[1]).max() > 1e-3


@pytest.mark.parametrize("make", [PositionalEncoding, lambda: LearnedPositions(7)])
def test_a_vector_has_no_positions(make):
    layer, vector = make(), np.zeros((4,), "float32")
    with pytest.raises(ValueError, match="expected min_ndim=2, found ndim=1"):
        layer(vector)
    layer(np.zeros((5, 4), "float32"))
    with pytest.raises(ValueError, match="expected min_ndim=2, found ndim=1"):
        layer(vector)


@pytest.mark.parametrize("positions", [[0, 1], [[0, 1, 2]], 3])
@pytest.mark.parametrize("make", [PositionalEncoding, lambda: LearnedPositions(7)])
def test_there_are_as_many_positions_as_rows_or_one(make, positions):
    with pytest.raises(ValueError, match=r"positions must be \(3,\) or \(1,\). Received: positions.shape="):
        make()(np.zeros((2, 3, 4), "float32"), positions=positions)


def test_it_is_added_to_what_comes_in():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    np.testing.assert_allclose(to_numpy(PositionalEncoding()(x)), x + formula(range(3), 4), atol=1e-5)


def test_errors():
    with pytest.raises(ValueError, match=r"d_model must be even. Received: inputs.shape=\(1, 2, 5\)"):
        PositionalEncoding()(np.zeros((1, 2, 5)))


def table_of(max_positions, d_model):
    layer = LearnedPositions(max_positions)
    layer.build((None, None, d_model))
    table = np.random.default_rng(0).normal(size=(max_positions, d_model)).astype("float32")
    layer.P.assign(table)
    return layer, table


def test_learned_positions_are_rows_of_a_table():
    layer, table = table_of(7, 5)
    x = np.random.default_rng(1).normal(size=(2, 3, 5)).astype("float32")
    np.testing.assert_allclose(to_numpy(layer(x)), x + table[:3], atol=1e-6)
    np.testing.assert_allclose(to_numpy(layer(x, positions=[2, 3, 4])), x + table[2:5], atol=1e-6)


def test_beyond_the_table_stands_its_last_row():
    layer, table = table_of(3, 5)
    added = to_numpy(layer(np.zeros((1, 5, 5), "float32")))[0]
    np.testing.assert_array_equal(added, table[[0, 1, 2, 2, 2]])


def test_a_table_has_rows():
    with pytest.raises(
        ValueError, match="max_positions must be a positive integer. Received: max_positions=0"
    ):
        LearnedPositions(0)
