"""Fetching by name: from a folder or a Hub that misbehaves, into the cache, and offline from then on."""

import contextlib
import functools
import gzip
import http.server
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import keraszoo
from keraszoo.errors import PresetError
from keraszoo.saving import model_directory
from keraszoo.shipping import fetching, hub, shipped, transfer
from keraszoo.shipping.fetching import fetch

BIG = "model.safetensors"
ADDRESS = "hf://somebody/small"
FILES = {
    "config.json": {"task": "translation"},
    "words/words.txt": "a\nb\n",
    BIG: random.Random(0).randbytes(300_000),
}
BEFORE_BIG = ["good"] * (1 + sorted(FILES).index(BIG))  # the manifest, and files in its order


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves a folder as `server.behaviour` says."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.requests.append((Path(self.path).name, wanted))
        behaviour = server.behaviour.pop(0) if server.behaviour else "good"
        path = Path(server.folder + self.path)
        if behaviour == "down" or not path.is_file():
            self.send_error(503 if behaviour == "down" else 404)
            return
        content = path.read_bytes()
        start = int(wanted[6:-1]) if wanted and behaviour != "no parts" else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if behaviour == "packed":
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content) - start + 10 * (behaviour == "more")))
        self.end_headers()
        content = content[start:]
        if behaviour == "cut":
            content = content[: len(content) // 2]
        elif behaviour == "damage":
            content = content[:-1] + b"?"
        self.wfile.write(content + b"x" * 10 * (behaviour == "more"))
        if behaviour in ("cut", "damage"):
            self.close_connection = True

    def log_message(self, *arguments):
        pass


@pytest.fixture
def folder(tmp_path):
    """A folder of models, as `pretrained/` is one."""
    model_directory.write_directory(tmp_path / "mirror" / "small", FILES)
    return tmp_path / "mirror"


@pytest.fixture
def server(folder, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("keraszoo.shipping.transfer.time.sleep", lambda seconds: None)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.folder, server.behaviour, server.requests = str(folder), [], []
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(hub, "files_of", lambda address: (f"{url}/{address.rpartition('/')[2]}", {}))
        threading.Thread(target=functools.partial(server.serve_forever, 0.01), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KERASZOO_PRETRAINED", raising=False)
    return tmp_path / "cache" / "keraszoo"


@pytest.fixture
def known(folder, monkeypatch):
    """The index knows `small`."""
    manifest = json.loads((folder / "small" / "manifest.json").read_text())
    index = {"small": {"about": {"size": 300_000}, "manifest": manifest}}
    monkeypatch.setattr("keraszoo.shipping.cache.index", lambda: index)
    return index


def same(first, second):
    files = {p.relative_to(first): p.read_bytes() for p in first.rglob("*") if p.is_file()}
    return files == {p.relative_to(second): p.read_bytes() for p in second.rglob("*") if p.is_file()}


# From the start to its use


def test_what_is_fetched_is_found_by_name_without_any_network(folder, server, cache):
    assert fetch(ADDRESS) == cache / "hub" / "somebody" / "small" == shipped.find(ADDRESS)
    assert same(shipped.find(ADDRESS), folder / "small")
    assert os.listdir(cache / "hub" / "somebody") == ["small"]
    server.shutdown()
    assert model_directory.read_directory(shipped.find(ADDRESS)).config == FILES["config.json"]


@pytest.mark.parametrize("ending", ["", "/"])
def test_from_a_folder(folder, cache, known, ending):
    with pytest.raises(PresetError, match=r"small: an included .*, but not .* `keraszoo fetch small --from"):
        shipped.find("small")
    assert fetch("small", f"{folder}{ending}") == cache / "small" == shipped.find("small")
    assert same(cache / "small", folder / "small") and os.listdir(cache) == ["small"]


def test_a_model_of_another_version_is_not_used_and_is_replaced(folder, cache, known):
    model_directory.write_directory(cache / "small", {**FILES, "config.json": {"task": "older"}})
    with pytest.raises(PresetError, match="small: an included model, but not on this machine"):
        shipped.find("small")
    fetch("small", folder)
    assert same(shipped.find("small"), folder / "small")


def test_another_model_by_the_name_of_an_included_one_is_refused(folder, cache, known):
    with pytest.raises(PresetError, match="small: the included model of this name has another SHA-256"):
        fetch("small", folder, sha256="0" * 64)
    assert not cache.exists()
    sha256 = json.loads((folder / "small" / "manifest.json").read_text())["sha256"]
    assert same(fetch("small", folder, sha256=sha256.upper()), folder / "small")


def test_a_damaged_one_is_replaced_but_nobodys_files_are(folder, cache, known):
    (fetch("small", folder) / BIG).write_bytes(b"damaged")
    assert same(fetch("small", folder), folder / "small")
    (cache / "small" / "thesis.tex").write_text("years of work")
    with pytest.raises(PresetError, match=r"holds 'thesis.tex'.* not overwritten"):
        fetch("small", folder)


# Servers that misbehave


@pytest.mark.parametrize("second", ["good", "no parts"])
def test_a_broken_download_goes_on_where_it_broke(folder, server, cache, second):
    server.behaviour = BEFORE_BIG + ["cut", "cut", second]
    assert same(fetch(ADDRESS), folder / "small")
    first, *later = [wanted for name, wanted in server.requests if name == BIG]
    starts = [int(wanted[len("bytes=") : -1]) for wanted in later]
    assert first is None and 100_000 < starts[0] <= 150_000 < starts[1] <= 225_000 and len(starts) == 2


def test_a_download_stopped_after_its_last_byte_is_fetched_again(folder, server, cache, monkeypatch):
    def stop(source, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("keraszoo.shipping.fetching.os.replace", stop)
        fetch(ADDRESS)
    assert same(fetch(ADDRESS), folder / "small")


def test_a_name_needs_a_source_and_an_address_has_one(cache):
    for name, source in (("tatoeba_en_de_luong", None), ("hf://user/name", "somewhere")):
        with pytest.raises(PresetError, match="expected a name with a folder, or hf://USER/NAME without"):
            fetch(name, source)


def test_a_call_that_gave_up_is_taken_up_by_the_next(folder, server, cache):
    server.behaviour = BEFORE_BIG + ["cut", *["down"] * transfer.RETRIES]
    with pytest.raises(PresetError, match=r"small: 503 Server Error"):
        fetch(ADDRESS)
    assert not (cache / "hub" / "somebody" / "small").exists()
    server.requests.clear()
    server.behaviour.clear()
    assert same(fetch(ADDRESS), folder / "small")
    manifest, (big, wanted), rest = server.requests
    assert manifest == ("manifest.json", None) and rest == ("words.txt", None)
    assert big == BIG and wanted.startswith("bytes=1")


def test_other_bytes_than_the_expected_are_not_kept(folder, server, cache):
    server.behaviour = ["good"] + ["damage"] * (transfer.RETRIES + 1)
    with pytest.raises(PresetError, match=r"config.json: its SHA-256 is not that of manifest.json"):
        fetch(ADDRESS)
    server.behaviour = ["good", "more"]
    with pytest.raises(PresetError, match=r"config.json has more than the \d+ bytes expected"):
        fetch(ADDRESS)
    server.behaviour = BEFORE_BIG + ["cut", "damage", "good"]
    assert same(fetch(ADDRESS), folder / "small")  # a damaged half is fetched once more, whole


def test_a_folder_cannot_pass_off_another_model(folder, cache, known):
    model_directory.write_directory(folder / "small", {**FILES, "words/words.txt": "c\nd\n"})
    with pytest.raises(PresetError, match=r"words.txt: its SHA-256 is not that of manifest.json"):
        fetch("small", folder)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{folder}/nowhere", "mirror/nowhere: no such folder"),
        ("https://example.org/models", "^https://example.org/models: no such folder"),
        ("{folder}/small", "mirror/small: has no model small; expected the folder that .*/mirror$"),
    ],
)
def test_a_source_that_is_none(folder, cache, known, source, said):
    with pytest.raises(PresetError, match=said):
        fetch("small", source.format(folder=folder))
    assert not cache.exists()


@pytest.mark.parametrize(
    ("url", "said"), [("http://127.0.0.1:1", "refused"), ("http://[", "not a valid host")]
)
def test_a_hub_that_is_none(server, cache, monkeypatch, url, said):
    monkeypatch.setattr(hub, "files_of", lambda address: (url, {}))
    with pytest.raises(PresetError, match=said):
        fetch(ADDRESS)


@pytest.mark.parametrize("name", ["../small", "a/b", "", ".", "small\0", "manifest.json", "x" * 200])
def test_a_name_that_is_none(folder, cache, name):
    with pytest.raises(PresetError):
        fetch(name, folder)
    assert not cache.exists()


def test_a_misspelt_name_gives_the_near_one_and_leaves_nothing(folder, cache, known):
    with pytest.raises(PresetError, match=r"smal.* did you mean small\?"):
        fetch("smal", folder)
    with pytest.raises(PresetError, match=r"mirror: .* one of small"):
        fetch("xyz", folder)
    assert not cache.exists()


# Models that the index does not know


def test_an_unknown_model_may_have_to_be_of_one_version(folder, server, cache):
    sha256 = json.loads((folder / "small" / "manifest.json").read_text())["sha256"]
    for source in (("small", folder), (ADDRESS,)):
        with pytest.raises(PresetError, match=rf"manifest has the SHA-256 {sha256}, not 0000"):
            fetch(*source, sha256="0" * 64)
        assert same(fetch(*source, sha256=sha256), folder / "small")
        shutil.rmtree(cache)
        assert same(fetch(*source), folder / "small")


def test_a_manifest_that_leads_elsewhere_is_refused(folder, cache):
    from keraszoo.saving import manifest as manifests

    manifest = json.loads((folder / "small" / "manifest.json").read_text())
    del manifest["sha256"]
    manifest["files"]["../../evil"] = {"size": 1, "sha256": "0" * 64}
    (folder / "small" / "manifest.json").write_bytes(manifests.serialise(manifest))
    with pytest.raises(PresetError, match=r"'../../evil' cannot be the name of a file"):
        fetch("small", folder)
    (folder / "small" / "manifest.json").write_bytes(b'"' + b"x" * manifests.MOST_JSON + b'"')
    with pytest.raises(PresetError, match="small: manifest.json has more than the 4,194,304 bytes expected"):
        fetch("small", folder)


@pytest.mark.parametrize("target", ["/dev/zero", "../../secret", "pipe", "folder"])
def test_what_is_no_plain_file_of_the_folder_is_not_copied(folder, cache, known, tmp_path, target):
    """A link to a device would fill the disk, and one out of the folder would copy what is private."""
    (tmp_path / "secret").write_bytes((folder / "small" / "config.json").read_bytes())
    (folder / "small" / "config.json").unlink()
    if target == "pipe":
        os.mkfifo(folder / "small" / "config.json")
    elif target == "folder":  # the right file, in a folder that is a link
        shutil.move(folder / "small" / "words", tmp_path / "words")
        (folder / "small" / "words").symlink_to(tmp_path / "words")
        (tmp_path / "secret").rename(folder / "small" / "config.json")
    else:
        (folder / "small" / "config.json").symlink_to(target)
    said = "is not a plain file" if target == "pipe" else "is a link, not a plain file"
    with pytest.raises(PresetError, match=f"{'words.txt' if target == 'folder' else 'config.json'}: {said}"):
        fetch("small", folder)
    assert not (cache / "small").exists()
    assert not (cache / ".small.partial" / "config.json").exists() or target == "folder"


def test_a_file_longer_than_in_the_manifest_is_not_copied(folder, cache, known):
    with open(folder / "small" / BIG, "r+b") as file:
        file.truncate(1 << 40)  # sparse: nothing is written
    with pytest.raises(PresetError, match=f"small: {BIG} has more than the 300,000 bytes expected"):
        fetch("small", folder)
    assert not (cache / ".small.partial" / BIG).exists()


def test_a_model_that_has_no_room_is_not_fetched(folder, cache, known):
    manifest = json.loads((folder / "small" / "manifest.json").read_text())
    manifest["files"][BIG]["size"] = shutil.disk_usage(folder).free + 1
    known["small"]["manifest"] = manifest
    said = r"small needs [\d,]+ bytes more, but only [\d,]+ are free|more than any file of a model"
    with pytest.raises(PresetError, match=said):
        fetch("small", folder)
    assert os.listdir(cache / ".small.partial") == []


def test_what_an_earlier_call_fetched_needs_no_more_room(folder, server, cache, monkeypatch):
    server.behaviour = BEFORE_BIG + ["cut", *["down"] * transfer.RETRIES]
    with pytest.raises(PresetError, match="503"):
        fetch(ADDRESS)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=200_000))
    assert same(fetch(ADDRESS), folder / "small")  # the half of 300,000 bytes is here


def test_packed_content_counts_unpacked(folder, server, cache):
    """A megabyte of zeros is a kilobyte of gzip; the manifest of `small` states 28 bytes."""
    (folder / "small" / "config.json").write_bytes(gzip.compress(bytes(1 << 20)))
    server.behaviour = ["good", "packed"]
    with pytest.raises(PresetError, match=r"small: config.json has more than the \d+ bytes expected"):
        fetch(ADDRESS)
    assert os.listdir(cache / "hub" / "somebody" / ".small.partial") == []


def test_two_calls_at_a_time(folder, cache, known):
    with contextlib.ExitStack() as stack:
        results = []
        for _ in range(8):
            thread = threading.Thread(target=lambda: results.append(fetch("small", folder)))
            thread.start()
            stack.callback(thread.join)
    assert results == [cache / "small"] * 8 and same(cache / "small", folder / "small")


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert fetching.cache.cache_folder() == tmp_path / ".cache" / "keraszoo"


def test_no_host_is_built_in():
    package = Path(keraszoo.__file__).parent
    for module in (fetching, shipped):
        assert not re.findall(r"https?://", Path(module.__file__).read_text())
    assert "http" not in re.sub(r'"licence".*', "", (package / "shipping" / "index.json").read_text())


def test_an_installed_package_lists_fetches_and_finds(tmp_path):
    """A copy of the package alone, as pip installs it: no clone, no weights, an index."""
    package = Path(keraszoo.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "site" / "keraszoo", ignore=ignored)
    kept = ("PATH", "SYSTEMROOT", "VIRTUAL_ENV")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"PYTHONPATH": str(tmp_path / "site"), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*arguments):
        command = [sys.executable, "-m", "keraszoo", *arguments]
        options = {"env": environment, "cwd": tmp_path, "capture_output": True, "text": True}
        done = subprocess.run(command, timeout=120, **options)
        return done.returncode, done.stdout, done.stderr

    name = "babi_memory_network"
    assert (tmp_path / "site" / "keraszoo" / "shipping" / "index.json").is_file()
    code, out, err = run("list")
    assert code == 0, err
    assert f"{name}  " in out and f"not here: keraszoo fetch {name} --from FOLDER" in out
    code, out, err = run("fetch", name, "--from", str(package.with_name("pretrained")))
    place = tmp_path / "cache" / "keraszoo" / name
    assert (code, out, err) == (0, f"{place}\n", "")
    code, out, err = run("fetch", name, "--from", str(package.with_name("pretrained")))
    assert (code, out, err) == (0, f"{place}\n", f"keraszoo: {name}: exists already and is complete\n")
    code, out, err = run("list", "--json")
    assert {model["name"]: model["place"] for model in json.loads(out)}[name] == str(place)


@pytest.mark.parametrize("behaviour", ["down", "cut", "good"])
def test_a_manifest_is_tried_again_like_every_file(folder, server, cache, behaviour):
    """With `good`, an earlier call was stopped after the last byte of the manifest."""
    whole = (folder / "small" / "manifest.json").read_bytes()
    if behaviour == "good":
        partial = cache / "hub" / "somebody" / ".small.partial"
        partial.mkdir(parents=True)
        (partial / ".manifest.json.part").write_bytes(whole)
    server.behaviour = [behaviour]
    assert same(fetch(ADDRESS, sha256=json.loads(whole)["sha256"]), folder / "small")
