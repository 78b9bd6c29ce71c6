"""Sentences with their translations, and translators without training: one as it is, and some that differ."""

import keras
import numpy as np
import pytest

from keraszoo import Translator, models
from keraszoo.models import RNNSearch, Transformer
from keraszoo.search import SearchOptions


@pytest.fixture(scope="module")
def sources(test_pairs):
    return [source for source, _ in test_pairs[:9]]


@pytest.fixture(scope="module")
def details(trained, sources):
    """What the trained translator says about them."""
    return trained.translate_details(sources)


@pytest.fixture(scope="module")
def untrained(both_subwords):
    """An untrained translator; tests leave it as it is."""
    keras.utils.set_random_seed(7)
    sizes = [side.vocabulary_size for side in both_subwords]
    model = RNNSearch(*sizes, embedding_dim=24, units=32)
    return Translator(model, *both_subwords, SearchOptions(beam_width=3, max_length=20))


SIZES = {
    "ConvS2S": {"num_layers": 2},
    "DeepLSTM": {"num_layers": 2},
    "GNMT": {"num_layers": 3, "num_experts": 4},
    "LuongNMT": {"num_layers": 2, "window": "predictive", "half_width": 3},
}


@pytest.fixture(scope="module")
def make_translator(both_subwords):
    """Makes translators of any other model with weights far from the start, so that sentences differ."""

    def make(name, scale=1.0, max_length=9):
        keras.utils.set_random_seed(3)
        sizes = [side.vocabulary_size for side in both_subwords]
        model = getattr(models, name)(*sizes, embedding_dim=8, units=10, **SIZES.get(name, {}))
        model.build()
        draw = np.random.default_rng(3)
        for weight in model.trainable_variables:
            weight.assign(np.asarray(weight) + scale * draw.normal(size=weight.shape))
        return Translator(model, *both_subwords, SearchOptions(beam_width=3, max_length=max_length))

    return make


@pytest.fixture(scope="module")
def make_transformer(both_subwords):
    """Makes translators with random weights that end some sentences, and hardly predict `<pad>` and `<s>`."""

    def new(sharpness=1, seed=12, end=3, **arguments):
        keras.utils.set_random_seed(seed)
        source, target = both_subwords
        source = target if arguments.get("tie_embeddings", "all") == "all" else source
        sizes = source.vocabulary_size, target.vocabulary_size
        model = Transformer(*sizes, d_model=16, num_layers=2, num_heads=2, intermediate_dim=24, **arguments)
        model.build()
        draw = np.random.default_rng(seed)
        for weight in model.trainable_variables:
            weight.assign(weight + draw.normal(0, 0.2, weight.shape))
        norm = model.decoder_norm if model.pre_norm else model.decoder_layers[-1].feed_forward_norm
        beta, matrix = draw.normal(0, 1, 16), model.target_embedding.embeddings.numpy()
        norm.gamma.assign(norm.gamma * sharpness)
        norm.beta.assign(beta)  # is part of every hidden vector
        for token, logit in ((target.end_id, end), (target.pad_id, -9), (target.start_id, -9)):
            matrix[token] += logit * sharpness * beta / (beta @ beta)
        model.target_embedding.embeddings.assign(matrix)
        return Translator(model, source, target, SearchOptions(beam_width=3, max_length=12), 40)

    return new
