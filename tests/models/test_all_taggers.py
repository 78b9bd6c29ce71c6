"""What every exported tagger must do, none forgotten: a new one must have an entry here."""

import json
from itertools import pairwise

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo import models
from keraszoo.registry import model_classes

to_numpy = ops.convert_to_numpy
V, CHARACTERS, CASINGS, K, WIDTH = 13, 11, 5, 5, 6
# O, B-X, I-X, B-Y, I-Y
FOLLOWS = [[True, True, i in (1, 2), True, i in (3, 4)] for i in range(K)]
IOB2 = FOLLOWS, [True, True, False, True, False], [True] * K

SPELLED = {
    "character_vocabulary_size": CHARACTERS,
    "character_dim": 5,
    "character_units": 7,
    "casing_size": CASINGS,
    "casing_dim": 3,
}
ALL_FEATURES = {"characters": "cnn", **SPELLED}
TRANSFORMER = {"d_model": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32}
MODELS = {  # a class, before the comma, and its arguments
    "AttentionTagger": {"units": 24},
    "AttentionTagger, both ways, concat, CRF": dict(ALL_FEATURES, units=16, attention_units=7, cell="lstm")
    | {"hidden_units": 20, "bidirectional": True, "context": "concat", "crf": True, "allowed": IOB2},
    "AttentionTagger, scaled, scheme": dict(units=24, context="scaled", allowed=IOB2, train_vectors=True),
    "RecurrentTagger": dict(ALL_FEATURES, units=16, crf=True),
    "RecurrentTagger, one way, self-attention": dict(SPELLED, units=16, num_layers=2, cell="gru")
    | {"bidirectional": False, "attention_heads": 2, "characters": "lstm"},
    "TransformerTagger": dict(TRANSFORMER, crf=True),
    "TransformerTagger, relative, post-norm": dict(TRANSFORMER, **ALL_FEATURES, pre_norm=False)
    | {"positions": "relative", "max_distance": 3},
}


def class_of(name):
    return getattr(models, name.partition(",")[0])


CLASSES = list(dict.fromkeys(map(class_of, MODELS)))


def make(name, **changes):
    keras.utils.set_random_seed(1)
    model = class_of(name)(K, V, WIDTH, **{"dropout": 0.0, **MODELS[name], **changes})
    model.build()
    model.words.set_vectors(np.random.default_rng(7).normal(size=(V, WIDTH)))
    return model


def eight_sentences():
    """Features and tags of eight sentences of 1 to 6 words, in which a tag depends on the word before it."""
    rng, lengths = np.random.default_rng(0), np.array([6, 5, 4, 3, 2, 1, 6, 5])
    words = np.where(np.arange(6) < lengths[:, None], rng.integers(2, V, (8, 6)), 0).astype("int32")
    before = np.pad(words, ((0, 0), (1, 0)))[:, :-1]
    kind = np.where(words % 3 == 0, 1, np.where(words % 3 == 1, 3, 0))  # O, B-X or B-Y
    inside = (kind > 0) & (before % 3 == words % 3) & (before > 0)
    tags = np.where(words > 0, kind + inside, 0)
    characters = np.where(np.arange(4) < (1 + words % 4)[..., None], 1 + words[..., None] % 7, 0)
    characters = np.where(words[..., None] > 0, characters, 0)
    casing = np.where(words > 0, 1 + words % (CASINGS - 1), 0)
    weight = (words > 0) / (words > 0).sum()
    return {"words": words, "characters": characters, "casing": casing}, tags, weight.astype("float32")


FEATURES, TAGS, WEIGHT = eight_sentences()
MASK = FEATURES["words"] > 0


def cut(rows, length=None):
    return {name: part[rows, :length] for name, part in FEATURES.items()}


@pytest.fixture(params=MODELS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def random_model(name):
    """Weights far from the start, so that every path through the model shows in its numbers."""
    model, rng = make(name), np.random.default_rng(5)
    for weight in model.trainable_variables:
        weight.assign(to_numpy(weight) + 0.3 * rng.normal(size=weight.shape))
    return model


@pytest.fixture(scope="module")
def tagged(random_model):
    return [None if part is None else to_numpy(part) for part in random_model.tag(FEATURES)]


def test_no_tagger_of_the_registry_is_forgotten():
    others = {models.PretrainedTagger}  # reads other features: test_pretrained_tagger.py
    assert {*CLASSES} | others == set(model_classes("tagging").values())


@pytest.mark.slow  # `make test` trains one for the tests of `EntityTagger`
def test_overfits_eight_sentences_and_tags_them(name):
    model = make(name)
    model.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), jit_compile=keras.backend.backend() == "jax")
    losses = [float(model.train_on_batch(FEATURES, TAGS, WEIGHT))]
    while losses[-1] > 0.02 and len(losses) < 600:  # alpha_j h_j is small, and slow to learn from
        losses.append(float(model.train_on_batch(FEATURES, TAGS, WEIGHT)))
    assert losses[0] > 1 and losses[-1] <= 0.02
    np.testing.assert_array_equal(to_numpy(model.tag(FEATURES)[0]), TAGS)


@pytest.mark.one_per_class
def test_every_trainable_weight_gets_a_gradient_and_the_vectors_stay(name, random_model):
    model = make(name)
    model.set_weights(random_model.get_weights())
    model.compile(keras.optimizers.SGD(1.0), run_eagerly=True)
    before = {weight.path: to_numpy(weight).copy() for weight in model.weights}
    model.train_on_batch(FEATURES, TAGS, WEIGHT)
    frozen = model.words.vectors.embeddings.path
    assert (frozen in {weight.path for weight in model.trainable_variables}) == MODELS[name].get(
        "train_vectors", False
    )
    for weight in model.trainable_variables:
        change = np.abs(to_numpy(weight) - before[weight.path]).max()
        assert np.isfinite(change)
        # The bias of keys adds the same to all scores of a query: the softmax does not see it.
        assert weight.path.endswith("W_k/bias") or change > 1e-6, weight.path
    if not MODELS[name].get("train_vectors"):
        np.testing.assert_array_equal(to_numpy(model.words.vectors.embeddings), before[frozen])


def test_tags_are_of_words_alone_and_obey_the_scheme(name, random_model, tagged):
    tags, probabilities, weights = tagged
    assert tags.dtype == "int32" and probabilities.dtype == "float32"
    assert not tags[~MASK].any()
    np.testing.assert_allclose(probabilities.sum(-1), MASK, atol=1e-5)
    if MODELS[name].get("allowed"):
        for row, mask in zip(tags, MASK, strict=True):
            said = row[mask]
            assert IOB2[1][said[0]] and all(FOLLOWS[a][b] for a, b in pairwise(said))
    elif not MODELS[name].get("crf"):
        np.testing.assert_array_equal(tags, np.where(MASK, probabilities.argmax(-1), 0))
    assert (weights is not None) == random_model.attends
    if weights is not None:
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert (weights[~MASK] == 0).all() and (weights[MASK] > 0).all()


def test_a_batch_equals_its_sentences_one_by_one_and_padding_changes_nothing(random_model, tagged):
    padded = {name: np.pad(part, ((0, 0), (0, 3), (0, 2))[: part.ndim]) for name, part in FEATURES.items()}
    for expected, longer in zip(tagged, random_model.tag(padded), strict=True):
        if expected is not None:
            np.testing.assert_allclose(to_numpy(longer)[:, :6], expected, atol=1e-5)
            assert not to_numpy(longer)[:, 6:].any()
    for row in (0, 3, 5):
        length = int(MASK[row].sum())
        alone = random_model.tag(cut(slice(row, row + 1), length))
        for expected, single in zip(tagged, alone, strict=True):
            if expected is not None:
                np.testing.assert_allclose(to_numpy(single)[0], expected[row, :length], atol=1e-5)


def test_padding_in_front_and_between_words_changes_nothing(name, random_model, tagged):
    if isinstance(random_model, models.TransformerTagger):
        pytest.skip("its padding has positions, and is at the end")
    places = [2, 3, 4, 6, 8, 9]
    spread = {name: np.zeros((8, 11, *part.shape[2:]), part.dtype) for name, part in FEATURES.items()}
    for name, part in FEATURES.items():
        spread[name][:, places] = part
    for expected, found in zip(tagged, random_model.tag(spread), strict=True):
        if expected is not None:
            np.testing.assert_allclose(to_numpy(found)[:, places], expected, atol=1e-5)
            assert not np.delete(to_numpy(found), places, axis=1).any()


@pytest.mark.one_per_class
def test_a_batch_of_padding_is_finite_and_costs_nothing(name, random_model):
    nothing = {name: np.zeros_like(part[:2]) for name, part in FEATURES.items()}
    tags, probabilities, weights = random_model.tag(nothing)
    assert not to_numpy(tags).any() and not to_numpy(probabilities).any()
    assert weights is None or not to_numpy(weights).any()
    model = make(name)
    model.compile(keras.optimizers.SGD(1.0), run_eagerly=True)
    before = [to_numpy(weight).copy() for weight in model.trainable_variables]
    assert float(model.train_on_batch(nothing, TAGS[:2])) == 0
    for weight, old in zip(model.trainable_variables, before, strict=True):
        np.testing.assert_array_equal(to_numpy(weight), old)


@pytest.mark.one_per_class
def test_saved_loaded_and_configured_again(name, random_model, tagged, tmp_path):
    config = random_model.get_config()
    json.dumps(config)
    assert set(MODELS[name]) <= set(config)
    again = type(random_model).from_config(config)
    assert again.get_config() == config
    again.build()
    random_model.save_weights(tmp_path / "model.weights.h5")
    again.load_weights(tmp_path / "model.weights.h5")
    random_model.save(tmp_path / "model.keras")
    for model in (again, keras.saving.load_model(tmp_path / "model.keras")):
        for part, expected in zip(model.tag(FEATURES), tagged, strict=True):
            assert part is expected is None or (to_numpy(part) == expected).all()


@pytest.mark.one_per_class
@pytest.mark.usefixtures("no_collection")
def test_int8_is_near_keeps_dtypes_and_is_saved(name, tmp_path):
    buckets = {"subword_buckets": 101, "character_vocabulary_size": CHARACTERS}
    exact = make(name, dtype="mixed_bfloat16", **buckets)
    quantized = make(name, dtype="mixed_bfloat16", **buckets)
    weights = [0.3 * weight for weight in exact.get_weights()]
    for model in (exact, quantized):
        model.set_weights(weights)
    quantized.quantize("int8")
    eight_bits = sum(weight.size for weight in quantized.get_weights() if weight.dtype == "int8")
    assert eight_bits > 0.7 * sum(weight.size for weight in weights)
    before, after = ((model.words(FEATURES), *model.tag(FEATURES)[:2]) for model in (exact, quantized))
    assert [x.dtype for x in before] == [x.dtype for x in after]
    tags, probabilities = map(to_numpy, after[1:])
    difference = np.abs(probabilities - to_numpy(before[2])).max()
    assert 0 < difference < 0.1 and np.isin(tags, range(K)).all()
    quantized.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert [weight.dtype for weight in again.weights] == [weight.dtype for weight in quantized.weights]
    for part, expected in zip(again.tag(FEATURES)[:2], (tags, probabilities), strict=True):
        np.testing.assert_array_equal(to_numpy(part), expected)


@pytest.mark.one_per_class
def test_lora_leaves_the_matrices_and_trains_its_own(name, random_model):
    model = make(name)
    model.set_weights(random_model.get_weights())
    before = to_numpy(model(FEATURES))
    model.enable_lora(2)
    np.testing.assert_allclose(to_numpy(model(FEATURES)), before, atol=1e-5)
    start = {weight.path: to_numpy(weight).copy() for weight in model.variables}
    own = {weight.path for weight in model.trainable_variables}
    assert len(own) > 4 and all("lora" in path for path in own)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    model.train_on_batch(FEATURES, TAGS, WEIGHT)
    moved = {w.path for w in model.variables if (to_numpy(w) != start[w.path]).any()}
    assert moved <= own and len(moved) == len(own) / 2  # one of two: the other starts at zero
    assert np.abs(to_numpy(model(FEATURES)) - before).max() > 1e-4


@pytest.mark.slow
def test_half_precision_is_finite_near_and_trains(name, random_model):
    exact = make(name)
    weights = [0.5 * weight for weight in random_model.get_weights()]
    exact.set_weights(weights)
    expected = to_numpy(exact(FEATURES))
    for policy in ("mixed_bfloat16", "mixed_float16"):
        model = make(name, dtype=policy)
        model.set_weights(weights)
        scores = model(FEATURES)
        assert keras.backend.standardize_dtype(scores.dtype) == "float32"
        np.testing.assert_allclose(to_numpy(scores), expected, atol=0.1 * np.abs(expected).max())
    assert model.tag(FEATURES)[1].dtype == exact.tag(FEATURES)[1].dtype
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    assert np.isfinite(model.train_on_batch(FEATURES, TAGS, WEIGHT))
    after = model.get_weights()
    assert all(np.isfinite(weight).all() for weight in after)
    assert any((a != b).any() for a, b in zip(after, weights, strict=True))


@pytest.mark.parametrize("cls", CLASSES)
def test_every_configuration_can_be_made_and_changed(cls):
    sizes = {"character_vocabulary_size": CHARACTERS, "casing_size": CASINGS}
    for name, wanted in cls.configurations.items():
        tagger = cls.from_configuration(name, num_tags=K, vocabulary_size=V, **sizes, dropout=0.25)
        config = tagger.get_config()
        assert config | wanted | {"dropout": 0.25} == config
