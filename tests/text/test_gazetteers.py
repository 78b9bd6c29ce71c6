"""Lists of names as further numbers of word vectors."""

import gzip

import numpy as np
import pytest

from keraszoo.cli.app import main
from keraszoo.errors import KerasZooError
from keraszoo.text.gazetteers import add_gazetteers
from keraszoo.text.word_vectors import WordVectors

WORDS = ["Ada", "york", "aspirin", "went", "Lee", "New"]


@pytest.fixture
def vectors():
    return WordVectors(WORDS, np.random.default_rng(1).normal(size=(6, 3)))


def test_each_word_against_a_loop(vectors):
    lists = {
        "first": ["Ada", "Lin", "Lee", ""],
        "city": ["New York", "Lee", " ", "Ho Chi Minh", "Kyoto"],
        "drug": ["Aspirin", "Xyzol"],
    }
    extended = add_gazetteers(vectors, lists)
    assert extended.words == [*WORDS, "Lin", "Ho", "Chi", "Minh", "Kyoto", "Xyzol"]
    assert extended.width == 3 + 6
    assert np.array_equal(extended.matrix[:6, :3], vectors.matrix)
    for word, row in zip(extended.words, extended.matrix, strict=True):
        flags = []
        for entries in lists.values():
            entries = [entry.split() for entry in entries]
            same = {word, word.capitalize()} if word in ("york", "aspirin") else {word}
            flags.append(any(len(entry) == 1 and entry[0] in same for entry in entries))
            flags.append(any(len(entry) > 1 and same & {*entry} for entry in entries))
        assert row[3:].tolist() == flags, word
    ada, york, aspirin, _, lee, new = vectors.matrix
    expected = {
        "Lin": (ada + lee) / 2,
        "Ho": (york + new) / 2,
        "Kyoto": lee,
        "Xyzol": aspirin,
    }
    for word, mean in expected.items():
        np.testing.assert_allclose(extended.matrix[extended.words.index(word), :3], mean, rtol=1e-6)


def test_a_list_of_which_no_word_has_a_vector_gives_zeros(vectors):
    extended = add_gazetteers(vectors, {"x": ["Qqq"]})
    assert extended.matrix[6].tolist() == [0, 0, 0, 1, 0]


def test_a_word_on_two_lists_gets_the_mean_of_those_with_vectors(vectors):
    extended = add_gazetteers(vectors, {"a": ["Ada", "Lin"], "b": ["Lin", "Qqq"], "c": ["Lee", "Lin"]})
    ada, *_, lee, _ = vectors.matrix
    np.testing.assert_allclose(extended.matrix[extended.words.index("Lin"), :3], (ada + lee) / 2, rtol=1e-6)


def test_a_list_without_entries(vectors):
    with pytest.raises(KerasZooError, match="the list 'b' has no entries"):
        add_gazetteers(vectors, {"a": ["Ada"], "b": [" "]})


def test_the_command(vectors, tmp_path, capsys):
    vectors.write(tmp_path / "v.txt")
    (tmp_path / "names.txt.gz").write_bytes(gzip.compress(b"Ada\nMarie Lee\n"))
    out, names = tmp_path / "more", f"name={tmp_path}/names.txt.gz"
    arguments = ["vectors", "extend", str(tmp_path / "v.txt"), "--output", str(out), "--dtype", "float16"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--list", names])
    assert ended.value.code in (0, None)
    read = WordVectors.read(out)
    assert read.words == [*WORDS, "Marie"] and read.width == 5
    assert read.matrix[0, 3:].tolist() == [1, 0] and read.matrix[4, 3:].tolist() == [0, 1]
    for wrong in ("names.txt", names):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--list", names, "--list", wrong])
        assert ended.value.code == 2
    assert "--list: expected different names and their files" in capsys.readouterr().err


def test_a_string_is_not_a_list_of_entries():
    with pytest.raises(KerasZooError, match="'city': expected an iterable of entries, got a string"):
        add_gazetteers(WordVectors(["Ada"], [[1.0, 2.0]]), {"city": "York"})
