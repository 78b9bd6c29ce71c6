"""Files and directories are replaced in one step, even if the writer is killed at any of its system calls."""

import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from keraszoo.errors import DataError, PresetError
from keraszoo.saving import atomic
from keraszoo.saving.atomic import check_room, replace_directory, replace_file
from keraszoo.saving.model_directory import read_directory, write_directory

OLD = {"config.json": {"model": "old"}, "part/words.txt": "old" * 100}
NEW = {"config.json": {"model": "new"}, "words.txt": "new" * 100}

REPLACE = f"""
from keraszoo.saving.model_directory import write_directory

def before(folder):
    write_directory(folder / "model", {OLD})

def change(folder):
    write_directory(folder / "model", {NEW})
"""


@pytest.fixture(params=[True, False], ids=["exchange", "two renames"])
def atomically(request, monkeypatch):
    """Whether the system can exchange two directories in one step."""
    if not request.param:
        monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    return request.param


def leftovers(place):
    return sorted(item.name for item in place.parent.iterdir() if item.name != place.name)


def test_a_writer_killed_at_any_instant_leaves_the_old_or_the_new_directory(killed, atomically):
    two_renames = "\natomic.exchange = lambda first, second: False\n"
    folders, events = killed(REPLACE + ("" if atomically else two_renames))
    contents, empty = [], 0
    for place in (folder / "model" for folder in folders):
        empty += not place.exists()
        directory = read_directory(place)
        content = directory.config["model"]
        contents.append(content)
        assert directory.names == sorted({"old": OLD, "new": NEW}[content])
        write_directory(place, NEW)  # the next writer finds nothing in its way and clears up
        assert read_directory(place).config == {"model": "new"} and leftovers(place) == []
    assert events[0] == "before mkdir" and contents[-1] == "new" and len(contents) == len(events) + 1 > 30
    assert contents == sorted(contents, reverse=True)  # old up to one instant, new from then on
    moves = {"before exchange", "after exchange"} if atomically else {"before rename", "after rename"}
    assert moves | {"half write_bytes", "after fsync", "before unlink"} <= set(events)
    assert (empty > 0) == (not atomically)  # without an exchange there is an empty instant: reading closes it


def test_readers_and_two_writers_at_once_never_see_a_mix(tmp_path, atomically):
    place, stop, seen = tmp_path / "model", threading.Event(), set()

    def write(name, times=15):
        for _ in range(times):
            write_directory(place, {"config.json": {"name": name}, "words.txt": name * 1000})

    def read():
        while not stop.is_set():
            seen.add(read_directory(place).config["name"])

    write("a", times=1)
    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(read) for _ in range(3)]
        writers = [pool.submit(write, name) for name in "ab"]
        try:
            assert [writer.result() for writer in writers] == [None, None]
        finally:
            stop.set()
        assert [reader.result() for reader in readers] == [None] * 3
    assert seen and seen <= {"a", "b"}
    directory = read_directory(place)
    assert directory.read_bytes("words.txt") == directory.config["name"].encode() * 1000
    assert leftovers(place) == []


def test_a_second_writer_waits_for_the_first(tmp_path):
    place, order = tmp_path / "model", []

    def write_second():
        with atomic.replace_directory(place) as directory:
            order.append("second")
            (directory / "b").touch()

    with ThreadPoolExecutor() as pool, atomic.replace_directory(place) as directory:
        second = pool.submit(write_second)
        wait([second], timeout=0.2)
        (directory / "a").touch()
        order.append("first")
    second.result()
    assert order == ["first", "second"] and os.listdir(place) == ["b"] and leftovers(place) == []


def test_the_last_check_sees_what_came_while_the_files_were_flushed(tmp_path, monkeypatch):
    place, sync = tmp_path / "model", os.fsync
    write_directory(place, OLD)

    def add_a_file(descriptor):
        sync(descriptor)
        (place / "notes.txt").write_text("by hand")

    monkeypatch.setattr(os, "fsync", add_a_file)
    with pytest.raises(PresetError, match="holds 'notes.txt', which is no part of the model"):
        write_directory(place, OLD)
    assert (place / "notes.txt").read_text() == "by hand" and leftovers(place) == []


def test_a_failed_second_rename_is_taken_back(tmp_path, monkeypatch):
    place = tmp_path / "model"
    write_directory(place, OLD)
    rename = os.rename

    def fail(source, target):
        if Path(target) == place and Path(source).name.endswith(".new"):
            raise OSError(30, "Read-only file system", source)
        rename(source, target)

    monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(PresetError, match=r"model: cannot be written: Read-only file system"):
        write_directory(place, NEW)
    assert os.listdir(tmp_path) == ["model"] and read_directory(place).config == {"model": "old"}


def test_a_symbolic_link_is_followed(tmp_path):
    write_directory(tmp_path / "real", OLD)
    (tmp_path / "link").symlink_to("real")
    write_directory(tmp_path / "link", NEW)
    assert (tmp_path / "link").is_symlink() and read_directory(tmp_path / "real").config == {"model": "new"}
    (tmp_path / "real.txt").write_bytes(b"old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with replace_file(tmp_path / "link.txt") as file:
        file.write(b"new")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_bytes() == b"new"


def test_a_lock_that_its_holder_deletes_keeps_others_out(tmp_path):
    inside = []

    def claim(_):
        with atomic.locked(tmp_path / ".lock") as alone:
            inside.append(1)
            most = len(inside)
            inside.pop()
            return most if alone else 99

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(claim, range(80))) == [1] * 80
    assert os.listdir(tmp_path) == []
    with atomic.locked(tmp_path / ".lock"):  # reported at once, unless the caller waits
        with pytest.raises(TimeoutError), atomic.locked(tmp_path / ".lock", wait=False):
            pass


def test_without_locks_a_directory_is_still_replaced(tmp_path, monkeypatch):
    def no_locks(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    write_directory(tmp_path / "model", OLD)
    write_directory(tmp_path / "model", NEW)
    assert read_directory(tmp_path / "model").config == {"model": "new"} and os.listdir(tmp_path) == ["model"]


# Files


def names(folder):
    return sorted(item.name for item in folder.iterdir())


def test_what_is_there_stays_until_the_new_file_is_whole(tmp_path):
    place = tmp_path / "a.txt"
    place.write_bytes(b"old")
    with replace_file(place) as file:
        file.write(b"new")
        file.flush()
        assert place.read_bytes() == b"old" and len(names(tmp_path)) == 2
    assert place.read_bytes() == b"new" and names(tmp_path) == ["a.txt"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    place = tmp_path / "pipe"
    os.mkfifo(place)
    with ThreadPoolExecutor() as pool:
        came = pool.submit(place.read_bytes)
        with replace_file(place) as file:
            file.write(b"new")
    assert came.result() == b"new" and place.is_fifo() and names(tmp_path) == ["pipe"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_nothing(tmp_path, error):
    (tmp_path / "a.txt").write_bytes(b"old")
    with pytest.raises(error), replace_file(tmp_path / "a.txt") as file:
        file.write(b"half")
        raise error
    assert (tmp_path / "a.txt").read_bytes() == b"old" and names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("name", ["a.txt", "new/model", "link"])
def test_room_that_there_is_leaves_nothing(tmp_path, name):
    (tmp_path / "link").symlink_to("model")
    check_room(tmp_path / name, 1 << 16, 1 << 17)
    assert names(tmp_path) == ["link"]


def test_the_longest_name_that_has_room_can_be_written(tmp_path):
    most = os.pathconf(tmp_path, "PC_NAME_MAX")
    path = tmp_path / ("ü" + "x" * (most - 17))  # ü has two bytes; a hidden name is longer by 15
    check_room(path)
    with replace_file(path):
        pass
    path.unlink()
    with replace_directory(path):
        pass
    for wrong in (Path(f"{path}x"), tmp_path / "a" / ("x" * 300) / "b"):
        with pytest.raises(DataError, match="cannot be written: File name too long"):
            check_room(wrong)
    assert len(names(tmp_path)) == 1


def test_room_that_is_missing(tmp_path, full_disk):
    check_room(tmp_path / "model", 1 << 14)
    with pytest.raises(DataError, match=r"model: .* written: File too large \(a file of 16,385 bytes\)"):
        check_room(tmp_path / "model", (1 << 14) + 1)
    with pytest.raises(DataError, match="cannot be written: it takes 1,.* bytes, but only .* are free"):
        check_room(tmp_path / "model", total=10**18)
    assert names(tmp_path) == []
    with pytest.raises(DataError, match="a.txt: cannot be written: File too large"):
        with replace_file(tmp_path / "a.txt") as file:
            file.write(bytes(1 << 15))
    assert names(tmp_path) == []


def test_missing_folders_and_files_are_named(tmp_path):
    with pytest.raises(DataError) as error, replace_file(tmp_path / "out.txt") as file:
        file.write((tmp_path / "in.txt").read_bytes())
    assert str(error.value) == f"{tmp_path / 'in.txt'}: cannot be read: No such file or directory"
    assert names(tmp_path) == []
    with pytest.raises(DataError, match="none/a.txt: cannot be written: No such file"):
        with replace_file(tmp_path / "none" / "a.txt"):
            pass
    with replace_file(tmp_path / "none" / "below" / "a.txt", folders=True) as file:
        file.write(b"a")
    assert names(tmp_path / "none" / "below") == ["a.txt"]


def test_permissions_stay_and_a_new_directory_is_as_readable_as_any_other(tmp_path):
    (tmp_path / "other").mkdir()
    write_directory(tmp_path / "model", OLD)
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    with replace_file(tmp_path / "file") as file:
        file.write(b"new")
    with replace_directory(tmp_path / "folder") as folder:
        (folder / "a").write_text("new")
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("file", "folder")]
    assert modes == [0o600, 0o700]
