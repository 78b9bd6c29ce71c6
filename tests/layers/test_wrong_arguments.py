"""Arguments, shapes and masks that do not fit are errors that name them."""

import math

import numpy as np
import pytest

from keraszoo.layers import (
    CRF,
    AttentionDecoder,
    BagOfSubwords,
    BahdanauAttention,
    BidirectionalEncoder,
    CharacterEncoder,
    FeedForwardAttention,
    GatedConvolution,
    KernelAttention,
    LearnedPositions,
    LuongAttention,
    LuongDecoder,
    MemoryHop,
    MixtureOfExperts,
    MultiHeadAttention,
    MultiplicativeAttention,
    PositionalEncoding,
    RecurrentCell,
    RecurrentStack,
    ScaledDotProductAttention,
    SentenceEncoder,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from keraszoo.models import RecurrentTagger, RNNSearch, TransformerTagger

CELLS = r"cell must be one of \('gru', 'gru_reset_after', 'lstm', 'rnn'\). Received: cell='gro'"
ABOVE_ZERO = "bandwidth must be a number above 0. Received: bandwidth="
UNKNOWN = "Unrecognized keyword arguments passed to MultiHeadAttention"
ARGUMENTS = [
    (AttentionDecoder, {"attention": BahdanauAttention(2), "units": 3, "cell": "gro"}, CELLS),
    (AttentionDecoder, {"attention": MultiHeadAttention(2, 4), "units": 3}, "must have weights .B, T, S."),
    (BagOfSubwords, {"vocabulary_size": 9, "units": 5, "buckets": 200_000}, "at most 131072. Received"),
    (BagOfSubwords, {"vocabulary_size": 9, "units": 5, "shortest": 5}, "longest must not be below"),
    (BahdanauAttention, {"units": 0}, "units must be a positive integer. Received: units=0"),
    (BahdanauAttention, {"units": 2.5}, "units must be a positive integer. Received: units=2.5"),
    (BidirectionalEncoder, {"units": 3, "cell": "gro"}, CELLS),
    (BidirectionalEncoder, {"units": 3, "num_layers": 0}, "must be a positive integer"),
    (CRF, {"num_tags": 0}, "num_tags must be a positive integer. Received: num_tags=0"),
    (CRF, {"num_tags": 2, "constrain": "always"}, "constrain must be .* Received: constrain='always'"),
    (
        CRF,
        {"num_tags": 2, "allowed": ([True, False],)},
        r"allowed must be \(transitions, start, end\) of .* Received: shapes=\[\(2,\)\]",
    ),
    (
        CRF,
        {"num_tags": 2, "allowed": ([[True] * 2] * 2, [True] * 3, [True] * 2)},
        r"allowed must be .* Received: shapes=\[\(2, 2\), \(3,\), \(2,\)\]",
    ),
    (CharacterEncoder, {"vocabulary_size": 9, "embedding_dim": 0}, "must be a positive integer"),
    (CharacterEncoder, {"vocabulary_size": 9, "kind": "gru"}, "kind must be .* Received: kind='gru'"),
    (
        CharacterEncoder,
        {"vocabulary_size": 9, "window": 4},
        "window must be odd, positive and below 100. Received: window=4",
    ),
    (FeedForwardAttention, {"units": 2.5}, "units must be a positive integer. Received: units=2.5"),
    (GatedConvolution, {"units": 5, "kernel_size": 4}, "must be odd unless causal. Received: kernel_size=4"),
    (KernelAttention, {"bandwidth": 0}, ABOVE_ZERO),
    (KernelAttention, {"bandwidth": math.inf}, ABOVE_ZERO),
    (KernelAttention, {"bandwidth": math.nan}, ABOVE_ZERO),
    (KernelAttention, {"bandwidth": "1"}, ABOVE_ZERO),
    (LearnedPositions, {"max_positions": 0}, "max_positions must be a positive integer. Received"),
    (LuongAttention, {"score": "cosine"}, "score must be one of .*Received: score='cosine'"),
    (LuongAttention, {"window": "local"}, "window must be one of .*'global', .*Received: window='local'"),
    (LuongAttention, {"half_width": 0}, "half_width must be a number above 0. Received: half_width=0"),
    (LuongAttention, {"half_width": "3"}, "half_width must be a number above 0. Received: half_width='3'"),
    (LuongAttention, {"units": -3}, "units must be a positive integer. Received: units=-3"),
    (
        MixtureOfExperts,
        {"num_experts": 2, "intermediate_dim": 4, "experts_per_token": 3},
        "experts_per_token must be at most num_experts",
    ),
    (MultiHeadAttention, {"num_heads": 0, "key_dim": 3}, "must be a positive integer. Received: num_heads=0"),
    (MultiHeadAttention, {"num_heads": 2, "key_dim": 1.5}, "positive integer. Received: key_dim=1.5"),
    (MultiHeadAttention, {"num_heads": 2, "key_dim": 3, "rotary": True}, "key_dim must be even. Received"),
    (
        MultiHeadAttention,
        {"num_heads": 2, "key_dim": 4, "relative": 0},
        "relative must be a positive",
    ),
    (MultiHeadAttention, {"num_heads": 2, "key_dim": 4, "attention_axes": 1}, UNKNOWN),
    (
        MultiHeadAttention,
        {"num_heads": 2, "key_dim": 4, "output_shape": (3, 4)},
        "output_shape must be a p",
    ),
    (MultiplicativeAttention, {"units": None}, "units must be a positive integer.* Received: units=None"),
    (RNNSearch, {"source_vocabulary_size": 11, "cell": "gro"}, CELLS),
    (RecurrentTagger, {"num_tags": 0, "vocabulary_size": 9}, "num_tags must be a positive integer. Received"),
    (RecurrentCell, {"units": -3}, "units must be a positive integer. Received: units=-3"),
    (RecurrentCell, {"units": 3, "cell": "gro"}, CELLS),
    (RecurrentStack, {"units": 0}, "units must be a positive integer. Received: "),
    (RecurrentStack, {"units": 3, "num_layers": 0}, "num_layers must be a positive integer. Received: "),
    (SentenceEncoder, {"vocabulary_size": 9, "width": 7, "encoding": "tree"}, "encoding='tree'"),
    (TransformerEncoderLayer, {"num_heads": 0, "intermediate_dim": 8}, "must be a positive integer"),
    (TransformerTagger, {"num_tags": 3, "vocabulary_size": 9, "num_layers": 0}, "must be a positive integer"),
]


@pytest.mark.parametrize(("kind", "arguments", "said"), ARGUMENTS)
def test_arguments_of_a_constructor_are_checked(kind, arguments, said):
    with pytest.raises(ValueError, match=said):
        kind(**arguments)


B, T, S, D = 2, 3, 5, 4
ONE_WIDTH = r"queries and keys of one width.*\(2, 3, 4\).*\(2, 5, 6\)"
HEADS = "multiple of num_heads. Received: width=5, num_heads=2"
RANK = "expected ndim=3, found ndim=2"
INPUTS = [  # layer, shapes of its inputs, shapes of its masks, message
    (AttentionDecoder(BahdanauAttention(3), 4), [(4, T, D), (B, S, D)], {}, r"of one batch size"),
    (AttentionDecoder(BahdanauAttention(3), 4), [(B, T, D), (B, S, D), (B, 7)], {}, "a list of 1 x .2, 4."),
    (AttentionDecoder(BahdanauAttention(3), 4, "lstm"), [(B, T, D), (B, S, D), (B, 7)], {}, "list of 2 x .2"),
    (
        AttentionDecoder(BahdanauAttention(3), 4),
        [(B, T, D), (B, S, D)],
        {"memory_mask": (B, 9)},
        "_mask must",
    ),
    (BagOfSubwords(9, 5), [(B, T)], {}, RANK),
    (BidirectionalEncoder(4), [(B, T, D)], {"mask": (B, T - 1)}, "mask must be .batch, length.. Received"),
    (CharacterEncoder(9), [(B, T)], {}, RANK),
    (FeedForwardAttention(3), [(B, T)], {}, r"value must be.*Received: value.shape=\(2, 3\)"),
    (FeedForwardAttention(3), [(B, T, D)], {"mask": (B, T + 1)}, r"mask must be.*mask.shape=\(2, 4\)"),
    (KernelAttention(), [(B, T, D), (B, S, 6)], {}, "A distance needs queries and keys of one width"),
    (LuongAttention("dot"), [(B, T, D), (B, S, 6)], {}, ONE_WIDTH),
    (
        LuongDecoder(BahdanauAttention(3), 4, num_layers=2),
        [(B, T, D), (B, S, D), (B, 4)],
        {},
        "the state must be a list of 4 x .2, 4.. Received: shapes=",
    ),
    (MemoryHop(), [(B, T, D), (B, S, D), (B, S, 6)], {}, "queries, keys and values of one width"),
    (MemoryHop(), [(B, T, D), (B, S, 6), (B, S, D)], {}, "queries, keys and values of one width"),
    (PositionalEncoding(), [(B, T, 5)], {}, r"d_model must be even. Received: inputs.shape=\(2, 3, 5\)"),
    (RecurrentStack(4), [(B, T)], {}, RANK),
    (RecurrentStack(4), [(B, T, D)], {"mask": (B, T + 1)}, "mask must be .batch, length.. Received"),
    (ScaledDotProductAttention(), [(B, T, D), (B, S, 6)], {}, ONE_WIDTH),
    (TransformerDecoderLayer(2, 3), [(B, T, 5), (B, T, 5)], {}, HEADS),
    (TransformerDecoderLayer(2, 3), [(B, D), (B, S, D)], {}, r"(?s)shape.*\("),
    (TransformerDecoderLayer(2, 3), [(B, T, D), (1, S, D)], {}, r"(?s)shape.*\("),
    (TransformerDecoderLayer(2, 3), [(B, T, D), (B, S, D)], {"memory_mask": (S, B)}, r"(?s)shape.*\("),
    (TransformerEncoderLayer(2, 3), [(B, T, 5)], {}, HEADS),
    (TransformerEncoderLayer(2, 3), [(B, D)], {}, r"(?s)shape.*\("),
    (TransformerEncoderLayer(2, 3), [(B, T, D)], {"mask": (B, T + 1)}, r"(?s)shape.*\("),
]


@pytest.mark.parametrize(("layer", "shapes", "masks", "said"), INPUTS)
def test_shapes_of_inputs_and_masks_are_checked(layer, shapes, masks, said):
    inputs = [np.ones(shape, "float32") for shape in shapes]
    with pytest.raises(ValueError, match=said):
        layer(*inputs, **{name: np.ones(shape, bool) for name, shape in masks.items()})


def test_a_decoder_that_is_built_checks_the_rank_of_its_inputs():
    decoder, memory = AttentionDecoder(BahdanauAttention(3), 4), np.ones((B, S, D))
    decoder(np.ones((B, T, D)), memory)
    with pytest.raises(ValueError, match="of one batch size. Received: inputs.shape="):
        decoder(np.ones((B, D)), memory)
