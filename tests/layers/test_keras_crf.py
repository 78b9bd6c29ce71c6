"""The CRF as a Keras user meets it: stock `compile` and `fit`, masks, weights, reloading, decoding."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import CRF, CRFAccuracy, CRFLoss

to_numpy = ops.convert_to_numpy
B, T, K, V = 4, 3, 3, 7
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
    model, rules = tagger_model(), (np.ones((K, K), bool), np.array([True, False, True]), np.ones(K, bool))
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
        assert CRFLoss().dtype == "float32" and CRFLoss(dtype="float64").dtype == "float64"
    finally:
        keras.config.set_floatx(floatx)
    assert CRFLoss.from_config(CRFLoss(dtype="float64").get_config()).dtype == "float64"


def test_tags_of_another_shape_are_an_error():
    chain = CRF(K)(np.zeros((B, T, K)))
    with pytest.raises(ValueError, match=r"tags must be \(B, T\).* 3 words. Received: tags.shape=\(4, 1\)"):
        CRFLoss()(TAGS[:, :1], chain)
    with pytest.raises(ValueError, match=r"Received: tags.shape=\(4, 3, 3\)"):
        CRFLoss()(np.eye(K)[np.zeros((B, T), int)], chain)
