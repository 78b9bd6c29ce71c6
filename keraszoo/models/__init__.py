"""Models: one class for each paper, composed of layers. They handle ids, not text or files.

Shapes: as in `keraszoo.layers`; V is the size of the target vocabulary, N are rows of a search.
"""

from keraszoo.models.attention_tagger import AttentionTagger
from keraszoo.models.conv_s2s import ConvS2S
from keraszoo.models.deep_lstm import DeepLSTM
from keraszoo.models.ensemble import Ensemble
from keraszoo.models.gnmt import GNMT
from keraszoo.models.luong_nmt import LuongNMT
from keraszoo.models.memory_network import MemoryNetwork
from keraszoo.models.pretrained_tagger import PretrainedTagger
from keraszoo.models.pretrained_words import PretrainedWords
from keraszoo.models.recurrent_tagger import RecurrentTagger
from keraszoo.models.rnn_encdec import RNNEncDec
from keraszoo.models.rnn_search import RNNSearch
from keraszoo.models.simplified_rnn_search import SimplifiedRNNSearch
from keraszoo.models.tag_head import TagHead
from keraszoo.models.tagging_model import TaggingModel
from keraszoo.models.transformer import Transformer
from keraszoo.models.transformer_tagger import TransformerTagger
from keraszoo.models.translation_model import TranslationModel
from keraszoo.models.word_features import WordFeatures

__all__ = [
    "GNMT",
    "AttentionTagger",
    "ConvS2S",
    "DeepLSTM",
    "Ensemble",
    "LuongNMT",
    "MemoryNetwork",
    "PretrainedTagger",
    "PretrainedWords",
    "RNNEncDec",
    "RNNSearch",
    "RecurrentTagger",
    "SimplifiedRNNSearch",
    "TagHead",
    "TaggingModel",
    "Transformer",
    "TransformerTagger",
    "TranslationModel",
    "WordFeatures",
]
