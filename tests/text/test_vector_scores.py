"""Scores of word vectors, against scipy and a search through all words."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from keraszoo.errors import DataError
from keraszoo.text.vector_scores import score_vectors
from keraszoo.text.word_vectors import WordVectors

pytest.importorskip("gensim")


def test_scores_of_both_kinds(tmp_path):
    draw = np.random.default_rng(3)
    words = [f"w{i}" for i in range(23)]
    matrix = draw.normal(size=(23, 5)).astype("float32")
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    judged = [(i, j, draw.uniform(0, 10)) for i, j in draw.permutation(23)[:22].reshape(11, 2)]
    lines = [f"w{i}\tw{j}\t{value:.3f}\n" for i, j, value in judged]
    (tmp_path / "pairs.tsv").write_text("".join([*lines, "w1\tnowhere\t5\n"]))
    asked, right = [], 0
    for a, b, c in draw.permutation(21).reshape(7, 3):
        scores = unit @ (unit[b] - unit[a] + unit[c])
        scores[[a, b, c]] = -9
        d = int(scores.argmax()) if a % 2 else 22
        right += d == scores.argmax()
        asked.append(f"w{a} w{b} w{c} w{d}\n")
    (tmp_path / "analogies.txt").write_text("".join([": one\n", *asked, "w1 w2 w3 nowhere\n"]))
    found = score_vectors(WordVectors(words, matrix), tmp_path / "pairs.tsv", tmp_path / "analogies.txt")
    cosines = [float(unit[i] @ unit[j]) for i, j, _ in judged]
    assert found["pairs"] == pytest.approx(spearmanr(cosines, [value for *_, value in judged]).statistic)
    assert found["pairs_known"] == pytest.approx(100 * 11 / 12)
    assert 0 < right < 7 and found["analogies"] == pytest.approx(100 * right / 7)
    assert found["analogies_known"] == pytest.approx(100 * 7 / 8)


def test_nothing_is_known(tmp_path):
    (tmp_path / "pairs.tsv").write_text("cat\tdog\t5\n")
    (tmp_path / "analogies.txt").write_text(": one\na b c d\n")
    vectors = WordVectors(["nowhere"], np.ones((1, 3), "float32"))
    found = score_vectors(vectors, tmp_path / "pairs.tsv", tmp_path / "analogies.txt")
    assert found == {"pairs": None, "pairs_known": 0.0, "analogies": None, "analogies_known": 0.0}


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        score_vectors(WordVectors(["a"], [[1.0]]), pairs=tmp_path / "pairs.tsv")
