"""Checkpoints: what is read is what was saved, even if the writer was killed or files were damaged."""

import contextlib
import io
import itertools
import json
import os
import zipfile

import numpy as np
import pytest

from keraszoo.errors import PresetError, RecipeError
from keraszoo.saving import model_directory
from keraszoo.training.checkpoint_files import read_checkpoint
from keraszoo.training.checkpoints import Checkpoints, differences
from keraszoo.training.state import pack, unpack

DECIDES = {"recipe": {"seed": 1, "model": {"units": 8}}}


def arrays(step):
    return {"weights/0": np.full((3, 2), step, "float32"), "step": np.array(step), "none": np.zeros((0, 4))}


PLAIN = {"over": False, "loss": [0.1, float("inf")], "best": None}


@contextlib.contextmanager
def opened(folder, **decides):
    with Checkpoints(folder).open() as checkpoints:
        checkpoints.require(**{**DECIDES, **decides})
        yield checkpoints


def fill(folder, *steps):
    with opened(folder) as checkpoints:
        for step in steps:
            checkpoints.save(step, arrays(step), PLAIN)


def newest(folder):
    with opened(folder) as checkpoints:
        return checkpoints.newest()


def names(folder):
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def test_what_is_saved_is_read_and_the_last_two_are_kept(tmp_path):
    folder = tmp_path / "a" / "run.checkpoints"
    with opened(folder) as checkpoints:
        checkpoints.files = {"source.model": b"\0\1"}
        for step in (2, 9, 10):
            checkpoints.save(step, arrays(step), PLAIN)
    assert names(folder) == ["step-00000009", "step-00000010"]
    saved = newest(folder)
    assert saved.step == 10 and saved.files == {"source.model": b"\0\1"} and saved.decides == DECIDES
    assert saved.plain == PLAIN and saved.arrays.keys() == arrays(10).keys()
    for name, array in arrays(10).items():
        assert saved.arrays[name].dtype == array.dtype and np.array_equal(saved.arrays[name], array)


def test_the_state_of_a_callback_returns_as_it_was(tmp_path):
    row, half = np.arange(2), np.ones((1, 2), "float16")
    state = {"best": np.float32(1.5), "row": row, "rows": [half, {"deep": row}], "text": "a", "none": None}
    with opened(tmp_path / "run") as checkpoints:
        checkpoints.save(1, *pack({"callback": state}))
    saved = newest(tmp_path / "run")
    kept = unpack(saved.arrays, saved.plain)["callback"]
    assert type(kept["best"]) is np.float32 and kept["best"] == 1.5
    assert isinstance(kept["row"], np.ndarray) and np.array_equal(kept["row"], row)
    assert kept["rows"][0].dtype == "float16" and np.array_equal(kept["rows"][0], half)
    assert np.array_equal(kept["rows"][1]["deep"], row) and (kept["text"], kept["none"]) == ("a", None)


def test_an_array_of_something_else_than_numbers_is_refused():
    with pytest.raises(TypeError, match="cannot hold an array of <U1: callbacks/0/words"):
        pack({"callbacks": {"0": {"words": np.array(["a"])}}})


def test_a_folder_with_nothing_in_it_is_left_nowhere(tmp_path):
    with opened(tmp_path / "run") as checkpoints:
        assert checkpoints.newest() is None and checkpoints.finished is None
    assert os.listdir(tmp_path) == []


def test_only_what_a_dead_writer_left_is_deleted(tmp_path):
    for name in (".git", ".step-00000002.1f2e3d4c.new", ".finished.previous"):
        (tmp_path / name).mkdir()
    (tmp_path / ".env").write_text("mine")
    fill(tmp_path, 3)
    assert sorted(os.listdir(tmp_path)) == [".env", ".git", "step-00000003"]


def test_a_damaged_checkpoint_is_left_out_with_a_warning_and_saved_again(tmp_path):
    fill(tmp_path / "run", 1, 2)
    file = tmp_path / "run" / "step-00000002" / "arrays.npz"
    file.write_bytes(file.read_bytes()[:-9])
    with (
        pytest.warns(UserWarning, match="a damaged checkpoint is ignored: .*step-00000002"),
        opened(tmp_path / "run") as checkpoints,
    ):
        assert checkpoints.newest().step == 1
        checkpoints.save(2, arrays(2), PLAIN)
    assert sorted(os.listdir(tmp_path / "run")) == ["step-00000001", "step-00000002"]
    assert newest(tmp_path / "run").step == 2


def test_a_run_that_began_otherwise_is_refused_with_the_difference(tmp_path):
    fill(tmp_path / "run", 1)
    other = {"recipe": {"seed": 2, "model": {"units": 9}}}
    said = r"recipe\.seed was 1, is 2; recipe\.model\.units was 8, is 9; use the same settings"
    with pytest.raises(RecipeError, match=said), opened(tmp_path / "run", **other):
        pass
    with opened(tmp_path / "run") as checkpoints:
        checkpoints.finish(steps=1)
    with pytest.raises(RecipeError, match="seed was 1"), opened(tmp_path / "run", **other):
        pass


def test_a_setting_that_only_one_side_knows_refuses_no_run(tmp_path):
    """An older program has no entry for a newer one's setting, which has its default."""
    fill(tmp_path / "run", 1)
    newer = {"recipe": {"seed": 1, "model": {"units": 8, "cell": "gru"}}, "data": "abc"}
    with opened(tmp_path / "run", **newer) as checkpoints:
        checkpoints.save(2, arrays(2), PLAIN)
    assert newest(tmp_path / "run").decides == newer
    with pytest.raises(RecipeError, match="data was 'abc', is 'abd'"), opened(tmp_path / "run", data="abd"):
        pass


def test_a_finished_run_keeps_its_last_checkpoint_for_a_longer_one(tmp_path):
    fill(tmp_path / "run", 1, 2)
    with opened(tmp_path / "run") as checkpoints:
        checkpoints.finish(steps=2)
    assert names(tmp_path / "run") == ["finished", "step-00000002"]
    with opened(tmp_path / "run") as checkpoints:
        assert checkpoints.finished == {"steps": 2} and checkpoints.newest().step == 2
        checkpoints.save(3, arrays(3), PLAIN)
        assert checkpoints.finished is None
        assert names(tmp_path / "run") == ["step-00000002", "step-00000003"]
        checkpoints.forget()
    assert os.listdir(tmp_path) == []


def test_other_libraries_are_worth_a_warning(tmp_path, monkeypatch):
    fill(tmp_path / "run", 1)
    monkeypatch.setattr("keraszoo.training.checkpoints._versions", lambda: {"keras": "9.9"})
    with pytest.warns(UserWarning, match="resumes with other libraries: .*keras was .*is .9.9"):
        newest(tmp_path / "run")


def test_one_process_at_a_time(tmp_path):
    with opened(tmp_path / "run") as checkpoints:
        for save in (False, True, True):  # before anything is saved, after it, and after a fresh start
            if save:
                checkpoints.save(1, arrays(1), PLAIN)
            with pytest.raises(PresetError, match="another process is training"):
                newest(tmp_path / "run")
            if save:
                checkpoints.forget()
        checkpoints.save(1, arrays(1), PLAIN)
    assert newest(tmp_path / "run").step == 1


def test_a_directory_that_is_no_checkpoint(tmp_path):
    model_directory.write_directory(tmp_path / "model", {"config.json": {"task": "translation"}})
    with pytest.raises(PresetError, match="expected a checkpoint, got a directory for 'translation'"):
        read_checkpoint(tmp_path / "model")


def packed(array, save=np.savez):
    file = io.BytesIO()
    save(file, **{"weights/0": array})
    return file.getvalue()


def huge():
    """An array whose header claims 2^45 numbers."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (35184372088832,), }"
        file.writestr("weights/0.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    return content.getvalue()


DEEP = b'{"a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"
MUCH = packed(np.zeros(10**6), np.savez_compressed)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", {"decides": "seed"}, "config.json: decides: expected a valid dictionary"),
        ("config.json", {"decides": None}, "config.json: decides: "),
        ("config.json", {"step": -5}, "config.json: step: expected greater than or equal to 0, got -5"),
        ("config.json", {"step": "7"}, "config.json: step: expected a valid integer"),
        ("config.json", {"versions": ["1"]}, "config.json: versions: expected a valid dictionary"),
        ("state.json", DEEP, "not a valid checkpoint: RecursionError"),
        ("state.json", b"[1]", "not a valid checkpoint: Attr"),
        ("arrays.npz", packed(np.array(["a"])), "arrays.npz holds other things than numbers"),
        ("arrays.npz", packed(np.array([{}], "object")), "not a valid checkpoint: ValueError"),
        ("arrays.npz", MUCH, "arrays.npz claims to hold more than it has"),
        ("arrays.npz", huge(), "not a valid checkpoint: (MemoryError|ValueError)"),
        ("arrays.npz", b"PK", "not a valid checkpoint: BadZipFile"),
    ],
    ids=itertools.count(),
)
def test_a_checkpoint_of_wrong_content_is_one_line(tmp_path, name, content, said):
    """Of a stranger: its manifest fits."""
    fill(tmp_path / "run", 7)
    directory = model_directory.read_directory(tmp_path / "run" / "step-00000007")
    files = {name: directory.read_bytes(name) for name in directory.names}
    if isinstance(content, dict):
        content = {**json.loads(files[name]), **content}
    model_directory.write_directory(tmp_path / "run" / "step-00000007", {**files, name: content})
    with (
        pytest.warns(UserWarning, match="a damaged checkpoint is ignored"),
        pytest.raises(PresetError, match=f"all checkpoints are damaged; .*{said}") as error,
    ):
        newest(tmp_path / "run")
    assert "\n" not in str(error.value) and len(str(error.value)) < 700


def test_a_note_of_wrong_content_is_one_line(tmp_path):
    config = {"task": "checkpoint", "decides": "seed", "versions": {}, "finished": {}}
    model_directory.write_directory(tmp_path / "run" / "finished", {"config.json": config})
    with pytest.raises(PresetError, match="finished: config.json: decides: expected a valid dictionary"):
        newest(tmp_path / "run")


def test_differences_of_long_values_are_cut():
    (line,) = differences({"a": "x" * 500, "b": 1}, {"a": [1]})
    assert line.startswith("a was 'xxx") and line.endswith("xxx', is [1]") and len(line) < 110


SAVE = """
from keraszoo.training.checkpoints import Checkpoints

def before(folder, steps=(1,)):
    with Checkpoints(folder).open() as checkpoints:
        for step in steps:
            checkpoints.save(step, {"weights": np.full(5, step)}, {"over": False})

def change(folder):
    before(folder, (2, 3))
"""


@pytest.mark.slow
def test_a_writer_killed_at_any_instant_leaves_a_whole_checkpoint(killed):
    folders, events = killed(SAVE, every=2)
    steps = []
    for folder in folders:
        with Checkpoints(folder).open() as checkpoints:
            steps.append(checkpoints.newest().step)
            assert checkpoints.newest().arrays["weights"].tolist() == [steps[-1]] * 5
            checkpoints.save(4, {}, {"over": True})
            checkpoints.save(5, {}, {"over": True})
        assert sorted(os.listdir(folder)) == ["step-00000004", "step-00000005"]  # nothing else is left
    assert steps == sorted(steps) and set(steps) == {1, 2, 3} and len(steps) > 12
    times, calls = map(set, zip(*map(str.split, events), strict=True))
    assert times == {"before", "half", "after"}
    assert {"savez", "write_bytes", "fsync", "rename", "unlink", "rmdir"} <= calls
