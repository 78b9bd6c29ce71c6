"""Every translation model has the same interface, and a missing ability is one clear error."""

import json

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import KerasZooError
from keraszoo.registry import model_classes
from keraszoo.search import SearchOptions
from keraszoo.translation.recipe import Recipe
from keraszoo.translation.run import make_model

KINDS = model_classes("translation")
SENTENCES = ["one two three", "", "four five six one two three four", "six"]


@pytest.mark.usefixtures("eagerly")
def test_a_model_makes_updates_with_r_drop(make_translator, train_pairs):
    translator = make_translator("LuongNMT")
    translator.fit(train_pairs[:8], steps=2, batch_tokens=64, r_drop=1.0)
    assert translator.metrics["training"]["steps"] == 2


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_recipe_names_each_model_and_its_presets(both_subwords, name):
    assert {"small", "tiny"} <= set(KINDS[name].configurations)
    model = {"name": name, "preset": "tiny"}
    recipe = Recipe.from_dict({"data": {"train": {"tsv": "pairs.tsv"}}, "model": model, "output": "x"})
    assert type(make_model(recipe, both_subwords[0], both_subwords[0])) is KINDS[name]


@pytest.mark.parametrize(
    "name",
    ["DeepLSTM", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ConvS2S", "GNMT", "LuongNMT"))],
)
def test_a_directory_and_a_saved_model_translate_alike(make_translator, name, tmp_path):
    import tensorflow as tf
    import tensorflow_text  # noqa: F401

    translator = make_translator(name)
    wanted = translator.translate(SENTENCES)
    assert len(set(wanted)) > 2
    translator.save_to_preset(tmp_path / "model")
    again = Translator.from_preset(tmp_path / "model")
    np.testing.assert_equal(again.model.get_weights(), translator.model.get_weights())
    translator.export(tmp_path / "saved")
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    assert ("attention" in loaded.signatures) == translator.model.attends
    texts = loaded.signatures["translate"](text=tf.constant(SENTENCES))["translation"]
    assert [text.decode() for text in texts.numpy()] == wanted


@pytest.mark.usefixtures("eagerly")
def test_a_model_without_attention_has_no_weights_and_no_coverage_penalty(make_translator):
    translator = make_translator("DeepLSTM")
    details = translator.translate_details(SENTENCES, num_hypotheses=2)
    assert all(translation.attention_weights is None for translation in details)
    assert [len(translation.hypotheses) for translation in details] == [2, 0, 2, 2]
    assert all(translation.text == translation.hypotheses[0].text for translation in details[2:])
    assert details[0].tokens and details[0].source_tokens[-1] == "</s>"
    with pytest.raises(KerasZooError, match="DeepLSTM does not use attention: it has no coverage penalty"):
        translator.translate(["one"], coverage_penalty=0.2)
    with pytest.raises(KerasZooError, match="DeepLSTM does not use attention: it has no attention weights"):
        translator.align(["one"], ["eins"])
    vocabularies = translator.source_subwords, translator.target_subwords
    with pytest.raises(KerasZooError, match="DeepLSTM does not use attention"):
        Translator(translator.model, *vocabularies, SearchOptions(coverage_penalty=0.1))


@pytest.mark.usefixtures("eagerly")
def test_the_command_line_translates_without_attention_and_refuses_to_show_it(make_translator, run, tmp_path):
    make_translator("DeepLSTM").save_to_preset(tmp_path / "model")
    (tmp_path / "a.en").write_text("one two\n\nthree\n")
    for options in ([], ["--json"]):
        code, out, _ = run("translate", tmp_path / "model", tmp_path / "a.en", *options)
        lines = out.split("\n")
        assert code == 0 and len(lines) == 4
    assert set(json.loads(lines[0])) == {"source", "text", "log_prob", "hypotheses"}
    said = "keraszoo: error: DeepLSTM does not use attention: it has no attention weights"
    for command, *arguments in (
        ("plot", "one two", tmp_path / "picture.png"),
        ("translate", tmp_path / "a.en", "--attention"),
    ):
        code, out, err = run(command, tmp_path / "model", *arguments)
        assert (code, out, err.splitlines()[-1]) == (2, "", said)
    assert not (tmp_path / "picture.png").exists()
