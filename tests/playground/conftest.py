"""Small untrained models in directories, as the playground loads them."""

import keras
import pytest

from keraszoo import QuestionAnswerer, Translator
from keraszoo.models import MemoryNetwork, Transformer
from keraszoo.search import SearchOptions
from keraszoo.text.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def directories(both_subwords, new_tagger, tmp_path_factory):
    """A Transformer, an attention tagger with a CRF and a memory network."""
    keras.utils.set_random_seed(3)
    folder = tmp_path_factory.mktemp("models")
    words = Vocabulary(["mary", "went", "home", "where", "is"])
    tasks = {
        "transformer": Translator(
            Transformer(44, d_model=8, num_layers=2, num_heads=2, intermediate_dim=16),
            both_subwords[1],
            search=SearchOptions(max_length=8),
        ),
        "tagger": new_tagger(crf=True),
        "memory": QuestionAnswerer(MemoryNetwork(len(words), width=4), words),
    }
    for name, task in tasks.items():
        task.save_to_preset(folder / name)
    return [str(folder / name) for name in tasks]
