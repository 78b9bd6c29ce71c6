"""The CRF as a layer: schemes, masks, extremes, precision; its sums are in test_linear_chain.py."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import CRF, CRFLoss

to_numpy = ops.convert_to_numpy
T, K = 3, 5
# O, B-X, I-X, B-Y, I-Y: I follows B or I of its own kind, and begins nothing
FOLLOWS = np.array(
    [
        [True, True, False, True, False],
        [True, True, True, True, False],
        [True, True, True, True, False],
        [True, True, False, True, True],
        [True, True, False, True, True],
    ]
)
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
    tags, posterior = to_numpy(crf.decode(emissions)[0]), to_numpy(crf.marginals(emissions))
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
    for t, tag in itertools.product(range(T), range(K)):
        expected = decoded[:, every[:, t] == tag].sum(1)
        np.testing.assert_allclose(posterior[:, t, tag], expected, atol=1e-5)


def test_padding_is_no_tag_and_changes_nothing():
    crf, lengths = make(allowed=IOB2), np.array([3, 2, 1, 0])
    emissions, gold = emissions_of(4), np.array([[1, 2, 0], [0, 3, -1], [3, 99, 7], [5, 5, 5]])
    mask = np.arange(T) < lengths[:, None]
    longer = np.concatenate([np.where(mask[..., None], emissions, 1e6), np.full((4, 4, K), -3e4)], axis=1)
    longer = longer.astype("float32")
    longer_mask = np.pad(mask, ((0, 0), (0, 4)))
    longer_gold = np.pad(gold, ((0, 0), (0, 4)), constant_values=-1)
    likelihood = to_numpy(crf.log_likelihood(emissions, gold, mask))
    actual = to_numpy(crf.log_likelihood(longer, longer_gold, longer_mask))
    np.testing.assert_allclose(actual, likelihood, atol=1e-6)
    for actual, expected in zip(crf.decode(longer, longer_mask), crf.decode(emissions, mask), strict=True):
        actual, expected = to_numpy(actual), to_numpy(expected)
        np.testing.assert_allclose(actual[:, :T] if actual.ndim > 1 else actual, expected, atol=1e-6)
        assert not actual[:, T:].any() if actual.ndim > 1 else True
    actual, expected = to_numpy(crf.marginals(longer, longer_mask)), to_numpy(crf.marginals(emissions, mask))
    np.testing.assert_allclose(actual[:, :T], expected, atol=1e-6)
    np.testing.assert_allclose(actual.sum(-1), longer_mask, atol=1e-6)
    assert likelihood[3] == 0 and (likelihood[:3] < 0).all()
    for b, length in enumerate(lengths[:3]):
        alone = crf.log_likelihood(emissions[b : b + 1, :length], gold[b : b + 1, :length])
        assert to_numpy(alone)[0] == pytest.approx(float(likelihood[b]), abs=1e-6)


def test_one_word_is_a_softmax():
    crf, emissions = make(), emissions_of(1, length=1)
    scores = emissions[0, 0] + to_numpy(crf.start) + to_numpy(crf.end)
    probability = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(to_numpy(crf.marginals(emissions))[0, 0], probability, atol=1e-6)
    assert to_numpy(crf.log_likelihood(emissions, [[4]]))[0] == pytest.approx(
        np.log(probability[4]), abs=1e-5
    )
    tags, score = crf.decode(emissions)
    assert int(tags[0, 0]) == scores.argmax() and to_numpy(score)[0] == pytest.approx(scores.max())


def test_a_new_one_is_a_softmax_at_every_word():
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


def test_forbidden_tags_never_come_out_however_they_are_wanted():
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
    emissions, gold = (
        emissions_of(2, length=31) * 9000,
        np.zeros((2, 31), int),
    )  # float16 cannot hold the sums
    half = ops.cast(emissions, dtype)
    full = to_numpy(ops.cast(half, "float32"))
    likelihood = crf.log_likelihood(half, gold)
    assert keras.backend.standardize_dtype(likelihood.dtype) == "float32"
    assert np.isfinite(to_numpy(likelihood)).all() and to_numpy(likelihood).min() < -70_000
    np.testing.assert_array_equal(to_numpy(likelihood), to_numpy(crf.log_likelihood(full, gold)))
    np.testing.assert_array_equal(to_numpy(crf.decode(half)[0]), to_numpy(crf.decode(full)[0]))
    assert keras.backend.standardize_dtype(crf(half).dtype) == "float32"


def test_it_learns_what_follows_what():
    """Emissions say nothing: only transitions can tell that tags alternate."""
    words = np.array([[1, 1, 1, 1], [1, 1, 1, 0]])
    tags = np.array([[1, 0, 1, 0], [1, 0, 1, 0]])
    inputs, crf = keras.Input((4,), dtype="int32"), CRF(2)
    blind = keras.layers.Embedding(2, 2, "zeros", mask_zero=True, trainable=False)
    model = keras.Model(inputs, crf(blind(inputs)))
    model.compile(keras.optimizers.SGD(1.0), loss=CRFLoss())
    losses = [float(model.train_on_batch(words, tags)) for _ in range(30)]
    assert losses[0] == pytest.approx(3.5 * np.log(2), abs=1e-5)
    assert losses[-1] < 0.3
    assert to_numpy(crf.decode_chain(model(words))[0]).tolist() == [[1, 0, 1, 0], [1, 0, 1, 0]]
    A = to_numpy(crf.transitions)
    assert A[0, 1] > 1 > -1 > A[0, 0] and A[1, 0] > 1 > -1 > A[1, 1]


def test_the_mask_of_an_embedding_counts():
    ids, crf = np.array([[4, 2, 0], [1, 0, 0]]), make()
    emissions = keras.layers.Embedding(6, K, mask_zero=True)(ids)
    given = crf.log_likelihood(to_numpy(emissions), ids, ids != 0)
    for found in (crf.log_likelihood(emissions, ids), crf.chain_log_likelihood(crf(emissions), ids)):
        np.testing.assert_allclose(to_numpy(found), to_numpy(given), atol=1e-6)


def test_padding_in_front_of_a_sentence_and_inside_it_is_skipped():
    """As if it were not there: the words before and after it are neighbours."""
    crf, emissions = make(allowed=IOB2), emissions_of(4, length=6)
    gold = np.random.default_rng(3).integers(0, K, (4, 6))
    mask = np.array(
        [[1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0], [0] * 6],
        "bool",
    )
    likelihood, posterior = (
        crf.log_likelihood(emissions, gold, mask),
        to_numpy(crf.marginals(emissions, mask)),
    )
    tags, score = map(to_numpy, crf.decode(emissions, mask))
    assert not tags[~mask].any() and not posterior[~mask].any()
    for b, words in enumerate(mask[:3]):
        alone = emissions[b : b + 1, words]
        expected = to_numpy(crf.log_likelihood(alone, gold[b : b + 1, words]))[0]
        assert to_numpy(likelihood)[b] == pytest.approx(float(expected), abs=1e-5)
        np.testing.assert_allclose(posterior[b, words], to_numpy(crf.marginals(alone))[0], atol=1e-6)
        best, its_score = map(to_numpy, crf.decode(alone))
        np.testing.assert_array_equal(tags[b, words], best[0])
        assert score[b] == pytest.approx(float(its_score[0]), abs=1e-5)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"num_tags": 0}, "num_tags must be a positive integer. Received: num_tags=0"),
        ({"num_tags": 2, "constrain": "always"}, "constrain must be .* Received: constrain='always'"),
        (
            {"num_tags": 2, "allowed": ([True, False],)},
            r"allowed must be \(transitions, start, end\) of .* Received: shapes=\[\(2,\)\]",
        ),
        (
            {"num_tags": 2, "allowed": ([[True] * 2] * 2, [True] * 3, [True] * 2)},
            r"allowed must be .* Received: shapes=\[\(2, 2\), \(3,\), \(2,\)\]",
        ),
    ],
)
def test_wrong_arguments_are_errors(arguments, said):
    with pytest.raises(ValueError, match=said):
        CRF(**arguments)


@pytest.mark.parametrize("width", [3, 5])  # K + 1 is the width of a chain
def test_emissions_of_another_size_are_an_error(width):
    crf, emissions, tags = CRF(4), np.zeros((1, 3, width), "float32"), np.zeros((1, 3), "int32")
    of_emissions = crf, crf.decode, crf.marginals, lambda x: crf.log_likelihood(x, tags)
    of_chains = crf.decode_chain, crf.chain_marginals, lambda x: crf.chain_log_likelihood(x, tags)
    for methods, wanted in ((of_emissions, "emissions must be"), (of_chains, "a chain must be")):
        for method in methods:
            with pytest.raises(ValueError, match=rf"{wanted} .* Received: \w+.shape=\(1, 3, {width}\)"):
                method(emissions)


def test_a_tag_that_is_none_has_no_likelihood_and_at_padding_any_has():
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


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(
        ValueError, match="mask must be .B, T.. Received: mask.shape=.2, 4., emissions.shape="
    ):
        make()(emissions_of(2), mask=np.ones((2, T + 1), bool))


def test_the_loss_keeps_its_dtype():
    assert CRFLoss.from_config(CRFLoss(dtype="float64").get_config()).dtype == "float64"
