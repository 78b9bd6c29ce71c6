"""Keras' own helper for tests of layers, `run_layer_test`, on the layers that take floats."""

import keras
import pytest
from keras.src.testing import TestCase

from keraszoo.layers import (
    CRF,
    BahdanauAttention,
    FeedForward,
    FeedForwardAttention,
    KernelAttention,
    LearnedPositions,
    LuongAttention,
    MemoryHop,
    MixtureOfExperts,
    MultiHeadAttention,
    MultiplicativeAttention,
    PositionalEncoding,
    ScaledDotProductAttention,
)

ONE, TWO = (2, 3, 8), {"query_shape": (2, 3, 8), "value_shape": (2, 5, 8)}
CASES = {
    "bahdanau": (BahdanauAttention, {"units": 7, "normalize": True, "dropout": 0.1}, TWO),
    "concat": (LuongAttention, {"score": "concat", "window": "predictive", "scale": True}, TWO),
    "crf": (CRF, {"num_tags": 8}, ONE),
    "feed_forward": (FeedForward, {"intermediate_dim": 7, "dropout": 0.1}, ONE),
    "feed_forward_attention": (FeedForwardAttention, {"units": 7, "use_bias": True}, ONE),
    "kernel": (KernelAttention, {"bandwidth": 2.0, "learn_bandwidth": True}, TWO),
    "learned_positions": (LearnedPositions, {"max_positions": 4}, ONE),
    "memory_hop": (MemoryHop, {"use_map": True}, TWO),
    "mixture_of_experts": (MixtureOfExperts, {"num_experts": 4, "intermediate_dim": 7, "dropout": 0.1}, ONE),
    "multi_head": (MultiHeadAttention, {"num_heads": 2, "key_dim": 4, "relative": 2, "rotary": True}, TWO),
    "multiplicative": (MultiplicativeAttention, {"units": 7}, TWO),
    "positional_encoding": (PositionalEncoding, {"max_wavelength": 100}, ONE),
    "scaled_dot": (ScaledDotProductAttention, {"scale": 0.5, "dropout": 0.1}, TWO),
}
POLICIES = ["float32", "mixed_bfloat16", "mixed_float16"]
SLOW = ["bfloat16", "float16", "float64"]


@pytest.mark.filterwarnings("ignore:`shuffle=True` was passed")  # by the helper
@pytest.mark.parametrize("policy", POLICIES + [pytest.param(name, marks=pytest.mark.slow) for name in SLOW])
@pytest.mark.parametrize("case", CASES)
def test_a_layer_is_as_keras_wants_its_layers(case, policy):
    kind, arguments, shapes = CASES[case]
    dtype = keras.dtype_policies.get(policy).compute_dtype
    given = "float32" if dtype == "bfloat16" else dtype  # the helper draws no bfloat16
    dtype = keras.backend.result_type(dtype, "float32") if kind is CRF else dtype  # no half precision
    expected = (dtype, dtype) if shapes is TWO or kind is FeedForwardAttention else dtype
    if keras.backend.backend() == "torch" and policy.startswith("mixed"):
        expected = None  # symbols of a Dense inside a layer are float32 there
    TestCase().run_layer_test(
        kind,
        init_kwargs={**arguments, "dtype": policy},
        input_shape=shapes,
        input_dtype=keras.tree.map_shape_structure(lambda _: given, shapes),
        expected_output_dtype=expected,
        supports_masking=True,
        run_training_check=shapes is ONE and kind is not PositionalEncoding,  # it has no weights
        run_mixed_precision_check=policy == "float32",
    )
