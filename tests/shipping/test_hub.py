"""Models on the Hugging Face Hub, with a server on 127.0.0.1 in its place."""

import json
import os
import random
import sys
from pathlib import Path

import pytest

from keraszoo import QuestionAnswerer, upload_preset
from keraszoo.errors import PresetError
from keraszoo.saving import model_directory
from keraszoo.saving.manifest import MOST_JSON
from keraszoo.shipping import cache, shipped
from keraszoo.shipping.fetching import fetch

WEIGHTS = "model.safetensors"
FILES = {
    "config.json": {"task": "translation"},
    "words/words.txt": "a\nb\n",
    WEIGHTS: random.Random(0).randbytes(300_000),
}


@pytest.fixture
def small(tmp_path):
    model_directory.write_directory(tmp_path / "small", FILES)
    return tmp_path / "small"


def contents(directory):
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def test_what_is_uploaded_is_found_by_its_address_and_then_without_network(hub, small):
    assert upload_preset("hf://somebody/small", small) == hub.commit
    assert hub.files == contents(small)
    hub.files[".gitattributes"] = b"the Hub adds this file"
    place = shipped.find("hf://somebody/small")
    assert place == cache.cache_folder() / "hub" / "somebody" / "small"
    assert contents(place) == contents(small) and os.listdir(place.parent) == ["small"]
    count = len(hub.requests)
    assert shipped.find("hf://somebody/small") == place and len(hub.requests) == count


def test_fetch_looks_for_a_newer_one_and_keeps_the_old_one_if_that_is_damaged(hub, small):
    hub.files |= contents(small)
    reported = []
    place = fetch("hf://somebody/small")
    assert fetch("hf://somebody/small", report=reported.append) == place
    assert reported == ["small: exists already and is complete"]
    model_directory.write_directory(small, {**FILES, "words/words.txt": "c\n"})
    hub.files |= contents(small)
    hub.files[WEIGHTS] = b"?" + hub.files[WEIGHTS][1:]
    with pytest.raises(PresetError, match=rf"^hf://somebody/small: {WEIGHTS}: its SHA-256 is not that"):
        fetch("hf://somebody/small")
    assert (place / "words" / "words.txt").read_text() == "a\nb\n"
    hub.files |= contents(small)
    assert contents(fetch("hf://somebody/small")) == contents(small)
    sha256 = json.loads((small / "manifest.json").read_text())["sha256"]
    assert fetch("hf://somebody/small", sha256=sha256) == place
    with pytest.raises(PresetError, match=f"its manifest has the SHA-256 {sha256}, not 0000"):
        fetch("hf://somebody/small", sha256="0" * 64)


def test_what_cannot_be_reached_is_one_line(hub, small, monkeypatch):
    for wrong in ("hf://small", "hf://a/b/c", "hf://../x", "hf://a/"):
        with pytest.raises(PresetError, match="expected hf://USER/NAME"):
            shipped.find(wrong)
    with pytest.raises(PresetError, match=r"hf://somebody/small: has no manifest.json") as error:
        shipped.find("hf://somebody/small")
    assert "\n" not in str(error.value)
    hub.files["manifest.json"] = contents(small)["manifest.json"]
    with pytest.raises(PresetError, match=r"hf://somebody/small: has no config.json"):
        shipped.find("hf://somebody/small")
    (small / WEIGHTS).write_bytes(b"damaged")
    with pytest.raises(PresetError, match="damaged"):
        upload_preset("hf://somebody/small", small)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(PresetError, match=r"hf://a/b: .*pip install 'keraszoo\[hub\]'"):
        shipped.find("hf://a/b")


@pytest.mark.parametrize("name", ["manifest.json", WEIGHTS])
def test_a_file_that_is_too_long_is_not_written(hub, small, name):
    most = MOST_JSON if name == "manifest.json" else len(FILES[WEIGHTS])
    hub.files |= contents(small) | {name: bytes(most + 1)}
    with pytest.raises(PresetError, match=rf"small: {name} has more than the {most:,} bytes expected"):
        fetch("hf://somebody/small")
    partial = cache.cache_folder() / "hub" / "somebody" / ".small.partial"
    assert not list(partial.rglob(f"*{name}*"))


def test_a_download_that_was_interrupted_goes_on(hub, small):
    hub.files |= contents(small)
    weights = hub.files.pop(WEIGHTS)
    with pytest.raises(PresetError, match=f"has no {WEIGHTS}"):
        fetch("hf://somebody/small")
    hub.files[WEIGHTS] = weights
    hub.requests.clear()
    hub.cut = {WEIGHTS}
    assert contents(fetch("hf://somebody/small")) == contents(small)
    assert not hub.cut


def test_requests_carry_the_token_and_none_is_made_offline(hub, small, monkeypatch):
    hub.files |= contents(small)
    fetch("hf://somebody/small")
    assert hub.tokens == {"Bearer hf_token"}
    hub.forget_library()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(PresetError, match="hf://somebody/other: .*HF_HUB_OFFLINE is set"):
        fetch("hf://somebody/other")


def test_the_command_line_uploads_and_fetches_and_a_task_reads_it_offline(hub, run, refusal):
    assert run("upload", "babi_memory_network", "hf://somebody/babi") == (0, f"{hub.commit}\n", "")
    code, out, err = run("fetch", "hf://somebody/babi")
    assert (code, err) == (0, "keraszoo: babi: downloading 0.2 MB\n")
    assert contents(Path(out.strip())) == hub.files
    for wrong in (["hf://somebody/babi", "--from", "x"], ["babi_memory_network"]):
        assert "expected NAME --from FOLDER, where" in refusal("fetch", *wrong)
    hub.shutdown()
    story = ["John went to the kitchen.", "Mary went to the garden."]
    answers = [
        QuestionAnswerer.from_preset(name).answer(story, "Where is John?")
        for name in ("hf://somebody/babi", "babi_memory_network")
    ]
    assert answers[0].text == answers[1].text == "kitchen"
    assert answers[0].probability == answers[1].probability
