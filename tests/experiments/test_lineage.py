"""The script that puts the models side by side, on models of our own that took no training."""

import gzip
from pathlib import Path
from types import SimpleNamespace

import lineage
import pytest

from keraszoo.evaluation import bleu_by_length, score_translations
from keraszoo.registry import models_of
from keraszoo.translation.run import make_model

PAIRS = [(f"{i}.", f"{i}!") for i in range(8)]


def test_captions_are_joined_in_whole_groups():
    assert list(lineage.joined(PAIRS, [3])) == [("0. 1. 2.", "0! 1! 2!"), ("3. 4. 5.", "3! 4! 5!")]
    assert [source for source, _ in lineage.joined(PAIRS, [1, 2])] == ["0.", "1. 2.", "3.", "4. 5.", "6."]
    assert list(lineage.joined([], [2])) == []


@pytest.mark.parametrize("name", lineage.MODELS)
def test_every_model_is_one_of_the_recipes_and_of_like_size(name, tmp_path, monkeypatch):
    monkeypatch.setenv("MULTI30K", "multi30k")
    recipe = lineage.recipe_of(name, 2, tmp_path)
    assert recipe.training.seed == 2
    assert Path(recipe.path(recipe.output)).resolve() == (tmp_path / f"{name}_seed2").resolve()
    assert Path(recipe.path(recipe.data.train.tsv)).resolve() == (tmp_path / "train.tsv").resolve()
    usual = lineage.recipe_of(name, 2, Path.cwd() / "runs" / "lineage").as_dict()
    assert usual["data"]["train"]["tsv"] == "runs/lineage/train.tsv"  # no folder of this machine
    assert usual["output"] == f"runs/lineage/{name}_seed2"
    vocabulary = SimpleNamespace(vocabulary_size=recipe.subwords.vocabulary_size, pad_id=0)
    model = make_model(recipe, vocabulary, vocabulary)
    model.build()
    assert 1.75e6 < model.count_params() < 2e6


def test_all_models_of_the_papers_are_there():
    assert {model["name"] for _, model, _ in lineage.MODELS.values()} == set(models_of("translation"))
    claims = [name for name, (_, _, claim) in lineage.MODELS.items() if claim]
    assert claims == ["cho", "sutskever", "rnnsearch", "transformer"]


def write_corpus(folder, pairs):
    for name in ("train", "val", "test_2016_flickr"):
        for side, language in enumerate(("en", "de")):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{name}.{language}.gz").write_bytes(gzip.compress(text.encode()))


def test_training_makes_what_is_not_there_and_comparing_shows_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MULTI30K", "")  # put back in the end
    write_corpus(tmp_path, PAIRS)
    (tmp_path / "manifest.json").write_text("{}")
    monkeypatch.setattr(lineage, "find", lambda place: tmp_path)
    folder = tmp_path / "out" / "translations"
    ran, options = [], {"data": tmp_path, "output": tmp_path / "out"}
    told = SimpleNamespace(metrics={"training": {"target_tokens": 60_001_778}}, model=RNNSearch())
    told.translate = lambda sources, max_length=60: [source.replace(".", "!") for source in sources]

    def run_recipe(recipe):
        ran.append(recipe)
        Path(recipe.path(recipe.output)).mkdir()

    monkeypatch.setattr(lineage, "run_recipe", run_recipe)
    monkeypatch.setattr(lineage, "Translator", SimpleNamespace(from_preset=lambda place: told))
    lineage.train(SimpleNamespace(**options, models=["cho", "luong"], seeds=None, set=["training.epochs=2"]))
    names = ["cho_seed1", "luong_seed1", "cho_seed2", "cho_seed3"]
    assert [Path(recipe.output).name for recipe in ran] == names
    assert {recipe.training.epochs for recipe in ran} == {2}
    lines = [*(f"{i}.\t{i}!" for i in range(4)), "4. 5.\t4! 5!", "6. 7.\t6! 7!"]
    assert (tmp_path / "out" / "train.tsv").read_text().splitlines() == lines
    assert len(list(folder.iterdir())) == 4
    (file,) = folder.glob("cho_seed3-*.txt")
    lines = file.read_text().splitlines()
    assert lines[:8] == [f"{i}!" for i in range(8)] and lines[-1] == "4! 5! 6! 7!"
    lineage.compare(SimpleNamespace(**options, others=["other"]))
    said = capsys.readouterr().out
    assert "| cho (Cho 2014) | 4.93 M | 60.0 M | 3 | " in said and "| other | 4.93 M | 60.0 M | 1 | " in said
    assert (tmp_path / "out" / "by_length.png").stat().st_size > 1000
    (tmp_path / "manifest.json").write_text("another")  # trained again: translated again
    lineage.compare(SimpleNamespace(**options, others=[]))
    assert len(list(folder.iterdir())) == 4 + 1 + 4


def test_all_seeds_are_compared_in_their_order(tmp_path):
    folder = tmp_path / "translations"
    folder.mkdir()
    names = "cho_seed10-ab cho_seed2-ab cho_seed2-cd cho_seed1-ab luong_seed4-ab cho_seed4-ab cho_seed-ab"
    for name in names.split():
        (folder / f"{name}.txt").touch()
    for seed in (1, 2, 10):  # the fourth was named with another folder
        (tmp_path / f"cho_seed{seed}").mkdir()
    folders = lineage.trained("cho", SimpleNamespace(output=tmp_path))
    assert [place.name for place in folders] == ["cho_seed1", "cho_seed2", "cho_seed10"]


class RNNSearch:
    """A model that is as large as it says."""

    def count_params(self):
        return 4_932_624


def test_the_table():
    told = SimpleNamespace(model=RNNSearch(), metrics={"training": {"target_tokens": 60_001_778}})
    sources = ["a b c d"] * 30 + ["a b c d e f g h i j k l"] * 30
    by_length = dict.fromkeys(["one", "other"], bleu_by_length(sources, sources, sources))
    scores = [score_translations(some, sources) for some in (sources, ["a b c d e f"] * 60)]
    rows = [("one", told, scores), ("other", SimpleNamespace(model=RNNSearch(), metrics={}), scores[:1])]
    head, _, first, second, _, counts, signatures = lineage.table(rows, by_length).splitlines()
    assert head.endswith("| lower-cased | chrF2 | 1–10 words | 11–20 words |")
    bleu = [score.bleu.score for score in scores]
    mean, deviation = sum(bleu) / 2, abs(bleu[0] - bleu[1]) / 2**0.5
    assert first.startswith(f"| one | 4.93 M | 60.0 M | 2 | {mean:.2f} ± {deviation:.2f} | ")
    assert second == "| other | 4.93 M | unknown | 1 | 100.00 | 100.00 | 100.00 | 100.0 ± 0.0 | 100.0 ± 0.0 |"
    assert counts.startswith("60 sentences") and "1–10: 30, 11–20: 30" in counts
    assert scores[0].bleu.signature in signatures and "bs:1000" in signatures
