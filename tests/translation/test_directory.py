"""A translator as a directory: the same after reading, and nothing else is read."""

import json

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import PresetError
from keraszoo.models import Transformer
from keraszoo.saving import model_directory
from keraszoo.search import SearchOptions


@pytest.fixture
def saved(trained, tmp_path):
    trained.save_to_preset(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def own_copy(saved):
    """A trained translator whose model the test may change."""
    return Translator.from_preset(saved)


def test_a_saved_translator_is_read_again(trained, saved, own_copy, sources):
    assert own_copy.translate(sources) == trained.translate(sources)
    assert own_copy.search == trained.search and own_copy.metrics == trained.metrics
    np.testing.assert_equal(trained.model.get_weights(), own_copy.model.get_weights())
    names = ["README.md", "config.json", "metrics.json", "model.safetensors", "source.model", "target.model"]
    assert model_directory.read_directory(saved).names == names
    texts = {path.name: path.read_text() for path in saved.iterdir() if path.suffix in (".md", ".json")}
    assert all(part in texts["README.md"] for part in ("# RNNSearch", "40 source, 44 target", "val_bleu"))
    assert str(saved.parent) not in "".join(texts.values())
    trained.save_to_preset(saved, dtype="float16")
    assert json.loads((saved / "config.json").read_text())["weights_dtype"] == "float16"


@pytest.mark.slow
def test_a_joint_vocabulary_and_all_settings_are_read_again(both_subwords, tmp_path):
    model = Transformer.from_configuration("tiny", source_vocabulary_size=40, target_vocabulary_size=40)
    search = SearchOptions(beam_width=2, max_length=12, length_penalty=0.6, normalization="gnmt")
    translator = Translator(model, both_subwords[0], search=search, max_source_tokens=9)
    translator.recipe = {"some": "recipe"}
    translator.save_to_preset(tmp_path / "model")
    again = Translator.from_preset(str(tmp_path / "model"))
    assert (tmp_path / "model" / "joint.model").exists()
    assert again.source_subwords == again.target_subwords == both_subwords[0]
    assert (again.search, again.max_source_tokens, again.recipe) == (search, 9, {"some": "recipe"})
    pair = ["one two"], ["two one one"]
    assert again.score(*pair) == translator.score(*pair)


@pytest.mark.parametrize(
    "name", ["ConvS2S", *(pytest.param(name, marks=pytest.mark.slow) for name in ("RNNSearch", "GNMT"))]
)
def test_weights_in_int8_are_kept(make_translator, test_pairs, tmp_path, name):
    pairs = list(map(list, zip(*test_pairs[:10], strict=True)))
    translator = make_translator(name)
    translator.model.quantize("int8")
    translator.save_to_preset(tmp_path / "int8")
    small = Translator.from_preset(tmp_path / "int8")
    matrices = {weight.path: weight.dtype for weight in small.model.weights if len(weight.shape) == 2}
    assert {dtype for path, dtype in matrices.items() if not path.endswith("positions/P")} == {"int8"}
    assert small.score(*pairs) == translator.score(*pairs)


WRONG = {"threshold": 50.0, "bias": 0.0, "slope": 1e9, "length": 0.0}


@pytest.mark.parametrize(
    ("section", "values", "said"),
    [
        (None, {"task": "tagging"}, "expected a directory for translation, got one for 'tagging'"),
        (None, {"search": []}, "search: expected a valid dictionary, got "),
        (None, {"subwords": []}, "subwords: List should have at least 1 item"),
        (None, {"subwords": ["../../etc/passwd"]}, "has no file"),
        (None, {"subwords": ["config.json"]}, "not a sentencepiece model"),
        (None, {"confidence": WRONG}, "config.json: confidence.slope: expected less than or equal to"),
        (None, {"max_source_tokens": True}, "max_source_tokens: expected a valid integer, got True"),
        ("model", {"class": "TranslationModel"}, "there is no model 'TranslationModel'"),
        ("search", {"bean": 0}, "not a valid directory for translation"),
        ("search", {"beam_width": 10**9}, "beam_width must be from 1 to 1000"),
    ],
)
def test_an_invalid_configuration_is_refused(trained_directory, tmp_path, section, values, said):
    directory, place = model_directory.read_directory(trained_directory), tmp_path / "changed"
    files = {name: directory.read_bytes(name) for name in directory.names}
    config = json.loads(files["config.json"])
    (config[section] if section else config).update(values)
    model_directory.write_directory(place, {**files, "config.json": config})
    with pytest.raises(PresetError, match=said) as error:
        Translator.from_preset(place)
    assert str(place) in str(error.value) and "\n" not in str(error.value)
