"""The script that puts the models side by side, on models of our own that took no training."""

import gzip
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from keraszoo.evaluation import bleu_by_length, score_translations
from keraszoo.tasks.translation_models import TRANSLATION_MODELS

PLACE = Path(__file__).parents[2] / "examples" / "lineage.py"
spec = importlib.util.spec_from_file_location("lineage", PLACE)
lineage = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lineage)

PAIRS = [(f"{i}.", f"{i}!") for i in range(8)]


def test_captions_are_joined_in_whole_groups():
    assert list(lineage.joined(PAIRS, [3])) == [("0. 1. 2.", "0! 1! 2!"), ("3. 4. 5.", "3! 4! 5!")]
    assert [source for source, _ in lineage.joined(PAIRS, [1, 2])] == ["0.", "1. 2.", "3.", "4. 5.", "6."]
    assert list(lineage.joined([], [2])) == []


def test_every_model_has_a_recipe_and_a_paper(monkeypatch):
    monkeypatch.setenv("MULTI30K", "multi30k")
    assert set(lineage.PAPERS) == set(TRANSLATION_MODELS.values())
    recipes = {lineage.RECIPES / f"multi30k_{name}.yaml" for name in lineage.ORDER}
    assert recipes == set(lineage.RECIPES.glob("multi30k_*.yaml"))
    names = [lineage.Recipe.read(path).model.name for path in sorted(recipes)]
    assert set(names) == set(TRANSLATION_MODELS) and len(names) == len(set(names))


@pytest.mark.parametrize("join", [False, True])
def test_training_runs_the_recipe_unless_that_is_done(tmp_path, monkeypatch, join):
    recipes = tmp_path / "examples" / "recipes"
    recipes.mkdir(parents=True)
    (recipes / "multi30k_cho.yaml").write_text((lineage.RECIPES / "multi30k_cho.yaml").read_text())
    for file in ("train", "val"):
        for language in ("en", "de"):
            text = "".join(f"{language} {i}\n" for i in range(10))
            (tmp_path / f"{file}.{language}.gz").write_bytes(gzip.compress(text.encode()))
    ran = []
    monkeypatch.setattr(lineage, "RECIPES", recipes)
    monkeypatch.setattr(lineage, "run_recipe", ran.append)
    monkeypatch.setenv("MULTI30K", "")
    place = lineage.train("cho", SimpleNamespace(data=tmp_path, join=join, seed=2))
    (recipe,) = ran
    runs = (tmp_path / "runs").resolve()
    assert Path(place).resolve() == runs / ("multi30k_cho_joined_seed2" if join else "multi30k_cho_seed2")
    assert recipe.training.seed == 2 and recipe.model.name == "rnnencdec"
    assert str(tmp_path) not in str(
        recipe.as_dict()
    )  # nothing of this machine gets into the model's directory
    if join:
        assert Path(recipe.data.train.tsv).read_text().splitlines() == [
            "en 0\tde 0",
            "en 1 en 2\tde 1 de 2",
            "en 3 en 4 en 5\tde 3 de 4 de 5",
            "en 6 en 7 en 8 en 9\tde 6 de 7 de 8 de 9",
        ]
    else:
        assert Path(recipe.data.train.source) == tmp_path.resolve() / "train.en.gz"
    monkeypatch.setattr(
        lineage.model_directory, "read_directory", lambda place: SimpleNamespace(metrics={"test": {}})
    )
    assert lineage.train("cho", SimpleNamespace(data=tmp_path, join=join, seed=2)) == place and len(ran) == 1


class RNNSearch:
    """A model that is as large as it says."""

    def count_params(self):
        return 4_932_624


def test_the_table():
    translators = {
        place: SimpleNamespace(model=RNNSearch(), metrics=metrics)
        for place, metrics in (("runs/a", {"training": {"target_tokens": 60_001_778}}), ("runs/b", {}))
    }
    labels = [lineage.label_of(place, translators) for place in translators]
    assert labels == ["RNNSearch (Bahdanau 2015), a", "RNNSearch (Bahdanau 2015), b"]
    sources = ["a b c d"] * 30 + ["a b c d e f g h i j k l"] * 30
    by_length = {label: bleu_by_length(sources, sources, sources) for label in labels}
    scores = score_translations(sources, sources)
    rows = [(label, translators[place], scores) for label, place in zip(labels, translators, strict=True)]
    head, _, first, second, _, counts, signatures = lineage.table(rows, by_length).splitlines()
    assert head.endswith("| lower-cased | chrF2 | 1–10 words | 11–20 words |")
    assert first == (
        "| RNNSearch (Bahdanau 2015), a | 4.93 M | 60.0 M | 100.00 | 100.00 | 100.00 "
        "| 100.0 ± 0.0 | 100.0 ± 0.0 |"
    )
    assert "| unknown |" in second
    assert counts.startswith("60 sentences") and "1–10: 30, 11–20: 30" in counts
    assert scores.bleu.signature in signatures and "bs:1000" in signatures


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected directories of models, or --train"),
        (["runs/a"], "expected --data"),
        (["--train", "--test", "t"], "expected --data"),
    ],
)
def test_what_is_missing_is_said(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lineage.py", *arguments])
    with pytest.raises(SystemExit):
        lineage.arguments()
    assert message in capsys.readouterr().err
