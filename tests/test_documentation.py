"""The documentation lists every public name and every included model, and its links lead somewhere."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REFERENCE = {
    entry
    for page in DOCS.glob("reference/*.md")
    for entry in re.findall(r"^(?:\.\. auto\w+::|   ) ~?(keraszoo\.\S+)$", page.read_text(), re.MULTILINE)
}
FOLDERS = ("*.md", "docs/**/*.md", "pretrained/**/*.md", "benchmarks/*.md", "examples/*.md")
FOLDERS += ("experiments/*.md", "lab/*.md")
PAGES = [page for folder in FOLDERS for page in ROOT.glob(folder)]


def public_classes_and_functions(module):
    names = getattr(module, "__all__", dir(module))
    public = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {name: it for name, it in public.items() if inspect.isroutine(it) or inspect.isclass(it)}


@pytest.mark.parametrize("package", ["keraszoo", "keraszoo.layers", "keraszoo.models", "keraszoo.search"])
def test_public_names_are_in_the_reference(package):
    names = public_classes_and_functions(importlib.import_module(package))
    assert names
    assert {f"{package}.{name}" for name in names} - REFERENCE == set()


def test_losses_are_in_the_reference():
    public = public_classes_and_functions(importlib.import_module("keraszoo.training.losses"))
    assert {name for name, kind in public.items() if inspect.isclass(kind)} == {"TokenCrossentropy"}
    assert "keraszoo.training.losses.TokenCrossentropy" in REFERENCE


def test_sections_of_recipes_are_in_the_reference():
    modules = ("keraszoo.translation.recipe", "keraszoo.tagging.recipe", "keraszoo.answering.training")
    names = {
        f"{module}.{name}"
        for module in modules
        for name, kind in public_classes_and_functions(importlib.import_module(module)).items()
        if name.endswith("Section") and kind.__module__ == module
    }
    assert len(names) > 10
    assert names - REFERENCE == set()


def test_the_reference_lists_only_what_exists():
    for entry in REFERENCE:
        module, _, name = entry.rpartition(".")
        assert hasattr(importlib.import_module(module), name), entry


@pytest.mark.parametrize("folder", ["examples", "experiments"])
def test_every_script_of_a_folder_is_listed(folder):
    page = (ROOT / folder / "README.md").read_text()
    assert set(re.findall(r"\]\((\w+\.py)\)", page)) == {path.name for path in ROOT.glob(f"{folder}/*.py")}


def test_examples_are_few():
    assert len([*ROOT.glob("examples/*.py")]) <= 10
    assert len([*ROOT.glob("examples/recipes/*.yaml")]) == 3


def test_every_shipped_model_has_a_page():
    models = {path.parent.name for path in ROOT.glob("pretrained/*/README.md")}
    assert models == {path.stem for path in DOCS.glob("models/*.md")} - {"index"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    missing = []
    for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?[^)]*\)", page.read_text()):
        if not re.match(r"[a-z]+:", link):
            target = page.parent / link if link else page
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                missing.append(f"{link}#{anchor}")
    assert not missing


def anchors(page):
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
