"""The program of an ONNX export translates as greedy search does, without keraszoo."""

import sys

import keras
import pytest
import sentencepiece

from keraszoo import Translator, models
from keraszoo.errors import KerasZooError

pytest.importorskip("onnxruntime")
pytest.importorskip("tf2onnx")

TEXTS = ["one two three", "", "six", "five four one two three six one", " ", "zwölf two", "one " * 50]


TRANSFORMERS = [
    {"tie_embeddings": "target"},
    {"positions": "rotary", "pre_norm": True, "activation": "gelu"},
    {"positions": "relative", "max_distance": 2},
    {"positions": "learned", "max_positions": 4},
    {"num_experts": 4, "pre_norm": True, "tie_embeddings": "target"},
]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", TRANSFORMERS)
@pytest.mark.filterwarnings("ignore:.* sentences are cut to 40 subwords")
def test_transformers(make_transformer, tmp_path, arguments, printed_without_keras):
    translator = make_transformer(sharpness=2, end=0.5, **arguments)
    translator.search = translator.search.replace(max_length=40)
    translator.export(tmp_path / "exported", format="onnx")
    (subwords,) = (tmp_path / "exported").glob("[js]o*.model")  # of both languages, or of the source
    vocabulary = sentencepiece.SentencePieceProcessor(model_file=str(subwords))
    marked = ["\u200eo\u00adne\u2060 three"]
    assert vocabulary.encode(marked) == translator.source_subwords.encode(["one three"])
    assert translator.verify_export(tmp_path / "exported", TEXTS + marked) == len(TEXTS) + 1
    found = translator.translate_details(TEXTS, beam_width=1)
    assert max(len(one.tokens) for one in found) > 16 and len({one.text for one in found}) > 2
    printed = printed_without_keras(tmp_path / "exported" / "translate.py", TEXTS)
    assert printed.split("\n") == [*(one.text for one in found), ""]
    other = make_transformer(sharpness=2, end=0.5, seed=13, **arguments)
    with pytest.raises(KerasZooError, match=r"text \d is translated to .* by ONNX Runtime, to .* here"):
        other.verify_export(tmp_path / "exported", TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["RNNSearch", "RNNEncDec", "SimplifiedRNNSearch", "DeepLSTM", "LuongNMT", "GNMT", "ConvS2S"]
)
def test_exports_of_other_models_translate_equally(make_translator, tmp_path, name):
    translator = make_translator(name, scale=0.5, max_length=30)
    translator.export(tmp_path / "exported", format="onnx")
    assert translator.verify_export(tmp_path / "exported", TEXTS) == len(TEXTS)
    assert len(set(translator.translate(TEXTS, beam_width=1))) > 3


def test_what_cannot_be_exported(untrained, tmp_path, monkeypatch):
    sides = untrained.source_subwords, untrained.target_subwords
    sizes = [side.vocabulary_size for side in sides]
    half = models.RNNSearch(*sizes, embedding_dim=8, units=8, dtype="mixed_bfloat16")
    with pytest.raises(KerasZooError, match="needs a float32 model, the precision is mixed_bfloat16"):
        Translator(half, *sides).export(tmp_path / "x", format="onnx")
    eighth = models.RNNSearch(*sizes, embedding_dim=8, units=8)
    eighth.build()
    eighth.quantize("float8", filters=lambda layer: isinstance(layer, keras.layers.Dense))
    with pytest.raises(KerasZooError, match="an ONNX export has no float8: quantize to int8"):
        Translator(eighth, *sides).export(tmp_path / "x", format="onnx")
    monkeypatch.setitem(sys.modules, "tf2onnx", None)
    with pytest.raises(KerasZooError, match=r"pip install 'keraszoo\[onnx\]'"):
        untrained.export(tmp_path / "x", format="onnx")
    assert not any(tmp_path.iterdir())
