"""A tagger that was saved is the same when it is read; one that was changed is not read at all."""

import dataclasses
import json

import keras
import numpy as np
import pytest

from keraszoo import EntityTagger, Translator
from keraszoo.errors import KerasZooError, PresetError
from keraszoo.saving import model_directory


def test_a_saved_tagger_is_read_again(new_tagger, tmp_path):
    tagger = new_tagger(scheme="BIOES", token_rules="marks_apart", backoff=("exact", "lower"))
    tagger.metrics = {"validation": {"val_f1": 50.0}}
    tagger.save_to_preset(tmp_path / "model")
    again = EntityTagger.from_preset(tmp_path / "model")
    assert again.vocabulary == tagger.vocabulary and again.metrics == tagger.metrics
    np.testing.assert_equal(again.model.get_weights(), tagger.model.get_weights())
    assert (again.model.head.chain.allowed[0] == tagger.model.head.chain.allowed[0]).all()
    card = (tmp_path / "model" / "README.md").read_text()
    assert "LOC, PER" in card and "EntityTagger.from_preset" in card
    plain = new_tagger(constrain="none", crf=False)
    plain.save_to_preset(tmp_path / "plain")
    assert plain.model.head.chain is EntityTagger.from_preset(tmp_path / "plain").model.head.chain is None


def test_int8_weights_without_rounded_inputs_are_read_as_such(new_tagger, tmp_path, monkeypatch):
    frozen, quick = [], []  # whether the collections that Keras makes for each weight skip what exists
    monkeypatch.setattr("gc.freeze", lambda: frozen.append(True))
    monkeypatch.setattr("gc.unfreeze", frozen.clear)
    monkeypatch.setattr("gc.collect", lambda *_: quick.append(bool(frozen)))
    tagger, rounded = new_tagger(scheme="BIOES"), new_tagger(scheme="BIOES")
    rounded.model.set_weights(tagger.model.get_weights())
    rounded.model.quantize("int8")
    weights = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    tagger.model.quantize(config=weights)
    texts = [["Ada", "flew", "to", "Paris", "."]]
    expected, other = tagger.tag_probabilities(texts)[0], rounded.tag_probabilities(texts)[0]
    assert np.abs(np.subtract(expected, other)).max() > 1e-4
    tagger.save_to_preset(tmp_path / "weights")
    rounded.save_to_preset(tmp_path / "rounded")
    again = EntityTagger.from_preset(tmp_path / "weights").tag_probabilities(texts)[0]
    np.testing.assert_allclose(again, expected, atol=1e-6)
    again = EntityTagger.from_preset(tmp_path / "rounded").tag_probabilities(texts)[0]
    np.testing.assert_allclose(again, other, atol=1e-6)
    tagger.model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    features = tagger.vocabulary.encode(texts)
    np.testing.assert_allclose(loaded.tag(features)[1], tagger.model.tag(features)[1], atol=1e-6)
    assert len(quick) > 5 and all(quick) and not frozen


def test_directories_of_other_tasks(tagger_directory, trained_directory):
    said = "for tagging, got one for 'translation'; its command is `keraszoo translate`"
    with pytest.raises(PresetError, match=said):
        EntityTagger.from_preset(trained_directory)
    with pytest.raises(PresetError, match="expected a directory for translation, got one for 'tagging'"):
        Translator.from_preset(tagger_directory)


MANY = [f"L{i}" for i in range(40_000)]


@pytest.mark.parametrize(
    ("section", "values", "said"),
    [
        ("model", {"class": "RNNSearch"}, "there is no model 'RNNSearch'"),
        ("model", {"config": {"units": "many"}}, "units: expected a valid integer|num_tags: missing, and"),
        ("model", {"constrained": 1}, "model.constrained: expected a valid boolean, got 1"),
        ("vocabulary", {"scheme": "BIOU"}, "BIOU"),
        ("vocabulary", {"labels": MANY}, "tags, but model.safetensors has no such CRF"),
        ("vocabulary", {"colour": "red"}, "vocabulary.colour: unknown key, expected one of "),
        ("vocabulary", {"word_length": 1.5}, "vocabulary.word_length: expected a valid integer"),
        (None, {"vocabulary": None}, "vocabulary: expected a section with some of characters"),
        (None, {"corpora": ["mail"]}, "corpora: no label of 'mail'"),
        (None, {"corpora": ["mail"] * 101}, "corpora: List should have at most 100 items"),
    ],
)
def test_an_invalid_configuration_is_refused(tagger_directory, tmp_path, section, values, said):
    directory = model_directory.read_directory(tagger_directory)
    files = {name: directory.read_bytes(name) for name in directory.names}
    config = json.loads(files["config.json"])
    (config[section] if section else config).update(values)
    model_directory.write_directory(tmp_path / "model", {**files, "config.json": config})
    with pytest.raises(PresetError, match=said):
        EntityTagger.from_preset(tmp_path / "model")


def test_what_could_not_be_read_again_is_not_made(trained_tagger):
    vocabulary = trained_tagger.vocabulary
    with pytest.raises(KerasZooError, match="word_length: expected 1 to 10,000, got 20000"):
        dataclasses.replace(vocabulary, word_length=20_000)
    with pytest.raises(KerasZooError, match="expected at most 100 corpora"):
        EntityTagger(trained_tagger.model, vocabulary, [f"c{i}" for i in range(101)])


def test_taggers_that_cannot_be_stored_are_refused(new_tagger, tmp_path):
    tagger = new_tagger(crf=True)
    transitions, *ends = tagger.vocabulary.transitions()
    arguments = {**tagger.model.get_config(), "allowed": (np.ones_like(transitions).tolist(), *ends)}
    other = EntityTagger(type(tagger.model).from_config(arguments), tagger.vocabulary)
    with pytest.raises(PresetError, match="stores no transitions"):
        other.save_to_preset(tmp_path / "d")
    part = new_tagger(crf=True)
    part.model.quantize("int8", filters=lambda layer: isinstance(layer, keras.layers.Dense))
    tagger.model.head.scores.quantize("int8")
    for one in tagger, part:
        with pytest.raises(PresetError, match="as it is or with all matrices in int8, not in None, int8"):
            one.save_to_preset(tmp_path / "d")
    assert not list(tmp_path.iterdir())
