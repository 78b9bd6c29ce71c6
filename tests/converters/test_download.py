"""Published models on the Hub, with a server on 127.0.0.1 in its place."""

import os

import pytest

from keraszoo import Translator
from keraszoo.errors import PresetError
from keraszoo.shipping import cache, shipped

ADDRESS = "hf://somebody/opus"


@pytest.fixture
def publish(hub, write):
    """Puts files at `ADDRESS`."""

    def publish(files):
        hub.files |= {path.name: path.read_bytes() for path in write(files).iterdir()}

    return publish


def in_cache():
    place = cache.cache_folder() / "hub" / "somebody"
    return sorted(name for name in os.listdir(place) if not name.endswith(".lock")) if place.is_dir() else []


def test_a_model_of_the_hub_is_converted_once_and_then_read_without_it(publish, hub, files):
    publish(files)
    first = Translator.from_preset(ADDRESS)
    assert in_cache() == ["opus"] and first.about["licence"] == "cc-by-4.0"
    assert first.about["attribution"] == f"Converted from {ADDRESS}."
    hub.files.clear()
    second = Translator.from_preset(ADDRESS)
    assert second.about == first.about and shipped.find(ADDRESS).name == "opus"
    assert second.source_subwords == first.source_subwords


def test_fetch_converts_into_the_cache_or_into_a_directory(publish, files, run, tmp_path):
    publish(files)
    output = tmp_path / "converted"
    assert run("fetch", ADDRESS, "--output", output) == (0, f"{output}\n", "")
    assert in_cache() == [] and (output / "manifest.json").is_file()
    code, out, err = run("fetch", ADDRESS)
    assert (code, out, err) == (0, f"{cache.hub_place(ADDRESS)}\n", "")
    assert in_cache() == ["opus"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model.safetensors": None}, "no model.safetensors, and pickles are not read.*MarianMTModel"),
        ({"target.spm": None}, "hf://somebody/opus: has no target.spm"),
        ({"config.json": {}}, "hf://somebody/opus: has no manifest.json"),
    ],
)
def test_what_cannot_be_converted_is_one_line_and_leaves_nothing(publish, files, changes, said):
    publish({**files, **changes})
    with pytest.raises(PresetError, match=said) as error:
        Translator.from_preset(ADDRESS)
    assert "\n" not in str(error.value)
    assert [name for name in in_cache() if not name.endswith(".partial")] == []
