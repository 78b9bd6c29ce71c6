"""Finding models by name: in a folder of one's own, in a clone, and words that are no names."""

import shutil

import pytest

from keraszoo.errors import PresetError
from keraszoo.saving.model_directory import read_directory, write_directory
from keraszoo.shipping import shipped
from keraszoo.shipping.shipped import find, places


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two shipped directories, and one whose writer never finished."""
    folder = tmp_path / "shipped"
    for name in ["rnnsearch_en_de", "transformer_en_de"]:
        write_directory(folder / name, {"config.json": {"name": name}})
    (folder / "unfinished").mkdir()
    shutil.copytree(folder / "rnnsearch_en_de", folder / ".rnnsearch_en_de.01234567.new")
    monkeypatch.setenv("KERASZOO_PRETRAINED", str(folder))
    return folder


def test_shipped_directories_are_found_by_name(folder):
    names = list(places())
    assert {"rnnsearch_en_de", "transformer_en_de"} <= set(names) and names == sorted(names)
    assert not any("unfinished" in name or name.startswith(".") for name in names)
    assert find("rnnsearch_en_de") == folder / "rnnsearch_en_de"


def test_a_path_that_exists_wins(folder, tmp_path, monkeypatch):
    write_directory(tmp_path / "work" / "rnnsearch_en_de", {"config.json": {"name": "mine"}})
    monkeypatch.chdir(tmp_path / "work")
    assert read_directory(find("rnnsearch_en_de")).config == {"name": "mine"}


def test_models_inside_an_installed_package_are_found(tmp_path, monkeypatch):
    monkeypatch.delenv("KERASZOO_PRETRAINED", raising=False)
    package = tmp_path / "site-packages" / "keraszoo"
    write_directory(package / "pretrained" / "inside", {"config.json": {}})
    monkeypatch.setattr(shipped, "__file__", str(package / "shipping" / "shipped.py"))
    assert find("inside") == package / "pretrained" / "inside"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rnnsearch_en_es", r"rnnsearch_en_es: .*; `keraszoo list` shows those there are"),  # no misspelling
        ("rnnserch_en_de", r"rnnserch_en_de: .* did you mean rnnsearch_en_de"),
        ("xxxxx", r"xxxxx: no such directory.*, expected one of .*rnnsearch_en_de"),
        *((name, "expected the path or the name of a model directory, got") for name in ("", None, 3, b"x")),
    ],
)
def test_unknown_names_give_the_near_ones(folder, name, said):
    with pytest.raises(PresetError, match=said):
        find(name)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "../rnnsearch_en_de/..", "no/such/place", "/"])
def test_odd_names_are_errors_of_ours(folder, name):
    with pytest.raises(PresetError):
        read_directory(find(name))


def test_a_wrong_environment_variable_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASZOO_PRETRAINED", str(tmp_path / "nowhere"))
    with pytest.raises(PresetError, match="nowhere: KERASZOO_PRETRAINED names no directory"):
        places()
