"""Tests of every exported layer. A new layer without an entry in LAYERS fails the first test."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo import layers
from keraszoo.layers import Attention, BahdanauAttention, LuongAttention

B, T, S, D = 2, 3, 5, 6
QUERY, VALUE, IDS, SPELLINGS = ((T, D),), ((T, D), (S, D)), ((T,),), ((T, S),)

# name of the exported layer: (what makes one with nothing left at its default, shapes of its inputs)
LAYERS = {
    "AttentionDecoder": (
        lambda kind: kind(BahdanauAttention(7), units=4, cell="lstm", context="current"),
        ((T, D), (S, 3), (4,)),
    ),
    "BagOfSubwords": (lambda kind: kind(11, 4, 101, rank=3, shortest=1, longest=3), SPELLINGS),
    "BahdanauAttention": (lambda kind: kind(7, normalize=True, dropout=0.1), VALUE),
    "BidirectionalEncoder": (lambda kind: kind(4, "lstm", num_layers=2, dropout=0.1), QUERY),
    "CRF": (
        lambda kind: kind(D, allowed=(np.tri(D) > 0, np.arange(D) < 4, np.arange(D) > 1), constrain="both"),
        QUERY,
    ),
    "CharacterEncoder": (lambda kind: kind(11, 7, 4, kind="lstm", window=5, dropout=0.1), SPELLINGS),
    "FeedForward": (lambda kind: kind(7, activation="gelu", dropout=0.1), QUERY),
    "FeedForwardAttention": (lambda kind: kind(7, use_bias=True, dropout=0.1), QUERY),
    "GatedConvolution": (lambda kind: kind(4, 2, causal=True, dropout=0.1), QUERY),
    "GNMTDecoder": (
        lambda kind: kind(
            BahdanauAttention(7, normalize=True), 4, "gru", 3, 0.1, "current", "fast_forward", 5, 3, 7
        ),
        ((T, D), (S, 3)),
    ),
    "KernelAttention": (lambda kind: kind(1.5, learn_bandwidth=True, dropout=0.1), VALUE),
    "LearnedPositions": (lambda kind: kind(7), QUERY),
    "LuongAttention": (
        lambda kind: kind("concat", "predictive", half_width=3, units=7, scale=True, dropout=0.1),
        VALUE,
    ),
    "LuongDecoder": (
        lambda kind: kind(LuongAttention("general", "predictive", 3), 4, "gru", 2, 5, dropout=0.1),
        ((T, D), (S, 3), [(4,), (4,)]),
    ),
    "MemoryHop": (lambda kind: kind(use_map=True, dropout=0.1), VALUE),
    "MixtureOfExperts": (
        lambda kind: kind(5, 7, 3, "gelu", 0.1, 3, importance_loss=0.2, load_loss=0.3, output_dim=4),
        QUERY,
    ),
    "MultiHeadAttention": (
        lambda kind: kind(2, 4, 3, 0.1, use_bias=False, output_shape=5, seed=3, rotary=True, relative=2),
        VALUE,
    ),
    "PositionalEncoding": (lambda kind: kind(max_wavelength=100), QUERY),
    "RecurrentCell": (lambda kind: kind(4, "gru_reset_after"), ((D,), [(4,)])),
    "RecurrentStack": (
        lambda kind: kind(4, "gru_reset_after", 2, dropout=0.1, backward=True, connections="residual"),
        QUERY,
    ),
    "ScaledDotProductAttention": (lambda kind: kind(0.5, dropout=0.1), VALUE),
    "SentenceEncoder": (lambda kind: kind(11, D, encoding="bag", pad_id=2), IDS),
    "TransformerDecoderLayer": (
        lambda kind: kind(2, 7, pre_norm=True, dropout=0.1, activation="gelu", epsilon=1e-5),
        VALUE,
    ),
    "TransformerEncoderLayer": (
        lambda kind: kind(3, 7, pre_norm=True, attention_dropout=0.2, hidden_dropout=0.3),
        QUERY,
    ),
    "WeightNormDense": (lambda kind: kind(4, "tanh", use_bias=False), QUERY),
}
for name in layers.__all__:  # a new score needs no entry
    kind = getattr(layers, name)
    is_attention = isinstance(kind, type) and issubclass(kind, Attention) and kind is not Attention
    if is_attention and name not in LAYERS:
        LAYERS[name] = (lambda kind: kind(units=7, dropout=0.1), VALUE)
ORTHOGONAL = {"AttentionDecoder", "BidirectionalEncoder", "CharacterEncoder", "GNMTDecoder", "LuongDecoder"}
ORTHOGONAL |= {"RecurrentCell", "RecurrentStack"}
# Its scores are sums over whole sentences, and stay in float32.
FLOAT32 = {"CRF"}
# They are no layers, or no layer that can be called; each has a test file of its own.
OTHERS = {"Attention", "CRFAccuracy", "CRFLoss", "masked_softmax"}

# A key bias adds the same to all scores of a query: the softmax does not see it.
WITHOUT_GRADIENT = "attention/W_k/bias"


@pytest.fixture(params=sorted(LAYERS))
def name(request):
    return request.param


def make(name):
    return LAYERS[name][0](getattr(layers, name))


@pytest.fixture
def layer(name):
    return make(name)


@pytest.fixture
def inputs(name):
    return make_inputs(name)


def make_inputs(name):
    rng = np.random.default_rng(0)
    shapes = LAYERS[name][1]
    if shapes in (IDS, SPELLINGS):
        return [rng.integers(0, 11, (B, *shapes[0])).astype("int32")]

    def draw(shape):
        return rng.normal(size=(B, *shape)).astype("float32")

    return list(keras.tree.map_shape_structure(draw, shapes))


def numbers(outputs):
    return [ops.convert_to_numpy(ops.cast(x, "float32")) for x in keras.tree.flatten(outputs)]


def randomize(layer):
    rng = np.random.default_rng(1)
    for weight in layer.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.3)


def functional(layer, inputs):
    """A model of this layer alone, for sentences of any length."""

    def symbol(x):
        is_state = x.ndim == 2 and x.dtype == "float32"  # (B, U), next to (B, T) ids and (B, T, D)
        return keras.Input(x.shape[1:] if is_state else (None, *x.shape[2:]), dtype=str(x.dtype))

    symbols = keras.tree.map_structure(symbol, inputs)
    return keras.Model(symbols, keras.tree.flatten(layer(*symbols)))


def test_no_exported_name_is_forgotten():
    assert set(LAYERS) | OTHERS == set(layers.__all__)


def test_a_config_has_all_arguments_and_makes_the_same_layer(layer):
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config
    json.dumps(keras.saving.serialize_keras_object(layer))
    init = type(layer).__init__
    arguments = set(init.__code__.co_varnames[1 : init.__code__.co_argcount])
    assert init.__module__.startswith("keras.") or arguments <= set(config)


# `run_layer_test` of Keras draws floats, and knows no states.
FLOATS = [name for name in sorted(LAYERS) if issubclass(getattr(layers, name), Attention)]
FLOATS += ["CRF", "FeedForward", "FeedForwardAttention", "LearnedPositions", "MixtureOfExperts"]
FLOATS += ["PositionalEncoding"]


@pytest.mark.filterwarnings("ignore:`shuffle=True` was passed")  # by `run_layer_test`
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FLOATS)
def test_the_layer_test_of_keras_passes(name, layer, dtype):
    from keras.src.testing import TestCase

    config, shapes = layer.get_config(), [(B, *shape) for shape in LAYERS[name][1]]
    two = len(shapes) == 2
    shapes = dict(zip(("query_shape", "value_shape"), shapes, strict=True)) if two else shapes[0]
    TestCase().run_layer_test(
        type(layer),
        init_kwargs={**{key: config[key] for key in config if key != "name"}, "dtype": dtype},
        input_shape=shapes,
        input_dtype=keras.tree.map_shape_structure(lambda _: dtype, shapes),
        expected_output_dtype=(dtype, dtype) if two or name == "FeedForwardAttention" else dtype,
        supports_masking=True,
        run_training_check=not two and name != "PositionalEncoding",  # it has no weights
        run_mixed_precision_check=dtype == "float32",
    )


ONE_WIDTH = ["BidirectionalEncoder", "FeedForward", "FeedForwardAttention", "RecurrentStack"]


@pytest.mark.parametrize("name", [*ONE_WIDTH, "TransformerEncoderLayer"])
def test_a_layer_that_is_built_takes_one_width(layer, inputs):
    layer(*inputs)
    with pytest.raises(ValueError, match=f"expected axis -1 of input shape to have value {D}"):
        layer(keras.Input((None, D + 1)))


def test_a_functional_model_of_it_compiles_is_saved_and_learns(name, layer, inputs, tmp_path):
    model = functional(layer, inputs)
    randomize(layer)
    outputs = keras.tree.flatten(layer(*inputs))
    eager = numbers(outputs)
    assert [keras.backend.standardize_dtype(x.dtype) for x in outputs] == [x.dtype for x in model.outputs]
    for array, symbol in zip(eager, model.outputs, strict=True):
        for size, known in zip(array.shape, symbol.shape, strict=True):
            assert known in (None, size)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert len(loaded.weights) == len(model.weights)
    for a, b in zip(eager, numbers(loaded(inputs)), strict=True):
        np.testing.assert_array_equal(a, b)

    model.compile(jit_compile=False)
    for a, b in zip(eager, keras.tree.flatten(model.predict(inputs, verbose=0)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)

    # every weight gets a gradient
    model.compile(optimizer=keras.optimizers.SGD(1.0), loss="mse", run_eagerly=True)
    rng = np.random.default_rng(2)
    targets = [rng.normal(size=x.shape).astype("float32") for x in eager]
    before = {w.path: ops.convert_to_numpy(w).copy() for w in model.trainable_variables}
    if before:
        model.train_on_batch(inputs, targets if len(targets) > 1 else targets[0])
    for weight in model.trainable_variables:
        change = np.abs(ops.convert_to_numpy(weight) - before[weight.path]).max()
        assert np.isfinite(change)
        assert weight.path.endswith(WITHOUT_GRADIENT) or change > 1e-6, weight.path


def test_a_frozen_layer_stays_frozen(layer, inputs, tmp_path):
    made = type(layer).from_config({**layer.get_config(), "trainable": False})
    assert functional(made, inputs).trainable_variables == []
    layer.trainable = False  # before it has weights
    model = functional(layer, inputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert model.trainable_variables == loaded.trainable_variables == []


@pytest.mark.parametrize(
    "policy",
    ["mixed_bfloat16", *(pytest.param(p, marks=pytest.mark.slow) for p in ("mixed_float16", "float16"))],
)
def test_half_precision_is_finite_and_near(name, inputs, policy):
    if policy == "float16" and name in ORTHOGONAL and keras.backend.backend() != "tensorflow":
        pytest.skip("only TensorFlow has the QR decomposition of float16 that draws orthogonal weights")
    exact = make(name)
    exact(*inputs)
    randomize(exact)
    keras.config.set_dtype_policy(policy)
    try:
        layer = make(name)
    finally:
        keras.config.set_dtype_policy("float32")
    layer(*inputs)
    layer.set_weights(exact.get_weights())
    outputs = keras.tree.flatten(layer(*inputs))
    dtype = "float32" if name in FLOAT32 else policy.removeprefix("mixed_")
    assert {dtype} == {keras.backend.standardize_dtype(x.dtype) for x in outputs}
    for a, b in zip(numbers(outputs), numbers(exact(*inputs)), strict=True):
        assert np.isfinite(a).all()
        np.testing.assert_allclose(a, b, atol=0.05, rtol=0.05)


OTHER = {"tensorflow": "jax", "jax": "tensorflow", "torch": "jax"}[keras.backend.backend()]
SCRIPT = """
import json, sys
import keras, numpy as np
import keraszoo.layers
task, results = np.load(sys.argv[1] + "/task.npz"), {}
for name, config in json.load(open(sys.argv[1] + "/configs.json")).items():
    layer, structure = keras.saving.deserialize_keras_object(config[0]), config[1]
    inputs = keras.tree.map_structure(lambda i: task[f"{name}/input/{i}"], structure)
    layer(*inputs)
    layer.set_weights([task[f"{name}/weight/{i}"] for i in range(len(layer.weights))])
    for i, x in enumerate(keras.tree.flatten(layer(*inputs))):
        results[f"{name}/{i}"] = keras.ops.convert_to_numpy(x)
np.savez(sys.argv[1] + "/results.npz", **results)
"""


@pytest.mark.slow
def test_another_backend_gives_the_same_numbers(on_backend, tmp_path):
    task, configs, expected = {}, {}, {}
    for name in LAYERS:
        layer, inputs = make(name), make_inputs(name)
        layer(*inputs)
        randomize(layer)
        flat = keras.tree.flatten(inputs)
        structure = keras.tree.pack_sequence_as(inputs, range(len(flat)))
        configs[name] = keras.saving.serialize_keras_object(layer), structure
        task |= {f"{name}/input/{i}": x for i, x in enumerate(flat)}
        task |= {f"{name}/weight/{i}": x for i, x in enumerate(layer.get_weights())}
        expected |= {f"{name}/{i}": x for i, x in enumerate(numbers(layer(*inputs)))}
    np.savez(tmp_path / "task.npz", **task)
    (tmp_path / "configs.json").write_text(json.dumps(configs))
    on_backend(OTHER, SCRIPT, tmp_path, timeout=300)
    results = np.load(tmp_path / "results.npz")
    assert set(results.files) == set(expected)
    for key in expected:
        np.testing.assert_allclose(results[key], expected[key], atol=1e-5, err_msg=key)


def test_a_size_may_be_a_number_of_numpy():
    layer = BahdanauAttention(np.int64(3))
    layer(np.ones((1, 2, 4), "float32"), np.ones((1, 5, 4), "float32"))
    assert json.loads(json.dumps(layer.get_config()))["units"] == 3
