"""A file is there whole, or what was there before."""

import pytest

from keraszoo.errors import DataError
from keraszoo.saving.whole_file import whole_file


def names(folder):
    return sorted(item.name for item in folder.iterdir())


def test_what_is_there_stays_until_the_new_file_is_whole(tmp_path):
    place = tmp_path / "a.txt"
    place.write_bytes(b"old")
    with whole_file(place) as file:
        file.write(b"new")
        file.flush()
        assert place.read_bytes() == b"old" and len(names(tmp_path)) == 2
    assert place.read_bytes() == b"new" and names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_nothing(tmp_path, error):
    (tmp_path / "a.txt").write_bytes(b"old")
    with pytest.raises(error), whole_file(tmp_path / "a.txt") as file:
        file.write(b"half")
        raise error
    assert (tmp_path / "a.txt").read_bytes() == b"old" and names(tmp_path) == ["a.txt"]


def test_a_disk_that_is_full(tmp_path):
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(DataError, match="a.txt: cannot be written: File too large"):
            with whole_file(tmp_path / "a.txt") as file:
                file.write(bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert names(tmp_path) == []


def test_missing_folders_are_made_when_asked_for(tmp_path):
    with pytest.raises(DataError, match="none/a.txt: cannot be written: No such file"):
        with whole_file(tmp_path / "none" / "a.txt"):
            pass
    with whole_file(tmp_path / "none" / "below" / "a.txt", folders=True) as file:
        file.write(b"a")
    assert names(tmp_path / "none" / "below") == ["a.txt"]
