"""The tables of the pages show the figures of `results/`, and each figure has its command."""

import json
import re
from pathlib import Path

import measure
import pytest
import render
import write_cards

from keraszoo.saving import model_directory

ROOT = Path(__file__).parent.parent
FILES = sorted(path.stem for path in (ROOT / "results").glob("*.json"))
INCLUDED = model_directory.names_in(ROOT / "pretrained")


@pytest.mark.parametrize("page", render.PAGES)
def test_the_tables_of_a_page_show_the_stored_figures(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert render.PLACE.search(text)
    assert render.rendered(ROOT / page) == text


@pytest.mark.parametrize("name", FILES)
def test_every_figure_has_its_command(name):
    content = measure.read(name)
    entries = [content] if "rows" in content else content.values()
    for entry in entries:
        script = re.search(r"(?:python|bash) (\S+)", entry["command"])
        assert entry["command"].startswith("keraszoo ") or (ROOT / script[1]).is_file()
        assert entry.get("rows") or entry["figures"]
    if "rows" in content:
        assert {len(row) for row in content["rows"]} == {len(content["columns"])}


def test_every_file_is_shown_somewhere():
    shown = "".join((ROOT / page).read_text(encoding="utf-8") for page in render.PAGES)
    tables = {name for _, name, _ in render.PLACE.findall(shown)}
    assert set(FILES) - {*INCLUDED} - tables - {"babi"} == set()


@pytest.mark.parametrize("name", INCLUDED)
def test_the_figures_of_a_card_are_the_stored_ones(name):
    metrics = json.loads((ROOT / "pretrained" / name / "metrics.json").read_text(encoding="utf-8"))
    tests = {key: value for key, value in metrics.items() if key not in write_cards.OF_TRAINING}
    assert tests == write_cards.measured_figures(name)


def test_pages_and_cards_are_short():
    most = {"README.md": 120, "RESULTS.md": 200, "docs/ablations.md": 150}
    most |= {f"pretrained/{name}/README.md": 100 for name in INCLUDED}
    lengths = {page: len((ROOT / page).read_text(encoding="utf-8").splitlines()) for page in most}
    assert {page: length for page, length in lengths.items() if length > most[page]} == {}


def test_measuring_stores_what_a_command_prints(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "FOLDER", tmp_path / "results")
    (tmp_path / "results").mkdir()
    (tmp_path / "script.py").write_text("print('scores:'); print('{\"f1\": 1.5, \"confusion\": []}')")
    measure.write("some", {"a": {"command": "python script.py"}, "b": {"command": "python $NOWHERE.py"}})
    measure.main("some", "a")
    assert measure.read("some")["a"] == {"command": "python script.py", "figures": {"f1": 1.5}}
    monkeypatch.delenv("NOWHERE", raising=False)
    wrong = {"no entry c": ("some", "c"), "set the variables": ("some",), "no such": ("none",)}
    for said, arguments in wrong.items():
        with pytest.raises(SystemExit, match=said):
            measure.main(*arguments)
