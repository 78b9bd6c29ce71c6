"""Lines of text, read and written."""

import gzip
import io
import os
import types
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keraszoo.errors import DataError
from keraszoo.text.lines import read_lines, read_rows, write_lines

ODD = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh\xa0i\x01j\u200bk\ufeffl"


def error_of(iterator):
    with pytest.raises(DataError) as caught:
        list(iterator)
    return caught.value


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (f"{ODD}\nsecond\n", [ODD, "second"]),  # only a line feed ends a line
        ("\n\na\n\n", ["", "", "a", ""]),
        ("", []),
        ("\ufeff", [""]),
        ("\ufeffA\n\ufeffB\n\ufeff\ufeffC\ufeff", ["A", "B", "C\ufeff"]),  # of joined files
    ],
)
def test_lines_of_a_file(write, data, lines):
    assert list(read_lines(write(data))) == lines


@pytest.mark.parametrize(
    "data", [b"a\rb", b"a\rb\r", b"\ra", b"\xef\xbb\xbfa\r\rb\r", b"A dog.\rA cat.\n", b"\ra\r\n"]
)
def test_line_ends_of_carriage_returns_alone_are_refused(write, data):
    for file in write(data), write(gzip.compress(data), "file.gz"):
        error = error_of(read_lines(file))
        assert error.line == 1
        assert "a carriage return (CR) inside the line: expected line ends of LF or CR LF" in str(error)


def test_a_carriage_return_inside_a_line_is_kept_if_others_end_in_line_feeds(write):
    path = write(b"a\tb\r\nc\td\re\tf\r\n")
    assert list(read_lines(path)) == ["a\tb", "c\td\re\tf"]
    error = error_of(read_rows(path))  # but a row has none
    assert (error.path, error.line) == (path, 2) and "a carriage return (CR)" in str(error)


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(b"a\r\n\nb")))
    assert list(read_lines("-")) == ["a", "", "b"]
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(b"a\n\xff")))
    assert str(error_of(read_lines("-"))).startswith("<stdin>:2: not UTF-8: byte 0xff")


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]))))
def test_any_lines_come_back(tmp_path_factory, lines):
    # Carriage returns before the line end are part of it, byte order marks at the start are dropped.
    lines = [line.rstrip("\r").lstrip("\ufeff") for line in lines]
    assume(len(lines) != 1 or "\r" not in lines[0])  # which is refused
    path = tmp_path_factory.mktemp("any") / "text"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(line + "\n" for line in lines).encode())
    assert list(read_lines(path)) == (lines or [""])


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
    path = write(data, "bad.en")
    error = error_of(read_lines(path))
    assert message in str(error)
    assert (error.path, error.line) == (path, line)
    assert str(error).startswith(f"{path}:{line}: ")


def test_a_line_without_an_end_and_plain_text_called_gz(write, monkeypatch):
    monkeypatch.setattr("keraszoo.text.lines.LONGEST_LINE", 8)
    assert list(read_lines(write(b"1234567\n12345678"[:15], "a"))) == ["1234567", "1234567"]
    assert error_of(read_lines(write(b"1234567\n123456789", "a"))).line == 2
    assert "damaged gzip" in str(error_of(read_lines(write(b"plain", "a.gz"))))


def test_a_pipe_is_read_once_and_the_second_time_is_an_error(tmp_path):
    """Opening it again would wait for a writer forever."""
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as pool:
        pool.submit((tmp_path / "pipe").write_bytes, b"one\ntwo\n")
        assert list(read_lines(tmp_path / "pipe")) == ["one", "two"]
    with pytest.raises(DataError, match="pipe: a pipe, which is read only once; expected a file"):
        next(read_lines(tmp_path / "pipe"))


def test_lines_are_written_whole_or_not_at_all(tmp_path):
    place = tmp_path / "new"
    write_lines(place, ["a\u2028b", "", "ü"])
    assert place.read_bytes() == "a\u2028b\n\nü\n".encode()

    def broken():
        yield "first"
        raise ValueError

    with pytest.raises(ValueError):
        write_lines(place, broken())
    assert list(read_lines(place)) == ["a\u2028b", "", "ü"]
    with pytest.raises(DataError, match="none/file: cannot be written: No such file"):
        write_lines(tmp_path / "none" / "file", [])
    assert [file.name for file in tmp_path.iterdir()] == ["new"]
