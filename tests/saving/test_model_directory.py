"""The directory format: what is read is what was written, and nothing else is."""

import json
import os

import pytest

from keraszoo.errors import PresetError
from keraszoo.saving.model_directory import read_directory, write_directory


def test_what_is_written_is_read(place, small_files):
    directory = read_directory(place)
    assert directory.config == small_files["config.json"]
    assert directory.metrics == {"bleu": 41.5}
    assert directory.names == ["README.md", "config.json", "metrics.json", "source/subwords.model"]
    assert directory.read_bytes("source/subwords.model") == small_files["source/subwords.model"]
    assert directory.file("README.md").read_text() == "# A small model\n"
    assert read_directory(str(place)) == directory
    manifest = json.loads((place / "manifest.json").read_text())
    assert list(manifest) == ["format", "keraszoo", "keras", "files", "sha256"]
    assert manifest["files"]["README.md"]["size"] == 16


def test_metrics_may_be_missing_and_a_file_be_written_by_a_function(tmp_path):
    write_directory(tmp_path / "a", {"config.json": {}, "w.bin": lambda path: path.write_bytes(b"123")})
    directory = read_directory(tmp_path / "a")
    assert directory.metrics == {} and directory.read_bytes("w.bin") == b"123"


def test_a_missing_or_changed_file_is_refused(place):
    with pytest.raises(PresetError, match=r"no file 'target.model'; it has README.md, config.json"):
        read_directory(place).file("target.model")
    directory = read_directory(place)
    (place / "README.md").write_text("# A small modem\n")
    with pytest.raises(PresetError, match=r"README.md: its SHA-256 is not that of manifest.json"):
        directory.read_bytes("README.md")


def test_an_empty_directory_and_a_model_directory_are_replaced(tmp_path, place):
    (tmp_path / "empty").mkdir()
    for target in [tmp_path / "empty", place, tmp_path / "new/deep/er"]:
        write_directory(target, {"config.json": {"units": 9}})
        assert sorted(os.listdir(target)) == ["config.json", "manifest.json"]
        assert read_directory(target).config == {"units": 9}


def test_other_peoples_files_are_never_overwritten(tmp_path, place):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/cat.jpg").write_bytes(b"cat")
    (place / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for target, message in [
        (tmp_path / "photos", "no model directory"),
        (place, r"holds 'notes.txt'"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "below", "cannot be written: (Not a directory|File exists)"),
    ]:
        with pytest.raises(PresetError, match=message):
            write_directory(target, {"config.json": {}})
    assert (tmp_path / "photos/cat.jpg").read_bytes() == b"cat"
    assert (place / "notes.txt").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["file", "photos", "small"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "must have a config.json"),
        ({"config.json": b"{"}, "model/config.json: is not valid JSON"),
        ({"config.json": b"[]"}, "model/config.json: must hold a JSON object, got list"),
        ({"config.json": {"a": object()}}, "config.json: cannot be written as JSON"),
        ({"config.json": {"a": float("nan")}}, "config.json: cannot be written as JSON"),
        ({"config.json": {}, "a.txt": "\ud800"}, "a.txt: cannot be written as JSON or UTF-8"),
        ({"config.json": {}, "a.txt": 3}, "a.txt: content must be bytes, text, a dict or a function, got"),
        ({"config.json": {}, "a.txt": lambda _: None}, "a.txt: a function must write the file it is given"),
        ({"config.json": {}, "a": "x", "a/b": "y"}, "model: cannot be written: File exists"),
        ({"config.json": {}, "a": lambda path: path.symlink_to("/etc/passwd")}, "model/a: is a link"),
    ],
)
def test_wrong_content_is_refused_and_nothing_stays(tmp_path, files, message):
    with pytest.raises(PresetError, match=message):
        write_directory(tmp_path / "model", files)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_the_old_directory(place, full_disk):
    with pytest.raises(PresetError, match=r"small: cannot be written: File too large"):
        write_directory(place, {"config.json": {}, "big.bin": bytes(1 << 20)})
    assert read_directory(place).metrics == {"bleu": 41.5} and os.listdir(place.parent) == ["small"]


def test_a_missing_directory_tells_what_is_there(place):
    folder = place.parent / "models"
    for name in ["rnnsearch_en_de", "transformer_en_de"]:
        write_directory(folder / name, {"config.json": {"name": name}})
    for path, message in [
        (folder / "nothing", "no such model directory; .* same folder: rnnsearch_en_de, transformer_en_de"),
        (folder, "is not a model directory: it has no manifest.json"),
        (folder / "rnnsearch_en_de" / "manifest.json", "manifest.json: is a file, not a model directory"),
    ]:
        with pytest.raises(PresetError, match=message):
            read_directory(path)
