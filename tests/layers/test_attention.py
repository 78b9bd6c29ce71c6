"""What all attention layers have in common: masks, zero rows, dropout, the two halves of a call."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

import keraszoo.layers
from keraszoo.layers import (
    Attention,
    LuongAttention,
    MemoryHop,
    MultiHeadAttention,
    ScaledDotProductAttention,
)
from keraszoo.layers.arguments import constructor_arguments

to_numpy = ops.convert_to_numpy
B, T, S, D = 2, 3, 5, 7

# what the constructors of some layers need
GIVEN = {"units": 11, "bandwidth": 2.0, "num_heads": 2, "key_dim": 3}


def maker(kind):
    given = {name: GIVEN[name] for name in GIVEN.keys() & constructor_arguments(kind).keys()}
    return lambda **options: kind(**given, **options)


LAYERS = {
    kind.__name__: maker(kind)
    for kind in vars(keraszoo.layers).values()
    if isinstance(kind, type) and issubclass(kind, Attention) and kind is not Attention
}
LAYERS["rotary and relative"] = lambda **options: MultiHeadAttention(2, 4, rotary=True, relative=2, **options)


@pytest.fixture(params=LAYERS)
def make(request):
    return LAYERS[request.param]


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    return rng.normal(size=(B, T, D)).astype("float32"), rng.normal(size=(B, S, D)).astype("float32")


def numbers(pair):
    return [to_numpy(x) for x in pair]


class Bilinear(Attention):
    """A score as a user may write it, with a bare weight."""

    def make_weights(self, query_shape, value_shape, key_shape):
        self.W = self.add_weight(name="W", shape=(query_shape[-1], key_shape[-1]))

    def scores(self, query, keys):
        return ops.matmul(ops.matmul(query, self.W), ops.swapaxes(keys, -1, -2))


def test_a_subclass_supplies_scores_alone(data):
    query, value = data
    layer, mask = Bilinear(), np.arange(S) < np.array([3, 5])[:, None]
    layer.build(query.shape, value.shape)
    layer.W.assign(np.zeros((D, D)))
    context, weights = numbers(layer(query, value, value_mask=mask))
    np.testing.assert_allclose(context[:, 1], [value[0, :3].mean(0), value[1].mean(0)], atol=1e-6)
    np.testing.assert_allclose(weights[0, 0], [1 / 3, 1 / 3, 1 / 3, 0, 0], atol=1e-6)


def test_the_base_has_no_scores(data):
    with pytest.raises(TypeError, match=r"Attention is abstract: a subclass supplies scores\(query, keys\)"):
        Attention().scores(*data)


def test_padding_changes_nothing(make, data):
    query, value = data
    layer = make()
    context, weights = numbers(layer(query, value))
    garbage = np.full((B, 4, D), 1e4, "float32")
    mask = np.broadcast_to(np.arange(S + 4) < S, (B, S + 4))
    padded, padded_weights = numbers(layer(query, np.concatenate([value, garbage], 1), value_mask=mask))
    np.testing.assert_allclose(padded, context, atol=1e-6)
    np.testing.assert_allclose(padded_weights[..., :S], weights, atol=1e-6)
    assert (padded_weights[..., S:] == 0).all()


def test_nothing_to_attend_to_gives_weights_and_context_of_zero(make, data):
    query, value = data
    layer, expected = make(), np.zeros((T, D))
    layer(query, value)
    if isinstance(layer, MultiHeadAttention):  # its heads are zero, so what comes out is the last bias
        layer.W_o.bias.assign(np.arange(D))
        expected = expected + np.arange(D)
    elif isinstance(layer, MemoryHop):
        expected = query[0]
    context, weights = numbers(layer(query, value, value_mask=np.array([[False] * S, [True] * S])))
    assert (weights[0] == 0).all()
    np.testing.assert_array_equal(context[0], expected)
    np.testing.assert_allclose(weights[1].sum(-1), 1, atol=1e-6)


def seen_by(weights):
    """Whether any head attends, `(B, T, S)`."""
    weights = to_numpy(weights)
    return (weights if weights.ndim == 3 else weights.max(1)) > 0


def test_masks_of_values_of_pairs_and_of_causality_work_together(agree, make):
    x = np.random.default_rng(2).normal(size=(B, S, D)).astype("float32")
    of_values = np.arange(S) < np.array([4, 5])[:, None]
    of_pairs = np.ones((B, S, S), bool)
    of_pairs[:, 3, 1] = False
    allowed = np.zeros((B, S, S), bool)
    for b, t, s in np.ndindex(B, S, S):
        allowed[b, t, s] = of_values[b, s] and of_pairs[b, t, s] and s <= t
    layer = make()
    together = numbers(layer(x, x, value_mask=of_values, attention_mask=of_pairs, use_causal_mask=True))
    agree(together, layer(x, x, attention_mask=allowed), atol=1e-6)
    np.testing.assert_array_equal(seen_by(together[1]), allowed)


WINDOWS = [partial(LuongAttention, "dot", "monotonic"), partial(LuongAttention, "concat", "predictive")]
also_with_windows = pytest.mark.parametrize("make", [*LAYERS.values(), *WINDOWS])


@also_with_windows
def test_a_mask_of_two_axes_is_for_all_sentences(agree, make):
    rng = np.random.default_rng(0)
    shapes = (T, T, D), (T, S, D)  # B = T: (T, S) could be read as (B, S)
    query, value = (rng.normal(size=shape).astype("float32") for shape in shapes)
    layer, mask = make(), np.tri(T, S, 1, dtype=bool)
    expected = layer(query, value, attention_mask=np.broadcast_to(mask, (T, T, S)))
    agree(layer(query, value, attention_mask=mask), expected)
    weights = to_numpy(expected[1])
    assert (weights[..., ~mask] == 0).all()


@also_with_windows
def test_masks_of_keys_and_values_arrive_from_their_embeddings_and_both_hold(agree, make, data):
    layer, query = make(), data[0]
    ids = np.array([[4, 2, 0, 0, 3], [1, 3, 2, 5, 0]])
    others = np.array([[1, 0, 2, 0, 5]] * B)
    embed = keras.layers.Embedding(6, D, mask_zero=True)
    value, key = (to_numpy(embed(x)) for x in (ids, others))
    arrived = layer(query, embed(ids), key=embed(others))
    agree(arrived, layer(query, value, key=key, value_mask=ids != 0, key_mask=others != 0))
    agree(arrived, layer(query, value, key=key, value_mask=(ids != 0) & (others != 0)))


@also_with_windows
def test_a_symbolic_query_of_rank_2_has_the_shapes_and_numbers_of_an_eager_one(agree, make, data):
    symbols = keras.Input((D,)), keras.Input((None, D))
    layer, inputs = make(), (data[0][:, 0], data[1])
    outputs, eager = layer(*symbols), layer(*inputs)
    for symbol, array in zip(outputs, eager, strict=True):
        assert all(known in (None, size) for known, size in zip(symbol.shape, array.shape, strict=True))
    agree(keras.Model(symbols, outputs)(inputs), eager)


def test_steps_over_a_prepared_memory_equal_the_whole(agree, make, data):
    query, value = data
    mask = np.arange(S) < np.array([3, 5])[:, None]
    key = np.random.default_rng(3).normal(size=(B, S, D)).astype("float32")
    layer = make()
    called = numbers(layer(query, value, key=key, value_mask=mask))
    prepared = layer.prepare(value, key)
    for t in range(T):  # one query at a time, as a decoder that steps has them
        step = layer(query[:, t], prepared=prepared, value_mask=mask, positions=[t])
        agree(step, (called[0][:, t], called[1][..., t, :]))


def test_dropout_works_in_training_alone_and_the_weights_returned_are_whole(make, data):
    layer = make(dropout=0.5)
    silent, weights = numbers(layer(*data, training=False))
    again, _ = numbers(layer(*data))
    noisy, weights_in_training = numbers(layer(*data, training=True))
    np.testing.assert_array_equal(silent, again)
    assert np.abs(noisy - silent).max() > 1e-3
    np.testing.assert_array_equal(weights, weights_in_training)


def test_lengths_of_one_and_of_zero(make):
    query, value = np.ones((B, 1, D), "float32"), np.ones((B, 1, D), "float32")
    layer = make()
    context, weights = numbers(layer(query, value))
    assert (weights == 1).all()
    context, weights = numbers(layer(query[:, :0], value))
    assert context.shape == (B, 0, D)
    assert weights.shape[-2:] == (0, 1)


def test_the_mask_of_the_queries_goes_on_with_the_context(make, data):
    ids = np.array([[4, 2, 0], [1, 3, 2]])
    embedding, layer = keras.layers.Embedding(6, D, mask_zero=True), make()
    queries = embedding(ids)
    for value in (queries, data[1]):
        context, weights = layer(queries, value)
        np.testing.assert_array_equal(to_numpy(context._keras_mask), ids != 0)
        assert getattr(weights, "_keras_mask", None) is None
    context, _ = layer(data[0], data[1], query_mask=ids != 0)
    np.testing.assert_array_equal(to_numpy(context._keras_mask), ids != 0)
    context, _ = layer(data[0], embedding(ids))  # the mask of the values does not
    assert getattr(context, "_keras_mask", None) is None


def test_the_mask_of_the_queries_reaches_the_loss_of_a_model():
    ids = np.array([[4, 2, 0], [1, 3, 2]], "int32")
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(6, D, mask_zero=True)(inputs)
    model = keras.Model(inputs, ScaledDotProductAttention()(x, x)[0])
    model.compile(loss="mse", run_eagerly=True)
    loss = model.evaluate(ids, np.zeros((2, 3, D)), verbose=0)
    real = to_numpy(model(ids))[ids != 0]
    assert loss == pytest.approx(np.mean(real**2), rel=1e-4)


def test_a_causal_step_sees_the_keys_up_to_its_position(agree, make, data):
    _, value = data
    layer = make()
    whole = numbers(layer(value, value, use_causal_mask=True))
    for t in range(S):
        context, weights = numbers(layer(value[:, t], value, use_causal_mask=True, positions=[t]))
        agree((context, weights), (whole[0][:, t], whole[1][..., t, :]))
        assert ((weights > 0) == (np.arange(S) <= t)).all()


def test_causality_compares_positions_of_queries_and_keys(make, data):
    _, weights = make()(*data, use_causal_mask=True, positions=[4, 1, 0], key_positions=[0, 3, 1, 4, 2])
    seen = np.array([[4, 1, 0]]).T >= np.array([0, 3, 1, 4, 2])
    assert ((to_numpy(weights) > 0) == seen).all()


def test_a_mask_that_is_added_to_scores_is_an_error(make, data):
    added = np.where(np.arange(S) < 3, 0.0, -1e9).astype("float32")
    for masks in ({"value_mask": np.tile(added, (B, 1))}, {"attention_mask": np.tile(added, (T, 1))}):
        with pytest.raises(ValueError, match="A mask must be bool, True = keep, not numbers that are added"):
            make()(*data, **masks)


def test_a_float_mask_of_0_and_1_is_a_mask_in_a_graph_too(agree, make, data):
    query, value = data
    mask = (np.arange(S) < np.array([3, 5])[:, None]).astype("float32")
    layer = make()
    symbols = keras.Input((T, D)), keras.Input((S, D)), keras.Input((S,))
    model = keras.Model(symbols, layer(*symbols[:2], value_mask=symbols[2]))
    expected = layer(query, value, value_mask=mask > 0)
    for outputs in (layer(query, value, value_mask=mask), model([*data, mask])):
        agree(outputs, expected, atol=1e-6)


HINTS = [
    (slice(1), {}, r"value is missing: call layer\(query, value\)"),
    (None, {}, r"call layer\(query, value\), not layer\(\[query, value\]\)"),
    (slice(2), {"return_attention_scores": True}, "attention weights are always returned. Received: return_"),
    (slice(2), {"mask": np.ones((B, T), bool)}, "Masks are passed as value_mask or attention_mask"),
    (slice(2), {"prepared": (np.ones((B, S, D)),) * 2}, "Pass either value and key or prepared"),
]


@pytest.mark.parametrize(("given", "options", "hint"), HINTS)
@pytest.mark.parametrize("name", ["ScaledDotProductAttention", "MultiHeadAttention"])
def test_calls_as_of_other_layers_are_errors_with_a_hint(name, data, given, options, hint):
    make = LAYERS[name]
    built = make()
    built(*data)
    for layer in (make(), built):
        with pytest.raises(ValueError, match=hint):
            layer(*([list(data)] if given is None else data[given]), **options)


def test_prepared_needs_a_layer_that_is_built(make, data):
    with pytest.raises(ValueError, match="value is missing: .* if it is built"):
        make()(data[0], prepared=(data[1], data[1]))


def test_given_factors_replace_dropout(make, data):
    layer = make(dropout=0.9)
    kept = np.random.default_rng(5).integers(0, 2, (B, 1, S)).astype("float32") * 2
    context, weights = numbers(layer(*data, kept=np.broadcast_to(kept, (B, T, S)), training=True))
    np.testing.assert_allclose(weights, numbers(layer(*data))[1])
    value = data[1] * kept[:, 0, :, None]  # a weight times a factor times a value
    if not isinstance(layer, MultiHeadAttention):
        key = {"key": data[1]}
        np.testing.assert_allclose(context, numbers(layer(data[0], value, **key))[0], atol=1e-5)


@pytest.mark.parametrize("make", [*LAYERS.values(), Bilinear])
def test_a_step_and_a_whole_call_have_one_precision(make, data):
    layer = make(dtype="mixed_bfloat16")
    whole = layer(*data)
    prepared = layer.prepare(ops.convert_to_tensor(data[1]))
    step = layer(data[0][:, 1], prepared=prepared, positions=[1])
    assert {keras.backend.standardize_dtype(x.dtype) for x in (*whole, *step)} == {"bfloat16"}
    for a, b in zip(whole, step, strict=True):
        a, b = (to_numpy(ops.cast(x, "float32")) for x in (a, b))
        np.testing.assert_allclose(b, a[:, 1] if a.ndim == 3 else a[:, :, 1], atol=0.03)


@pytest.mark.parametrize("floatx", ["float16", "float64"])
def test_the_default_dtype_of_keras_changes_no_result(make, data, floatx):
    layer = make(dtype="float32")
    options = {"use_causal_mask": True, "value_mask": np.arange(S) < np.array([3, 5])[:, None]}
    expected = layer(*data, **options)
    usual = keras.config.floatx()
    keras.config.set_floatx(floatx)
    try:
        actual = layer(*data, **options)
    finally:
        keras.config.set_floatx(usual)
    for a, b in zip(actual, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(to_numpy(a), to_numpy(b))
