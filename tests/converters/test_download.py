"""Published models on the Hub, with a server of files on 127.0.0.1 in its place."""

import functools
import http.server
import os
import sys
import threading

import pytest

from keraszoo import Translator
from keraszoo.errors import PresetError
from keraszoo.shipping import cache, shipped

pytest.importorskip("huggingface_hub")

ADDRESS = "hf://somebody/opus"


class Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self):
        self.send_header("X-Repo-Commit", "1" * 40)
        self.send_header("ETag", '"1"')
        if not os.path.exists(self.translate_path(self.path)):
            self.send_header("X-Error-Code", "EntryNotFound")
        super().end_headers()

    def log_message(self, *arguments):
        pass


def forget_library():
    """huggingface_hub reads the environment when it is imported."""
    for name in [name for name in sys.modules if name.split(".")[0] == "huggingface_hub"]:
        del sys.modules[name]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The folder of the files of `ADDRESS`; with it, `offline` stops the server."""
    folder = tmp_path / "hub" / "somebody" / "opus" / "resolve" / "main"
    folder.parent.mkdir(parents=True)
    handler = functools.partial(Handler, directory=tmp_path / "hub")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        for name, value in {
            "HF_ENDPOINT": url, "HF_HOME": f"{tmp_path}/hf", "no_proxy": "127.0.0.1",
            "XDG_CACHE_HOME": f"{tmp_path}/cache", "HF_HUB_DISABLE_TELEMETRY": "1",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        forget_library()
        threading.Thread(target=functools.partial(server.serve_forever, 0.01), daemon=True).start()
        yield folder
        server.shutdown()
    forget_library()


def in_cache():
    place = cache.cache_folder() / "hub" / "somebody"
    return sorted(name for name in os.listdir(place) if not name.endswith(".lock")) if place.is_dir() else []


def test_a_model_of_the_hub_is_converted_once_and_then_read_without_it(repository, files, write, monkeypatch):
    write(files).rename(repository)
    first = Translator.from_preset(ADDRESS)
    assert in_cache() == ["opus"] and first.about["licence"] == "cc-by-4.0"
    assert first.about["attribution"] == f"Converted from {ADDRESS}."
    repository.rename(repository.with_name("gone"))
    second = Translator.from_preset(ADDRESS)
    assert second.about == first.about and shipped.find(ADDRESS).name == "opus"
    assert second.source_subwords == first.source_subwords


def test_fetch_converts_into_the_cache_or_into_a_directory(repository, files, write, run, tmp_path):
    write(files).rename(repository)
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
        ({"config.json": {"model_type": "t5"}}, "opus/config.json: .* expected marian, got 't5'"),
        ({"target.spm": None}, "hf://somebody/opus: has no target.spm"),
        ({"source.spm": b""}, "hf://somebody/opus/source.spm: expected a unigram model"),
        ({"config.json": {}}, "hf://somebody/opus: has no manifest.json"),
    ],
)
def test_what_cannot_be_converted_is_one_line_and_leaves_nothing(repository, files, write, changes, said):
    write({**files, **changes}).rename(repository)
    with pytest.raises(PresetError, match=said) as error:
        Translator.from_preset(ADDRESS)
    assert "\n" not in str(error.value)
    assert [name for name in in_cache() if not name.endswith(".partial")] == []
