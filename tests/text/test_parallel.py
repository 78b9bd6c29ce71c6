"""Parallel text: pairs from two files or from one."""

import gzip

import pytest

from keraszoo.errors import DataError
from keraszoo.text.parallel import read_pairs


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
    odd = "a\u2028b\u2029c\u0085d"
    path = write("a.txt", f"{odd}\nsecond\n".encode())
    assert list(read_pairs(path, path)) == [(odd, odd), ("second", "second")]


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


def test_missing_file_directory_and_empty_corpus(write, tmp_path):
    full, empty = write("full", b"a\n"), write("empty", b"")
    assert "No such file" in str(error_of(read_pairs(full, tmp_path / "none.de")))
    assert error_of(read_pairs(tmp_path / "none")).path == tmp_path / "none"
    assert "directory" in str(error_of(read_pairs(tmp_path, full)))
    assert "empty corpus" in str(error_of(read_pairs(empty, empty)))
    assert "empty corpus" in str(error_of(read_pairs(empty)))
