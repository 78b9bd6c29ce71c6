"""What the list, the index and the tables say is what the directories hold."""

import json
from pathlib import Path

import pytest
import write_cards as writing

from keraszoo.saving import model_card, model_directory, model_facts
from keraszoo.saving.model_card import SECTIONS
from keraszoo.saving.model_directory import write_directory
from keraszoo.shipping import cache

FOLDER = Path(__file__).parents[2] / "pretrained"
SHIPPED = {name: FOLDER / name for name in model_directory.names_in(FOLDER)}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a model of one's own, and one that is damaged."""
    config = {"task": "translation", "about": {"languages": ["en", "de"], "licence": "mit"}}
    metrics = {"test": {"bleu": {"score": 9}}}
    write_directory(tmp_path / "mine", {"config.json": config, "metrics.json": metrics})
    write_directory(tmp_path / "wrong", {"config.json": {"task": "translation\n\x1b[31m"}})
    write_directory(tmp_path / "damaged", {"config.json": {}})
    (tmp_path / "damaged" / "config.json").write_text("{")
    monkeypatch.setenv("KERASZOO_PRETRAINED", str(tmp_path))
    return tmp_path


def test_the_index_and_the_tables_are_those_of_the_directories():
    assert json.loads(cache.INDEX.read_text()) == writing.index(SHIPPED)
    page = (FOLDER / writing.README).read_text()
    assert f"{writing.BEGIN}\n{writing.tables(SHIPPED)}{writing.END}" in page


@pytest.mark.parametrize("name", SHIPPED)
def test_the_card_is_the_one_of_its_facts_and_figures(name):
    directory = model_directory.read_directory(SHIPPED[name])
    facts = model_facts.read_facts(FOLDER / writing.FACTS)[name]
    assert '"/' not in directory.read_text("config.json")  # a path of one machine
    assert directory.config["about"].items() >= facts.items()
    card = directory.read_bytes("README.md").decode()
    assert card == model_card.model_card(directory.config["about"], directory.metrics)
    for heading in ("Data", *SECTIONS.values()):
        assert f"\n## {heading}\n" in card
    for told in ("license", "language", "datasets", "metrics", "model-index", "pipeline_tag"):
        assert f"\n{told}:" in card
    assert facts["name"] == name and name in facts["evaluation"]


def test_the_list_for_people_and_for_programs(run, own):
    code, out, err = run("list")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert (code, err) == (0, "") and set(lines) == {"name", "mine", "wrong", "damaged", *SHIPPED}
    for expected in ("translation", "en de", "0.0 MB", "BLEU 9.00", "mit", str(own / "mine")):
        assert f"  {expected}" in lines["mine"]
    assert "damaged or changed" in lines["damaged"]
    assert r"translation\n\x1b[31m" in lines["wrong"] and "\x1b" not in out
    assert [*lines] == ["name", *sorted({*lines} - {"name"})]
    code, out, _ = run("list", "--json")
    models = {model["name"]: model for model in json.loads(out)}
    assert models["mine"]["score"] == {"name": "BLEU", "value": 9}
    assert models["mine"]["place"] == str(own / "mine")
    assert models["damaged"].keys() == {"name", "place", "error"}
    for name, place in SHIPPED.items():
        assert models[name]["place"] == str(place) and models[name]["licence"].startswith("cc-by")
        assert models[name]["score"]["value"] and models[name]["languages"] and models[name]["size"] > 1000


def test_a_card_by_command(run, refusal, own, tmp_path):
    (tmp_path / "facts.yaml").write_text("mine: {title: A title, limits: Few.}\n")
    code, out, _ = run("card", str(own / "mine"), "--facts", str(tmp_path / "facts.yaml"))
    assert (code, out) == (0, f"{own / 'mine'}\n")
    card = (own / "mine" / "README.md").read_text()
    assert "# A title" in card and "## Limits\n\nFew.\n" in card and "license: mit" in card
    assert model_directory.read_directory(own / "mine").metrics == {"test": {"bleu": {"score": 9}}}
    assert "in manifest.json: damaged" in refusal("card", str(own / "damaged"))


def test_a_place_of_any_name_is_json(run, tmp_path, monkeypatch):
    folder = tmp_path / "of\u00a0mine\x7f"
    write_directory(folder / "mine", {"config.json": {"task": "translation"}})
    monkeypatch.setenv("KERASZOO_PRETRAINED", str(folder))
    models = {model["name"]: model for model in json.loads(run("list", "--json")[1])}
    assert models["mine"]["place"] == str(folder / "mine")
