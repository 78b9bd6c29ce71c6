"""An ensemble is the mean of its members' distributions, in teacher forcing and step by step."""

import json

import keras
import numpy as np
import pytest
from keras import ops
from model_cases import TRANSFORMER, V, make

from keraszoo.models import DeepLSTM, Ensemble, RNNEncDec, RNNSearch, Transformer

to_numpy = ops.convert_to_numpy
SOURCE = np.array([[5, 6, 7, 8, 3], [9, 4, 3, 0, 0]], "int32")
TARGET = np.array([[1, 5, 7, 6, 9, 8], [1, 4, 12, 10, 9, 5]], "int32")


def members():
    made = [make(name) for name in ("DeepLSTM", "Transformer", "RNNSearch")]
    for seed, model in enumerate(made):
        rng = np.random.default_rng(seed)
        for weight in model.trainable_variables:
            weight.assign(to_numpy(weight) + 0.4 * rng.normal(size=weight.shape))
    return made


@pytest.fixture(scope="module")
def ensemble():
    return Ensemble(members())


def test_the_mean_of_the_distributions(ensemble):
    logits, weights = map(to_numpy, ensemble((SOURCE, TARGET), return_attention_weights=True))
    expected, attention = np.zeros((2, 6, V)), np.zeros((2, 6, 5))
    for model in ensemble.models:
        its_own = to_numpy(model((SOURCE, TARGET))).astype("float64")
        for b in range(2):
            for t in range(6):
                odds = np.exp(its_own[b, t] - its_own[b, t].max())
                expected[b, t] += odds / odds.sum() / 3
        if model.attends:
            attention += to_numpy(model((SOURCE, TARGET), return_attention_weights=True)[1]) / 2
    np.testing.assert_allclose(np.exp(logits), expected, atol=1e-6)
    np.testing.assert_allclose(weights, attention, atol=1e-6)
    alone = to_numpy(ensemble.models[1]((SOURCE, TARGET)))
    assert np.abs(np.exp(logits) - np.exp(alone) / np.exp(alone).sum(-1, keepdims=True)).max() > 0.05


def test_stepping_equals_teacher_forcing_when_rows_get_new_parents(ensemble):
    """Two hypotheses for each sentence; after each step, both continue the one that was last."""
    state = ensemble.initial_state(ensemble.encode(SOURCE), 2, 3)
    sources, written = np.repeat(SOURCE, 2, 0), np.repeat(TARGET, 2, 0)
    written[::2, 1:] = written[::2, 1:][:, ::-1]  # the first row of each sentence says something else
    for t in range(6):
        if t == 3:
            state = ensemble.lengthen(state, 3)
        logits, state = ensemble.step(ops.convert_to_tensor(written[:, t]), state)
        forced, weights = ensemble((sources, written), return_attention_weights=True)
        np.testing.assert_allclose(to_numpy(logits), to_numpy(forced)[:, t], atol=1e-5)
        np.testing.assert_allclose(to_numpy(state["attention_weights"]), to_numpy(weights)[:, t], atol=1e-5)
        state = ensemble.select_rows(state, ops.convert_to_tensor([1, 1, 3, 3]))
        written[:, : t + 1] = written[[1, 1, 3, 3], : t + 1]
    assert int(state["position"]) == 6


def test_the_state_of_one_sentence_gives_its_logits(ensemble):
    state = ensemble.initial_state(ensemble.encode(SOURCE), 1, 2)
    _, state = ensemble.step(ops.convert_to_tensor(TARGET[:, 0]), state)
    together, _ = ensemble.step(ops.convert_to_tensor(TARGET[:, 1]), state)
    one = ensemble.select_sentences(state, ops.convert_to_tensor([1]))
    alone, _ = ensemble.step(ops.convert_to_tensor(TARGET[1:, 1]), one)
    np.testing.assert_allclose(to_numpy(alone)[0], to_numpy(together)[1], atol=1e-5)


def test_members_without_attention_or_cache():
    model = Ensemble(
        [DeepLSTM(V, embedding_dim=6, units=5, num_layers=1), RNNEncDec(V, embedding_dim=6, units=5)]
    )
    assert not model.attends
    with pytest.raises(ValueError, match="Ensemble does not attend"):
        model((SOURCE, TARGET), return_attention_weights=True)
    _, state = model.step(np.array([1, 1], "int32"), model.initial_state(model.encode(SOURCE), 1, 4))
    assert {*state} == {"members", "position"}


def test_a_mean_with_a_half_precision_member_is_in_single_precision():
    keras.utils.set_random_seed(2)
    half = RNNSearch(V, embedding_dim=6, units=5, dtype="mixed_bfloat16")
    logits = Ensemble([half, Transformer(V, **TRANSFORMER)])((SOURCE, TARGET))
    assert logits.dtype == "float32"
    np.testing.assert_allclose(np.exp(to_numpy(logits)).sum(-1), 1, atol=1e-5)


def test_a_saved_ensemble_has_the_members_and_logits_of_the_first(ensemble, tmp_path):
    config = ensemble.get_config()
    json.dumps(config)
    expected = to_numpy(ensemble((SOURCE, TARGET)))
    ensemble.save(tmp_path / "model.keras")
    ensemble.save_weights(tmp_path / "model.weights.h5")
    again = Ensemble.from_config(config)
    again.build()
    again.load_weights(tmp_path / "model.weights.h5")
    for model in (again, keras.saving.load_model(tmp_path / "model.keras")):
        assert [type(member) for member in model.models] == [type(member) for member in ensemble.models]
        np.testing.assert_array_equal(to_numpy(model((SOURCE, TARGET))), expected)
    assert again.trainable
    frozen = Ensemble([Transformer(V, **TRANSFORMER), Transformer(V, **TRANSFORMER)], trainable=False)
    assert not Ensemble.from_config(frozen.get_config()).trainable


def test_models_that_do_not_fit_each_other_are_an_error():
    one = Transformer(V, **TRANSFORMER)
    for models, said in (
        ([one], "needs two models or more. Received: models=1"),
        ([one, one], "need to differ"),
        ([one, Transformer(V, V + 1, tie_embeddings="target", **TRANSFORMER)], "need the same vocabularies"),
        ([one, Transformer(V, source_pad_id=2, **TRANSFORMER)], "need the same vocabularies"),
    ):
        with pytest.raises(ValueError, match=said):
            Ensemble(models)
