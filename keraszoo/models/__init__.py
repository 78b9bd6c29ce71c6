"""Models: one paper a class, composed of layers; they know no text and no files."""

from keraszoo.models.rnn_search import RNNSearch
from keraszoo.models.transformer import Transformer
from keraszoo.models.translation_model import TranslationModel

__all__ = ["RNNSearch", "Transformer", "TranslationModel"]
