"""Rotary positions: rotations of pairs, and attention that sees distances alone."""

import cmath

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import MultiHeadAttention
from keraszoo.layers.positions import rotate

to_numpy = ops.convert_to_numpy
T, D = 7, 10


def test_equals_a_multiplication_of_complex_numbers():
    x = np.random.default_rng(0).normal(size=(3, 2, T, D)).astype("float32")
    rotated = to_numpy(rotate(ops.convert_to_tensor(x), ops.arange(T)))
    for b, h, t, i in np.ndindex(3, 2, T, D // 2):
        turned = complex(x[b, h, t, i], x[b, h, t, i + D // 2]) * cmath.exp(1j * t / 10_000 ** (2 * i / D))
        assert rotated[b, h, t, i] == pytest.approx(turned.real, abs=1e-5)
        assert rotated[b, h, t, i + D // 2] == pytest.approx(turned.imag, abs=1e-5)


def test_the_product_of_two_depends_on_their_distance_alone():
    rng = np.random.default_rng(1)
    query, key = (ops.convert_to_tensor(rng.normal(size=(1, D)).astype("float32")) for _ in range(2))

    def product(m, n):
        return float(ops.sum(rotate(query, ops.array([m])) * rotate(key, ops.array([n]))))

    for m, n in ((0, 0), (5, 2), (2, 5)):
        assert product(m, n) == pytest.approx(product(m + 31, n + 31), abs=1e-4)
    assert abs(product(5, 2) - product(2, 5)) > 1e-2


def test_one_place_for_all_is_each_row_at_that_place():
    x = ops.convert_to_tensor(np.random.default_rng(0).normal(size=(2, 3, D)).astype("float32"))
    rotated = rotate(x, ops.array([4]))
    np.testing.assert_allclose(to_numpy(rotated), to_numpy(rotate(x, ops.array([4, 4, 4]))), atol=1e-6)


def layer_and_words(**options):
    layer = MultiHeadAttention(2, 4, rotary=True, **options)
    x = np.random.default_rng(0).normal(size=(1, T, 6)).astype("float32")
    layer(x, x)
    return layer, x


def test_attention_with_them_knows_distances_and_not_places():
    layer, x = layer_and_words()
    _, weights = layer(x, x)
    prepared = layer.prepare(x, positions=ops.arange(T) + 50)
    _, moved = layer(x, prepared=prepared, positions=ops.arange(T) + 50)
    np.testing.assert_allclose(to_numpy(moved), to_numpy(weights), atol=1e-5)
    _, turned = layer(x[:, ::-1], x[:, ::-1])
    assert np.abs(to_numpy(turned)[..., ::-1, ::-1] - to_numpy(weights)).max() > 1e-3
    plain = MultiHeadAttention(2, 4)
    plain(x, x)
    _, same = plain(x[:, ::-1], x[:, ::-1])
    np.testing.assert_allclose(to_numpy(same)[..., ::-1, ::-1], to_numpy(plain(x, x)[1]), atol=1e-5)


def test_scores_are_products_of_turned_queries_and_keys():
    layer, x = layer_and_words(use_bias=False)
    _, weights = layer(x, x)
    queries, keys = (
        np.moveaxis((x[0] @ to_numpy(w.kernel)).reshape(T, 2, 4), 1, 0) for w in (layer.W_q, layer.W_k)
    )
    queries, keys = (to_numpy(rotate(ops.convert_to_tensor(y), ops.arange(T))) for y in (queries, keys))
    scores = np.exp(np.einsum("htd,hsd->hts", queries, keys) / 2)
    expected = scores / scores.sum(-1, keepdims=True)
    np.testing.assert_allclose(to_numpy(weights)[0], expected, atol=1e-5)


def test_keys_that_are_cached_one_by_one_are_those_of_the_whole():
    layer, x = layer_and_words()
    keys, _ = layer.prepare(x)
    for t in range(T):
        key, _ = layer.prepare(x[:, t : t + 1], positions=ops.array([t]))
        np.testing.assert_allclose(to_numpy(key)[:, :, 0], to_numpy(keys)[:, :, t], atol=1e-6)


def test_an_odd_width_has_a_coordinate_without_a_partner():
    with pytest.raises(ValueError, match="key_dim must be even. Received: key_dim=3"):
        MultiHeadAttention(2, 3, rotary=True)
