"""What every model that translates must do."""

import keras
import numpy as np
import pytest
from keras import ops
from model_cases import (
    END,
    MODELS,
    PAD,
    START,
    START_OF_WORDS,
    TRANSLATION,
    V,
    as_floats,
    class_of,
    eight_sentences,
    halved,
    make,
    to_numpy,
)

from keraszoo import models
from keraszoo.layers.arguments import constructor_arguments
from keraszoo.search import SearchOptions, greedy_search

translates = pytest.mark.parametrize("name", TRANSLATION, indirect=True, scope="module")


def random_batch(rng, rows=3, source_length=7, target_length=6):
    source = rng.integers(START_OF_WORDS, V, (rows, source_length)).astype("int32")
    for b in range(1, rows):
        source[b, source_length - 2 * b :] = PAD
    return source, rng.integers(START_OF_WORDS, V, (rows, target_length)).astype("int32")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "Transformer" else pytest.mark.slow) for name in TRANSLATION],
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
def test_half_precision_steps_alike(name, random_model):
    source, target_in = random_batch(np.random.default_rng(0))
    exact = to_numpy(halved(name, random_model)((source, target_in)))
    model = halved(name, random_model, dtype="mixed_bfloat16")
    tolerance = 0.1 * np.abs(exact).max()
    state = model.initial_state(model.encode(source), 2, 6)
    for t in range(6):
        dtypes = {key: part.dtype for key, part in state.items() if hasattr(part, "dtype")}
        logits, state = model.step(ops.convert_to_tensor(np.repeat(target_in[:, t], 2)), state)
        assert dtypes == {key: part.dtype for key, part in state.items() if hasattr(part, "dtype")}
        logits = as_floats(logits).reshape(3, 2, V)
        np.testing.assert_allclose(logits, np.repeat(exact[:, t, None], 2, 1), atol=tolerance)


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
