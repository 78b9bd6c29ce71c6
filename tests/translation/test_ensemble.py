"""An ensemble of translators: its search, its directory, its exports and its command."""

import json

import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import KerasZooError, PresetError
from keraszoo.models import RNNSearch
from keraszoo.saving.model_directory import write_directory
from keraszoo.search import SearchOptions

SENTENCES = ["one two three", "", "four five six one two three four", "six"]


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
def test_a_translator_with_itself_changes_nothing(pair):
    twice = Translator.ensemble([pair[0], pair[0]])
    ours, theirs = (one.translate_details(SENTENCES, num_hypotheses=2) for one in (twice, pair[0]))
    assert [one.text for one in ours] == [one.text for one in theirs]
    for one, other in zip(ours, theirs, strict=True):
        for hypothesis, wanted in zip(one.hypotheses, other.hypotheses, strict=True):
            assert hypothesis.log_prob == pytest.approx(wanted.log_prob, abs=1e-4)


@pytest.mark.usefixtures("eagerly")
def test_it_chooses_what_its_members_together_find_likeliest(pair, ensemble):
    """The score of a translation is that of the members' probabilities of its words."""
    assert ensemble.search == pair[0].search
    for source in (SENTENCES[0], *SENTENCES[2:]):
        found = ensemble.translate_details([source])[0]
        positions = [one.next_tokens([source], [found.tokens], count=10**6)[0] for one in pair]
        total = 0.0
        for t, word in enumerate(found.tokens):
            total += np.log(np.mean([dict(at[t])[word] for at in positions]))
        assert found.hypotheses[0].log_prob == pytest.approx(total, abs=1e-3)
        assert ensemble.score([source], [found.text])[0] <= 0


@pytest.fixture(scope="module")
def directory(ensemble, tmp_path_factory):
    directory = tmp_path_factory.mktemp("ensemble") / "model"
    ensemble.save_to_preset(directory)
    return directory


def test_its_directory(ensemble, pair, directory):
    again = Translator.from_preset(directory)
    assert [type(model).__name__ for model in again.model.models] == ["Transformer", "RNNSearch"]
    for ours, theirs in zip(again.model.weights, ensemble.model.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    translations = again.translate(SENTENCES)  # in a graph
    assert len({*translations}) > 2 and translations != pair[0].translate(SENTENCES)


@pytest.mark.slow
def test_its_saved_model(ensemble, tmp_path):
    ensemble.export(tmp_path / "saved", jit_compile=False)
    assert ensemble.verify_export(tmp_path / "saved", SENTENCES) == len(SENTENCES)


def test_the_command(run, pair, tmp_path):
    for name, one in zip("ab", pair, strict=True):
        one.save_to_preset(tmp_path / name)
    status, out, _ = run("ensemble", tmp_path / "a", tmp_path / "b", "--output", tmp_path / "both")
    assert (status, out) == (0, f"{tmp_path / 'both'}\n")
    model = json.loads((tmp_path / "both" / "config.json").read_text())["model"]
    assert [member["class"] for member in model["config"]["models"]] == ["Transformer", "RNNSearch"]
    status, _, said = run("ensemble", tmp_path / "a", "--output", tmp_path / "one")
    assert status == 2 and "two translators or more, got 1" in said and not (tmp_path / "one").exists()


def test_other_subwords_are_an_error(pair, make_transformer):
    with pytest.raises(KerasZooError, match="translators 1 and 3 do not have the same subwords"):
        Translator.ensemble([*pair, make_transformer(tie_embeddings="target")])


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (
            lambda two: [two[0], {"class": "Ensemble", "config": {"models": two}}],
            "there is no model 'Ensemble'",
        ),
        (lambda two: two * 9, "at most 16 items"),
        (lambda two: 3, "Ensemble: models: expected a valid list"),
        (lambda two: [*two, "Transformer"], "Ensemble: models.2: expected a valid dictionary"),
        (lambda two: [two[0], {**two[1], "class": "os"}], "there is no model 'os'"),
        (lambda two: two[:1], "two models or more"),
        (lambda two: [two[0], two[0]], "makes a model of"),
    ],
)
def test_a_directory_from_a_stranger(directory, tmp_path, models, said):
    files = {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "manifest.json"}
    config = json.loads(files["config.json"])
    config["model"]["config"]["models"] = models(config["model"]["config"]["models"])
    write_directory(tmp_path / "model", {**files, "config.json": config})
    with pytest.raises(PresetError, match=said):
        Translator.from_preset(tmp_path / "model")
