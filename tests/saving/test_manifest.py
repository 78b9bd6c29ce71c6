"""Nothing is read that the manifest does not vouch for: damage, mix-ups and manifests that mean harm."""

import json
import os

import damaged_copies
import pytest

from keraszoo.errors import PresetError
from keraszoo.saving import manifest as manifests
from keraszoo.saving.model_directory import read_directory, write_directory


def forge(place, **changes):
    """Writes a manifest that vouches for itself but that `write_directory` would not have made."""
    manifest = json.loads((place / "manifest.json").read_text())
    del manifest["sha256"]
    (place / "manifest.json").write_bytes(manifests.serialise({**manifest, **changes}))


def listed(place, name):
    """Adds any file to the manifest."""
    files = json.loads((place / "manifest.json").read_text())["files"]
    forge(place, files={**files, name: {"size": 3, "sha256": "0" * 64}})


def test_none_of_600_damaged_copies_is_read(place, small_files):
    like_it = {"config.json": {**small_files["config.json"], "units": 9}, "metrics.json": {"bleu": 42.5}}
    write_directory(place.parent / "other", {**small_files, **like_it})
    kinds, wrong = damaged_copies.judge(place, [place.parent / "other"], 600)
    assert wrong == [] and set(kinds) == set(damaged_copies.DAMAGES) and min(kinds.values()) > 30


def test_a_missing_file_is_named(place):
    (place / "source/subwords.model").unlink()
    with pytest.raises(PresetError, match=r"small/source/subwords.model: is missing"):
        read_directory(place)


@pytest.mark.parametrize("name", ["README.md", "config.json", "manifest.json", "source"])
def test_a_link_is_refused_even_to_the_very_file(place, name):
    (place / name).rename(place.parent / "elsewhere")
    (place / name).symlink_to(place.parent / "elsewhere")
    with pytest.raises(PresetError, match=rf"small/{name}: is a link"):
        read_directory(place)


def test_a_pipe_and_a_manifest_that_is_no_json_are_refused(place):
    os.mkfifo(place / "pipe")
    with pytest.raises(PresetError, match="pipe: is a link or a device"):
        read_directory(place)
    (place / "manifest.json").write_text("{")
    with pytest.raises(PresetError, match=r"small/manifest.json: is not valid JSON"):
        read_directory(place)


NAMES = ["../up", "/etc/passwd", "a/../../b", "a\\b", "C:x", "", ".", "a//b", "a/", ".hidden", "a\nb", "ä"]
NAMES += ["x" * 101, "manifest.json", "source/manifest.json", "Manifest.JSON", "a/b/c/d/e"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_not_plain_are_refused_by_reader_and_writer(place, name):
    listed(place, name)
    with pytest.raises(PresetError, match=r"small/manifest.json: .* cannot be the name of a file"):
        read_directory(place)
    with pytest.raises(PresetError, match="cannot be the name of a file"):
        write_directory(place.parent / "new", {"config.json": {}, name: b"123"})
    assert sorted(os.listdir(place.parent)) == ["small"]


def test_names_that_differ_in_case_alone_are_refused(tmp_path):
    with pytest.raises(PresetError, match=r"'a.txt' and 'A.txt' differ in case alone"):
        write_directory(tmp_path / "a", {"config.json": {}, "a.txt": "", "A.txt": ""})


DIGEST = "0" * 64
ENTRIES = [None, 3, {}, {"size": 3, "sha256": "0" * 63}, {"size": 3, "sha256": "G" * 64}]
ENTRIES += [{"size": 3, "sha256": 0}, *({"size": size, "sha256": DIGEST} for size in ("3", True, None, []))]
ENTRIES += [{"size": size, "sha256": DIGEST} for size in (float("nan"), float("inf"), -1, 1.5, 1 << 63)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({"format": number}, rf"format {number!r} is unknown.* reads format 1")
            for number in (0, 2, True, "1", None, 1.0)
        ),
        *(
            ({"files": {"config.json": entry}}, r"('config.json' must have a 'size' and|is not valid JSON)")
            for entry in ENTRIES
        ),
        *(
            ({"files": files}, "('files' must|a model directory must have)")
            for files in (None, [], ["config.json"], "config.json", {})
        ),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(place, changes, message):
    forge(place, **changes)
    with pytest.raises(PresetError, match=f"small/manifest.json: {message}"):
        read_directory(place)


def test_a_size_beyond_the_file_is_refused_before_anything_is_read(place):
    forge(place, files={"config.json": {"size": 1 << 60, "sha256": "0" * 64}})
    for name in ["README.md", "metrics.json", "source/subwords.model"]:
        (place / name).unlink()
    with pytest.raises(PresetError, match=rf"config.json: has \d+ bytes, but {1 << 60} in manifest.json"):
        read_directory(place)
