"""Directories made to harm, their manifests in order: refused, and nothing that stands in them is run."""

import os
import pickle
import shutil

import pytest

from keraszoo import QuestionAnswerer
from keraszoo.errors import PresetError
from keraszoo.saving import manifest as manifests

WEIGHTS = "model.safetensors"


@pytest.fixture
def place(answerer_directory, tmp_path):
    return shutil.copytree(answerer_directory, tmp_path / "model")


@pytest.fixture
def canary(tmp_path):
    """A file that none of the attacks may bring about."""
    yield tmp_path / "canary"
    assert not (tmp_path / "canary").exists()


def vouch(place, **entries):
    """Writes a manifest that has every file as it is, links included, and further entries."""
    names = [path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()]
    files = {}
    for name in sorted(set(names) - {manifests.MANIFEST}):
        size, digest = (place / name).stat().st_size, manifests.file_digest(place / name)
        files[name] = {"size": size, "sha256": digest}
    content = {"format": 1, "keraszoo": "0.1.0", "keras": "3.15.1", "files": {**files, **entries}}
    (place / manifests.MANIFEST).write_bytes(manifests.serialise(content))


def refused(place, said):
    with pytest.raises(PresetError, match=said) as error:
        QuestionAnswerer.from_preset(place)
    assert "\n" not in str(error.value) and len(str(error.value)) < 1000


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", [WEIGHTS, "words.txt", "config.json", "metrics.json"])
@pytest.mark.parametrize("protocol", [0, 5])
def test_a_pickle_is_never_opened(place, canary, name, protocol):
    (place / name).write_bytes(pickle.dumps(Touch(canary), protocol))
    vouch(place)
    refused(place, rf"{name}|the vocabulary has")


def test_a_pickle_beside_the_model_is_not_looked_at(place, canary):
    (place / "model.pkl").write_bytes(pickle.dumps(Touch(canary)))
    refused(place, "model.pkl: is not listed")
    vouch(place)
    QuestionAnswerer.from_preset(place)


def test_a_sparse_file_is_not_hashed_for_hours(place):
    with open(place / WEIGHTS, "wb") as file:
        file.truncate(1 << 40)
    (place / manifests.MANIFEST).unlink()
    entry = {"size": 1 << 40, "sha256": "0" * 64}
    os.rename(place / WEIGHTS, place.parent / "sparse")
    vouch(place, **{WEIGHTS: entry})
    os.rename(place.parent / "sparse", place / WEIGHTS)
    refused(place, "more than the 17179869184 that are read")


JSON = {
    "nothing": b"",
    "cut off": b"{",
    "not UTF-8": b"\xff{}",
    "deep": b'{"task":' + b"[" * 200_000,
    "deep and closed": b'{"task":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "huge": b'{"task": "' + b"x" * manifests.MOST_JSON + b'"}',
    "infinite": b'{"task": 1e999}',
    "no number": b'{"task": NaN}',
    "a long number": b'{"task": ' + b"9" * 5000 + b"}",
    "a key twice": b'{"task": 1, "task": 1}',
    "half a letter": b'{"task": "\\ud800"}',
}


@pytest.mark.parametrize("kind", JSON)
@pytest.mark.parametrize("name", ["config.json", "metrics.json"])
def test_json_that_means_harm(place, kind, name):
    (place / name).write_bytes(JSON[kind])
    vouch(place)
    if name == "metrics.json" and kind == "half a letter":
        assert QuestionAnswerer.from_preset(place).metrics == {"task": "\ud800"}
        return
    refused(place, rf"{name}: (is not valid JSON|is larger)|expected a directory for question answering")
