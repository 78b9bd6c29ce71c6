"""The readers and writers against gensim's, and against files that are wrong."""

import gzip
import pickle
import tracemalloc

import numpy as np
import pytest

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.vector_files import read_vectors, write_vectors

keyedvectors = pytest.importorskip("gensim.models.keyedvectors")

WORDS = ["the", "Zoo", "1849", "naïve", "\u2028", "don't", "东京", "\xa0", "</s>", "-1.5"]
MATRIX = np.random.default_rng(0).normal(size=(len(WORDS), 7)).astype("float32")
MATRIX[1, :3] = [0, 1e-30, -3e38]


def gensim_vectors():
    vectors = keyedvectors.KeyedVectors(MATRIX.shape[1])
    vectors.add_vectors(WORDS, MATRIX)
    return vectors


def error_of(*arguments, **options):
    with pytest.raises(DataError) as caught:
        read_vectors(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("name", ["v", "v.gz"])
@pytest.mark.parametrize(
    ("format", "options"),
    [("word2vec", {}), ("fasttext", {}), ("binary", {"binary": True}), ("glove", {"write_header": False})],
)
def test_what_gensim_writes(tmp_path, format, options, name):
    path = tmp_path / name
    gensim_vectors().save_word2vec_format(str(path), **options)
    for kind in ("auto", format):
        words, matrix = read_vectors(path, kind)
        assert words == WORDS and matrix.dtype == "float32"
        np.testing.assert_array_equal(matrix, MATRIX)


@pytest.mark.parametrize("name", ["v", "v.gz"])
@pytest.mark.parametrize(("format", "options"), [("word2vec", {}), ("binary", {"binary": True})])
def test_gensim_reads_what_is_written(tmp_path, format, options, name):
    path = tmp_path / name
    write_vectors(path, WORDS, MATRIX, format)
    read = keyedvectors.KeyedVectors.load_word2vec_format(str(path), **options)
    assert read.index_to_key == WORDS
    np.testing.assert_array_equal(read.vectors, MATRIX)
    first = path.read_bytes()
    write_vectors(path, WORDS, MATRIX, format)
    assert path.read_bytes() == first and [file.name for file in tmp_path.iterdir()] == [name]


def test_lines_of_any_form_are_split(write):
    path = write(b"\xef\xbb\xbf2 2\r\na 1 2 \r\n\r\n. . .\t3\t 4.5e0 \r\n\r\n")  # BOM, CRLF, blanks, TABs
    words, matrix = read_vectors(path)
    assert words == ["a", ". . ."] and matrix.tolist() == [[1, 2], [3, 4.5]]
    words, _ = read_vectors(write("\ufeffa 1 2\n\ufeffb 3 4\n"))  # joined files
    assert words == ["a", "b"]


def test_unwanted_rows_cost_no_memory(write):
    rows = np.zeros(30_000, [("word", "S6"), ("blank", "S1"), ("numbers", "<f4", 100), ("end", "S1")])
    rows["word"] = np.char.zfill(np.arange(len(rows)).astype("S"), 6)
    rows["blank"], rows["end"], rows["numbers"] = b" ", b"\n", np.arange(len(rows))[:, None]
    path = write(b"30000 100\n" + rows.tobytes())
    del rows
    tracemalloc.start()
    words, matrix = read_vectors(path, wanted={"000003", "029999", "nowhere"})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert words == ["000003", "029999"] and matrix[:, 99].tolist() == [3, 29999]
    assert peak < 5_000_000 < path.stat().st_size


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"3 2\na 1 2\nb 1\nc 5 6\n", 3, "expected 2 numbers, got 1"),
        (b"a 1 2\nb nan 2\nc 5 6\n", 2, "number 1 is nan"),
        (b"a 1 2\nb 1 -1e39\nc 5 6\n", 2, "number 2 is -inf"),
        (b"a 1 2\nb 1 2,5\nc 5 6\n", 2, "expected a number, got '2,5'"),
        (b"a 1 2\nb 1_0 2\nc 5 6\n", 2, "expected a number, got '1_0'"),
        (b"a 1 2\n 1 2\nc 5 6\n", 2, "a row without a word"),
        (b"a 1 2\n\xe4 1 2\nc 5 6\n", 2, "not UTF-8: byte 0xe4 in the word"),
        (b"a 1 2\nb 1 2\nc 5", 3, "the last line is cut off: expected 2 numbers, got 1"),
        (b"4 2\na 1 2\nc 5 6\n", None, "the header says 4 rows, the file has 2"),
        (b"1 2\na 1 2\nc 5 6\n", None, "the header says 1 rows, the file has 2"),
        (b"0 2\n", None, None),
    ],
)
def test_damaged_text(write, data, line, message):
    path = write(data)
    if message is None:
        assert read_vectors(path)[1].shape == (0, 2)
        return
    assert error_of(path) == f"{path}{f':{line}' if line else ''}: {message}"


def test_rows_that_are_left_out_and_numbers_that_may_be_cut_give_warnings(write):
    with pytest.warns(UserWarning, match="vectors:2: no line end: the last number may be cut"):
        assert read_vectors(write(b"a 1 2\nb 3 4", "vectors"))[1][1].tolist() == [3, 4]
    with pytest.warns(UserWarning, match="2 rows left out because their word came before"):
        words, matrix = read_vectors(write(b"a 1 2\nb 3 4\na 5 6\na nan 6\n"))
    assert (words, matrix.tolist()) == (["a", "b"], [[1, 2], [3, 4]])
    rows = (b"caf\xc3\xa9", [1, 2]), (b"caf\xc3", [3, 4]), (b"b", [5, 6])
    with pytest.warns(UserWarning, match="1 rows left out because their word ends within a letter"):
        words, matrix = read_vectors(write(binary(*rows, header=b"3 2\n")), "binary")
    assert (words, matrix.tolist()) == (["café", "b"], [[1, 2], [5, 6]])


def test_a_word_with_a_whole_number_in_it(write):
    words, matrix = read_vectors(write(b"3 2\nthe 0.1 0.2\nR$ 5 0.3 -0.4\n. 10 0.0 0.5\n"))
    assert words == ["the", "R$ 5", ". 10"]
    np.testing.assert_allclose(matrix, [[0.1, 0.2], [0.3, -0.4], [0, 0.5]], rtol=1e-6)
    assert read_vectors(write(b"R$ 0.5 0.3\nR$ 5 0.3 -0.4\n"))[0] == ["R$", "R$ 5"]
    assert "expected 2 numbers, got 3" in error_of(write(b"3 2\nthe 0.1 0.2\na 0.5 0.3 0.4\nb 1. 2.\n"))


def binary(*rows, header):
    body = b"".join(word + b" " + np.array(row, "<f4").tobytes() for word, row in rows)
    return header + body


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (binary((b"a", [1, 2]), (b"b", [3, 4]), header=b"3 2\n")[:-1], "row 2: the last row is cut off"),
        (binary((b"a", [1, 2]), (b"b", [3, np.inf]), header=b"2 2\n"), "row 2: number 2 is inf"),
        (binary((b"\xff", [1, 2]), (b"b", [3, 4]), header=b"2 2\n"), "row 1: not UTF-8: byte 0xff"),
        (binary((b"", [1, 2]), (b"b", [3, 4]), header=b"2 2\n"), "row 1: a row without a word"),
        (binary((b"a", [1, 2]), header=b"999999999999 2\n"), "the header says 999,999,999,999 rows"),
        (b"2 2\n" + b"\0x" * 70_000, "row 1: a row without a word"),
        (binary((b"a", [1, 2]), header=b"1 30000\n"), "row 1: the last row is cut off"),
    ],
)
def test_damaged_binary(write, data, message):
    path = write(data)
    assert error_of(path, "binary").startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b" \n\n", "an empty file"),
        (gzip.compress(b"", mtime=0), "an empty file"),
        (gzip.compress(b"a 1 2\n" * 999, mtime=0)[:-9], "damaged gzip"),
        (pickle.dumps({"a": [1.0]}), "a pickle, which is never loaded"),
        (b"PK\x03\x04rest", "a zip archive"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", "fastText's own .bin"),
        (b"\x93NUMPY\x01\0", "a NumPy array"),
        (b"just some words\n", "expected a word and its numbers"),
        (b"5 999999999\na 1\n", "at most 32,768 numbers, got 999,999,999"),
        (b"5 0\na\n", "expected a word and its numbers"),
        (b"a 1 2\n" + b"x" * (1 << 20), "a line above 1,048,576 bytes"),
    ],
)
def test_other_files(write, data, message):
    path = write(data)
    assert error_of(path).startswith(str(path)) and message in error_of(path)


def test_missing_file_header_and_wrong_options(write, tmp_path):
    assert "No such file" in error_of(tmp_path / "none")
    assert "directory" in error_of(tmp_path)
    for format in ("word2vec", "binary", "fasttext"):
        assert "expected a header '<rows> <width>', got 'a 1 2'" in error_of(write(b"a 1 2\n"), format)
    with pytest.raises(KerasZooError, match="got 'w2v'"):
        read_vectors(write(b"a 1 2\n"), "w2v")
    with pytest.raises(KerasZooError, match="got 'auto'"):
        write_vectors(tmp_path / "x", ["a"], [[1.0]], "auto")
    with pytest.raises(DataError, match="'a b': a blank ends a word"):
        write_vectors(tmp_path / "x", ["a b"], [[1.0]])
    with pytest.raises(DataError, match="cannot be written"):
        write_vectors(tmp_path / "none" / "x", ["a"], [[1.0]])
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("data", [b"2 2\ra 1 2\rb 3 4\r", b"a 1 2\rb 3 4\r", b"a 1 2\rb 3 4\r\nc 5 6\n"])
@pytest.mark.parametrize("format", ["auto", "glove", "word2vec"])
def test_line_ends_of_carriage_returns_alone_are_refused(write, data, format):
    with pytest.raises(DataError, match=r":1: a carriage return \(CR\) inside the line"):
        read_vectors(write(data), format)
