"""Layers: one idea of a paper a file, `keras.ops` alone."""

from keraszoo.layers.attention import Attention
from keraszoo.layers.attention_decoder import AttentionDecoder
from keraszoo.layers.bahdanau_attention import BahdanauAttention
from keraszoo.layers.dot_product_attention import ScaledDotProductAttention
from keraszoo.layers.dropout import Dropout
from keraszoo.layers.embedding import TiedEmbedding
from keraszoo.layers.feed_forward import FeedForward
from keraszoo.layers.masking import causal_mask, masked_softmax
from keraszoo.layers.multi_head_attention import MultiHeadAttention
from keraszoo.layers.positions import PositionalEncoding
from keraszoo.layers.recurrent_encoder import BidirectionalEncoder
from keraszoo.layers.transformer import TransformerDecoderLayer, TransformerEncoderLayer

__all__ = [
    "Attention",
    "AttentionDecoder",
    "BahdanauAttention",
    "BidirectionalEncoder",
    "Dropout",
    "FeedForward",
    "MultiHeadAttention",
    "PositionalEncoding",
    "ScaledDotProductAttention",
    "TiedEmbedding",
    "TransformerDecoderLayer",
    "TransformerEncoderLayer",
    "causal_mask",
    "masked_softmax",
]
