"""The attention layers as a Keras user calls them: shapes that do not fit, arguments and options."""

import inspect

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import LuongAttention, MultiHeadAttention, ScaledDotProductAttention
from keraszoo.layers.arguments import constructor_arguments

to_numpy = ops.convert_to_numpy
B, T, S, D, H = 3, 4, 5, 6, 2


@keras.saving.register_keras_serializable(package="tests")
class Shifted(ScaledDotProductAttention):
    """A user's layer that keeps its arguments as attributes and writes no config."""

    def __init__(self, shift, sizes=(1, 2), **kwargs):
        super().__init__(**kwargs)
        self.shift, self.sizes = shift, sizes

    def scores(self, query, keys):
        return super().scores(query, keys) + self.shift


LAYERS = {
    "dot": lambda: LuongAttention("dot"),
    "multi_head": lambda: MultiHeadAttention(num_heads=H, key_dim=4),
}


def draw(*shapes):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


# --- shapes


WRONG = {
    "rank 1": ((B,), {}, "query must be"),
    "rank 4": ((B, T, D, D), {}, "query must be"),
    "batch": ((B + 1, T, D), {}, "value must be"),
    "batch of one step": ((B + 1, D), {}, "value must be"),
    "value": ((B, T, D), {"value": (B, D)}, "value must be"),
    "key": ((B, T, D), {"key": (B, S + 1, D)}, "key must be"),
    "query_mask": ((B, T, D), {"query_mask": (B, T + 1)}, "query_mask must be"),
    "query_mask of one step": ((B, D), {"query_mask": (B, S)}, "query_mask must be"),
    "value_mask": ((B, T, D), {"value_mask": (B, S + 1)}, "value_mask must be"),
    "value_mask of pairs": ((B, T, D), {"value_mask": (B, T, S)}, "value_mask must be"),
    "key_mask": ((B, T, D), {"key_mask": (B + 1, S)}, "key_mask must be"),
    "attention_mask of sentences": ((B, T, D), {"attention_mask": (B, S)}, "attention_mask must be"),
    "attention_mask": ((B, T, D), {"attention_mask": (B, T, T)}, "attention_mask must be"),
    "heads": ((B, T, D), {"attention_mask": (B, H + 1, T, S)}, "attention_mask must be"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("name", ["dot", "multi_head"])  # the check is in the base class
def test_other_shapes_are_errors_of_numbers_and_of_symbols(name, case):
    query, others, message = WRONG[case]
    shapes = {"query": query, "value": (B, S, D), **others}
    dtypes = {name: "bool" if name.endswith("mask") else "float32" for name in shapes}
    arrays = {name: np.ones(shape, dtypes[name]) for name, shape in shapes.items()}
    symbols = {name: keras.Input(batch_shape=x.shape, dtype=str(x.dtype)) for name, x in arrays.items()}
    for inputs in (arrays, symbols):
        for built in (False, True):
            layer = LAYERS[name]()
            if built:
                layer.build((B, T, D), (B, S, D))
            with pytest.raises(ValueError, match=rf"(?s){message}.*Received: .*shape=\("):
                layer(**inputs)


# --- arguments


def test_multi_head_attention_has_the_arguments_of_keras_in_their_order():
    def arguments(layer, function="__init__"):
        return [
            name
            for name, p in inspect.signature(getattr(layer, function)).parameters.items()
            if p.kind is p.POSITIONAL_OR_KEYWORD
        ]

    ours, theirs = arguments(MultiHeadAttention), arguments(keras.layers.MultiHeadAttention)
    assert ours == theirs[: len(ours)] and len(ours) == 7  # self and six
    options = set(theirs[len(ours) :]) & set(constructor_arguments(MultiHeadAttention))
    assert len(options) == 7  # seed, and those of kernels and biases
    calls = arguments(keras.layers.MultiHeadAttention, "call")
    calls.remove("return_attention_scores")  # ours always returns them
    assert arguments(MultiHeadAttention, "call")[: len(calls)] == calls


def test_weights_of_one_initializer_differ_and_a_seed_of_dropout_repeats(agree):
    layer = MultiHeadAttention(2, 3, kernel_initializer=keras.initializers.GlorotUniform())
    layer.build((None, None, D), (None, None, D))
    assert np.abs(to_numpy(layer.W_q.kernel) - to_numpy(layer.W_k.kernel)).max() > 1e-3
    query, value = draw((B, T, D), (B, S, D))
    one, other = (ScaledDotProductAttention(dropout=0.5, seed=3) for _ in range(2))
    agree(one(query, value, training=True), other(query, value, training=True))


def test_a_layer_of_a_user_is_read_again_with_arrays_and_tuples():
    layer = Shifted(np.arange(S, dtype="float32"), sizes=(3, 4), scale=2.0)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert (again.sizes, again.scale) == ((3, 4), 2.0)
    inputs = draw((B, T, D), (B, S, D))
    for ours, theirs in zip(layer(*inputs), again(*inputs), strict=True):
        np.testing.assert_array_equal(to_numpy(ours), to_numpy(theirs))
