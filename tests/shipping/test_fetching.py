"""Fetching by name from a folder into the cache, and offline from then on."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import keraszoo
from keraszoo.errors import PresetError
from keraszoo.saving import model_directory
from keraszoo.shipping import fetching, shipped
from keraszoo.shipping.fetching import fetch

BIG = "model.safetensors"
FILES = {
    "config.json": {"task": "translation"},
    "words/words.txt": "a\nb\n",
    BIG: random.Random(0).randbytes(300_000),
}


@pytest.fixture
def folder(tmp_path):
    """A folder of models, as `pretrained/` is one."""
    model_directory.write_directory(tmp_path / "mirror" / "small", FILES)
    return tmp_path / "mirror"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KERASZOO_PRETRAINED", raising=False)
    return tmp_path / "cache" / "keraszoo"


@pytest.fixture
def known(folder, monkeypatch):
    """The index knows `small`."""
    index = {"small": {"about": {"size": 300_000}, "manifest": manifest_of(folder)}}
    monkeypatch.setattr("keraszoo.shipping.cache.index", lambda: index)
    return index


def manifest_of(folder):
    return json.loads((folder / "small" / "manifest.json").read_text())


def same(first, second):
    files = {p.relative_to(first): p.read_bytes() for p in first.rglob("*") if p.is_file()}
    return files == {p.relative_to(second): p.read_bytes() for p in second.rglob("*") if p.is_file()}


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
    sha256 = manifest_of(folder)["sha256"]
    assert same(fetch("small", folder, sha256=sha256.upper()), folder / "small")


def test_a_damaged_one_is_replaced_but_nobodys_files_are(folder, cache, known):
    (fetch("small", folder) / BIG).write_bytes(b"damaged")
    assert same(fetch("small", folder), folder / "small")
    (cache / "small" / "thesis.tex").write_text("years of work")
    with pytest.raises(PresetError, match=r"holds 'thesis.tex'.* not overwritten"):
        fetch("small", folder)


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


@pytest.mark.parametrize("name", ["../small", "a/b", "", ".", "small\0", "manifest.json", "x" * 200])
def test_a_name_that_is_none(folder, cache, name):
    with pytest.raises(PresetError):
        fetch(name, folder)
    assert not cache.exists()


def test_names_without_a_source_and_misspelt_ones_are_refused(folder, cache, known):
    with pytest.raises(PresetError, match=r"smal.* did you mean small\?"):
        fetch("smal", folder)
    with pytest.raises(PresetError, match=r"mirror: .* one of small"):
        fetch("xyz", folder)
    assert not cache.exists()
    for name, source in (("tatoeba_en_de_luong", None), ("hf://user/name", "somewhere")):
        with pytest.raises(PresetError, match="expected a name with a folder, or hf://USER/NAME without"):
            fetch(name, source)


# Models that the index does not know


def test_an_unknown_model_may_have_to_be_of_one_version(folder, cache):
    sha256 = manifest_of(folder)["sha256"]
    with pytest.raises(PresetError, match=rf"manifest has the SHA-256 {sha256}, not 0000"):
        fetch("small", folder, sha256="0" * 64)
    assert same(fetch("small", folder, sha256=sha256), folder / "small")
    shutil.rmtree(cache)
    assert same(fetch("small", folder), folder / "small")


def test_what_is_no_plain_file_of_the_folder_is_not_copied(folder, cache, known, tmp_path):
    """A link to a device would fill the disk, and one out of the folder would copy what is private."""
    (folder / "small" / "config.json").rename(tmp_path / "secret")
    (folder / "small" / "config.json").symlink_to("../../secret")
    with pytest.raises(PresetError, match="config.json: is a link or a device, not a plain file"):
        fetch("small", folder)
    assert os.listdir(cache) == []


def test_models_longer_than_they_should_be_or_than_the_disk_are_not_fetched(folder, cache, known):
    with open(folder / "small" / BIG, "r+b") as file:
        file.truncate(1 << 40)  # sparse: nothing is written
    with pytest.raises(PresetError, match=f"small/{BIG}: has {1 << 40} bytes, but 300000"):
        fetch("small", folder)
    assert os.listdir(cache) == []
    manifest = manifest_of(folder)
    manifest["files"][BIG]["size"] = shutil.disk_usage(folder).free + 1
    known["small"]["manifest"] = manifest
    with pytest.raises(PresetError, match=r"small: needs [\d,]+ bytes more, but only [\d,]+ are free"):
        fetch("small", folder)
    assert os.listdir(cache) == []


def test_two_calls_at_a_time(folder, cache, known):
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fetch, ["small"] * 8, [folder] * 8)) == [cache / "small"] * 8
    assert same(cache / "small", folder / "small")


def test_where_the_cache_is_and_no_host_is_built_in(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert fetching.cache.cache_folder() == tmp_path / ".cache" / "keraszoo"
    package = Path(keraszoo.__file__).parent
    for module in (fetching, shipped):
        assert not re.findall(r"https?://", Path(module.__file__).read_text())
    assert "http" not in re.sub(r'"licence".*', "", (package / "shipping" / "index.json").read_text())


def test_an_installed_package_lists_fetches_and_finds(tmp_path):
    """A copy of the package alone, as pip installs it: no clone, no weights, an index."""
    package = Path(keraszoo.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "site" / "keraszoo", ignore=ignored)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "site")}
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")

    def run(*arguments):
        command = [sys.executable, "-m", "keraszoo", *arguments]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    name = "babi_memory_network"
    place = tmp_path / "cache" / "keraszoo" / name
    assert f"not here: keraszoo fetch {name} --from FOLDER" in run("list")[0]
    source = "--from", package.with_name("pretrained")
    assert run("fetch", name, *source) == (f"{place}\n", "")
    complete = f"keraszoo: {name}: exists already and is complete\n"
    assert run("fetch", name, *source) == (f"{place}\n", complete)
    models = json.loads(run("list", "--json")[0])
    assert {model["name"]: model["place"] for model in models}[name] == str(place)
