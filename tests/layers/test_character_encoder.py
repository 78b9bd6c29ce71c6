"""Words from their characters: convolution and n-grams by loops, the LSTM by Keras' own, and padding."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BagOfSubwords, CharacterEncoder

to_numpy = ops.convert_to_numpy
V, E, U = 11, 7, 5
WORDS = np.array([[[3, 4, 5, 6], [7, 8, 0, 0], [9, 0, 0, 0]], [[2, 2, 3, 0], [0, 0, 0, 0], [0, 0, 0, 0]]])


def make(kind, **arguments):
    keras.utils.set_random_seed(2)
    encoder = CharacterEncoder(V, E, U, kind, **arguments)
    encoder.build(WORDS.shape)
    rng = np.random.default_rng(3)
    for weight in encoder.trainable_variables:
        weight.assign(0.5 * rng.normal(size=weight.shape))
    return encoder


@pytest.mark.parametrize("window", [1, 3, 5])
def test_the_convolution_equals_loops(window):
    encoder = make("cnn", window=window)
    table, W, b = encoder.get_weights()
    W = W.reshape(window, E, U)
    actual = to_numpy(encoder(WORDS))
    for place in np.ndindex(WORDS.shape[:2]):
        word = [table[i] for i in WORDS[place] if i]
        expected = np.zeros(U)
        for j in range(len(word)):
            filtered = b.astype("float64")
            for k in range(window):
                if 0 <= j + k - window // 2 < len(word):
                    filtered = filtered + word[j + k - window // 2] @ W[k]
            expected = np.maximum(expected, filtered)
        np.testing.assert_allclose(actual[place], expected, atol=1e-5)
    assert (actual > 0).any()


def test_the_lstm_is_that_of_keras():
    encoder = make("lstm")
    actual = to_numpy(encoder(WORDS))
    for i, backward in enumerate((False, True)):
        theirs = keras.layers.LSTM(U, go_backwards=backward)
        theirs.build((None, None, E))
        cell = encoder.directions[i].cells[0]
        (W, b), (kernel,) = cell.W.get_weights(), cell.U.get_weights()
        theirs.set_weights([W, kernel, b])
        for place in np.ndindex(WORDS.shape[:2]):
            word = to_numpy(encoder.E.embeddings)[WORDS[place][WORDS[place] > 0]]
            expected = to_numpy(theirs(word[None]))[0] if len(word) else np.zeros(U)
            np.testing.assert_allclose(actual[place][i * U : (i + 1) * U], expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["cnn", "lstm"])
def test_padding_changes_nothing(kind):
    encoder = make(kind)
    padded = np.pad(WORDS, ((0, 0), (0, 2), (0, 3)))
    actual, expected = to_numpy(encoder(padded)), to_numpy(encoder(WORDS))
    np.testing.assert_allclose(actual[:, :3], expected, atol=1e-6)
    assert not actual[:, 3:].any() and not expected[1, 1:].any()
    alone = to_numpy(encoder(WORDS[:1, 2:, :1]))  # a word of one character
    np.testing.assert_allclose(alone[0, 0], expected[0, 2], atol=1e-6)


def test_dropout_works_in_training_alone():
    encoder = make("cnn", dropout=0.5)
    silent = to_numpy(encoder(WORDS))
    assert np.abs(to_numpy(encoder(WORDS, training=True)) - silent).max() > 1e-3
    np.testing.assert_array_equal(to_numpy(encoder(WORDS)), silent)


@pytest.mark.parametrize("kind", ["cnn", "lstm"])
def test_a_frozen_encoder_has_nothing_to_train(kind):
    frozen = CharacterEncoder(V, E, U, kind, trainable=False)
    model = keras.Sequential([keras.Input((None, None)), frozen, keras.layers.Dense(1)])
    assert len(model.trainable_variables) == 2


HALF = {"dtype": "mixed_bfloat16"}
ENCODERS = [CharacterEncoder(300, kind=kind, **HALF) for kind in ("cnn", "lstm")]


@pytest.mark.parametrize("encoder", [*ENCODERS, BagOfSubwords(300, 5, 101, **HALF)])
def test_half_precision_does_not_round_ids(encoder):
    ids = np.array([[[257, 299, 0]]])
    rounded, exact = (to_numpy(ops.cast(encoder(x), "float32")) for x in (ids.astype("float32"), ids))
    np.testing.assert_array_equal(rounded, exact)


@pytest.mark.parametrize("kind", ["cnn", "lstm"])
def test_ids_may_be_floats_and_words_none(kind):
    encoder, inputs = make(kind), keras.Input((None, None))
    model = keras.Model(inputs, encoder(inputs))
    np.testing.assert_array_equal(to_numpy(model(WORDS.astype("float32"))), to_numpy(encoder(WORDS)))
    if keras.backend.backend() == "torch":  # where Keras' maximum of nothing is a scalar
        return
    assert encoder(np.zeros((0, 2, 3), "int32")).shape == (0, 2, encoder.output_dim)
    if kind == "cnn":
        assert not to_numpy(encoder(np.zeros((1, 2, 0), "int32"))).any()


BUCKETS = 101


def hashed(n_gram):
    bucket = len(n_gram)
    for character in n_gram:
        bucket = (bucket * 8191 + character + 1) % BUCKETS
    return bucket


@pytest.mark.parametrize("shortest, longest", [(2, 4), (3, 3), (1, 6)])
def test_bags_of_subwords_are_those_of_loops(shortest, longest):
    keras.utils.set_random_seed(2)
    layer = BagOfSubwords(V, U, BUCKETS, rank=4, shortest=shortest, longest=longest)
    layer.build()
    layer.W.bias.assign(np.arange(U))
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


def test_products_of_the_hash_fit_their_type():
    layer = BagOfSubwords(30_000, 2, buckets=2**17)
    ids = np.concatenate([to_numpy(ids) for ids, _ in layer.n_grams(np.full((1, 30), 29_999))])
    assert ids.min() >= 0 and ids.max() < 2**17
