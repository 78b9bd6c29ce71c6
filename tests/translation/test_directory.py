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


def test_what_is_read_translates_like_what_was_written(trained, saved, test_pairs):
    again = Translator.from_preset(saved)
    sources = [source for source, _ in test_pairs[:10]]
    assert again.translate(sources) == trained.translate(sources)
    assert again.search == trained.search and again.metrics == trained.metrics
    for ours, theirs in zip(trained.model.weights, again.model.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_files(saved):
    directory = model_directory.read_directory(saved)
    names = ["README.md", "config.json", "metrics.json", "model.safetensors", "source.model", "target.model"]
    assert directory.names == names
    card = (saved / "README.md").read_text()
    assert "# RNNSearch" in card and "40 source, 44 target" in card and "val_bleu" in card
    assert str(saved.parent) not in "".join(
        p.read_text() for p in saved.iterdir() if p.suffix in (".md", ".json")
    )


@pytest.mark.slow
def test_one_vocabulary_of_both_languages_and_a_transformer(both_subwords, tmp_path):
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


@pytest.mark.slow
def test_in_half_precision_it_is_half_as_large_and_hardly_another(trained, saved, test_pairs, tmp_path):
    trained.save_to_preset(tmp_path / "half", dtype="float16")
    sizes = [(path / "model.safetensors").stat().st_size for path in (saved, tmp_path / "half")]
    assert sizes[1] < 0.7 * sizes[0]
    assert json.loads((tmp_path / "half" / "config.json").read_text())["weights_dtype"] == "float16"
    again = Translator.from_preset(tmp_path / "half")
    for ours, theirs in zip(trained.model.get_weights(), again.model.get_weights(), strict=True):
        assert theirs.dtype == ours.dtype
        np.testing.assert_array_equal(ours.astype("float16"), theirs)
    sources, references = map(list, zip(*test_pairs, strict=True))
    scores = [translator.evaluate(sources, references).bleu.score for translator in (trained, again)]
    assert abs(scores[0] - scores[1]) < 0.1


def test_a_changed_weight_is_refused(saved):
    content = bytearray((saved / "model.safetensors").read_bytes())
    content[len(content) // 2] ^= 1
    (saved / "model.safetensors").write_bytes(content)
    with pytest.raises(PresetError, match=r"model.safetensors"):
        Translator.from_preset(saved)


def changed(saved, change):
    """Another directory, whole and with its manifest, whose configuration was changed."""
    config = json.loads((saved / "config.json").read_text())
    change(config)
    read = {path.name: path.read_bytes() for path in saved.iterdir() if path.name != "manifest.json"}
    model_directory.write_directory(saved.parent / "changed", {**read, "config.json": config})
    return saved.parent / "changed"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(task="tagging"), "expected a directory for translation, got one for 'tagging'"),
        (lambda c: c.pop("task"), "expected a directory for translation, got one for None"),
        (lambda c: c["model"].update({"class": "GPT"}), "there is no model 'GPT'"),
        (lambda c: c["model"].update({"class": "TranslationModel"}), "there is no model 'TranslationModel'"),
        (lambda c: c["model"].update({"class": ["RNNSearch"]}), "there is no model"),
        (lambda c: c.pop("model"), "there is no model None"),
        (lambda c: c.update(model="RNNSearch"), "there is no model None"),
        (lambda c: c["model"]["config"].update(cell="gro"), "does not describe a valid model"),
        (
            lambda c: c["model"]["config"].update(colour="red"),
            "RNNSearch: colour: unknown key, expected one of",
        ),
        (lambda c: c["model"]["config"].update(units="many"), "units: expected a valid integer, got 'many'"),
        (lambda c: c["model"]["config"].update(units=-1), "units: expected greater than"),
        (lambda c: c["model"]["config"].update(units=47), "model.safetensors"),
        (lambda c: c["model"]["config"].update(source_vocabulary_size=41), r"expected \(41, 32\)"),
        (lambda c: c["search"].update(beam_width=0), "beam_width"),
        (lambda c: c["search"].update(bean=0), "not a valid directory for translation"),
        (lambda c: c["search"].update(beam_width=10**9), "beam_width must be from 1 to 1000"),
        (lambda c: c["search"].update(max_length=10**9), "max_length must be from 1 to 100000"),
        (lambda c: c["search"].update(length_penalty=1e9), "length_penalty must be from 0 to 5"),
        (lambda c: c.update(search=[]), "search: expected a valid dictionary, got "),
        (lambda c: c.update(subwords=[]), "subwords: List should have at least 1 item"),
        (lambda c: c.update(subwords="joint.model"), "subwords: expected a valid list, got 'joint.model'"),
        (lambda c: c.update(max_source_tokens=True), "max_source_tokens: expected a valid integer, got True"),
        (lambda c: c.update(subwords=["../../etc/passwd"]), "has no file"),
        (lambda c: c.update(subwords=["config.json"]), "not a sentencepiece model"),
        (lambda c: c.update(max_source_tokens="all"), "max_source_tokens"),
    ],
)
def test_a_configuration_that_is_not_one_of_a_translator(saved, change, said):
    place = changed(saved, change)
    with pytest.raises(PresetError, match=said) as error:
        Translator.from_preset(place)
    assert str(place) in str(error.value) and "\n" not in str(error.value)


def test_no_such_directory(tmp_path):
    with pytest.raises(PresetError, match="no such directory, and no included model"):
        Translator.from_preset(tmp_path / "nowhere")


def test_somebody_elses_directory_is_not_overwritten(trained, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(PresetError, match="not overwritten"):
        trained.save_to_preset(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.fixture
def own_copy(saved):
    """A trained translator whose model the test may change."""
    return Translator.from_preset(saved)


@pytest.mark.slow
def test_an_int8_translator_is_saved_and_read_with_equal_translations(own_copy, test_pairs, tmp_path):
    sources, targets = zip(*test_pairs[:10], strict=True)
    own_copy.model.quantize("int8")
    scores = own_copy.score(list(sources), list(targets))
    own_copy.save_to_preset(tmp_path / "int8")
    again = Translator.from_preset(tmp_path / "int8")
    assert {str(weight.dtype) for weight in again.model.weights if len(weight.shape) == 2} == {"int8"}
    assert again.score(list(sources), list(targets)) == scores


@pytest.mark.slow
def test_low_rank_matrices_are_saved_as_part_of_theirs(own_copy, test_pairs, tmp_path):
    sources, targets = zip(*test_pairs[:10], strict=True)
    plain = own_copy.score(list(sources), list(targets))
    own_copy.model.enable_lora(2)
    for weight in own_copy.model.trainable_weights:
        assert weight.name in ("lora_kernel_a", "lora_kernel_b", "lora_embeddings_a", "lora_embeddings_b")
        weight.assign(np.random.default_rng(1).normal(0, 0.2, weight.shape))
    scores = own_copy.score(list(sources), list(targets))
    own_copy.save_to_preset(tmp_path / "low_rank")
    again = Translator.from_preset(tmp_path / "low_rank")
    assert len(again.model.weights) < len(own_copy.model.weights)
    assert not np.allclose(scores, plain, atol=0.1)
    np.testing.assert_allclose(again.score(list(sources), list(targets)), scores, atol=1e-4)
