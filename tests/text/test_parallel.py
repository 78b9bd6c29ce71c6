import gzip
import io
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keraszoo.errors import DataError
from keraszoo.text.parallel import read_lines, read_pairs


@pytest.fixture
def write(tmp_path):
    """Writes bytes to a file of that name and returns its path."""

    def write(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def error_of(iterator):
    with pytest.raises(DataError) as caught:
        list(iterator)
    return caught.value


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_two_files_of_every_form(write, pack, bom, end):
    source = write("a.en", pack(bom + b"A dog." + end + b"Two cats." + end))
    target = write("a.de", pack("Ein Hund.\nZwei Kätzchen.".encode()))
    assert list(read_pairs(source, target)) == [("A dog.", "Ein Hund."), ("Two cats.", "Zwei Kätzchen.")]
    assert list(read_pairs(str(source), str(target)))[1][1] == "Zwei Kätzchen."


def test_tsv_ignores_further_columns(write):
    path = write("a.tsv.gz", gzip.compress(b"\xef\xbb\xbfa\tb\tCC-BY\tx\r\nc \t d\n\t\n\n"))
    assert list(read_pairs(path)) == [("a", "b"), ("c ", " d"), ("", ""), ("", "")]


def test_only_a_line_feed_ends_a_line(write):
    odd = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh\xa0i\x01j\u200bk\ufeffl"
    path = write("a.txt", f"{odd}\nsecond\n".encode())
    assert list(read_lines(path)) == [odd, "second"]
    assert list(read_pairs(path, path)) == [(odd, odd), ("second", "second")]


def test_blank_lines_are_kept(write):
    assert list(read_lines(write("a", b"\n\na\n\n"))) == ["", "", "a", ""]
    assert list(read_lines(write("b", b""))) == []
    assert list(read_lines(write("c", b"\xef\xbb\xbf"))) == [""]


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(b"a\r\n\nb")))
    assert list(read_lines("-")) == ["a", "", "b"]
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(b"a\n\xff")))
    assert str(error_of(read_lines("-"))).startswith("<stdin>:2: not UTF-8: byte 0xff")


@given(st.lists(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]))))
def test_any_lines_come_back(tmp_path_factory, lines):
    # A carriage return before the line end is part of it; a byte order mark is only one at the start.
    lines = [line.rstrip("\r") for line in lines]
    path = tmp_path_factory.mktemp("any") / "text"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(line + "\n" for line in lines).encode())
    assert list(read_lines(path)) == (lines or [""])


@given(st.binary())
def test_any_bytes_give_lines_or_our_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "text"
    path.write_bytes(data)
    try:
        lines = list(read_lines(path))
    except DataError:
        return
    assert len(lines) == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


def test_unequal_counts_are_named(write):
    three, one = write("a.en", b"1\n2\n3\n"), write("a.de", b"1\n")
    for error in (error_of(read_pairs(three, one)), error_of(read_pairs(one, three))):
        assert f"{three} has 3, {one} has 1" in str(error)
        assert (error.path, error.line) == (three, 2)
    empty = write("empty", b"")
    assert f"{three} has 3, {empty} has 0" in str(error_of(read_pairs(empty, three)))


def test_pairs_before_an_error_are_streamed(write):
    pairs = read_pairs(write("a.tsv", b"a\tb\nno tab\n"))
    assert next(pairs) == ("a", "b")
    assert str(error_of(pairs)).endswith(
        "a.tsv:2: expected source TAB target, got a line with no TAB: 'no tab'"
    )


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"good\nbad \xe4 latin\n", 2, "not UTF-8: byte 0xe4 at byte 5 of the line"),
        (b"good\n\x89PNG\0\x01\n", 2, "a NUL byte"),
        ("utf-16".encode("utf-16-le"), 1, "a NUL byte"),
        (b"\xed\xa0\x80", 1, "not UTF-8"),
        (gzip.compress(b"some text\n" * 99, mtime=0)[:-9], 100, "damaged gzip"),
        (gzip.compress(bytes(range(1, 10)) * 99, mtime=0)[:14] + b"\xff" * 20, 1, "damaged gzip"),
    ],
)
def test_bad_bytes_name_file_and_line(write, data, line, message):
    path = write("bad.en", data)
    error = error_of(read_lines(path))
    assert message in str(error)
    assert (error.path, error.line) == (path, line)
    assert str(error).startswith(f"{path}:{line}: ")


def test_plain_text_called_gz(write):
    assert "damaged gzip" in str(error_of(read_lines(write("a.gz", b"plain"))))


def test_line_without_end(write, monkeypatch):
    monkeypatch.setattr("keraszoo.text.parallel.LONGEST_LINE", 8)
    assert list(read_lines(write("a", b"1234567\n12345678"[:15]))) == ["1234567", "1234567"]
    assert error_of(read_lines(write("a", b"1234567\n123456789"))).line == 2


def test_missing_file_directory_and_empty_corpus(write, tmp_path):
    full, empty = write("full", b"a\n"), write("empty", b"")
    assert "No such file" in str(error_of(read_pairs(full, tmp_path / "none.de")))
    assert error_of(read_pairs(tmp_path / "none")).path == tmp_path / "none"
    assert "directory" in str(error_of(read_pairs(tmp_path, full)))
    assert "empty corpus" in str(error_of(read_pairs(empty, empty)))
    assert "empty corpus" in str(error_of(read_pairs(empty)))
