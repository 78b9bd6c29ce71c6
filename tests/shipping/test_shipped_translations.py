"""The included translators are small, have their figures in the table and give their golden translations."""

import json
from pathlib import Path

import pytest

from keraszoo import Translator
from keraszoo.shipping import shipped
from keraszoo.text.subwords import Subwords

FOLDER = Path(__file__).parents[2] / "pretrained"
GOLDEN = {
    "en": "Where did you park the car?",
    "de": "Wo hast du das Auto geparkt?",
    "fr": "Où as-tu garé la voiture ?",
}
NAMES = [f"tatoeba_en_de_{model}" for model in ("luong", "rnnsearch", "student", "transformer")]
NAMES += [f"tatoeba_en_fr_{model}" for model in ("rnnsearch", "transformer")]
NAMES += [f"tatoeba_{language}_en_transformer" for language in ("de", "fr")]
TWENTY = [
    *("They weren't at home.", "I can't remember the name of it.", "It's raining.", "That's Tom's dog."),
    *("Don't be late!", "She's here.", "We'll see.", "I'd like that.", "You're right.", "Who's there?"),
    *("J'ai faim.", "Je n'ai pas d'argent.", "C'est l'été.", "Qu'est-ce que c'est ?", "L'eau est froide."),
    *("Wie geht's?", "Das ist Lisa' Hund.", "Ich hab's!", "Gib's mir.", "So ist's gut."),
]
KINDS = "entities", "words"  # tested elsewhere, as the answers
OTHERS = {f"{text}_{kind}" for text in ("english", "biomedical") for kind in KINDS}
OTHERS |= {"babi_memory_network", "english_entities_minilm"}


def test_all_are_tested_and_small():
    places = FOLDER.glob("*/")
    sizes = {place.name: sum(file.stat().st_size for file in place.rglob("*")) for place in places}
    assert sizes.keys() == {*NAMES, *OTHERS} and max(sizes.values()) < 25e6, sizes


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_its_figures(name):
    size = sum(file.stat().st_size for file in (FOLDER / name).iterdir())
    scores = json.loads((FOLDER / name / "metrics.json").read_text())["test"]
    lines = (FOLDER / "README.md").read_text().splitlines()
    (row,) = (line for line in lines if line.startswith(f"| `{name}`"))
    scored = [f"{scores['bleu']['score']:.2f}", f"{scores['chrf']['score']:.1f}"]
    assert [cell.strip() for cell in row.split("|")][-4:-1] == [f"{size / 1e6:.0f} MB", *scored]
    card = (FOLDER / name / "README.md").read_text()
    assert f"{scores['bleu']['score']:.2f} (`{scores['bleu']['signature']}`)" in card


BY_DEFAULT = ["tatoeba_en_de_student"]  # the one that the package contains
REST = [pytest.param(name, marks=pytest.mark.slow) for name in NAMES if name not in BY_DEFAULT]


@pytest.mark.parametrize("name", [*BY_DEFAULT, *REST])
def test_the_translation_is_the_golden_one(name, monkeypatch):
    monkeypatch.delenv("KERASZOO_PRETRAINED", raising=False)
    assert shipped.find(name) == FOLDER / name
    source, target = name.split("_")[1:3]
    sentences = [GOLDEN[source], "They weren't at home.", "They weren’t at home."]
    translation, plain, typographic = Translator.from_preset(name).translate(sentences)
    assert translation == GOLDEN[target] and plain == typographic


@pytest.mark.parametrize("name", NAMES)
def test_typographic_signs_are_read_as_those_of_the_training_text(name):
    config = json.loads((FOLDER / name / "config.json").read_text(encoding="utf-8"))
    subwords = Subwords((FOLDER / name / "joint.model").read_bytes(), config["signs"]["source"])
    for sentence in TWENTY:
        plain = subwords.encode([sentence])
        for sign in "’‘´`":
            assert subwords.encode([sentence.replace("'", sign)]) == plain
        assert subwords.encode([f"\u200e{sentence[:3]}\u00ad{sentence[3:]}\ufeff"]) == plain
        assert subwords.unknown(sentence) == []
    if name.startswith("tatoeba_en_"):  # English sentences there have no other quotation marks and dashes
        plain = subwords.encode(['He said, "No - never."'])
        for opening, closing in ("“”", "„“", "«»", "„”"):
            assert subwords.encode([f"He said, {opening}No – never.{closing}"]) == plain
