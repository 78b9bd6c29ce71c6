"""What every exported model must do, none forgotten: a new one without an entry here fails the first test."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo import models
from keraszoo.layers.arguments import constructor_arguments
from keraszoo.registry import model_classes
from keraszoo.search import SearchOptions, greedy_search

to_numpy = ops.convert_to_numpy
V, PAD, START, END = 13, 0, 1, 3
START_OF_WORDS = 4

RNN = {"embedding_dim": 12, "units": 16}
TRANSFORMER = {"d_model": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32, "dropout": 0.0}
TIED = {"scale_embeddings": False, "share_embeddings": True, "tie_output": True}
MODELS = {  # a class, before the comma, and its arguments
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


def class_of(name):
    return getattr(models, name.partition(",")[0])


CLASSES = list(dict.fromkeys(map(class_of, MODELS)))


def make(name, **changes):
    model = class_of(name)(V, **{**MODELS[name], **changes})
    model.build()
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
    assert set(CLASSES) == set(model_classes("translation").values())


FAST = "Transformer"  # the others train in `make test-all`


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == FAST else pytest.mark.slow) for name in MODELS]
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


@pytest.mark.one_per_class
def test_every_trainable_weight_gets_a_gradient(name, random_model):
    model = make(name)
    model.set_weights(random_model.get_weights())
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(1.0), loss, run_eagerly=True)
    source, target_in, target_out, weight = eight_sentences()
    before = [to_numpy(w).copy() for w in model.trainable_variables]
    model.train_on_batch((source, target_in), target_out, weight)
    for weight, old in zip(model.trainable_variables, before, strict=True):
        change = np.abs(to_numpy(weight) - old).max()
        assert np.isfinite(change)
        # the bias of the keys adds the same to all scores of a query: the softmax does not see it
        assert weight.path.endswith("W_k/bias") or change > 1e-6, weight.path


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


@pytest.mark.one_per_class
def test_a_batch_equals_its_sentences_one_by_one(name, random_model):
    model, (source, target_in) = random_model, random_batch(np.random.default_rng(0))
    together = to_numpy(model((source, target_in)))
    for b in range(len(source)):
        length = int((source[b] != PAD).sum())
        alone = to_numpy(model((source[b : b + 1, :length], target_in[b : b + 1])))
        np.testing.assert_allclose(together[b], alone[0], atol=1e-5)


@pytest.mark.one_per_class
def test_another_id_may_be_padding(name, random_model):
    source, target_in = random_batch(np.random.default_rng(0))
    model = make(name, source_pad_id=2)
    model.set_weights(random_model.get_weights())
    logits = model((np.where(source == PAD, 2, source), target_in))
    np.testing.assert_allclose(to_numpy(logits), to_numpy(random_model((source, target_in))), atol=1e-5)


@pytest.mark.one_per_class
def test_an_empty_source_is_finite_and_an_empty_batch_empty(random_model):
    logits = to_numpy(random_model((np.zeros((2, 3), "int32"), np.full((2, 2), START, "int32"))))
    assert np.isfinite(logits).all()
    logits = to_numpy(random_model((np.zeros((0, 3), "int32"), np.zeros((0, 2), "int32"))))
    assert logits.shape == (0, 2, V)


WIDTHS = ["embedding_dim", "units", "num_layers", "encoder_layers", "decoder_units", "attention_units"]
WIDTHS += ["readout_dim", "d_model", "num_heads", "intermediate_dim", "num_decoder_layers", "kernel_size"]


@pytest.mark.parametrize("cls", CLASSES)
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


@pytest.mark.one_per_class
def test_saved_loaded_and_configured_again(name, random_model, tmp_path):
    config = random_model.get_config()
    json.dumps(config)
    assert set(MODELS[name]) <= set(config)
    batch = random_batch(np.random.default_rng(0))
    expected = to_numpy(random_model(batch))
    random_model.save(tmp_path / "model.keras")
    random_model.save_weights(tmp_path / "model.weights.h5")
    again = type(random_model).from_config(config)
    again.build()
    again.load_weights(tmp_path / "model.weights.h5")
    for model in (again, keras.saving.load_model(tmp_path / "model.keras")):
        assert model.get_config() == config
        np.testing.assert_array_equal(to_numpy(model(batch)), expected)


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


def halved(name, random_model, **changes):
    model = make(name, **changes)
    model.set_weights([0.5 * to_numpy(w) for w in random_model.weights])
    return model


@pytest.mark.one_per_class("RNNSearch", "Transformer")
@pytest.mark.usefixtures("no_collection")
def test_int8_reaches_every_matrix_keeps_dtypes_and_is_saved(name, random_model, tmp_path):
    model = halved(name, random_model, dtype="mixed_bfloat16")
    batch = random_batch(np.random.default_rng(0))

    def outputs():
        state = model.initial_state(model.encode(batch[0]))
        parts = keras.tree.flatten([model(batch), *model.step(ops.convert_to_tensor(batch[1][:, 0]), state)])
        return as_floats(parts[0]), [keras.backend.standardize_dtype(part.dtype) for part in parts]

    exact, dtypes = outputs()
    model.quantize("int8")
    left = {w.path for w in model.weights if len(w.shape) > 1 and w.dtype != "int8" and w.name not in TABLES}
    assert not left
    quantized, after = outputs()
    assert after == dtypes and dtypes[:2] == ["bfloat16"] * 2
    np.testing.assert_allclose(quantized, exact, atol=0.1 * np.abs(exact).max())
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(as_floats(loaded(batch)), quantized)


@pytest.mark.one_per_class("RNNSearch", "Transformer")
@pytest.mark.parametrize("mode", [None, pytest.param("int8", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("no_collection")
def test_lora_trains_small_matrices_alone(name, random_model, tmp_path, mode):
    if mode and name != FAST:
        pytest.skip("takes long, and four steps on rounded matrices need not lower the loss")
    keras.utils.set_random_seed(0)
    model = halved(name, random_model)
    if mode:
        model.quantize(mode)
    source, target_in, target_out, _ = eight_sentences()
    before = to_numpy(model((source, target_in)))
    frozen = [to_numpy(w).copy() for w in model.weights]
    paths = [w.path for w in model.weights]
    model.enable_lora(2)
    kinds = {w.name.rpartition("_")[0] for w in model.trainable_variables}
    assert kinds <= {"lora_kernel", "lora_embeddings"}
    np.testing.assert_allclose(to_numpy(model((source, target_in))), before, atol=1e-5)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, run_eagerly=True)
    losses = [float(model.train_on_batch((source, target_in), target_out)) for _ in range(4)]
    assert losses[-1] < losses[0]
    after = {w.path: to_numpy(w) for w in model.weights}
    assert all(np.array_equal(after[path], old) for path, old in zip(paths, frozen, strict=True))
    adapted = to_numpy(model((source, target_in)))
    assert np.abs(adapted - before).max() > 1e-3
    model.save(tmp_path / "model.keras")
    merged = to_numpy(keras.saving.load_model(tmp_path / "model.keras")((source, target_in)))
    np.testing.assert_allclose(merged, adapted, atol=0.1 * np.abs(adapted).max() if mode else 1e-4)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_configuration_can_be_made_and_changed(cls):
    for name, sizes in cls.configurations.items():
        model = cls.from_configuration(name, source_vocabulary_size=V, dropout=0.25)
        assert model.get_config() | sizes | {"dropout": 0.25} == model.get_config()
    with pytest.raises(ValueError, match=f"{cls.__name__} has the configurations .*Received: 'huge'"):
        cls.from_configuration("huge", source_vocabulary_size=V)


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
