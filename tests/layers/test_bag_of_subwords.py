"""Vectors from character n-grams, by loops over the characters."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BagOfSubwords

to_numpy = ops.convert_to_numpy
V, D, N = 11, 5, 101
WORDS = np.array([[[3, 4, 5, 6], [7, 8, 0, 0], [9, 0, 0, 0]], [[2, 2, 3, 0], [0, 0, 0, 0], [0, 0, 0, 0]]])


def hashed(n_gram):
    bucket = len(n_gram)
    for character in n_gram:
        bucket = (bucket * 8191 + character + 1) % N
    return bucket


@pytest.mark.parametrize("shortest, longest", [(2, 4), (3, 3), (1, 6)])
def test_vectors_are_those_of_loops(shortest, longest):
    keras.utils.set_random_seed(2)
    layer = BagOfSubwords(V, D, N, rank=4, shortest=shortest, longest=longest)
    layer.build()
    layer.W.bias.assign(np.arange(D))
    table, W, b = layer.get_weights()
    actual = to_numpy(layer(WORDS))
    for place in np.ndindex(WORDS.shape[:2]):
        spelt = [V, *(i for i in WORDS[place] if i), V + 1]
        sizes = range(shortest, longest + 1)
        ids = [hashed(spelt[i : i + size]) for size in sizes for i in range(len(spelt) - size + 1)]
        total = sum((table[i] for i in ids), np.zeros(4))
        np.testing.assert_allclose(actual[place], b + total @ W / max(1, len(ids)) ** 0.5, atol=1e-6)
    padded = np.pad(WORDS, ((0, 0), (0, 2), (0, 3)))
    np.testing.assert_allclose(to_numpy(layer(padded))[:, :3], actual, atol=1e-6)


def test_half_precision_does_not_round_ids():
    layer, ids = BagOfSubwords(300, D, N, dtype="mixed_bfloat16"), np.array([[[257, 299, 0]]])
    rounded, exact = (to_numpy(ops.cast(layer(x), "float32")) for x in (ids.astype("float32"), ids))
    np.testing.assert_array_equal(rounded, exact)


def test_products_of_the_hash_fit_their_type():
    layer = BagOfSubwords(30_000, 2, buckets=2**17)
    ids = np.concatenate([to_numpy(ids) for ids, _ in layer.n_grams(np.full((1, 30), 29_999))])
    assert ids.min() >= 0 and ids.max() < 2**17
