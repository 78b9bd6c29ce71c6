"""The registry has all tasks and models, and pages and recipes name those of the registry."""

from pathlib import Path

import pytest

from keraszoo import models, registry
from keraszoo.registry import MODELS, TASKS, load, models_of

ROOT = Path(__file__).parent.parent
PARTS_AND_BASES = {"Ensemble", "PretrainedWords", "TagHead", "WordFeatures", "TaggingModel"}
PARTS_AND_BASES |= {"TranslationModel"}


def test_every_model_has_a_row():
    assert {row.kind for row in MODELS} == set(models.__all__) - PARTS_AND_BASES
    assert len({(row.task, row.name) for row in MODELS}) == len(MODELS)


@pytest.mark.parametrize("name", TASKS)
def test_every_place_of_a_task_exists(name):
    row = TASKS[name]
    for place in filter(None, (row.kind, row.recipe, row.prepare)):
        assert load(place).__name__ == place.partition(":")[2]
    if row.kind:
        assert load(row.kind).kind == name


def test_the_recipes_of_a_task_name_its_models():
    for name in registry.WITH_RECIPES:
        section = load(TASKS[name].recipe).model_fields["model"].annotation
        assert section.model_fields["name"].annotation.__args__ == tuple(models_of(name))


@pytest.mark.parametrize(
    ("task", "page"),
    [("translation", "README.md"), ("translation", "docs/training.md"), ("translation", "docs/lineage.md")]
    + [("tagging", "README.md"), ("tagging", "docs/tagging.md")],
)
def test_the_pages_name_every_model(task, page):
    text = (ROOT / page).read_text()
    assert [name for name in models_of(task) if f"`{name}`" not in text] == []
