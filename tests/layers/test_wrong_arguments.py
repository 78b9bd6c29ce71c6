"""Arguments, shapes and masks that do not fit are errors that name them."""

import math

import numpy as np
import pytest

from keraszoo import layers, models
from keraszoo.layers import BahdanauAttention

CELLS = r"cell must be one of \('gru', 'gru_reset_after', 'lstm', 'rnn'\). Received: cell='gro'"
SIZE = "must be a positive integer. Received: "
ABOVE_ZERO = "must be a number above 0. Received: "
HEADS = {"num_heads": 2, "key_dim": 4}
SHAPES_OF_RULES = [[True] * 2] * 2, [True] * 3, [True] * 2
ARGUMENTS = [
    ("AttentionDecoder", {"attention": BahdanauAttention(2), "units": 3, "cell": "gro"}, CELLS),
    ("AttentionDecoder", {"attention": layers.MultiHeadAttention(2, 4), "units": 3}, "weights .B, T, S."),
    ("BagOfSubwords", {"vocabulary_size": 9, "units": 5, "buckets": 200_000}, "at most 131072. Received"),
    ("BagOfSubwords", {"vocabulary_size": 9, "units": 5, "shortest": 5}, "longest must not be below"),
    ("BahdanauAttention", {"units": 0}, f"units {SIZE}units=0"),
    ("BidirectionalEncoder", {"units": 3, "num_layers": 0}, SIZE),
    ("CRF", {"num_tags": 0}, f"num_tags {SIZE}num_tags=0"),
    ("CRF", {"num_tags": 2, "constrain": "always"}, "constrain must be .* Received: constrain='always'"),
    ("CRF", {"num_tags": 2, "allowed": ([True, False],)}, r"allowed must be .* shapes=\[\(2,\)\]"),
    ("CRF", {"num_tags": 2, "allowed": SHAPES_OF_RULES}, r"shapes=\[\(2, 2\), \(3,\), \(2,\)\]"),
    ("CharacterEncoder", {"vocabulary_size": 9, "embedding_dim": 0}, SIZE),
    ("CharacterEncoder", {"vocabulary_size": 9, "kind": "gru"}, "kind must be .* Received: kind='gru'"),
    ("CharacterEncoder", {"vocabulary_size": 9, "window": 4}, "odd, positive and below 100. .*window=4"),
    ("FeedForwardAttention", {"units": 2.5}, f"units {SIZE}units=2.5"),
    ("GatedConvolution", {"units": 5, "kernel_size": 4}, "odd unless causal. Received: kernel_size=4"),
    ("KernelAttention", {"bandwidth": 0}, ABOVE_ZERO),
    ("KernelAttention", {"bandwidth": math.inf}, ABOVE_ZERO),
    ("KernelAttention", {"bandwidth": math.nan}, ABOVE_ZERO),
    ("KernelAttention", {"bandwidth": "1"}, ABOVE_ZERO),
    ("LearnedPositions", {"max_positions": 0}, f"max_positions {SIZE}"),
    ("LuongAttention", {"score": "cosine"}, "score must be one of .*Received: score='cosine'"),
    ("LuongAttention", {"window": "local"}, "window must be one of .*'global', .*Received: window='local'"),
    ("LuongAttention", {"half_width": 0}, f"half_width {ABOVE_ZERO}half_width=0"),
    ("LuongAttention", {"half_width": "3"}, f"half_width {ABOVE_ZERO}half_width='3'"),
    ("LuongAttention", {"units": -3}, f"units {SIZE}units=-3"),
    ("MixtureOfExperts", {"num_experts": 2, "intermediate_dim": 4, "experts_per_token": 3}, "at most num_ex"),
    ("MultiHeadAttention", {**HEADS, "num_heads": 0}, f"{SIZE}num_heads=0"),
    ("MultiHeadAttention", {**HEADS, "key_dim": 1.5}, f"{SIZE}key_dim=1.5"),
    ("MultiHeadAttention", {**HEADS, "key_dim": 3, "rotary": True}, "key_dim must be even. Received"),
    ("MultiHeadAttention", {**HEADS, "output_shape": (3, 4)}, f"output_shape {SIZE}"),
    ("MultiHeadAttention", {**HEADS, "relative": 0}, f"relative {SIZE}"),
    ("MultiHeadAttention", {**HEADS, "attention_axes": 1}, "Unrecognized keyword arguments"),
    ("MultiplicativeAttention", {"units": None}, "units must be a positive integer.* Received: units=None"),
    ("RecurrentCell", {"units": -3}, f"units {SIZE}units=-3"),
    ("RecurrentStack", {"units": 3, "num_layers": 0}, f"num_layers {SIZE}"),
    ("RecurrentTagger", {"num_tags": 0, "vocabulary_size": 9}, f"num_tags {SIZE}"),
    ("SentenceEncoder", {"vocabulary_size": 9, "width": 7, "encoding": "tree"}, "encoding='tree'"),
    ("TransformerEncoderLayer", {"num_heads": 0, "intermediate_dim": 8}, SIZE),
    ("TransformerTagger", {"num_tags": 3, "vocabulary_size": 9, "num_layers": 0}, SIZE),
]


@pytest.mark.parametrize(("name", "arguments", "said"), ARGUMENTS)
def test_arguments_of_a_constructor_are_checked(name, arguments, said):
    kind = getattr(layers, name, None) or getattr(models, name)
    with pytest.raises(ValueError, match=said):
        kind(**arguments)


B, T, S, D = 2, 3, 5, 4
DECODER = layers.AttentionDecoder(BahdanauAttention(3), 4)
DEEP_DECODER = layers.LuongDecoder(BahdanauAttention(3), 4, num_layers=2)
ONE_WIDTH = r"queries and keys of one width.*\(2, 3, 4\).*\(2, 5, 6\)"
HOP = "queries, keys and values of one width"
OF_HEADS = "multiple of num_heads. Received: width=5, num_heads=2"
RANK = "expected ndim=3, found ndim=2"
INPUTS = [  # layer, shapes of its inputs, shapes of its masks, message
    (DECODER, [(4, T, D), (B, S, D)], {}, "of one batch size"),
    (DECODER, [(B, D), (B, S, D)], {}, "of one batch size. Received: inputs.shape="),
    (DECODER, [(B, T, D), (B, S, D), (B, 7)], {}, "a list of 1 x .2, 4."),
    (DECODER, [(B, T, D), (B, S, D)], {"memory_mask": (B, 9)}, "_mask must"),
    (DEEP_DECODER, [(B, T, D), (B, S, D), (B, 4)], {}, "a list of 4 x .2, 4.. Received: shapes="),
    (layers.BagOfSubwords(9, 5), [(B, T)], {}, RANK),
    (layers.CharacterEncoder(9), [(B, T)], {}, RANK),
    (layers.FeedForwardAttention(3), [(B, T)], {}, r"value must be.*Received: value.shape=\(2, 3\)"),
    (layers.FeedForwardAttention(3), [(B, T, D)], {"mask": (B, T + 1)}, r"mask must be.*mask.shape=\(2, 4\)"),
    (layers.KernelAttention(), [(B, T, D), (B, S, 6)], {}, "A distance needs queries and keys of one width"),
    (layers.LuongAttention("dot"), [(B, T, D), (B, S, 6)], {}, ONE_WIDTH),
    (layers.MemoryHop(), [(B, T, D), (B, S, D), (B, S, 6)], {}, HOP),
    (layers.MemoryHop(), [(B, T, D), (B, S, 6), (B, S, D)], {}, HOP),
    (layers.LearnedPositions(7), [(D,)], {}, "expected min_ndim=2, found ndim=1"),
    (layers.PositionalEncoding(), [(B, T, 5)], {}, r"d_model must be even. Received: inputs.shape=\(2, 3, 5"),
    (layers.RecurrentStack(4), [(B, T)], {}, RANK),
    (layers.RecurrentStack(4), [(B, T, D)], {"mask": (B, T + 1)}, "mask must be .batch, length.. Received"),
    (layers.ScaledDotProductAttention(), [(B, T, D), (B, S, 6)], {}, ONE_WIDTH),
    (layers.TransformerDecoderLayer(2, 3), [(B, T, 5), (B, T, 5)], {}, OF_HEADS),
    (layers.TransformerDecoderLayer(2, 3), [(B, D), (B, S, D)], {}, r"(?s)shape.*\("),
    (layers.TransformerDecoderLayer(2, 3), [(B, T, D), (1, S, D)], {}, r"(?s)shape.*\("),
    (layers.TransformerDecoderLayer(2, 3), [(B, T, D), (B, S, D)], {"memory_mask": (S, B)}, r"(?s)shape.*\("),
    (layers.TransformerEncoderLayer(2, 3), [(B, D)], {}, r"(?s)shape.*\("),
    (layers.TransformerEncoderLayer(2, 3), [(B, T, D)], {"mask": (B, T + 1)}, r"(?s)shape.*\("),
]


@pytest.mark.parametrize(("layer", "shapes", "masks", "said"), INPUTS)
def test_shapes_of_inputs_and_masks_are_checked(layer, shapes, masks, said):
    inputs = [np.ones(shape, "float32") for shape in shapes]
    with pytest.raises(ValueError, match=said):
        layer(*inputs, **{name: np.ones(shape, bool) for name, shape in masks.items()})
