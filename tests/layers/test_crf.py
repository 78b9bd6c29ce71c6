"""The CRF: schemes, masks, extremes and precision; stock `compile` and `fit`, reloading, decoding."""

import itertools
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import CRF, CRFAccuracy, CRFLoss

to_numpy = ops.convert_to_numpy
B, T, K, V = 4, 3, 5, 7
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


@pytest.mark.parametrize("width", [3, 5])  # K + 1 is the width of a chain
def test_scores_of_another_width_are_an_error(width):
    crf, scores, tags = CRF(4), np.zeros((1, 3, width), "float32"), np.zeros((1, 3), "int32")
    likelihood = partial(crf.chain_log_likelihood, tags=tags)
    for method, said in ((crf, "emissions"), (crf.decode_chain, "a chain"), (likelihood, "a chain")):
        with pytest.raises(ValueError, match=rf"{said} must be .* Received: \w+.shape=\(1, 3, {width}\)"):
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


def test_sentences_need_a_position():
    with pytest.raises(ValueError, match="inputs need one position at least"):
        CRF(num_tags=3).decode(np.zeros((2, 0, 3), "float32"))


def test_a_mask_of_another_shape_is_an_error():
    with pytest.raises(ValueError, match="mask must be .B, T.. Received: mask.shape=.2, 4., emissions"):
        make()(emissions_of(2), mask=np.ones((2, T + 1), bool))


# --- as a Keras user meets it

WORDS = np.array([[1, 2, 3], [4, 0, 5], [6, 0, 0], [2, 1, 4]])
TAGS = np.array([[0, 2, 1], [1, 9, 1], [2, 9, 9], [0, 0, 2]])  # 9 at padding: no tag
MASK = WORDS != 0


def tagger_model():
    """`Embedding(mask_zero=True)` and a CRF in a functional model; all weights are random."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((None,), dtype="int32")
    emissions = keras.layers.Embedding(V, K, mask_zero=True, name="emissions")(inputs)
    model = keras.Model(inputs, CRF(K, name="crf")(emissions))
    model.set_weights([np.random.default_rng(0).normal(size=w.shape) for w in model.weights])
    return model


def log_likelihoods(model):
    """log p(gold | words) of each sentence by all taggings written out."""
    E, A, start, end = (to_numpy(w).astype("float64") for w in model.weights)
    results = []
    for row, mask in enumerate(MASK):

        def score(path, words=WORDS[row, mask]):
            moves = sum(A[a, b] for a, b in itertools.pairwise(path))
            return start[path[0]] + E[words, path].sum() + moves + end[path[-1]]

        every = [score(path) for path in itertools.product(range(K), repeat=mask.sum())]
        results.append(score(TAGS[row, mask]) - np.log(np.exp(every).sum()))
    return np.array(results)


BY_SENTENCE, BY_WORD = np.array([1.0, 2, 0, 3]), np.arange(1.0, 13).reshape(B, T)
WEIGHTS = [None, BY_SENTENCE, BY_WORD]


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_loss_in_stock_fit_is_exact(weight):
    model = tagger_model()
    by_sentence = np.ones(B) if weight is None else weight
    if by_sentence.ndim == 2:
        by_sentence = (weight * MASK).sum(1) / MASK.sum(1)
    model.compile(keras.optimizers.SGD(0.0), loss=CRFLoss(), run_eagerly=True)
    loss = model.evaluate(WORDS, TAGS, sample_weight=weight, batch_size=B, verbose=0)
    assert loss == pytest.approx((-log_likelihoods(model) * by_sentence).mean(), rel=1e-5)


def test_fit_makes_the_step_of_the_gradient_written_out():
    """One SGD step on every weight, against differences of the weighted sum over all taggings."""
    model = tagger_model()
    before = [to_numpy(w).astype("float64") for w in model.weights]
    model.compile(keras.optimizers.SGD(1.0), loss=CRFLoss())
    model.fit(WORDS, TAGS, sample_weight=BY_SENTENCE, batch_size=B, verbose=0)
    after = [to_numpy(w) for w in model.weights]
    model = tagger_model()
    for i, j in ((0, (1, 0)), (0, (5, 1)), (1, (0, 2)), (1, (1, 1)), (2, (1,)), (3, (0,))):
        sums = []
        for step in (1e-2, -1e-2):
            changed = [weight.copy() for weight in before]
            changed[i][j] += step
            model.set_weights(changed)
            sums.append((log_likelihoods(model) * BY_SENTENCE).mean())
        slope = (sums[0] - sums[1]) / 2e-2
        assert after[i][j] - before[i][j] == pytest.approx(slope, abs=1e-3)
    assert (after[0][0] == before[0][0]).all()  # padding does not count


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_accuracy_in_stock_fit_is_that_of_the_best_tagging(weight):
    model, rules = tagger_model(), (np.ones((K, K), bool), np.arange(K) != 1, np.ones(K, bool))
    metrics = [CRFAccuracy(), CRFAccuracy("permitted", allowed=rules)]
    model.compile(loss=CRFLoss(), weighted_metrics=metrics, run_eagerly=True)
    for name, allowed in (("accuracy", None), ("permitted", rules)):
        crf = CRF(K, allowed)
        crf.set_weights(model.get_layer("crf").get_weights())
        tags, _ = crf.decode(to_numpy(model.get_layer("emissions")(WORDS)), MASK)
        every = np.ones(B) if weight is None else weight
        every = MASK * (every[:, None] if every.ndim == 1 else every)
        figures = model.evaluate(WORDS, TAGS, sample_weight=weight, batch_size=2, verbose=0, return_dict=True)
        assert figures[name] == pytest.approx(np.average(to_numpy(tags) == TAGS, weights=every))
    again = CRFAccuracy.from_config(CRFAccuracy(allowed=rules).get_config())
    assert again.allowed == [part.tolist() for part in rules]


def test_a_reloaded_model_trains_on_and_decodes(tmp_path):
    model = tagger_model()
    model.compile(keras.optimizers.SGD(0.1), loss=CRFLoss(), metrics=[CRFAccuracy()])
    model.train_on_batch(WORDS, TAGS)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    losses = [float(each.train_on_batch(WORDS, TAGS)[0]) for each in (model, loaded)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    tags, _ = loaded.get_layer("crf").decode_chain(loaded.predict(WORDS, verbose=0))
    best, _ = model.get_layer("crf").decode_chain(model(WORDS))
    np.testing.assert_array_equal(to_numpy(tags), to_numpy(best))


def test_decoding_and_marginals_inside_a_functional_model(tmp_path):
    model = tagger_model()
    crf, emissions = model.get_layer("crf"), model.get_layer("emissions").output
    tags, score = crf.decode(emissions)
    assert tags.dtype == "int32" and tags.shape == (None, None)
    of_chain = *crf.decode_chain(model.output), crf.chain_marginals(model.output)
    outputs = [tags, score, crf.marginals(emissions), *of_chain]
    tagger = keras.Model(model.input, outputs)
    tagger.save(tmp_path / "tagger.keras")
    scores = to_numpy(model.get_layer("emissions")(WORDS))
    eager = [*crf.decode(scores, MASK), crf.marginals(scores, MASK)] * 2
    assert not to_numpy(eager[0])[~MASK].any()
    for each in (tagger, keras.saving.load_model(tmp_path / "tagger.keras")):
        for mine, expected in zip(each.predict(WORDS, verbose=0), eager, strict=True):
            np.testing.assert_allclose(mine, to_numpy(expected), atol=1e-5)


def test_the_loss_is_computed_in_float32_whatever_keras_prefers():
    floatx = keras.config.floatx()
    try:
        keras.config.set_floatx("float16")
        assert CRFLoss().dtype == CRFLoss(dtype="bfloat16").dtype == "float32"
        assert CRFLoss(dtype="float64").dtype == "float64"
    finally:
        keras.config.set_floatx(floatx)
    assert CRFLoss.from_config(CRFLoss(dtype="float64").get_config()).dtype == "float64"


def test_tags_of_another_shape_are_an_error():
    chain = CRF(K)(np.zeros((B, T, K)))
    with pytest.raises(ValueError, match=r"tags must be \(B, T\).* 3 words. Received: tags.shape=\(4, 1\)"):
        CRFLoss()(TAGS[:, :1], chain)
    with pytest.raises(ValueError, match=r"Received: tags.shape=\(4, 3, 5\)"):
        CRFLoss()(np.eye(K)[np.zeros((B, T), int)], chain)
    for wrong in (TAGS[:1], TAGS[..., None], TAGS[:, :1]):  # which would be broadcast
        for function in (CRFLoss(), CRFAccuracy().update_state):
            with pytest.raises(ValueError, match=r"tags must be \(B, T\)"):
                function(wrong, chain)
