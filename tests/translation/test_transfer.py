"""A model that begins with the weights of another one."""

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import RecipeError
from keraszoo.models import RNNSearch, Transformer
from keraszoo.text.subwords import Subwords
from keraszoo.translation.transfer import start_from


def test_a_smaller_student_with_another_vocabulary(make_transformer, train_pairs):
    trained = make_transformer()
    old = trained.target_subwords
    subwords = Subwords.train([text for pair in train_pairs for text in pair], vocabulary_size=len(old) - 15)
    sizes = {"d_model": 16, "num_heads": 2, "intermediate_dim": 24}
    model = Transformer(len(subwords), num_layers=2, num_decoder_layers=1, **sizes)
    model.build()
    assert start_from(Translator(model, subwords), trained) == model.count_params()
    for mine, its in (
        (model.encoder_layers[1], trained.model.encoder_layers[1]),
        (model.decoder_layers[0], trained.model.decoder_layers[0]),
    ):
        assert all(np.array_equal(a, b) for a, b in zip(mine.get_weights(), its.get_weights(), strict=True))
    rows, matrix = (one.target_embedding.embeddings.numpy() for one in (model, trained.model))
    common = 0
    for id_, piece in enumerate(subwords.pieces(range(len(subwords)))):
        try:
            spellings, common = [old.ids([piece])], common + 1
        except ValueError:
            spellings = [*segmentations(piece, old)]
        means = [matrix[ids].mean(axis=0) for ids in spellings]
        assert any(np.allclose(rows[id_], mean, rtol=1e-5) for mean in means), piece
    assert 10 < common < len(subwords)


def test_a_deeper_model_begins_with_the_outputs_of_the_trained_one(make_transformer):
    trained = make_transformer(pre_norm=True)
    sizes = {**trained.model.get_config(), "num_layers": 4, "num_decoder_layers": 3}
    model = Transformer(**sizes)
    model.build()
    for weight in model.trainable_variables:
        weight.assign_add(np.full(weight.shape, 0.1))  # biases are not always zero
    deeper = Translator(model, trained.source_subwords, trained.target_subwords)
    assert start_from(deeper, trained) == trained.model.count_params()
    inputs = np.array([[5, 6, 7, 0]]), np.array([[2, 8, 9]])
    assert np.array_equal(model(inputs), trained.model(inputs))
    for layer in (model.encoder_layers[2], model.decoder_layers[2]):
        assert np.any(layer.self_attention.W_q.kernel.numpy())  # it can learn


def segmentations(text, subwords):
    """All ways to spell a text; characters without an id are unknown, one by one or several at once."""
    known = subwords.pieces(range(len(subwords)))
    if not text:
        yield []
    for end in range(1, len(text) + 1):
        first = text[:end]
        if first in known or not set(first) & set(known):
            id_ = known.index(first) if first in known else subwords.unknown_id
            yield from ([id_, *rest] for rest in segmentations(text[end:], subwords))


def test_output_weights_and_two_vocabularies(both_subwords, make_transformer):
    source, target = both_subwords
    models = [
        RNNSearch(len(source), len(target), embedding_dim=6, units=units, attention_units=4)
        for units in (5, 5, 7)
    ]
    for model in models:
        model.build()
    trained, new, wider = (Translator(model, source, target) for model in models)
    assert start_from(new, trained) == models[0].count_params()
    assert all(np.array_equal(a, b) for a, b in zip(models[0].weights, models[1].weights, strict=True))
    tables = (len(source) + len(target)) * 6 + len(target)
    assert tables <= start_from(wider, trained) < models[2].count_params() / 2
    with pytest.raises(RecipeError, match="no weight of its Transformer fits this RNNSearch"):
        start_from(wider, make_transformer())


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_a_quantized_model_is_refused(make_transformer, mode):
    new, trained = make_transformer(), make_transformer()
    trained.model.quantize(mode)
    before = new.model.get_weights()
    with pytest.raises(RecipeError, match=f"start_from: .* before it was quantized, got one in {mode}$"):
        start_from(new, trained)
    assert all(np.array_equal(a, b) for a, b in zip(before, new.model.get_weights(), strict=True))
