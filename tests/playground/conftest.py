"""Small untrained models in directories, as the playground loads them."""

import keras
import pytest

from keraszoo import Translator
from keraszoo.models import Transformer
from keraszoo.search import SearchOptions


@pytest.fixture(scope="module")
def directories(both_subwords, new_tagger, answerer_directory, tmp_path_factory):
    """A Transformer, an attention tagger with a CRF and a memory network."""
    keras.utils.set_random_seed(3)
    folder = tmp_path_factory.mktemp("models")
    model = Transformer(44, d_model=8, num_layers=2, num_heads=2, intermediate_dim=16)
    Translator(model, both_subwords[1], search=SearchOptions(max_length=8)).save_to_preset(
        folder / "transformer"
    )
    new_tagger(crf=True).save_to_preset(folder / "tagger")
    return [str(folder / "transformer"), str(folder / "tagger"), str(answerer_directory)]
