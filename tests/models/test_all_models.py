"""What every exported model must do, none forgotten: a new one without an entry here fails the first test."""

import inspect
import json

import keras
import numpy as np
import pytest
from keras import ops

import keraszoo.models
from keraszoo.models import (
    DeepLSTM,
    LuongNMT,
    RNNEncDec,
    RNNSearch,
    SimplifiedRNNSearch,
    Transformer,
    TranslationModel,
)
from keraszoo.search import SearchOptions, greedy_search

to_numpy = ops.convert_to_numpy
V, PAD, START, END = 13, 0, 1, 3
START_OF_WORDS = 4

MODELS = {
    "DeepLSTM": (DeepLSTM, {"embedding_dim": 12, "units": 20, "num_layers": 2}),
    "DeepLSTM, GRU, not reversed, tied": (
        DeepLSTM,
        {
            "embedding_dim": 20,
            "units": 20,
            "num_layers": 1,
            "cell": "gru",
            "reverse_source": False,
            "scale_embeddings": False,
            "share_embeddings": True,
            "tie_output": True,
        },
    ),
    "LuongNMT": (LuongNMT, {"embedding_dim": 12, "units": 16, "num_layers": 2}),
    "LuongNMT, local-p, no input feeding": (
        LuongNMT,
        {
            "embedding_dim": 12,
            "units": 20,
            "num_layers": 2,
            "score": "dot",
            "window": "local-p",
            "half_width": 3,
            "attention_units": 7,
            "input_feeding": False,
            "reverse_source": True,
        },
    ),
    "LuongNMT, local-m, GRU, tied": (
        LuongNMT,
        {
            "embedding_dim": 20,
            "units": 24,
            "num_layers": 1,
            "score": "concat",
            "window": "monotonic",
            "half_width": 2,
            "cell": "gru_reset_after",
            "scale_embeddings": False,
            "share_embeddings": True,
            "tie_output": True,
        },
    ),
    "RNNEncDec": (RNNEncDec, {"embedding_dim": 12, "units": 24}),
    "RNNEncDec, reset after, tied": (
        RNNEncDec,
        {
            "embedding_dim": 12,
            "units": 22,
            "cell": "gru_reset_after",
            "scale_embeddings": False,
            "share_embeddings": True,
            "tie_output": True,
        },
    ),
    "RNNSearch": (RNNSearch, {"embedding_dim": 12, "units": 16}),
    "RNNSearch, LSTM, tied": (
        RNNSearch,
        {
            "embedding_dim": 12,
            "units": 14,
            "cell": "lstm",
            "encoder_layers": 2,
            "attention_units": 5,
            "scale_embeddings": False,
            "share_embeddings": True,
            "tie_output": True,
        },
    ),
    "SimplifiedRNNSearch": (
        SimplifiedRNNSearch,
        {"embedding_dim": 12, "units": 20, "attention_units": 7, "scale_embeddings": False},
    ),
    "Transformer": (
        Transformer,
        {"d_model": 16, "num_layers": 1, "num_heads": 2, "hidden_dim": 32, "dropout": 0.0},
    ),
    "Transformer, rotary, pre-norm, two embeddings": (
        Transformer,
        {
            "d_model": 12,
            "num_layers": 2,
            "num_heads": 3,
            "hidden_dim": 20,
            "dropout": 0.0,
            "pre_norm": True,
            "tie_embeddings": "target",
            "use_bias": False,
            "positions": "rotary",
        },
    ),
    "Transformer, learned positions": (
        Transformer,
        {
            "d_model": 16,
            "num_layers": 1,
            "num_heads": 2,
            "hidden_dim": 32,
            "dropout": 0.0,
            "positions": "learned",
            "max_positions": 20,
        },
    ),
}


def make(name, **changes):
    cls, sizes = MODELS[name]
    model = cls(V, **{**sizes, **changes})
    model.build()
    return model


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
def trained(name):
    """A model fitted to the eight sentences, and the losses."""
    keras.utils.set_random_seed(1)
    model = make(name)
    source, target_in, target_out, weight = eight_sentences()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    model.compile(
        keras.optimizers.Adam(0.01, clipnorm=1.0), loss, jit_compile=keras.backend.backend() == "jax"
    )
    batch = (source, target_in), target_out, weight / weight.sum()
    return model, [float(model.train_on_batch(*batch)) for _ in range(150)]


@pytest.fixture(scope="module")
def random_model(name):
    """Weights far from the start, so that every path through the model shows in its numbers."""
    model, rng = make(name), np.random.default_rng(5)
    for weight in model.trainable_variables:
        weight.assign(to_numpy(weight) + 0.3 * rng.normal(size=weight.shape))
    return model


def test_no_exported_model_is_forgotten():
    every = (getattr(keraszoo.models, name) for name in keraszoo.models.__all__)
    exported = {cls.__name__ for cls in every if issubclass(cls, TranslationModel) and cls.presets}
    assert {cls.__name__ for cls, _ in MODELS.values()} == exported


def test_overfits_eight_sentences_and_says_them_again(trained):
    model, losses = trained
    assert losses[0] > 2
    assert losses[-1] < 0.05
    source, _, target_out, _ = eight_sentences()
    options = SearchOptions(beam_width=1, max_length=8)
    state = model.initial_state(model.encode(source), 1, 8)
    found = greedy_search(model.step, state, options, START, END, lengths=[8])
    for b in range(8):
        said = to_numpy(found.tokens)[b, 0, : int(found.lengths[b, 0])]
        np.testing.assert_array_equal(said, target_out[b][target_out[b] != PAD])


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
        # b_k adds the same to all scores of a query: the softmax does not see it
        assert weight.name == "b_k" or change > 1e-6, weight.path


@pytest.mark.parametrize("beam_width", [1, 3])
def test_stepping_equals_teacher_forcing(random_model, beam_width):
    model, (source, target_in) = random_model, random_batch(np.random.default_rng(0))
    logits = to_numpy(model((source, target_in)))
    if model.attends:
        again, forced = map(to_numpy, model((source, target_in), return_attention_weights=True))
        np.testing.assert_array_equal(again, logits)
        assert forced.shape == (*target_in.shape, source.shape[1]) and forced.dtype == "float32"
    else:
        with pytest.raises(ValueError, match=f"{type(model).__name__} does not attend"):
            model((source, target_in), return_attention_weights=True)
    rows, length = target_in.shape
    state = model.initial_state(model.encode(source), beam_width, length)
    for t in range(length):
        tokens = ops.convert_to_tensor(np.repeat(target_in[:, t], beam_width))
        step, state = model.step(tokens, state)
        step = to_numpy(step).reshape(rows, beam_width, V)
        np.testing.assert_allclose(step, np.repeat(logits[:, t, None], beam_width, 1), atol=1e-5)
        assert ("attention_weights" in state) == model.attends
        if not model.attends:
            continue
        weights = to_numpy(state["attention_weights"]).reshape(rows, beam_width, -1)
        np.testing.assert_allclose(weights, np.repeat(forced[:, t, None], beam_width, 1), atol=1e-5)
        if getattr(model, "sizes", {}).get(
            "window"
        ):  # a Gaussian takes from it, and a place may have no words
            assert (weights.sum(-1) < 1 + 1e-5).all()
        else:
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert (weights[np.broadcast_to((source == PAD)[:, None], weights.shape)] == 0).all()
    assert int(state["position"]) == length


def test_rows_of_a_sentence_keep_to_themselves(random_model):
    # three hypotheses of each sentence that differ at every word
    model, rng = random_model, np.random.default_rng(0)
    source, _ = random_batch(rng)
    hypotheses = rng.integers(START_OF_WORDS, V, (3, 3, 5)).astype("int32")
    state = model.initial_state(model.encode(source), 3, 5)
    forced = to_numpy(model((np.repeat(source, 3, 0), hypotheses.reshape(9, 5))))
    for t in range(5):
        step, state = model.step(ops.convert_to_tensor(hypotheses[:, :, t].reshape(-1)), state)
        np.testing.assert_allclose(to_numpy(step), forced[:, t], atol=1e-5)


def test_a_batch_equals_its_sentences_one_by_one(random_model):
    model, (source, target_in) = random_model, random_batch(np.random.default_rng(0))
    together = to_numpy(model((source, target_in)))
    for b in range(len(source)):
        length = int((source[b] != PAD).sum())
        alone = to_numpy(model((source[b : b + 1, :length], target_in[b : b + 1])))
        np.testing.assert_allclose(together[b], alone[0], atol=1e-5)


def test_more_padding_of_the_source_changes_nothing(random_model):
    model, (source, target_in) = random_model, random_batch(np.random.default_rng(0))
    padded = to_numpy(model((np.pad(source, ((0, 0), (0, 4))), target_in)))
    np.testing.assert_allclose(padded, to_numpy(model((source, target_in))), atol=1e-5)


def test_no_word_of_the_target_sees_a_later_one(random_model):
    model, (source, target_in) = random_model, random_batch(np.random.default_rng(0))
    changed = target_in.copy()
    changed[:, 4] = (changed[:, 4] + 1 - START_OF_WORDS) % (V - START_OF_WORDS) + START_OF_WORDS
    before, after = (to_numpy(model((source, x))) for x in (target_in, changed))
    np.testing.assert_allclose(before[:, :4], after[:, :4], atol=1e-5)
    assert np.abs(before[:, 4:] - after[:, 4:]).max() > 1e-3


def test_another_id_may_be_padding(name, random_model):
    source, target_in = random_batch(np.random.default_rng(0))
    model = make(name, source_pad_id=2)
    model.set_weights(random_model.get_weights())
    found = model((np.where(source == PAD, 2, source), target_in))
    np.testing.assert_allclose(to_numpy(found), to_numpy(random_model((source, target_in))), atol=1e-5)


def test_an_empty_source_is_finite_and_an_empty_batch_empty(random_model):
    logits = to_numpy(random_model((np.zeros((2, 3), "int32"), np.full((2, 2), START, "int32"))))
    assert np.isfinite(logits).all()
    logits = to_numpy(random_model((np.zeros((0, 3), "int32"), np.zeros((0, 2), "int32"))))
    assert logits.shape == (0, 2, V)


WIDTHS = ["embedding_dim", "units", "num_layers", "encoder_layers", "decoder_units", "attention_units"]
WIDTHS += ["readout_dim", "d_model", "num_heads", "hidden_dim"]


def test_a_size_of_nothing_is_an_error_where_it_is_given(name):
    cls, sizes = MODELS[name]
    without = {"num_layers"} if cls is Transformer else set()  # its embeddings are a model
    for width in sorted((set(WIDTHS) & set(inspect.signature(cls).parameters)) - without):
        for size in (-3, 0, 2.5):
            with pytest.raises(ValueError, match=f"{width} must be a positive integer"):
                cls(V, **{**sizes, width: size})


@pytest.mark.parametrize("cls", [LuongNMT, RNNEncDec, RNNSearch])
def test_a_tied_output_wants_a_readout_as_wide_as_the_embeddings(cls):
    sizes = {"embedding_dim": 6, "units": 8, "tie_output": True}
    with pytest.raises(ValueError, match="Received: a readout of 5, embedding_dim=6"):
        cls(V, readout_dim=5, **sizes)
    for given in (None, 6):
        assert cls(V, readout_dim=given, **sizes).output_kernel is None


@pytest.mark.parametrize("cls", [DeepLSTM, LuongNMT, RNNEncDec, RNNSearch])
def test_the_papers_do_not_scale_embeddings(cls):
    assert cls.presets["paper"]["scale_embeddings"] is False


def test_config_round_trip(name, random_model):
    config = random_model.get_config()
    json.dumps(config)
    assert set(MODELS[name][1]) <= set(config)
    again = type(random_model).from_config(config)
    assert again.get_config() == config
    again.build()
    again.set_weights(random_model.get_weights())
    batch = random_batch(np.random.default_rng(0))
    np.testing.assert_array_equal(to_numpy(again(batch)), to_numpy(random_model(batch)))


def test_saved_and_loaded(name, random_model, tmp_path):
    batch = random_batch(np.random.default_rng(0))
    expected = to_numpy(random_model(batch))
    random_model.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        to_numpy(keras.saving.load_model(tmp_path / "model.keras")(batch)), expected
    )
    random_model.save_weights(tmp_path / "model.weights.h5")
    again = make(name)
    again.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(to_numpy(again(batch)), expected)


def test_half_precision_is_finite_near_and_steps_alike(name, random_model):
    source, target_in = random_batch(np.random.default_rng(0))
    model = make(name, dtype="mixed_bfloat16")
    for half, exact in zip(model.weights, random_model.weights, strict=True):
        half.assign(0.5 * to_numpy(exact))
    exact_model = make(name)
    exact_model.set_weights([0.5 * to_numpy(w) for w in random_model.weights])
    exact = to_numpy(exact_model((source, target_in)))
    forced = to_numpy(ops.cast(model((source, target_in)), "float32"))
    tolerance = 0.1 * np.abs(exact).max()
    np.testing.assert_allclose(forced, exact, atol=tolerance)
    state = model.initial_state(model.encode(source), 2, 6)
    for t in range(6):
        shapes = {key: part.dtype for key, part in state.items() if hasattr(part, "dtype")}
        logits, state = model.step(ops.convert_to_tensor(np.repeat(target_in[:, t], 2)), state)
        assert shapes == {key: part.dtype for key, part in state.items() if hasattr(part, "dtype")}
        logits = to_numpy(ops.cast(logits, "float32")).reshape(3, 2, V)
        np.testing.assert_allclose(logits, np.repeat(exact[:, t, None], 2, 1), atol=tolerance)


def test_a_preset_that_nobody_knows_is_an_error(name):
    cls = MODELS[name][0]
    with pytest.raises(ValueError, match=f"{cls.__name__} has the presets .*Received: 'huge'"):
        cls.preset("huge", source_vocabulary_size=V)


def test_every_preset_can_be_made_and_changed(name):
    cls = MODELS[name][0]
    for preset, sizes in cls.presets.items():
        model = cls.preset(preset, source_vocabulary_size=V, dropout=0.25)
        assert model.get_config() | sizes | {"dropout": 0.25} == model.get_config()


@pytest.mark.parametrize("name", ["DeepLSTM", "LuongNMT", "RNNEncDec", "RNNSearch", "SimplifiedRNNSearch"])
def test_scaled_embeddings_are_those_without_the_factor(name):
    scaled, plain = make(name, scale_embeddings=True), make(name, scale_embeddings=False)
    width = MODELS[name][1]["embedding_dim"]
    for weight, found in zip(plain.weights, scaled.weights, strict=True):
        assert weight.path.split("/")[1:] == found.path.split("/")[1:]
        weight.assign(found * width**0.5 if "embedding" in weight.path else found)
    drawn = to_numpy(scaled.source_embedding.embeddings)
    assert drawn.shape == (V, width) and abs(drawn.std() * width**0.5 - 1) < 0.25
    batch = random_batch(np.random.default_rng(1))
    np.testing.assert_allclose(to_numpy(scaled(batch)), to_numpy(plain(batch)), atol=1e-5)
