"""An ensemble of translators: its search, its directory, its exports and its command."""

import json

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import KerasZooError, PresetError, RecipeError
from keraszoo.models import RNNSearch
from keraszoo.saving.model_directory import write_directory
from keraszoo.search import SearchOptions
from keraszoo.text.subwords import Subwords
from keraszoo.translation.transfer import start_from

SENTENCES = ["one two three", "", "four five six one two three four"]


@pytest.fixture(scope="module")
def pair(make_transformer):
    """A Transformer, and RNNsearch with the same subwords."""
    transformer = make_transformer(seed=4)
    subwords, draw = transformer.target_subwords, np.random.default_rng(1)
    model = RNNSearch(subwords.vocabulary_size, embedding_dim=8, units=8)
    model.build()
    for weight in model.trainable_variables:
        weight.assign(weight + draw.normal(0, 0.4, weight.shape))
    return transformer, Translator(model, subwords, search=SearchOptions(beam_width=1))


@pytest.fixture(scope="module")
def ensemble(pair):
    return Translator.ensemble(pair)


@pytest.mark.usefixtures("eagerly")
def test_the_score_is_that_of_the_mean_probabilities(pair, ensemble):
    assert ensemble.search == pair[0].search
    found = ensemble.translate_details(SENTENCES[:1])[0]
    positions = [one.next_tokens(SENTENCES[:1], [found.tokens], count=10**6)[0] for one in pair]
    total = 0.0
    for t, word in enumerate(found.tokens):
        total += np.log(np.mean([dict(at[t])[word] for at in positions]))
    assert found.hypotheses[0].log_prob == pytest.approx(total, abs=1e-3)
    if found.tokens[-1] != "</s>":
        total += np.log(np.mean([dict(at[-1])["</s>"] for at in positions]))
    assert ensemble.score(SENTENCES[:1], [found.tokens])[0] == pytest.approx(total, abs=1e-3)


@pytest.fixture(scope="module")
def directory(ensemble, tmp_path_factory):
    directory = tmp_path_factory.mktemp("ensemble") / "model"
    ensemble.save_to_preset(directory)
    return directory


@pytest.fixture
def one_by_one(ensemble):
    """Each sentence alone, in eager mode, with more positions than the first stage of the cache has."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    try:
        found = [ensemble.translate_details([text], max_length=10)[0] for text in SENTENCES]
    finally:
        tf.config.run_functions_eagerly(False)
    assert max(len(one.tokens) for one in found) > 8
    return found


@pytest.mark.slow
def test_its_directory_and_its_search_in_a_graph(ensemble, directory, one_by_one):
    again = Translator.from_preset(directory)
    assert [type(model).__name__ for model in again.model.models] == ["Transformer", "RNNSearch"]
    np.testing.assert_equal(again.model.get_weights(), ensemble.model.get_weights())
    for one, other in zip(again.translate_details(SENTENCES, max_length=10), one_by_one, strict=True):
        assert one.text == other.text
        if other.tokens:
            assert one.hypotheses[0].log_prob == pytest.approx(other.hypotheses[0].log_prob, abs=1e-4)
            np.testing.assert_allclose(one.attention_weights, other.attention_weights, atol=1e-4)
    again.compiled_search.warm_up(again.search.replace(max_length=10))
    assert again.translate(SENTENCES, max_length=10) == [other.text for other in one_by_one]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["savedmodel", "onnx"])
def test_its_exports(ensemble, tmp_path, format):
    if format == "onnx":
        pytest.importorskip("tf2onnx")
    ensemble.export(tmp_path / "export", format=format)
    assert ensemble.verify_export(tmp_path / "export", SENTENCES) == len(SENTENCES)


def test_a_member_in_half_precision_cannot_be_exported(pair, tmp_path):
    pytest.importorskip("tf2onnx")
    subwords = pair[0].target_subwords
    half = RNNSearch(subwords.vocabulary_size, embedding_dim=8, units=8, dtype="mixed_bfloat16")
    mixed = Translator.ensemble([pair[0], Translator(half, subwords)])
    with pytest.raises(KerasZooError, match="the precision is mixed_bfloat16"):
        mixed.export(tmp_path / "export", format="onnx")


def test_only_signs_that_all_members_know_are_read_as_they_are():
    joint = Subwords.train(["“yes” - don’t - no", "'no' \"yes\""] * 9, vocabulary_size=30)
    options = {"embedding_dim": 4, "units": 4}
    signs = "'’\"-", "'\"“”-"
    members = [Translator(RNNSearch(30, **options), Subwords(joint.model_bytes, known)) for known in signs]
    both = Translator.ensemble(members)
    assert both.source_subwords.signs == both.target_subwords.signs == "'\"-"
    assert both.source_subwords.encode(["“don’t”"]) == joint.encode(['"don\'t"'])


@pytest.mark.slow
def test_members_that_were_trained_in_this_process(make_transformer, tmp_path):
    members = [make_transformer(seed=seed) for seed in (1, 2)]
    for one in members:
        one.model.compile("adam")
        one.model.optimizer.build(one.model.trainable_variables)
    ensemble = Translator.ensemble(members)
    assert "compile_config" not in str(ensemble.model.get_config())
    ensemble.save_to_preset(tmp_path / "model")
    assert all(one.model.optimizer is not None for one in members)
    assert len(Translator.from_preset(tmp_path / "model").model.weights) == len(ensemble.model.weights)


def test_its_card(pair, tmp_path):
    corpus = {"name": "Pairs", "id": "pairs", "url": "https://pairs.example", "licence": "CC0"}
    first = {"licence": "cc0-1.0", "languages": ["en", "de"], "data": [corpus], "attribution": "By A."}
    others = [corpus, {**corpus, "name": "More"}]
    second = {**first, "data": others, "attribution": "By B.", "tags": ["small"]}
    for one, facts in zip(pair, (first, second), strict=True):
        one.about = facts
    Translator.ensemble(pair).save_to_preset(tmp_path / "both")
    card = (tmp_path / "both" / "README.md").read_text()
    parts = "license: cc0-1.0", "language: [en, de]", "[Pairs]", "[More]", "By A.\n\nBy B."
    assert [card.count(part) for part in (*parts, "Transformer and RNN")] == [1] * 6
    pair[1].about = {**second, "licence": "cc-by-4.0"}
    assert "licence" not in Translator.ensemble(pair).about and "tags" not in Translator.ensemble(pair).about


def test_the_command(run, refusal, pair, tmp_path):
    for name, one in zip("ab", pair, strict=True):
        one.save_to_preset(tmp_path / name)
    status, out, _ = run("ensemble", tmp_path / "a", tmp_path / "b", "--output", tmp_path / "both")
    assert (status, out) == (0, f"{tmp_path / 'both'}\n")
    model = json.loads((tmp_path / "both" / "config.json").read_text())["model"]
    assert [member["class"] for member in model["config"]["models"]] == ["Transformer", "RNNSearch"]
    for models, said in (
        ([tmp_path / "a"], "needs two models or more"),
        ([tmp_path / "a", f"{tmp_path}/./a"], "expected different models, got "),
    ):
        assert said in refusal("ensemble", *models, "--output", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_what_cannot_be_combined(pair, ensemble, make_transformer, train_pairs):
    two = make_transformer(tie_embeddings="target")
    for translators, said in (
        ([*pair, two], "translators 1 and 3 do not have the same subwords"),
        (["runs/model", pair[0]], "expected Translators, got str"),
        ([pair[0], ensemble], "cannot be ensembles"),
    ):
        with pytest.raises(KerasZooError, match=said):
            Translator.ensemble(translators)
    size = pair[0].target_subwords.vocabulary_size
    other = Subwords.train([text for one in train_pairs for text in one], size)
    with pytest.raises(KerasZooError, match="source and target share one embedding"):
        Translator(ensemble.model, pair[0].source_subwords, other)
    with pytest.raises(RecipeError, match="an ensemble has the weights of several models"):
        start_from(pair[0], ensemble)


def test_a_directory_from_a_stranger(directory, tmp_path):
    files = {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "manifest.json"}
    config = json.loads(files["config.json"])
    one, other = two = config["model"]["config"]["models"]
    deep = {**one, "config": {**one["config"], "num_layers": 60}}
    for models, said in (
        ([one, {"class": "Ensemble", "config": {"models": two}}], "there is no model 'Ensemble'"),
        ([deep, deep], "models.1: num_layers is 60, but the weight"),
        (two * 99, "198 models have more layers than model.safetensors has"),
        (3, "Ensemble: models: expected a valid list"),
        ([*two, "Transformer"], "Ensemble: models.2: expected a valid dictionary"),
        ([one], "two models or more"),
        ([one, one], "makes another model"),
    ):
        config["model"]["config"]["models"] = models
        write_directory(tmp_path / "model", {**files, "config.json": config})
        with pytest.raises(PresetError, match=said):
            Translator.from_preset(tmp_path / "model")
