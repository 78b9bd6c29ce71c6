"""The CRF as a layer: schemes, masks, extremes, precision; its sums are in test_keras_crf.py, too."""

import itertools
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import CRF, CRFLoss

to_numpy = ops.convert_to_numpy
T, K = 3, 5
# O, B-X, I-X, B-Y, I-Y: I follows B or I of its own kind, and begins nothing
FOLLOWS = np.array([[True, True, i in (1, 2), True, i in (3, 4)] for i in range(K)])
IOB2 = FOLLOWS, np.array([True, True, False, True, False]), np.ones(K, bool)


def make(**arguments):
    crf, rng = CRF(K, **arguments), np.random.default_rng(0)
    for weight in crf.trainable_variables:
        weight.assign(rng.normal(size=weight.shape))
    return crf


def emissions_of(rows, seed=1, length=T):
    return np.random.default_rng(seed).normal(size=(rows, length, K)).astype("float32")


def permitted(path):
    return IOB2[1][path[0]] and all(FOLLOWS[a, b] for a, b in itertools.pairwise(path))


@pytest.mark.parametrize("constrain", ["none", "decode", "both"])
def test_the_distribution_is_over_the_permitted_paths_alone(constrain):
    crf, emissions = make(allowed=IOB2, constrain=constrain), emissions_of(7)
    every = np.array(list(itertools.product(range(K), repeat=T)))
    open_paths = np.array([permitted(path) for path in every])
    tags, score, posterior = map(to_numpy, (*crf.decode(emissions), crf.marginals(emissions)))
    again, all_paths = np.repeat(emissions, len(every), axis=0), np.tile(every, (7, 1))

    def probabilities(crf):
        logs = to_numpy(crf.log_likelihood(again, all_paths)).astype("float64")
        return np.exp(logs).reshape(7, len(every))

    unlimited, trained = probabilities(make()), probabilities(crf)
    np.testing.assert_allclose(unlimited.sum(1), 1, atol=1e-5)
    limited = np.where(open_paths, unlimited, 0) / unlimited[:, open_paths].sum(1, keepdims=True)
    np.testing.assert_allclose(trained, limited if constrain == "both" else unlimited, atol=1e-5)
    decoded = unlimited if constrain == "none" else limited
    np.testing.assert_array_equal(tags, every[decoded.argmax(1)])
    A, start, end = map(to_numpy, crf.weights)
    for e, path, its_score in zip(emissions, tags, score, strict=True):
        moves = sum(A[a, b] for a, b in itertools.pairwise(path))
        total = start[path[0]] + e[range(T), path].sum() + moves + end[path[-1]]
        assert its_score == pytest.approx(total, abs=1e-5)
    for t, tag in itertools.product(range(T), range(K)):
        expected = decoded[:, every[:, t] == tag].sum(1)
        np.testing.assert_allclose(posterior[:, t, tag], expected, atol=1e-5)


def test_padding_anywhere_in_a_sentence_is_skipped(agree):
    """As if it were not there: the words before and after it are neighbours, and its tags may be anything."""
    crf, emissions = make(allowed=IOB2), emissions_of(5, length=6)
    gold = np.random.default_rng(3).integers(0, K, (5, 6))
    mask = np.array(
        [[1] * 4 + [0] * 2, [1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0], [0] * 6], "bool"
    )
    emissions[~mask], gold[~mask] = -3e4, np.resize([-1, 99, 5], (~mask).sum())
    likelihood = to_numpy(crf.log_likelihood(emissions, gold, mask))
    posterior, tags, score = map(to_numpy, (crf.marginals(emissions, mask), *crf.decode(emissions, mask)))
    assert not tags[~mask].any() and not posterior[~mask].any() and likelihood[4] == score[4] == 0
    for b, words in enumerate(mask[:4]):
        alone = emissions[b : b + 1, words]
        best, its_score = crf.decode(alone)
        expected = crf.log_likelihood(alone, gold[b : b + 1, words])[0], crf.marginals(alone)[0]
        agree((likelihood[b], posterior[b, words]), expected)
        agree((tags[b, words], score[b]), (best[0], its_score[0]))


def test_a_new_crf_is_a_softmax_at_every_word():
    emissions = emissions_of(2)
    probability = np.exp(emissions) / np.exp(emissions).sum(-1, keepdims=True)
    np.testing.assert_allclose(to_numpy(CRF(K).marginals(emissions)), probability, atol=1e-6)


@pytest.mark.parametrize("constrain", ["decode", "both"])
def test_gold_that_breaks_the_scheme_has_a_finite_loss(constrain):
    crf, emissions = make(allowed=IOB2, constrain=constrain), emissions_of(1)
    loss = -to_numpy(crf.log_likelihood(emissions, [[0, 2, 4]]))[0]
    if constrain == "decode":  # as if there were no scheme
        assert loss == pytest.approx(-to_numpy(make().log_likelihood(emissions, [[0, 2, 4]]))[0])
        assert loss < 50
    else:
        assert 19_000 < loss < 21_000  # two moves that are forbidden


def test_forbidden_tags_are_never_decoded_however_high_their_scores():
    crf, rng = make(allowed=IOB2), np.random.default_rng(2)
    emissions = rng.normal(size=(31, 7, K)).astype("float32") * 100
    emissions[..., [2, 4]] += 300
    tags, posterior = to_numpy(crf.decode(emissions)[0]), to_numpy(crf.marginals(emissions))
    assert all(permitted(path) for path in tags)
    assert (tags == 2).any() and (tags == 4).any()
    assert np.isfinite(posterior).all() and (posterior[:, 0, [2, 4]] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_full(dtype):
    crf = make(allowed=IOB2)
    emissions, gold = emissions_of(2, length=31) * 9000, np.zeros((2, 31), int)  # sums beyond float16
    half = ops.cast(emissions, dtype)
    full = to_numpy(ops.cast(half, "float32"))
    likelihood = crf.log_likelihood(half, gold)
    assert keras.backend.standardize_dtype(likelihood.dtype) == "float32"
    assert np.isfinite(to_numpy(likelihood)).all() and to_numpy(likelihood).min() < -70_000
    np.testing.assert_array_equal(to_numpy(likelihood), to_numpy(crf.log_likelihood(full, gold)))
    np.testing.assert_array_equal(to_numpy(crf.decode(half)[0]), to_numpy(crf.decode(full)[0]))
    assert keras.backend.standardize_dtype(crf(half).dtype) == "float32"


def test_the_mask_of_an_embedding_counts():
    ids, crf = np.array([[4, 2, 0], [1, 0, 0]]), make()
    emissions = keras.layers.Embedding(6, K, mask_zero=True)(ids)
    given = crf.log_likelihood(to_numpy(emissions), ids, ids != 0)
    for found in (crf.log_likelihood(emissions, ids), crf.chain_log_likelihood(crf(emissions), ids)):
        np.testing.assert_allclose(to_numpy(found), to_numpy(given), atol=1e-6)


@pytest.mark.parametrize("width", [3, 5])  # K + 1 is the width of a chain
def test_scores_of_another_width_are_an_error(width):
    crf, scores, tags = CRF(4), np.zeros((1, 3, width), "float32"), np.zeros((1, 3), "int32")
    for said, methods in (
        ("emissions must be", (crf, crf.decode, crf.marginals, partial(crf.log_likelihood, tags=tags))),
        (
            "a chain must be",
            (crf.decode_chain, crf.chain_marginals, partial(crf.chain_log_likelihood, tags=tags)),
        ),
    ):
        for method in methods:
            with pytest.raises(ValueError, match=rf"{said} .* Received: \w+.shape=\(1, 3, {width}\)"):
                method(scores)


def test_an_id_that_is_no_tag_has_no_likelihood_but_at_padding():
    crf, emissions = CRF(3), np.random.default_rng(0).normal(size=(3, 4, 3)).astype("float32")
    tags = np.array([[0, 1, 2, 2], [0, 1, -100, 3], [0, 1, 3, 0]])
    mask = np.arange(4) < np.array([[4], [2], [4]])
    found = ops.convert_to_numpy(crf.log_likelihood(emissions, tags, mask))
    assert (found[:2] < 0).all() and np.isnan(found[2])
    assert np.isnan(ops.convert_to_numpy(CRFLoss()(np.array([[0, -1, 0, 0]]), crf(emissions[:1]))))


def test_a_tag_may_be_ruled_out_by_minus_infinity():
    crf, emissions = make(), emissions_of(2)
    tags, mask = np.array([[0, 1, 2], [3, 4, 0]]), np.array([[True, True, True], [True, True, False]])
    low, ruled_out = emissions.copy(), emissions.copy()
    low[:, :, 3], ruled_out[:, :, 3] = -1e9, -np.inf
    tags[tags == 3] = 4
    results = [
        (crf.log_likelihood(x, tags, mask), crf.marginals(x, mask), *crf.decode(x, mask))
        for x in (ruled_out, low)
    ]
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(to_numpy(ours), to_numpy(expected))
        assert np.isfinite(to_numpy(ours)).all()


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="Keras' maximum of nothing is a scalar")
def test_no_sentences_give_no_tags():
    crf, none = make(), np.zeros((0, T, K), "float32")
    tags, score = crf.decode(none)
    assert (tags.shape, score.shape, crf.marginals(none).shape) == ((0, T), (0,), (0, T, K))
    assert crf.log_likelihood(none, np.zeros((0, T), "int32")).shape == (0,)


def test_a_mask_of_another_shape_is_an_error():
    with pytest.raises(
        ValueError, match="mask must be .B, T.. Received: mask.shape=.2, 4., emissions.shape="
    ):
        make()(emissions_of(2), mask=np.ones((2, T + 1), bool))
