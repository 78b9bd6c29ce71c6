"""Models: one paper a class, composed of layers; they know no text and no files."""

from keraszoo.models.deep_lstm import DeepLSTM
from keraszoo.models.luong_nmt import LuongNMT
from keraszoo.models.memory_network import MemoryNetwork
from keraszoo.models.rnn_encdec import RNNEncDec
from keraszoo.models.rnn_search import RNNSearch
from keraszoo.models.simplified_rnn_search import SimplifiedRNNSearch
from keraszoo.models.transformer import Transformer
from keraszoo.models.translation_model import TranslationModel

__all__ = [
    "DeepLSTM",
    "LuongNMT",
    "MemoryNetwork",
    "RNNEncDec",
    "RNNSearch",
    "SimplifiedRNNSearch",
    "Transformer",
    "TranslationModel",
]
