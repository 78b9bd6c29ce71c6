"""The models that ship with a clone: whole, small, with a card, and still saying what they said."""

from pathlib import Path

import pytest

from keraszoo import Translator, pretrained

FOLDER = Path(__file__).parents[1] / "pretrained"
SOURCE = "Where did you park the car?"
GOLDEN = {
    "tatoeba_en_de_rnnsearch": "Wo hast du das Auto geparkt?",
    "tatoeba_en_de_transformer": "Wo hast du das Auto geparkt?",
    "tatoeba_en_fr_rnnsearch": "Où as-tu garé la voiture ?",
    "tatoeba_en_fr_transformer": "Où as-tu garé la voiture ?",
}


def test_none_is_forgotten():
    assert {place.name for place in FOLDER.iterdir() if place.is_dir()} == set(GOLDEN)


@pytest.mark.parametrize("name", GOLDEN)
def test_it_is_small_and_listed(name):
    assert sum(file.stat().st_size for file in (FOLDER / name).iterdir()) < 25e6
    assert f"`{name}`" in (FOLDER / "README.md").read_text()
    assert "# " in (FOLDER / name / "README.md").read_text()


@pytest.mark.parametrize("name", GOLDEN)
def test_it_says_what_it_said(name, monkeypatch):
    monkeypatch.delenv("KERASZOO_PRETRAINED", raising=False)
    assert pretrained.find(name) == FOLDER / name
    assert Translator.from_preset(name).translate([SOURCE], beam_width=1) == [GOLDEN[name]]
