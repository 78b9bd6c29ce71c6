"""Layers: one idea of a paper per file, made of `keras.ops` and `keras.layers`.

Shapes: B batch, T positions or words, S those of a source or memory, D width, C characters of a word. Other
letters are those of the arguments, such as U for `units`, H for `num_heads` and K for `num_tags`.
"""

from keraszoo.layers.attention import Attention
from keraszoo.layers.attention_decoder import AttentionDecoder
from keraszoo.layers.bag_of_subwords import BagOfSubwords
from keraszoo.layers.bahdanau_attention import BahdanauAttention
from keraszoo.layers.character_encoder import CharacterEncoder
from keraszoo.layers.crf import CRF
from keraszoo.layers.crf_loss import CRFAccuracy, CRFLoss
from keraszoo.layers.dot_product_attention import ScaledDotProductAttention
from keraszoo.layers.feed_forward import FeedForward
from keraszoo.layers.feed_forward_attention import FeedForwardAttention
from keraszoo.layers.gated_convolution import GatedConvolution
from keraszoo.layers.gnmt_decoder import GNMTDecoder
from keraszoo.layers.kernel_attention import KernelAttention
from keraszoo.layers.luong_attention import LuongAttention
from keraszoo.layers.luong_decoder import LuongDecoder
from keraszoo.layers.masking import masked_softmax
from keraszoo.layers.memory_hop import MemoryHop
from keraszoo.layers.mixture_of_experts import MixtureOfExperts
from keraszoo.layers.multi_head_attention import MultiHeadAttention
from keraszoo.layers.multiplicative_attention import MultiplicativeAttention
from keraszoo.layers.positions import LearnedPositions, PositionalEncoding
from keraszoo.layers.recurrent_cell import RecurrentCell
from keraszoo.layers.recurrent_encoder import BidirectionalEncoder
from keraszoo.layers.recurrent_stack import RecurrentStack
from keraszoo.layers.sentence_encoder import SentenceEncoder
from keraszoo.layers.transformer import TransformerDecoderLayer, TransformerEncoderLayer
from keraszoo.layers.weight_norm_dense import WeightNormDense

__all__ = [
    "CRF",
    "CRFAccuracy",
    "CRFLoss",
    "Attention",
    "AttentionDecoder",
    "BagOfSubwords",
    "BahdanauAttention",
    "BidirectionalEncoder",
    "CharacterEncoder",
    "FeedForward",
    "FeedForwardAttention",
    "GatedConvolution",
    "GNMTDecoder",
    "KernelAttention",
    "LearnedPositions",
    "LuongAttention",
    "LuongDecoder",
    "MemoryHop",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "MultiplicativeAttention",
    "PositionalEncoding",
    "RecurrentCell",
    "RecurrentStack",
    "ScaledDotProductAttention",
    "SentenceEncoder",
    "TransformerDecoderLayer",
    "TransformerEncoderLayer",
    "WeightNormDense",
    "masked_softmax",
]
