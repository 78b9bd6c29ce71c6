"""Model cards: the author's words, the figures, and writing both again."""

import json

import pytest
import yaml

from keraszoo.errors import PresetError
from keraszoo.saving import manifest, model_card, model_facts
from keraszoo.saving.model_directory import read_directory, write_directory

BLEU = {"name": "BLEU", "score": 45.274, "signature": "nrefs:1|tok:13a", "details": "70/50"}
LOWER = {**BLEU, "name": "BLEU, lower-cased"}
FACTS = {
    "name": "small",
    "title": "Small: a model",
    "languages": ["en", "no"],  # "no" is a boolean in careless YAML
    "licence": "cc-by-2.0",
    "data": [{"name": "Corpus", "id": "corpus", "url": "https://example.org", "licence": "CC BY 2.0"}],
    "score": {"name": "BLEU", "section": "test", "figure": "bleu"},
    "limits": "Many.\n\n- one\n",
    "training": "By:\n\n    keraszoo train\n",
}
METRICS = {
    "training": {"steps": 7, "losses": [3.0, 2.0]},
    "test": {"bleu": BLEU, "bleu_lowercased": LOWER, "sentences": 2000},
    "captions, out of its domain": {"bleu": {**BLEU, "score": 19.6}},
}


@pytest.fixture
def place(tmp_path):
    files = {"config.json": {"task": "translation"}, "metrics.json": METRICS, "words.txt": b"a\nb\n"}
    write_directory(tmp_path / "small", {**files, "README.md": "# Old\n"})
    return tmp_path / "small"


def front_matter(text):
    _, front, rest = text.split("---\n", 2)
    return yaml.safe_load(front), rest


def test_a_card_is_what_people_told_and_what_was_measured(place):
    model_card.rewrite_card(place, FACTS)
    front, text = front_matter((place / "README.md").read_text())
    assert front["license"] == "cc-by-2.0" and front["language"] == ["en", "no"]
    assert front["library_name"] == "keraszoo" and front["datasets"] == ["corpus"]
    assert front["metrics"] == ["bleu"]
    (model,) = front["model-index"]
    first, other = model["results"]
    assert model["name"] == "small" and first["metrics"][0]["value"] == 45.27
    assert first["metrics"][0]["args"] == BLEU["signature"] and first["dataset"]["type"] == "corpus"
    assert other["dataset"] == {"name": "captions, out of its domain", "type": "other"}
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == ["# Small: a model", "## Figures", "## Limits", "## How it was trained", "## Data"]
    assert "\n- test: BLEU: 45.27 (`nrefs:1|tok:13a`); BLEU, lower-cased" in text
    assert "\n- captions, out of its domain: BLEU: 19.60 (`nrefs:1|tok:13a`)\n- training: steps: 7\n" in text
    assert "2000" not in text and "    keraszoo train\n" in text
    assert "[3.0, 2.0]" not in text


def test_writing_a_card_anew_changes_nothing_else_and_twice_nothing(place, monkeypatch):
    model_card.rewrite_card(place, FACTS, {"test": {"bleu": LOWER}})
    directory = read_directory(place)
    assert directory.read_bytes("words.txt") == b"a\nb\n" and directory.config["task"] == "translation"
    assert directory.metrics == {**METRICS, "test": {"bleu": LOWER}}
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    monkeypatch.setattr(manifest, "__version__", "9.9")
    model_card.rewrite_card(place)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_facts_of_a_list_and_of_a_model_that_is_trained_further(place):
    assert model_facts.describe(read_directory(place))["licence"] is None
    model_card.rewrite_card(place, FACTS)
    told = model_facts.describe(read_directory(place))
    assert told["score"] == {"name": "BLEU", "value": 45.27} and told["languages"] == ["en", "no"]
    assert told["size"] == sum(p.stat().st_size for p in place.iterdir() if p.name != "manifest.json")
    # A model that is trained further keeps licence and data, but not the story.
    model_card.rewrite_card(place, FACTS)
    assert set(model_facts.lasting_facts(read_directory(place))) == {"languages", "licence", "data"}


def test_a_section_can_be_removed_and_a_share_of_nothing_is_no_figure(place):
    model_card.rewrite_card(place, FACTS, {"captions, out of its domain": None})
    assert set(read_directory(place).metrics) == {"training", "test"}
    assert "captions" not in (place / "README.md").read_text()
    none = {"name": "F1, unseen", "score": None, "signature": "strict IOB2"}
    model_card.rewrite_card(place, FACTS, {"test": {"bleu": BLEU, "f1_unseen": none}})
    front, text = front_matter((place / "README.md").read_text())
    assert "; F1, unseen: none to score\n" in text
    assert [it["name"] for it in front["model-index"][0]["results"][0]["metrics"]] == ["BLEU"]


def test_a_headline_that_is_a_plain_number(place):
    score = {"name": "error %", "section": "errors", "figure": "mean"}
    model_card.rewrite_card(place, {**FACTS, "score": score}, {"errors": {"mean": 12.38}})
    assert model_facts.describe(read_directory(place))["score"] == {"name": "error %", "value": 12.38}
    front, _ = front_matter((place / "README.md").read_text())
    (first,) = front["model-index"][0]["results"][0]["metrics"]
    assert first == {"type": "mean", "name": "error %", "value": 12.38}
    model_card.rewrite_card(place, {"metrics": ["error_rate"]})
    front, _ = front_matter((place / "README.md").read_text())
    assert front["metrics"] == ["error_rate"]
    assert front["model-index"][0]["results"][0]["metrics"][0]["type"] == "error_rate"


@pytest.mark.parametrize(
    "facts", [{"score": {"name": "F1", "section": "test", "figure": "f1x"}}, {"data": []}, {"metrics": []}]
)
def test_a_card_is_written_even_if_the_headline_is_not_there(place, facts):
    model_card.rewrite_card(place, {**FACTS, **facts})
    assert (place / "README.md").is_file()


WRONG = [
    ({"color": "red"}, "color: unknown key, did you mean score"),
    ({"licence": 3}, "licence: expected text, got 3"),
    ({"languages": "en"}, "languages: expected a valid list, got 'en'"),
    ({"languages": [True]}, "languages.0: expected text, got True"),
    ({"data": [{"name": "x"}]}, "data.0.id: missing, and there is no default"),
    ({"data": [{**FACTS["data"][0], "url": None}]}, "data.0.url: expected text"),
    ({"score": {"name": "BLEU"}}, "score.section: missing, and"),
    ({"parameters": 1.5}, "parameters: expected a valid integer"),
    ("facts", "expected a section with some of name, licence, title, .*, got 'facts'"),
]


@pytest.mark.parametrize(("facts", "said"), WRONG)
def test_facts_that_are_none(place, tmp_path, facts, said):
    before = (place / "README.md").read_text()
    with pytest.raises(PresetError, match=said):
        model_card.rewrite_card(place, facts)
    assert (place / "README.md").read_text() == before
    (tmp_path / "facts.yaml").write_text(json.dumps({".shared": 3, "small": facts}))
    with pytest.raises(PresetError, match=rf"facts.yaml: small: {said}"):
        model_facts.read_facts(tmp_path / "facts.yaml")


def test_a_file_of_facts(tmp_path):
    (tmp_path / "facts.yaml").write_text("2: {licence: mit}")
    assert model_facts.read_facts(tmp_path / "facts.yaml") == {"2": {"licence": "mit"}}
    for text, said in (("a: [", "not YAML"), ("- a", "expected facts by the names")):
        (tmp_path / "facts.yaml").write_text(text)
        with pytest.raises(PresetError, match=said):
            model_facts.read_facts(tmp_path / "facts.yaml")
    with pytest.raises(PresetError, match="cannot be"):
        model_facts.read_facts(tmp_path / "none.yaml")


HUGE = 10**400  # no float
FIGURES = {
    "huge": HUGE,
    "none": {"signature": "x"},
    "text": {**BLEU, "score": "45"},
    "huge score": {**BLEU, "score": HUGE},
}


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_figures_of_strangers(tmp_path, figure):
    files = {"config.json": {}, "metrics.json": {"test": {"bleu": figure}}}
    write_directory(tmp_path / "odd", files)
    model_card.rewrite_card(tmp_path / "odd")
    assert model_facts.describe(read_directory(tmp_path / "odd"))["score"] is None
