"""Two exports to one place, and places that cannot be written: a command works or says so in one line."""

import json
import shutil
import subprocess

import pytest

from keraszoo import EntityTagger
from keraszoo.text.columns import column_lines
from keraszoo.text.lines import write_lines

pytestmark = pytest.mark.slow  # each command is a process that imports TensorFlow


@pytest.fixture
def recipe(tmp_path, tagged_sentences):
    """A recipe of a tagger."""
    write_lines(tmp_path / "train.tsv", column_lines(tagged_sentences, "IOB2"))
    values = {
        "task": "tagging",
        "data": {"train": "train.tsv", "validation": "train.tsv"},
        "model": {"name": "recurrent", "preset": "tiny"},
        "training": {"batch_tokens": 64, "epochs": 4, "checkpoint_steps": 5},
        "output": "out/model",
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps(values))
    return tmp_path / "recipe.yaml"


@pytest.fixture
def small_disk(tmp_path):
    """A function that mounts an empty file system of so many KiB."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(*options):
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "none", place])
        if made.returncode:
            pytest.skip("only root may mount a file system")
        return place

    yield mount
    subprocess.run(["umount", place], stderr=subprocess.DEVNULL)


def finish(process):
    """The status of a process, and the lines of its errors."""
    _, err = process.communicate()
    return process.returncode, [line for line in err.splitlines() if "error:" in line or "Traceback" in line]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_two_exports_to_one_directory(program, tmp_path, tagger_directory):
    shutil.copytree(tagger_directory, tmp_path / "copy")
    models = tagger_directory, "biomedical_entities"
    exports = [program("export", model, tmp_path / "saved", text=True) for model in models]
    assert list(map(finish, exports)) == [(0, [])] * 2 and names(tmp_path) == ["copy", "saved"]
    about = json.loads((tmp_path / "saved/keraszoo.json").read_text())
    owner = next(m for m in map(EntityTagger.from_preset, models) if list(m.vocabulary.tags) == about["tags"])
    assert owner.verify_export(tmp_path / "saved", ["In Paris, aspirin causes asthma."]) == 1


@pytest.mark.parametrize(("option", "said"), [("size=100k", "No space left on device"), ("ro", "disk")])
def test_a_disk_that_is_full_or_read_only(program, recipe, tagger_directory, small_disk, option, said):
    disk = small_disk(option)
    for arguments in (
        ["train", recipe, "--output", disk / "model"],
        ["export", tagger_directory, disk / "saved"],
    ):
        status, errors = finish(program(*arguments, text=True))
        assert status == 2 and len(errors) == 1 and said in errors[0]
        assert [name for name in names(disk) if not name.endswith(".checkpoints")] == []
