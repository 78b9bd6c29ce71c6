"""A wider RNNsearch translates as the one that it comes from, and all of its new units can learn."""

import keras
import numpy as np
import pytest
import wider_rnnsearch

from keraszoo import Translator
from keraszoo.errors import KerasZooError
from keraszoo.models import LuongNMT, RNNSearch

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "options",
    [
        {"embedding_dim": 24, "units": 32},
        {"embedding_dim": 32, "units": 32, "share_embeddings": True, "tie_output": True},
        {"embedding_dim": 32, "units": 32, "cell": "lstm"},
    ],
)
def test_same_logits(options, both_subwords, tmp_path, capsys):
    source, target = both_subwords[0], both_subwords["tie_output" not in options]
    keras.utils.set_random_seed(7)
    model = RNNSearch(source.vocabulary_size, target.vocabulary_size, **options)
    model.build()
    for weight in model.weights:  # biases begin as 0
        weight.assign_add(np.random.default_rng(1).normal(0, 0.3, weight.shape))
    narrow = Translator(model, source, target, max_source_tokens=np.int64(77))
    narrow.about = {"licence": "cc-by-4.0", "parameters": 1}
    narrow.save_to_preset(tmp_path / "narrow")
    wider_rnnsearch.main(tmp_path / "narrow", 42, tmp_path / "wide")
    assert float(capsys.readouterr().out.split()[-3]) < 1e-4

    wider = Translator.from_preset(tmp_path / "wide")
    assert (wider.max_source_tokens, wider.about["licence"]) == (77, "cc-by-4.0")
    wide = wider.model
    tokens = np.random.default_rng(2).integers(4, 40, (2, 3, 7))
    logits = (keras.ops.convert_to_numpy(one(tuple(tokens))) for one in (model, wide))
    np.testing.assert_allclose(*logits, atol=1e-4)
    assert wide.get_config()["units"] == 42
    (recurrent,) = (w.numpy() for w in wide.weights if w.path.endswith("decoder/cell/U/kernel"))
    assert (recurrent[32:, :32] == 0).all() and (recurrent[:, 32:42] != 0).any(axis=0).all()


def test_only_an_rnnsearch_that_is_narrower(trained_directory, both_subwords, tmp_path):
    with pytest.raises(KerasZooError, match="one layer and one width below 48 units"):
        wider_rnnsearch.main(trained_directory, 48, tmp_path / "wide")
    subwords = both_subwords[0]
    luong = LuongNMT(subwords.vocabulary_size, embedding_dim=8, units=8)
    Translator(luong, subwords, subwords).save_to_preset(tmp_path / "luong")
    with pytest.raises(KerasZooError, match="expected an RNNsearch"):
        wider_rnnsearch.main(tmp_path / "luong", 16, tmp_path / "wide")
