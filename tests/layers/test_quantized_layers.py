"""Options of kernels, int8 and LoRA reach the projections of every layer, and are saved with it."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import (
    BahdanauAttention,
    FeedForward,
    FeedForwardAttention,
    GatedConvolution,
    LuongAttention,
    MemoryHop,
    MultiHeadAttention,
    MultiplicativeAttention,
    SentenceEncoder,
    TransformerEncoderLayer,
)

to_numpy = ops.convert_to_numpy
B, T, S, D = 2, 3, 5, 8
LAYERS = {  # what makes one, the number of its inputs and of its kernels
    "bahdanau": (partial(BahdanauAttention, 8, normalize=True), 2, 3),
    "block": (partial(TransformerEncoderLayer, 2, 8, dropout=0.0), 1, 6),
    "concat": (partial(LuongAttention, "concat", "predictive"), 2, 5),
    "feed_forward": (partial(FeedForward, 8), 1, 2),
    "feed_forward_attention": (partial(FeedForwardAttention, 8, use_bias=True), 1, 2),
    "gated_convolution": (partial(GatedConvolution, 8), 1, 1),
    "general": (partial(LuongAttention, "general", scale=True), 2, 1),
    "memory_hop": (partial(MemoryHop, use_map=True), 2, 1),
    "multiplicative": (partial(MultiplicativeAttention, 8), 2, 3),
    "multi_head": (partial(MultiHeadAttention, 2, 4, relative=2), 2, 4),
    "sentence_encoder": (partial(SentenceEncoder, 11, 8), 1, 1),
}
WITH_MATRIX = keras.layers.Dense, keras.layers.Embedding


@pytest.fixture(params=LAYERS)
def name(request):
    return request.param


def model_and_inputs(name):
    make, count, _ = LAYERS[name]
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(B, length, D)).astype("float32") for length in (T, S)[:count]]
    inputs = [rng.integers(0, 11, (B, T))] if name == "sentence_encoder" else inputs
    symbols = [keras.Input((None, *x.shape[2:]), dtype=str(x.dtype)) for x in inputs]
    layer = make()
    model = keras.Model(symbols, keras.tree.flatten(layer(*symbols)))
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.3)
    return model, layer, inputs


@pytest.mark.parametrize("name", sorted({*LAYERS} - {"gated_convolution", "sentence_encoder"}), indirect=True)
def test_initializers_regularizers_and_constraints(name):
    make, count, number = LAYERS[name]
    values, options = {"kernel": 2.0, "bias": 3.0}, {}
    for kind, value in values.items():
        options[f"{kind}_initializer"] = keras.initializers.Constant(value)
        options[f"{kind}_regularizer"] = keras.regularizers.L2(0.5)
        options[f"{kind}_constraint"] = "non_neg"
    first = make(**options)
    again = type(first).from_config(first.get_config())
    assert again.get_config() == first.get_config()
    for layer in (first, again):
        layer(*[np.ones((B, T, D), "float32")] * count)
        chosen = [w for w in layer.trainable_variables if w.name in values]
        assert [w.name for w in chosen].count("kernel") == number
        assert all((to_numpy(w) == values[w.name]).all() and w.constraint is not None for w in chosen)
        squares = sum(float((to_numpy(w) ** 2).sum()) for w in chosen)
        assert float(to_numpy(sum(layer.losses))) == pytest.approx(0.5 * squares, rel=1e-5)


def numbers(model, inputs):
    return [to_numpy(x) for x in keras.tree.flatten(model(inputs))]


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")  # Keras asks each of them
@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    ("name", "rounds_inputs"),
    [
        *((name, True) for name in LAYERS),
        ("block", False),
        ("concat", False),
    ],  # sublayers of sublayers, or none
    indirect=["name"],
)
def test_int8_reaches_every_kernel_and_is_saved(name, rounds_inputs, tmp_path):
    model, layer, inputs = model_and_inputs(name)
    exact = numbers(model, inputs)
    config = None if rounds_inputs else keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    model.quantize("int8", config=config, filters=lambda layer: isinstance(layer, WITH_MATRIX))
    kernels = [w for w in layer.weights if w.dtype == "int8"]
    assert len(kernels) == LAYERS[name][2]
    quantized = numbers(model, inputs)
    for a, b in zip(quantized, exact, strict=True):
        np.testing.assert_allclose(a, b, atol=0.05)
    assert any(np.abs(a - b).max() > 0 for a, b in zip(quantized, exact, strict=True))
    for _ in range(2):  # what was loaded is saved again
        model.save(tmp_path / "model.keras")
        model = keras.saving.load_model(tmp_path / "model.keras")
        for a, b in zip(numbers(model, inputs), quantized, strict=True):
            np.testing.assert_array_equal(a, b)


def test_lora_trains_and_is_saved(name, tmp_path):
    model, layer, inputs = model_and_inputs(name)
    before = numbers(model, inputs)
    sublayers = [sub for sub in layer._flatten_layers() if isinstance(sub, WITH_MATRIX)]
    assert len(sublayers) == LAYERS[name][2]
    for sublayer in sublayers:
        sublayer.enable_lora(2)
    for a, b in zip(numbers(model, inputs), before, strict=True):
        np.testing.assert_array_equal(a, b)
    model.compile("sgd", "mse", run_eagerly=True)
    model.train_on_batch(inputs, [x + 1 for x in before])
    after = numbers(model, inputs)
    assert np.abs(after[0] - before[0]).max() > 1e-4
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for a, b in zip(numbers(loaded, inputs), after, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
