"""The models that ship with a clone: whole, small, listed with their figures, and saying what they said."""

import json
from pathlib import Path

import pytest

from keraszoo import Translator
from keraszoo.shipping import shipped

FOLDER = Path(__file__).parents[2] / "pretrained"
SOURCE = "Where did you park the car?"
GOLDEN = {
    "tatoeba_en_de_rnnsearch": "Wo hast du das Auto geparkt?",
    "tatoeba_en_de_transformer": "Wo hast du das Auto geparkt?",
    "tatoeba_en_fr_rnnsearch": "Où as-tu garé la voiture ?",
    "tatoeba_en_fr_transformer": "Où as-tu garé la voiture ?",
}


def test_none_is_forgotten():
    assert {place.name for place in FOLDER.iterdir() if place.is_dir()} == {*GOLDEN, "babi_memory_network"}


@pytest.mark.parametrize("name", GOLDEN)
def test_it_is_small_and_the_table_has_its_figures(name):
    size = sum(file.stat().st_size for file in (FOLDER / name).iterdir())
    assert size < 25e6
    scores = json.loads((FOLDER / name / "metrics.json").read_text())["test"]
    (row,) = (line for line in (FOLDER / "README.md").read_text().splitlines() if f"`{name}`" in line)
    assert [cell.strip() for cell in row.split("|")][-4:-1] == [
        f"{size / 1e6:.0f} MB",
        f"{scores['bleu']['score']:.2f}",
        f"{scores['chrf']['score']:.1f}",
    ]
    card = (FOLDER / name / "README.md").read_text()
    assert f"{scores['bleu']['score']:.2f} (`{scores['bleu']['signature']}`)" in card


@pytest.mark.parametrize("name", GOLDEN)
def test_it_says_what_it_said(name, monkeypatch):
    monkeypatch.delenv("KERASZOO_PRETRAINED", raising=False)
    assert shipped.find(name) == FOLDER / name
    assert Translator.from_preset(name).translate([SOURCE], beam_width=1) == [GOLDEN[name]]
