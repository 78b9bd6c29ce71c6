"""What every exported model must do. None is forgotten."""

import json

import keras
import numpy as np
import pytest
from keras import ops
from model_cases import (
    CASINGS,
    CHARACTERS,
    CLASSES,
    MODELS,
    TAGGERS,
    TRANSLATION,
    K,
    V,
    as_floats,
    halved,
    make,
    outputs,
    to_numpy,
    training_batch,
    trains,
)

from keraszoo import models, registry
from keraszoo.layers.arguments import constructor_arguments


def test_no_model_of_the_registry_is_forgotten():
    others = {models.PretrainedTagger}  # reads other features: test_pretrained_tagger.py
    every = {getattr(models, row.kind) for row in registry.MODELS}
    assert {*CLASSES} | others == every


@pytest.mark.one_per_class
def test_every_trainable_weight_gets_a_gradient_and_the_others_stay(name, random_model):
    model = make(name)
    model.set_weights(random_model.get_weights())
    trains(name, model, keras.optimizers.SGD(1.0))
    before = {weight.path: to_numpy(weight).copy() for weight in model.weights}
    model.train_on_batch(*training_batch(name))
    for weight in model.weights:
        change = np.abs(to_numpy(weight) - before[weight.path]).max()
        if not weight.trainable:
            assert change == 0, weight.path
            continue
        assert np.isfinite(change)
        # the bias of the keys adds the same to all scores of a query: the softmax does not see it
        assert weight.path.endswith("W_k/bias") or change > 1e-6, weight.path
    if name in TAGGERS:
        assert model.words.vectors.trainable == MODELS[name].get("train_vectors", False)


@pytest.mark.one_per_class
def test_saved_loaded_and_configured_again(name, random_model, tmp_path):
    config = random_model.get_config()
    in_json = json.loads(json.dumps(config))
    assert set(MODELS[name]) <= set(config)
    inputs, *_ = training_batch(name)
    expected = outputs(random_model, inputs)
    random_model.save(tmp_path / "model.keras")
    random_model.save_weights(tmp_path / "model.weights.h5")
    again = type(random_model).from_config(config)
    again.build()
    again.load_weights(tmp_path / "model.weights.h5")
    for model in (again, keras.saving.load_model(tmp_path / "model.keras")):
        assert json.loads(json.dumps(model.get_config())) == in_json
        for found, wanted in zip(outputs(model, inputs), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", [name for name in MODELS if "," not in name])
def test_a_model_made_of_the_config_of_a_frozen_one_is_frozen_in_each_layer(name):
    frozen = make(name)
    frozen.trainable = False
    again = type(frozen).from_config(frozen.get_config())
    again.build()
    assert not again.trainable
    assert [v.path for v in again.variables if v.trainable] == []  # a model around it trains such ones


FAST = "Transformer"  # the others train in `make test-all`
ADAPTED = "RNNSearch", FAST, "AttentionTagger", "RecurrentTagger", "TransformerTagger"


@pytest.mark.one_per_class(*ADAPTED)
@pytest.mark.parametrize("mode", [None, pytest.param("int8", marks=pytest.mark.slow)])
def test_lora_trains_small_matrices_alone(name, random_model, tmp_path, mode):
    if mode and name != FAST:
        pytest.skip("takes long, and four steps on rounded matrices need not lower the loss")
    keras.utils.set_random_seed(0)
    model, (inputs, targets, _) = halved(name, random_model), training_batch(name)
    if mode:
        model.quantize(mode)
    before = to_numpy(model(inputs))
    frozen = {w.path: to_numpy(w).copy() for w in model.weights}
    model.enable_lora(2)
    kinds = {w.name.rpartition("_")[0] for w in model.trainable_variables}
    assert kinds <= {"lora_kernel", "lora_embeddings"} and len(model.trainable_variables) > 4
    np.testing.assert_allclose(to_numpy(model(inputs)), before, atol=1e-5)
    trains(name, model, keras.optimizers.Adam(0.01))
    losses = [float(model.train_on_batch(inputs, targets)) for _ in range(4)]
    assert losses[-1] < losses[0]
    after = {w.path: to_numpy(w) for w in model.weights}
    assert all(np.array_equal(after[path], old) for path, old in frozen.items())
    adapted = to_numpy(model(inputs))
    assert np.abs(adapted - before).max() > 1e-3
    model.save(tmp_path / "model.keras")
    merged = to_numpy(keras.saving.load_model(tmp_path / "model.keras")(inputs))
    np.testing.assert_allclose(merged, adapted, atol=0.1 * np.abs(adapted).max() if mode else 1e-4)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_configuration_can_be_made_and_changed(cls):
    sizes = {"source_vocabulary_size": V, "vocabulary_size": V, "num_tags": K, "dropout": 0.25}
    sizes |= {"character_vocabulary_size": CHARACTERS, "casing_size": CASINGS}
    sizes = {name: size for name, size in sizes.items() if name in constructor_arguments(cls)}
    for name, configuration in cls.configurations.items():
        config = cls.from_configuration(name, **sizes).get_config()
        assert config == config | configuration | sizes
    with pytest.raises(ValueError, match=f"{cls.__name__} has the configurations .*Received: 'huge'"):
        cls.from_configuration("huge", **sizes)


# Vectors of positions, those of each expert and the scores of tags that follow are no matrices of a map.
TABLES = {"A_k", "A_v", "P", "bias", "kernel_scale", "transitions"}


@pytest.mark.one_per_class(*ADAPTED)
def test_int8_reaches_every_matrix_keeps_dtypes_and_is_saved(name, tmp_path):
    buckets = {"subword_buckets": 101, "character_vocabulary_size": CHARACTERS} if name in TAGGERS else {}
    model, rng = make(name, dtype="mixed_bfloat16", **buckets), np.random.default_rng(5)
    model.set_weights([0.5 * (w + 0.3 * rng.normal(size=w.shape)) for w in model.get_weights()])
    batch, *_ = training_batch(name)

    def computed():
        parts = [model(batch)]
        if name in TRANSLATION:
            state = model.initial_state(model.encode(batch[0]))
            parts += keras.tree.flatten(model.step(ops.convert_to_tensor(batch[1][:, 0]), state))
        if name in TAGGERS:
            parts += model.words(batch), *model.tag(batch)[:2]
        return as_floats(parts[0]), [keras.backend.standardize_dtype(part.dtype) for part in parts]

    exact, dtypes = computed()
    model.quantize("int8")
    left = {w.path for w in model.weights if len(w.shape) > 1 and w.dtype != "int8" and w.name not in TABLES}
    assert not left
    quantized, after = computed()
    assert after == dtypes and (name in TAGGERS or {*dtypes[:2]} == {"bfloat16"})
    assert (quantized != exact).any()
    np.testing.assert_allclose(quantized, exact, atol=0.1 * np.abs(exact).max())
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert [w.dtype for w in loaded.weights] == [w.dtype for w in model.weights]
    np.testing.assert_array_equal(as_floats(loaded(batch)), quantized)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_is_near_and_trains(name, random_model, policy):
    inputs, targets, weight = training_batch(name)
    expected = as_floats(halved(name, random_model)(inputs))
    model = halved(name, random_model, dtype=policy)
    scores, before = model(inputs), model.get_weights()
    np.testing.assert_allclose(as_floats(scores), expected, atol=0.1 * np.abs(expected).max())
    if name in TAGGERS:
        dtypes = {keras.backend.standardize_dtype(x.dtype) for x in (scores, model.tag(inputs)[1])}
        assert dtypes == {"float32"}
    trains(name, model, keras.optimizers.SGD(0.1))
    assert np.isfinite(model.train_on_batch(inputs, targets, weight))
    after = model.get_weights()
    assert all(np.isfinite(w).all() for w in after)
    assert any((a != b).any() for a, b in zip(after, before, strict=True))
