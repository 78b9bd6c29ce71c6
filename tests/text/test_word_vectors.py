import json
import shutil
import warnings

import numpy as np
import pytest

from keraszoo.errors import DataError, KerasZooError, PresetError
from keraszoo.saving import manifest
from keraszoo.text.word_vectors import BACKOFFS, DEFAULT_BACKOFF, WordVectors, check_backoff

WORDS = ["the", "The", "zoo", "0000", "New York", "\u2028", "東京"]


@pytest.fixture
def vectors():
    return WordVectors(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 5)))


def rewrite_manifest(directory):
    (directory / "manifest.json").unlink()
    manifest.write_manifest(directory, sorted(path.name for path in directory.iterdir()))


def test_lookup_tries_form_after_form(vectors):
    words = ["The", "THE", "1849", "Zoo", "Kyoto", ""]
    assert vectors.lookup(words).tolist() == [1, 0, 3, 2, -1, -1]
    assert vectors.lookup(words, ["lower", "exact"]).tolist() == [0, 0, -1, 2, -1, -1]
    assert [vectors.find(word)[1] for word in words[:5]] == ["exact", "lower", "digits0", "lower", None]
    assert "zoo" in vectors and "Zoo" not in vectors and len(vectors) == 7
    assert vectors.lookup([]).dtype == "int32"


def test_restricting_changes_no_lookup(vectors):
    for backoff in (["exact"], ["lower", "digits0"], list(BACKOFFS)):
        asked = ["THE", "Zoo", "12-34", "1849", "none", "New York"]
        small = vectors.restrict(asked, backoff)
        rows, before = small.lookup(asked, backoff), vectors.lookup(asked, backoff)
        assert (rows < 0).tolist() == (before < 0).tolist()
        kept = before >= 0
        np.testing.assert_array_equal(small.matrix[rows[kept]], vectors.matrix[before[kept]])
        assert len(small) == len(set(before[before >= 0].tolist()))


def test_reading_only_what_is_asked_for_is_reading_all_and_restricting(tmp_path):
    words = ["a", "A", "b", "B1", "b0", "c"]
    whole = WordVectors(words, np.arange(12).reshape(6, 2))
    whole.write(tmp_path / "v.bin", "binary")
    for asked in (["A", "B7"], ["a"], ["C"], []):
        small, restricted = WordVectors.read(tmp_path / "v.bin", words=asked), whole.restrict(asked)
        assert small.words == restricted.words
        np.testing.assert_array_equal(small.matrix, restricted.matrix)
    assert whole.find("B7")[1] == DEFAULT_BACKOFF[-1]


def test_neighbours_against_brute_force(vectors):
    near = vectors.neighbours("ZOO", 3)
    zoo = vectors.matrix[2].astype("float64")
    cosines = {
        word: row @ zoo / np.linalg.norm(row) / np.linalg.norm(zoo)
        for word, row in zip(WORDS, vectors.matrix.astype("float64"), strict=True)
        if word != "zoo"
    }
    assert [word for word, _ in near] == sorted(cosines, key=cosines.get, reverse=True)[:3]
    np.testing.assert_allclose([cosine for _, cosine in near], sorted(cosines.values())[:-4:-1], rtol=1e-5)
    assert vectors.neighbours(vectors.matrix[2], 1)[0][0] == "zoo"
    assert len(vectors.neighbours("zoo", 100)) == 6
    for wrong in ("Kyoto", [1.0, 2.0], np.zeros(5)):
        with pytest.raises(DataError):
            vectors.neighbours(wrong)
    assert WordVectors(["a", "b"], [[1], [0]]).neighbours("a") == [("b", 0.0)]


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (["a", "a"], [[1], [2]], "'a' twice"),
        (["a", ""], [[1], [2]], "not empty"),
        (["a\nb"], [[1]], "without a line feed"),
        (["\ud800"], [[1]], "valid Unicode"),
        (["a"], [[1], [2]], r"1 rows, one per word, got \(2, 1\)"),
        (["a"], [1], "one per word"),
        (["a"], [[]], "one per word"),
        (["a", "b"], [[1, 2], [3, np.nan]], "vector of 'b' has NaN"),
        (["a", "b"], [[1, -1e39], [3, 4]], "vector of 'a' has NaN or infinity"),
    ],
)
def test_wrong_words_and_matrices(words, matrix, message):
    with pytest.raises(DataError, match=message):
        WordVectors(words, matrix)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 0), ("float16", 2**-11)])
def test_a_directory_brings_them_back(vectors, tmp_path, dtype, tolerance):
    vectors.save(tmp_path / "v", dtype)
    read = WordVectors.read(tmp_path / "v")
    assert read.words == WORDS and read.matrix.dtype == "float32"
    np.testing.assert_allclose(read.matrix, vectors.matrix, rtol=tolerance, atol=0)
    assert np.load(tmp_path / "v" / "vectors.npy", allow_pickle=False).dtype == dtype
    assert "Word vectors: 7 words" in (tmp_path / "v" / "README.md").read_text()
    assert WordVectors.read(tmp_path / "v", words=["THE"]).words == ["the"]
    vectors.save(tmp_path / "v", dtype)  # in the place of the first


def test_whole_numbers_and_a_factor_for_each_word(vectors, tmp_path):
    matrix = np.concatenate([vectors.matrix * np.float32(1e-3), np.zeros((1, 5)), [[1e38] * 5]])
    WordVectors([*WORDS, "nothing", "large"], matrix).save(tmp_path / "v", "int8")
    read, stored = WordVectors.read(tmp_path / "v"), np.load(tmp_path / "v" / "vectors.npy")
    assert stored.dtype == "int8" and read.matrix.dtype == "float32"
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    assert (np.abs(read.matrix - matrix) <= 0.501 / 127 * largest).all()
    np.testing.assert_array_equal(np.abs(stored).max(axis=1), [127] * 7 + [0, 127])
    read.save(tmp_path / "again", "int8")
    np.testing.assert_array_equal(np.load(tmp_path / "again" / "vectors.npy"), stored)


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        (np.ones(6, "float32"), "scales.npy: has 6 rows, words.txt has 7 words"),
        (np.ones(7), "scales.npy: not the array of word vectors: float64"),
        (np.full(7, np.nan, "float32"), "the vector of 'the' has NaN or infinity"),
        (None, "has no file 'scales.npy'"),
    ],
)
def test_hostile_factors(vectors, tmp_path, scales, message):
    vectors.save(tmp_path / "v", "int8")
    (tmp_path / "v" / "scales.npy").unlink()
    if scales is not None:
        np.save(tmp_path / "v" / "scales.npy", scales)
    rewrite_manifest(tmp_path / "v")
    with pytest.raises(KerasZooError, match=message):
        WordVectors.read(tmp_path / "v")


def test_vectors_from_the_hub(vectors, tmp_path, monkeypatch):
    vectors.save(tmp_path / "words")
    monkeypatch.setattr("keraszoo.shipping.fetching.fetch", {"hf://a/words.v1": tmp_path / "words"}.get)
    assert WordVectors.read("hf://a/words.v1").words == vectors.words


def test_what_cannot_be_saved(vectors, tmp_path):
    with pytest.raises(PresetError, match="stored as float32, float16, int8, not as 'int4'"):
        vectors.save(tmp_path / "v", "int4")
    with pytest.raises(PresetError, match="1e\\+05 is too large for float16"):
        WordVectors(["a"], [[1e5]]).save(tmp_path / "v", "float16")
    assert not (tmp_path / "v").exists()


def _npy(dtype="<f4", order=False, shape=(7, 5), body=b"\0" * 140):
    header = f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    text = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + body


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("words.txt", b"\xff\n", "is not UTF-8"),
        ("words.txt", b"a\nb", "the last line has no end"),
        ("words.txt", b"a\nb\n", "has 7 rows, words.txt has 2 words"),
        ("words.txt", b"a\n" * 7, "'a' twice"),
        ("vectors.npy", b"\x80\x04pickle", "not the array"),
        ("vectors.npy", _npy("|O"), "not the array"),
        ("vectors.npy", _npy(order=True), "expected 2 axes"),
        ("vectors.npy", _npy(shape=(35,)), "expected 2 axes"),
        ("vectors.npy", _npy(shape="(7, 10**12)"), "not the array"),
        ("vectors.npy", _npy(shape=(7, 10**12)), "not the array"),
        ("vectors.npy", _npy(shape=(-7, -5)), "not the array"),
        ("vectors.npy", _npy(body=b"\xff" * 140), "NaN"),
    ],
)
def test_hostile_directories_whose_manifest_holds(vectors, tmp_path, name, content, message):
    place = tmp_path / "v"
    vectors.save(place)
    (place / name).write_bytes(content)
    with pytest.raises(PresetError, match=name):
        WordVectors.read(place)
    rewrite_manifest(place)
    with warnings.catch_warnings(), pytest.raises(KerasZooError, match=message):
        WordVectors.read(place)


def test_directories_of_other_kinds(vectors, tmp_path):
    vectors.save(tmp_path / "v")
    config = json.loads((tmp_path / "v" / "config.json").read_text())
    shutil.copytree(tmp_path / "v", tmp_path / "w")
    (tmp_path / "w" / "config.json").write_text(json.dumps({**config, "task": "translation"}))
    rewrite_manifest(tmp_path / "w")
    with pytest.raises(PresetError, match="expected a directory for word vectors, got one for 'translation'"):
        WordVectors.read(tmp_path / "w")
    with pytest.raises(PresetError, match="no such directory"):
        WordVectors.read(tmp_path / "none")
    with pytest.raises(DataError, match="none.bin: expected a file or a directory of word vectors"):
        WordVectors.read(tmp_path / "none.bin")
    with pytest.raises(DataError, match="v: expected the format auto for a directory, got 'glove'"):
        WordVectors.read(tmp_path / "v", "glove")


@pytest.mark.parametrize(
    ("call", "argument", "message"),
    [
        (check_backoff, "lower", "a list of different names"),
        (check_backoff, ["lower", "upper"], "got .*'upper'"),
        (check_backoff, [], r"got \[\]"),
        (check_backoff, ["exact"] * 2, "different names"),
        (WordVectors(["zoo"], [[1.0]]).lookup, "zoo", "expected a list of words, got the string 'zoo'"),
    ],
)
def test_wrong_lists_of_forms_and_words(call, argument, message):
    with pytest.raises(KerasZooError, match=message):
        call(argument)
