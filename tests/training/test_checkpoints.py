"""Checkpoints: what is read is what was saved, even if the writer was killed or files were damaged."""

import errno
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from keraszoo.errors import PresetError, RecipeError
from keraszoo.saving import model_directory
from keraszoo.training.checkpoint_files import read_checkpoint
from keraszoo.training.checkpoints import Checkpoints, differences

IDENTITY = {"recipe": {"seed": 1, "model": {"units": 8}}}


def parts(step):
    arrays = [np.full((3, 2), step, "float32"), np.array(step), np.zeros((0, 4))]
    plain = {"over": False, "loss": [0.1, float("inf")], "best": None}
    return {"model": {"variables": arrays, "seeds": [np.arange(step)]}, "run": plain, "last": {}}


def fill(folder, *steps, **options):
    with Checkpoints(folder, IDENTITY, **options).open() as checkpoints:
        for step in steps:
            checkpoints.save(step, parts(step))


def newest(folder):
    with Checkpoints(folder, IDENTITY).open() as checkpoints:
        return checkpoints.newest


def names(folder):
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def same(state, other):
    assert state.keys() == other.keys()
    for key, value in state.items():
        if isinstance(value, list) and isinstance(value[0], np.ndarray):
            for array, their in zip(value, other[key], strict=True):
                assert array.dtype == their.dtype and np.array_equal(array, their)
        else:
            assert value == other[key]


def test_what_is_saved_is_read_and_the_last_two_are_kept(tmp_path):
    folder = tmp_path / "a" / "run.checkpoints"
    fill(folder, 2, 9, 10, files={"source.model": b"\0\1"})
    assert names(folder) == ["step-00000009", "step-00000010"]
    saved = newest(folder)
    assert saved.step == 10 and saved.files == {"source.model": b"\0\1"} and saved.identity == IDENTITY
    for name, state in parts(10).items():
        same(saved.parts[name], state)


def test_a_callback_may_keep_numbers_of_numpy(tmp_path):
    state = {"best": np.float32(1.5), "row": np.arange(2), "rows": (np.ones(2),)}
    with Checkpoints(tmp_path / "run", IDENTITY).open() as checkpoints:
        checkpoints.save(1, {"callback": state})
    kept = newest(tmp_path / "run").parts["callback"]
    assert kept == {"best": 1.5, "row": [0, 1], "rows": [[1.0, 1.0]]}


def test_a_folder_with_nothing_in_it_is_left_nowhere(tmp_path):
    with Checkpoints(tmp_path / "run", IDENTITY).open() as checkpoints:
        assert checkpoints.newest is None and checkpoints.finished is None
    assert os.listdir(tmp_path) == []


def test_only_what_a_dead_writer_left_is_deleted(tmp_path):
    for name in (".git", ".step-00000002.1f2e3d4c.new", ".finished.previous"):
        (tmp_path / name).mkdir()
    (tmp_path / ".env").write_text("mine")
    fill(tmp_path, 3)
    assert sorted(os.listdir(tmp_path)) == [".env", ".git", "step-00000003"]


@pytest.mark.parametrize("damage", ["flip", "cut", "missing", "added"])
def test_a_damaged_checkpoint_is_left_out_with_a_warning(tmp_path, damage):
    fill(tmp_path / "run", 1, 2)
    file = tmp_path / "run" / "step-00000002" / "model.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    {
        "flip": lambda: file.write_bytes(content),
        "cut": lambda: file.write_bytes(content[:-9]),
        "missing": file.unlink,
        "added": lambda: (file.parent / "more").write_text(""),
    }[damage]()
    with pytest.warns(UserWarning, match="a damaged checkpoint is ignored: .*step-00000002"):
        assert newest(tmp_path / "run").step == 1


def test_the_run_saves_the_step_of_a_damaged_checkpoint_again(tmp_path):
    fill(tmp_path / "run", 1, 2)
    (tmp_path / "run" / "step-00000002" / "manifest.json").write_text("{")
    with pytest.warns(UserWarning, match="a damaged checkpoint is ignored"):
        fill(tmp_path / "run", 2)
    assert sorted(os.listdir(tmp_path / "run")) == ["step-00000001", "step-00000002"]
    assert newest(tmp_path / "run").step == 2


def test_where_all_are_damaged_nothing_begins_anew_by_itself(tmp_path):
    fill(tmp_path / "run", 1)
    (tmp_path / "run" / "step-00000001" / "state.json").write_text("{}")
    with pytest.warns(UserWarning), pytest.raises(PresetError, match="all checkpoints are damaged"):
        newest(tmp_path / "run")


def test_a_run_that_began_otherwise_is_refused_with_the_difference(tmp_path):
    fill(tmp_path / "run", 1)
    other = {"recipe": {"seed": 2, "model": {"units": 8, "cell": "gru"}}}
    said = r"recipe\.seed was 1, is 2; recipe\.model\.cell was None, is 'gru'; use the same settings"
    with pytest.raises(RecipeError, match=said), Checkpoints(tmp_path / "run", other).open():
        pass
    with Checkpoints(tmp_path / "run", IDENTITY).open() as checkpoints:
        checkpoints.save(2, parts(2))
        checkpoints.finish(steps=2)
        assert names(tmp_path / "run") == ["finished"]
    with pytest.raises(RecipeError, match="seed was 1"), Checkpoints(tmp_path / "run", other).open():
        pass
    with Checkpoints(tmp_path / "run", IDENTITY).open() as checkpoints:
        assert checkpoints.finished == {"steps": 2} and checkpoints.newest is None
        checkpoints.forget()
    assert os.listdir(tmp_path) == []


def test_what_is_known_later_must_be_the_same_too(tmp_path):
    with Checkpoints(tmp_path / "run", IDENTITY).open() as checkpoints:
        checkpoints.require(data="abc")
        checkpoints.save(1, parts(1))
    with Checkpoints(tmp_path / "run", IDENTITY).open() as checkpoints:
        checkpoints.require(data="abc")
        with pytest.raises(RecipeError, match="data was 'abc', is 'abd'"):
            checkpoints.require(data="abd")


def test_other_libraries_are_worth_a_warning(tmp_path, monkeypatch):
    fill(tmp_path / "run", 1)
    monkeypatch.setattr("keraszoo.training.checkpoints._versions", lambda: {"keras": "9.9"})
    with pytest.warns(UserWarning, match="resumes with other libraries: .*keras was .*is .9.9"):
        newest(tmp_path / "run")


def test_one_process_at_a_time(tmp_path):
    fill(tmp_path / "run", 1)
    with Checkpoints(tmp_path / "run", IDENTITY).open():
        with pytest.raises(PresetError, match="another process is training"):
            newest(tmp_path / "run")
    assert newest(tmp_path / "run").step == 1


def test_one_process_at_a_time_also_before_anything_is_saved(tmp_path):
    for forget in (False, True):
        with Checkpoints(tmp_path / "run", IDENTITY).open() as checkpoints:
            if forget:  # and start over
                checkpoints.save(1, parts(1))
                checkpoints.forget()
                checkpoints.save(1, parts(1))
            with pytest.raises(PresetError, match="another process is training"):
                newest(tmp_path / "run")


def test_where_there_are_no_locks_a_run_goes_on_without(tmp_path, monkeypatch):
    def no_locks(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    fill(tmp_path / "run", 1)
    assert newest(tmp_path / "run").step == 1


@pytest.mark.parametrize("where", ["savez", "fsync", "rename"])
def test_a_full_disk_leaves_the_last_good_one(tmp_path, monkeypatch, where):
    fill(tmp_path / "run", 1)

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with Checkpoints(tmp_path / "run", IDENTITY).open() as checkpoints:
        with monkeypatch.context() as patch:
            patch.setattr(np if where == "savez" else os, where, full)
            with pytest.raises(PresetError, match="step-00000002: cannot be written: No space left"):
                checkpoints.save(2, parts(2))
        assert names(tmp_path / "run") == ["step-00000001"]
        checkpoints.save(3, parts(3))
    assert newest(tmp_path / "run").step == 3


def test_a_directory_that_is_no_checkpoint(tmp_path):
    model_directory.write_directory(tmp_path / "model", {"config.json": {"task": "translation"}})
    with pytest.raises(PresetError, match="expected a checkpoint, got a directory for 'translation'"):
        read_checkpoint(tmp_path / "model")


def altered(change, tmp_path):
    """A checkpoint of a stranger: `change` edits its files, a dict of name -> bytes; the manifest fits."""
    fill(tmp_path / "run", 7)
    place = tmp_path / "run" / "step-00000007"
    directory = model_directory.read_directory(place)
    files = {name: directory.read_bytes(name) for name in directory.names}
    change(files)
    model_directory.write_directory(place, files)
    return tmp_path / "run"


def put(**entries):
    def change(files):
        files["config.json"] = {**json.loads(files["config.json"]), **entries}

    return change


def put_array(array, compressed=False):
    def change(files):
        packed = io.BytesIO()
        (np.savez_compressed if compressed else np.savez)(packed, **{"variables/0": array})
        files["model.npz"] = packed.getvalue()

    return change


def huge(files):
    """An array whose header claims 2^45 numbers."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (35184372088832,), }"
        file.writestr("variables/0.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    files["model.npz"] = packed.getvalue()


STRANGE = {
    "identity as text": (put(identity="seed"), "config.json: identity: expected a valid dictionary"),
    "no identity": (lambda files: files.update({"config.json": {"task": "checkpoint"}}), "identity: Field"),
    "negative step": (put(step=-5), "config.json: step: expected greater than or equal to 0, got -5"),
    "step as text": (put(step="7"), "config.json: step: expected a valid integer"),
    "files as number": (put(brought=5), "config.json: brought: expected a valid list"),
    "versions as list": (put(versions=["1"]), "config.json: versions: expected a valid dictionary"),
    "deep state": (
        lambda files: files.update({"state.json": b'{"a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"}),
        "not a valid checkpoint: RecursionError",
    ),
    "state as list": (lambda files: files.update({"state.json": b"[1]"}), "not a valid checkpoint: Attr"),
    "part as number": (lambda files: files.update({"state.json": b'{"model": 5}'}), "checkpoint: TypeError"),
    "NaN": (put_array(np.array([1.0, np.nan])), "its arrays are not finite"),
    "text": (put_array(np.array(["a"])), "model.npz holds other things than numbers"),
    "objects": (put_array(np.array([{}], "object")), "not a valid checkpoint: ValueError"),
    "packed": (put_array(np.zeros(10**6), compressed=True), "model.npz claims to hold more than it has"),
    "huge": (huge, "not a valid checkpoint: (MemoryError|ValueError)"),
    "no archive": (lambda files: files.update({"model.npz": b"PK"}), "not a valid checkpoint: BadZipFile"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_checkpoint_of_wrong_content_is_one_line(tmp_path, kind):
    change, said = STRANGE[kind]
    folder = altered(change, tmp_path)
    with (
        pytest.warns(UserWarning, match="a damaged checkpoint is ignored"),
        pytest.raises(PresetError, match=f"all checkpoints are damaged; .*{said}") as error,
    ):
        newest(folder)
    assert "\n" not in str(error.value) and len(str(error.value)) < 700


def test_a_note_of_wrong_content_is_one_line(tmp_path):
    config = {"task": "checkpoint", "identity": "seed", "versions": {}, "finished": {}}
    model_directory.write_directory(tmp_path / "run" / "finished", {"config.json": config})
    with pytest.raises(PresetError, match="finished: config.json: identity: expected a valid dictionary"):
        newest(tmp_path / "run")


def test_differences_of_long_values_are_cut():
    (line,) = differences({"a": "x" * 500}, {"a": [1]})
    assert line.startswith("a was 'xxx") and line.endswith("xxx', is [1]") and len(line) < 110


# Saves step 1, forks, and has the child killed at the n-th system call of saving steps 2 and 3.
KILLER = """
import os, pathlib, signal, sys
import numpy as np
from keraszoo.saving import atomic
from keraszoo.training.checkpoints import Checkpoints

def parts(step):
    return {"model": {"variables": [np.full(5, step)]}, "run": {"over": False}}

def watch(n):
    def watched(name, function):
        def call(*arguments, **options):
            nonlocal n
            for when in ("before", "after"):
                if n == 0:
                    print(when, name, flush=True)
                    os.kill(os.getpid(), signal.SIGKILL)
                n -= 1
                result = function(*arguments, **options) if when == "before" else result
            return result
        return call
    for module, name in [(os, "rename"), (os, "fsync"), (os, "mkdir"), (os, "unlink"), (os, "rmdir"),
                         (pathlib.Path, "write_bytes"), (np, "savez"), (atomic, "exchange")]:
        setattr(module, name, watched(name, getattr(module, name)))

for n in range(0, 500, 3):
    folder = pathlib.Path(sys.argv[1], str(n))
    with Checkpoints(folder, {}).open() as checkpoints:
        checkpoints.save(1, parts(1))
    child = os.fork()
    if not child:
        with Checkpoints(folder, {}).open() as checkpoints:
            watch(n)
            checkpoints.save(2, parts(2))
            checkpoints.save(3, parts(3))
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_writer_killed_at_any_instant_leaves_a_whole_checkpoint(tmp_path):
    command = [sys.executable, "-c", KILLER, tmp_path]
    where = Path(__file__).parent.parent.parent
    done = subprocess.run(command, check=True, timeout=300, cwd=where, capture_output=True, text=True)
    killed, steps = {tuple(line.split()) for line in done.stdout.splitlines()}, []
    for folder in sorted(tmp_path.iterdir(), key=lambda item: int(item.name)):
        with Checkpoints(folder, {}).open() as checkpoints:
            steps.append(checkpoints.newest.step)
            assert checkpoints.newest.parts["model"]["variables"][0].tolist() == [steps[-1]] * 5
            checkpoints.save(4, {"run": {"over": True}})
            checkpoints.save(5, {"run": {"over": True}})
        assert sorted(os.listdir(folder)) == [
            "step-00000004",
            "step-00000005",
        ]  # nothing of the killed writer is left
    assert steps == sorted(steps) and set(steps) == {1, 2, 3} and len(steps) > 12
    assert {when for when, _ in killed} == {"before", "after"}
    assert {"savez", "write_bytes", "fsync", "rename", "unlink", "rmdir"} <= {name for _, name in killed}
