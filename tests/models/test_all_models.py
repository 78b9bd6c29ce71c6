"""What every exported model must do; then what translation models and taggers do. None is forgotten."""

import json
from itertools import pairwise

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo import models, registry
from keraszoo.layers.arguments import constructor_arguments
from keraszoo.search import SearchOptions, greedy_search

to_numpy = ops.convert_to_numpy
V, PAD, START, END = 13, 0, 1, 3
START_OF_WORDS = 4
CHARACTERS, CASINGS, K, WIDTH = 11, 5, 5, 6  # of taggers
# O, B-X, I-X, B-Y, I-Y
FOLLOWS = [[True, True, i in (1, 2), True, i in (3, 4)] for i in range(K)]
IOB2 = FOLLOWS, [True, True, False, True, False], [True] * K

RNN = {"embedding_dim": 12, "units": 16}
TRANSFORMER = {"d_model": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32, "dropout": 0.0}
TIED = {"scale_embeddings": False, "share_embeddings": True, "tie_output": True}
TRANSLATION = {  # a class, before the comma, and its arguments
    "ConvS2S": dict(RNN, num_layers=2, dropout=0.0),
    "ConvS2S, wider kernels, tied": dict(RNN, num_layers=1, num_decoder_layers=2, kernel_size=5, dropout=0.0)
    | {"max_positions": 20, "share_embeddings": True, "tie_output": True},
    "DeepLSTM": dict(RNN, num_layers=2),
    "DeepLSTM, GRU, not reversed, tied": dict(TIED, embedding_dim=20, units=20, num_layers=1, cell="gru")
    | {"reverse_source": False},
    "DeepLSTM, fast-forward connections": dict(RNN, num_layers=3, connections="fast_forward"),
    "GNMT": dict(RNN, num_layers=3),
    "GNMT, context of this step, GRU, tied": dict(TIED, embedding_dim=24, units=24, num_layers=2, cell="gru")
    | {"context": "current", "connections": "fast_forward", "attention_units": 5},
    "GNMT, experts": dict(RNN, num_layers=2, num_experts=4, intermediate_dim=12),
    "LuongNMT": dict(RNN, num_layers=2),
    "LuongNMT, local-p, no input feeding": dict(RNN, num_layers=2, score="dot", window="local-p")
    | {"half_width": 3, "attention_units": 7, "input_feeding": False, "reverse_source": True},
    "LuongNMT, local-m, GRU, tied": dict(TIED, embedding_dim=20, units=24, num_layers=1, half_width=2.5)
    | {"cell": "gru_reset_after", "score": "concat", "window": "monotonic"},
    "RNNEncDec": RNN,
    "RNNEncDec, reset after, tied": dict(RNN, **TIED, cell="gru_reset_after"),
    "RNNSearch": RNN,
    "RNNSearch, LSTM, tied": dict(TIED, embedding_dim=12, units=14, cell="lstm")
    | {"encoder_layers": 2, "attention_units": 5},
    "SimplifiedRNNSearch": dict(RNN, attention_units=7, scale_embeddings=False),
    "Transformer": TRANSFORMER,
    "Transformer, rotary, pre-norm, two embeddings": dict(TRANSFORMER, d_model=12, num_decoder_layers=2)
    | {
        "num_heads": 3,
        "pre_norm": True,
        "use_bias": False,
        "tie_embeddings": "target",
        "positions": "rotary",
    },
    "Transformer, learned positions": dict(TRANSFORMER, positions="learned", max_positions=20),
    "Transformer, relative positions": dict(TRANSFORMER, num_layers=2, positions="relative", max_distance=2),
    "Transformer, experts": dict(TRANSFORMER, pre_norm=True, num_experts=5, experts_per_token=2),
}

SPELLED = {
    "character_vocabulary_size": CHARACTERS,
    "character_dim": 5,
    "character_units": 7,
    "casing_size": CASINGS,
    "casing_dim": 3,
}
ALL_FEATURES = {"characters": "cnn", **SPELLED}
SMALL = {"d_model": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32}
TAGGERS = {
    "AttentionTagger": {"units": 24},
    "AttentionTagger, both ways, concat, CRF": dict(ALL_FEATURES, units=16, attention_units=7, cell="lstm")
    | {"hidden_units": 20, "bidirectional": True, "context": "concat", "crf": True, "allowed": IOB2},
    "AttentionTagger, scaled, scheme": dict(units=24, context="scaled", allowed=IOB2, train_vectors=True),
    "RecurrentTagger": dict(ALL_FEATURES, units=16, crf=True),
    "RecurrentTagger, one way, self-attention": dict(SPELLED, units=16, num_layers=2, cell="gru")
    | {"bidirectional": False, "attention_heads": 2, "characters": "lstm"},
    "TransformerTagger": dict(SMALL, crf=True),
    "TransformerTagger, relative, post-norm": dict(SMALL, **ALL_FEATURES, pre_norm=False)
    | {"positions": "relative", "max_distance": 3},
}
MEMORY = {
    "MemoryNetwork": {"width": 7, "memory_size": 5},
    "MemoryNetwork, layer-wise": dict(width=7, hops=2, memory_size=5, tying="layer_wise")
    | {"encoding": "bag", "noise": 0.2},
}
MODELS = TRANSLATION | TAGGERS | MEMORY
translates = pytest.mark.parametrize("name", TRANSLATION, indirect=True, scope="module")
tags_words = pytest.mark.parametrize("name", TAGGERS, indirect=True, scope="module")


def class_of(name):
    return getattr(models, name.partition(",")[0])


CLASSES = [class_of(name) for name in MODELS if "," not in name]


def make(name, **changes):
    options = {**MODELS[name], **changes}
    if name not in TAGGERS:
        model = class_of(name)(V, **options)
        model.build()
        return model
    model = class_of(name)(K, V, WIDTH, **{"dropout": 0.0, **options})
    model.build()
    model.words.set_vectors(np.random.default_rng(7).normal(size=(V, WIDTH)))
    return model


def as_floats(x):
    return to_numpy(ops.cast(x, "float32"))


def eight_sentences():
    """Eight short pairs in which the target is the source backwards, so that order and length matter."""
    rng = np.random.default_rng(0)
    source, target_in, target_out = (np.zeros((8, 6), "int32") for _ in range(3))
    for b in range(8):
        words = rng.integers(START_OF_WORDS, V, 2 + b % 4)
        n = len(words)
        source[b, : n + 1] = [*words, END]
        target_in[b, : n + 1] = [START, *words[::-1]]
        target_out[b, : n + 1] = [*words[::-1], END]
    return source, target_in, target_out, (target_out != PAD).astype("float32")


def random_batch(rng, rows=3, source_length=7, target_length=6):
    source = rng.integers(START_OF_WORDS, V, (rows, source_length)).astype("int32")
    for b in range(1, rows):
        source[b, source_length - 2 * b :] = PAD
    return source, rng.integers(START_OF_WORDS, V, (rows, target_length)).astype("int32")


def eight_tagged_sentences():
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


FEATURES, TAGS, WEIGHT = eight_tagged_sentences()
MASK = FEATURES["words"] > 0


def cut(rows, length=None):
    return {name: part[rows, :length] for name, part in FEATURES.items()}


STORY = np.array([[[1, 2, 3], [4, 5, 0], [6, 2, 1]], [[7, 8, 9], [3, 0, 0], [0, 0, 0]]])
QUESTION = np.array([[10, 11, 1], [10, 12, 0]])


def training_batch(name):
    """Inputs, targets and weights for a model's `fit`."""
    if name in TAGGERS:
        return FEATURES, TAGS, WEIGHT
    if name in MEMORY:
        return (STORY, QUESTION), np.array([5, 6]), np.ones(2)
    source, target_in, target_out, weight = eight_sentences()
    return (source, target_in), target_out, weight


def trains(name, model, optimizer):
    """Compiles a model with the loss of its task."""
    loss = None if name in TAGGERS else keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, run_eagerly=True)


def outputs(model, inputs):
    """What a model computes, as arrays: logits, or scores, tags, probabilities and weights of a tagger."""
    tagged = model.tag(inputs) if isinstance(inputs, dict) else ()
    return [as_floats(part) for part in (model(inputs), *tagged) if part is not None]


@pytest.fixture(params=MODELS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def random_model(name):
    """Weights far from the start, so that every path through the model shows in its numbers."""
    keras.utils.set_random_seed(5)
    model, rng = make(name), np.random.default_rng(5)
    for weight in model.trainable_variables:
        weight.assign(to_numpy(weight) + 0.3 * rng.normal(size=weight.shape))
    return model


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


def halved(name, random_model, **changes):
    model = make(name, **changes)
    model.set_weights([0.5 * to_numpy(w) for w in random_model.weights])
    return model


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


# --- translation models


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == FAST else pytest.mark.slow) for name in TRANSLATION]
)
def test_overfits_eight_sentences_and_translates_them(name):
    keras.utils.set_random_seed(2)
    model = make(name)
    source, target_in, target_out, weight = eight_sentences()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    optimizer = keras.optimizers.Adam(0.01, clipnorm=1.0)
    model.compile(optimizer, loss, jit_compile=keras.backend.backend() == "jax")
    batch = (source, target_in), target_out, weight / weight.sum()
    losses = [float(model.train_on_batch(*batch)) for _ in range(150)]
    assert losses[0] > 2 > 0.05 > losses[-1]
    options = SearchOptions(beam_width=1, max_length=8)
    best = greedy_search(model, model.encode(source), options, START, END, lengths=[8])
    for b in range(8):
        said = to_numpy(best.tokens)[b, 0, : int(best.lengths[b, 0])]
        np.testing.assert_array_equal(said, target_out[b][target_out[b] != PAD])


@translates
def test_stepping_equals_teacher_forcing(random_model):
    """Three hypotheses for each sentence; after two words, two continue the first and one the third."""
    model, rng, length = random_model, np.random.default_rng(0), 5
    source, _ = random_batch(rng)
    parents = np.arange(9).reshape(3, 3)[:, [2, 0, 0]].ravel()
    begun, more = (rng.integers(START_OF_WORDS, V, (9, n)).astype("int32") for n in (2, length - 2))
    written = np.concatenate([begun[parents], more], axis=1)
    repeated = np.repeat(source, 3, 0)
    logits, weights = to_numpy(model((repeated, written))), None
    if model.attends:
        again, weights = map(to_numpy, model((repeated, written), return_attention_weights=True))
        np.testing.assert_array_equal(again, logits)
        assert weights.shape == (*written.shape, source.shape[1]) and weights.dtype == "float32"
        assert not weights[np.broadcast_to((repeated == PAD)[:, None], weights.shape)].any()
        # of a window a Gaussian takes a part, and its place may have no words
        assert (weights.sum(-1) < 1 + 1e-5).all()
        assert model.get_config().get("window") or np.allclose(weights.sum(-1), 1, atol=1e-5)
    else:
        with pytest.raises(ValueError, match=f"{type(model).__name__} does not attend"):
            model((repeated, written), return_attention_weights=True)
    state = model.initial_state(model.encode(source), 3, 2)
    for t in range(length):
        words, rows = (begun, parents) if t < 2 else (written, slice(None))
        step, state = model.step(ops.convert_to_tensor(words[:, t]), state)
        np.testing.assert_allclose(to_numpy(step)[rows], logits[:, t], atol=1e-5)
        assert ("attention_weights" in state) == model.attends
        if model.attends:
            looked = to_numpy(state["attention_weights"])[rows]
            np.testing.assert_allclose(looked, weights[:, t], atol=1e-5)
        if t == 1:
            state = model.lengthen(model.select_rows(state, ops.convert_to_tensor(parents)), length - 2)
    assert int(state["position"]) == length


@translates
@pytest.mark.one_per_class
def test_a_batch_equals_its_sentences_one_by_one(name, random_model):
    model, (source, target_in) = random_model, random_batch(np.random.default_rng(0))
    together = to_numpy(model((source, target_in)))
    for b in range(len(source)):
        length = int((source[b] != PAD).sum())
        alone = to_numpy(model((source[b : b + 1, :length], target_in[b : b + 1])))
        np.testing.assert_allclose(together[b], alone[0], atol=1e-5)


@translates
@pytest.mark.one_per_class
def test_another_id_may_be_padding(name, random_model):
    source, target_in = random_batch(np.random.default_rng(0))
    model = make(name, source_pad_id=2)
    model.set_weights(random_model.get_weights())
    logits = model((np.where(source == PAD, 2, source), target_in))
    np.testing.assert_allclose(to_numpy(logits), to_numpy(random_model((source, target_in))), atol=1e-5)


@translates
@pytest.mark.one_per_class
def test_an_empty_source_is_finite_and_an_empty_batch_empty(random_model):
    logits = to_numpy(random_model((np.zeros((2, 3), "int32"), np.full((2, 2), START, "int32"))))
    assert np.isfinite(logits).all()
    logits = to_numpy(random_model((np.zeros((0, 3), "int32"), np.zeros((0, 2), "int32"))))
    assert logits.shape == (0, 2, V)


WIDTHS = ["embedding_dim", "units", "num_layers", "encoder_layers", "decoder_units", "attention_units"]
WIDTHS += ["readout_dim", "d_model", "num_heads", "intermediate_dim", "num_decoder_layers", "kernel_size"]


@pytest.mark.parametrize("cls", [class_of(name) for name in TRANSLATION if "," not in name])
def test_sizes_must_be_positive_integers(cls):
    sizes = MODELS[cls.__name__]
    for width in sorted(set(WIDTHS) & set(constructor_arguments(cls))):
        for size in (-3, 0, 2.5):
            with pytest.raises(ValueError, match=f"{width} must be a positive integer"):
                cls(V, **{**sizes, width: size})


@pytest.mark.parametrize("cls", [models.LuongNMT, models.RNNEncDec, models.RNNSearch])
def test_a_tied_output_needs_a_readout_as_wide_as_the_embeddings(cls):
    sizes = {"embedding_dim": 6, "units": 8, "tie_output": True}
    with pytest.raises(ValueError, match="Received: readout_dim=5, embedding_dim=6"):
        cls(V, readout_dim=5, **sizes)
    for given in (None, 6):
        assert cls(V, readout_dim=given, **sizes).tie_output


@translates
@pytest.mark.slow
def test_half_precision_is_near_and_steps_alike(name, random_model):
    source, target_in = random_batch(np.random.default_rng(0))
    exact = to_numpy(halved(name, random_model)((source, target_in)))
    model = halved(name, random_model, dtype="mixed_bfloat16")
    tolerance = 0.1 * np.abs(exact).max()
    np.testing.assert_allclose(as_floats(model((source, target_in))), exact, atol=tolerance)
    state = model.initial_state(model.encode(source), 2, 6)
    for t in range(6):
        dtypes = {key: part.dtype for key, part in state.items() if hasattr(part, "dtype")}
        logits, state = model.step(ops.convert_to_tensor(np.repeat(target_in[:, t], 2)), state)
        assert dtypes == {key: part.dtype for key, part in state.items() if hasattr(part, "dtype")}
        logits = as_floats(logits).reshape(3, 2, V)
        np.testing.assert_allclose(logits, np.repeat(exact[:, t, None], 2, 1), atol=tolerance)


# Vectors of positions, and those of each expert, are no matrices of a map.
TABLES = {"A_k", "A_v", "P", "bias", "kernel_scale"}


@pytest.mark.parametrize("name", TRANSLATION | MEMORY, indirect=True, scope="module")
@pytest.mark.one_per_class("RNNSearch", "Transformer")
def test_int8_reaches_every_matrix_keeps_dtypes_and_is_saved(name, random_model, tmp_path):
    model = halved(name, random_model, dtype="mixed_bfloat16")
    batch, *_ = training_batch(name)

    def computed():
        parts = [model(batch)]
        if name in TRANSLATION:
            state = model.initial_state(model.encode(batch[0]))
            parts += keras.tree.flatten(model.step(ops.convert_to_tensor(batch[1][:, 0]), state))
        return as_floats(parts[0]), [keras.backend.standardize_dtype(part.dtype) for part in parts]

    exact, dtypes = computed()
    model.quantize("int8")
    left = {w.path for w in model.weights if len(w.shape) > 1 and w.dtype != "int8" and w.name not in TABLES}
    assert not left
    quantized, after = computed()
    assert after == dtypes and {*dtypes[:2]} == {"bfloat16"}
    np.testing.assert_allclose(quantized, exact, atol=0.1 * np.abs(exact).max())
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(as_floats(loaded(batch)), quantized)


def test_scaled_embeddings_are_those_without_the_factor():
    name = "RNNSearch"
    scaled, plain = make(name, scale_embeddings=True), make(name, scale_embeddings=False)
    width = MODELS[name]["embedding_dim"]
    for weight, other in zip(plain.weights, scaled.weights, strict=True):
        assert weight.path.split("/")[1:] == other.path.split("/")[1:]
        weight.assign(other * width**0.5 if "embedding" in weight.path else other)
    drawn = to_numpy(scaled.source_embedding.embeddings)
    assert drawn.shape == (V, width) and abs(drawn.std() * width**0.5 - 1) < 0.25
    batch = random_batch(np.random.default_rng(1))
    np.testing.assert_allclose(to_numpy(scaled(batch)), to_numpy(plain(batch)), atol=1e-5)


# --- taggers


@pytest.fixture(scope="module")
def tagged(random_model):
    return [None if part is None else to_numpy(part) for part in random_model.tag(FEATURES)]


@tags_words
@pytest.mark.slow  # `make test` trains one for the tests of `EntityTagger`
def test_overfits_eight_sentences_and_tags_them(name):
    model = make(name)
    model.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), jit_compile=keras.backend.backend() == "jax")
    losses = [float(model.train_on_batch(FEATURES, TAGS, WEIGHT))]
    while losses[-1] > 0.02 and len(losses) < 600:  # alpha_j h_j is small, and slow to learn from
        losses.append(float(model.train_on_batch(FEATURES, TAGS, WEIGHT)))
    assert losses[0] > 1 and losses[-1] <= 0.02
    np.testing.assert_array_equal(to_numpy(model.tag(FEATURES)[0]), TAGS)


@tags_words
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


@tags_words
def test_tags_of_a_batch_are_those_of_its_sentences_and_padding_changes_nothing(random_model, tagged):
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


@tags_words
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


@tags_words
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


@tags_words
@pytest.mark.one_per_class
def test_a_tagger_in_int8_is_near_keeps_dtypes_and_is_saved(name, tmp_path):
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


@tags_words
@pytest.mark.slow
def test_a_tagger_in_half_precision_is_finite_near_and_trains(name, random_model):
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
