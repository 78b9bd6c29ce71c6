"""Models on the Hugging Face Hub, with a server on 127.0.0.1 in its place."""

import base64
import functools
import hashlib
import http.server
import json
import os
import random
import re
import sys
import threading
from pathlib import Path

import pytest

from keraszoo.errors import PresetError
from keraszoo.saving import model_directory
from keraszoo.shipping import cache, shipped
from keraszoo.shipping.fetching import fetch

pytest.importorskip("huggingface_hub")

WEIGHTS = "model.safetensors"
FILES = {
    "config.json": {"task": "translation"},
    "words/words.txt": "a\nb\n",
    WEIGHTS: random.Random(0).randbytes(300_000),
}


class Handler(http.server.BaseHTTPRequestHandler):
    """The part of the Hub's interface that uploads and downloads use."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.requests.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        files = self.server.files
        if self.path == "/api/repos/create":
            self._answer({"url": f"{self.server.url}/{json.loads(body)['organization']}/small"})
        elif self.path == "/api/validate-yaml":
            self._answer({"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            modes = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
            paths = [file["path"] for file in json.loads(body)["files"]]
            self._answer({"files": [{"path": path, **modes} for path in paths]})
        elif self.path.endswith("/commit/main"):
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            self._answer({"commitUrl": self.server.commit, "commitOid": "1" * 40, "success": True})
        else:
            self.send_error(404)

    def do_GET(self):
        self.server.requests.append(self.path)
        self.server.tokens.add(self.headers["Authorization"])
        name = re.sub(r"^/[^/]+/[^/]+/resolve/[^/]+/", "", self.path)
        content = self.server.files.get(name)
        if content is None:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = int((self.headers.get("Range") or "bytes=0-")[6:].split("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("X-Repo-Commit", "1" * 40)
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if self.command == "GET":
            if name in self.server.cut:
                self.server.cut.remove(name)
                content, self.close_connection = content[: len(content) // 2], True
            self.wfile.write(content[start:])

    do_HEAD = do_GET

    def _answer(self, value):
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


def forget_library():
    """huggingface_hub reads the environment when it is imported."""
    for name in [name for name in sys.modules if name.split(".")[0] == "huggingface_hub"]:
        del sys.modules[name]


@pytest.fixture
def server(tmp_path, monkeypatch):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.url, server.files, server.requests = f"http://127.0.0.1:{server.server_port}", {}, []
        server.tokens, server.cut = set(), set()
        server.commit = f"{server.url}/somebody/small/commit/{'1' * 40}"
        for name, value in {
            "HF_ENDPOINT": server.url, "HF_HOME": f"{tmp_path}/hf", "HF_TOKEN": "hf_token",
            "no_proxy": "127.0.0.1", "XDG_CACHE_HOME": f"{tmp_path}/cache", "HF_HUB_DISABLE_TELEMETRY": "1",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        forget_library()
        threading.Thread(target=functools.partial(server.serve_forever, 0.01), daemon=True).start()
        yield server
        server.shutdown()
    forget_library()


@pytest.fixture
def small(tmp_path):
    model_directory.write_directory(tmp_path / "small", FILES)
    return tmp_path / "small"


def contents(directory):
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def test_what_is_uploaded_is_found_by_its_address_and_then_without_network(server, small):
    from keraszoo import upload_preset

    assert upload_preset("hf://somebody/small", small) == server.commit
    assert server.files == contents(small)
    server.files[".gitattributes"] = b"the Hub adds this file"
    place = shipped.find("hf://somebody/small")
    assert place == cache.cache_folder() / "hub" / "somebody" / "small"
    assert contents(place) == contents(small) and os.listdir(place.parent) == ["small"]
    count = len(server.requests)
    assert shipped.find("hf://somebody/small") == place and len(server.requests) == count


def test_fetch_looks_for_a_newer_one_and_keeps_the_old_one_if_that_is_damaged(server, small):
    server.files |= contents(small)
    reported = []
    place = fetch("hf://somebody/small")
    assert fetch("hf://somebody/small", report=reported.append) == place
    assert reported == ["small: exists already and is complete"]
    model_directory.write_directory(small, {**FILES, "words/words.txt": "c\n"})
    server.files |= contents(small)
    server.files[WEIGHTS] = b"?" + server.files[WEIGHTS][1:]
    with pytest.raises(PresetError, match=rf"^hf://somebody/small: {WEIGHTS}: its SHA-256 is not that"):
        fetch("hf://somebody/small")
    assert (place / "words" / "words.txt").read_text() == "a\nb\n"
    server.files |= contents(small)
    assert contents(fetch("hf://somebody/small")) == contents(small)
    sha256 = json.loads((small / "manifest.json").read_text())["sha256"]
    assert fetch("hf://somebody/small", sha256=sha256) == place
    with pytest.raises(PresetError, match=f"its manifest has the SHA-256 {sha256}, not 0000"):
        fetch("hf://somebody/small", sha256="0" * 64)


def test_what_cannot_be_reached_is_one_line(server, small, monkeypatch):
    from keraszoo import upload_preset

    for wrong in ("hf://small", "hf://a/b/c", "hf://../x", "hf://a/"):
        with pytest.raises(PresetError, match="expected hf://USER/NAME"):
            shipped.find(wrong)
    with pytest.raises(PresetError, match=r"hf://somebody/small: has no manifest.json") as error:
        shipped.find("hf://somebody/small")
    assert "\n" not in str(error.value)
    server.files["manifest.json"] = contents(small)["manifest.json"]
    with pytest.raises(PresetError, match=r"hf://somebody/small: has no config.json"):
        shipped.find("hf://somebody/small")
    (small / WEIGHTS).write_bytes(b"damaged")
    with pytest.raises(PresetError, match="damaged"):
        upload_preset("hf://somebody/small", small)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(PresetError, match=r"hf://a/b: .*pip install 'keraszoo\[hub\]'"):
        shipped.find("hf://a/b")


@pytest.mark.parametrize("name", ["manifest.json", WEIGHTS])
def test_a_file_that_is_too_long_is_not_written(server, small, name):
    from keraszoo.saving.manifest import MOST_JSON

    most = MOST_JSON if name == "manifest.json" else len(FILES[WEIGHTS])
    server.files |= contents(small) | {name: bytes(most + 1)}
    with pytest.raises(PresetError, match=rf"small: {name} has more than the {most:,} bytes expected"):
        fetch("hf://somebody/small")
    partial = cache.cache_folder() / "hub" / "somebody" / ".small.partial"
    assert not list(partial.rglob(f"*{name}*"))


def test_a_download_that_was_interrupted_goes_on(server, small):
    server.files |= contents(small)
    weights = server.files.pop(WEIGHTS)
    with pytest.raises(PresetError, match=f"has no {WEIGHTS}"):
        fetch("hf://somebody/small")
    server.files[WEIGHTS] = weights
    server.requests.clear()
    server.cut = {WEIGHTS}
    assert contents(fetch("hf://somebody/small")) == contents(small)
    assert not server.cut


def test_requests_carry_the_token_and_none_is_made_offline(server, small, monkeypatch):
    server.files |= contents(small)
    fetch("hf://somebody/small")
    assert server.tokens == {"Bearer hf_token"}
    forget_library()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(PresetError, match="hf://somebody/other: .*HF_HUB_OFFLINE is set"):
        fetch("hf://somebody/other")


def test_the_command_line_uploads_and_fetches_and_a_task_reads_it_offline(server, run, refusal):
    from keraszoo import QuestionAnswerer

    assert run("upload", "babi_memory_network", "hf://somebody/babi") == (0, f"{server.commit}\n", "")
    code, out, err = run("fetch", "hf://somebody/babi")
    assert (code, err) == (0, "keraszoo: babi: downloading 0.2 MB\n")
    assert contents(Path(out.strip())) == server.files
    for wrong in (["hf://somebody/babi", "--from", "x"], ["babi_memory_network"]):
        assert "expected NAME --from FOLDER, where" in refusal("fetch", *wrong)
    server.shutdown()
    story = ["John went to the kitchen.", "Mary went to the garden."]
    answers = [
        QuestionAnswerer.from_preset(name).answer(story, "Where is John?")
        for name in ("hf://somebody/babi", "babi_memory_network")
    ]
    assert answers[0].text == answers[1].text == "kitchen"
    assert answers[0].probability == answers[1].probability
