"""Word vectors: scores against scipy and a search through all words; vectors of two trainings joined."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from word_vectors import joined_vectors, similarity_scores

from keraszoo.errors import DataError
from keraszoo.text.word_vectors import WordVectors


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
    files = tmp_path / "pairs.tsv", tmp_path / "analogies.txt"
    figures = similarity_scores(WordVectors(words, matrix), *files)
    cosines = [float(unit[i] @ unit[j]) for i, j, _ in judged]
    assert figures["pairs"] == pytest.approx(spearmanr(cosines, [value for *_, value in judged]).statistic)
    assert figures["pairs_known"] == pytest.approx(100 * 11 / 12)
    assert 0 < right < 7 and figures["analogies"] == pytest.approx(100 * right / 7)
    assert figures["analogies_known"] == pytest.approx(100 * 7 / 8)


def test_nothing_is_known(tmp_path):
    (tmp_path / "pairs.tsv").write_text("cat\tdog\t5\n")
    (tmp_path / "analogies.txt").write_text(": one\na b c d\n")
    vectors = WordVectors(["nowhere"], np.ones((1, 3), "float32"))
    scores = similarity_scores(vectors, tmp_path / "pairs.tsv", tmp_path / "analogies.txt")
    assert scores == {"pairs": None, "pairs_known": 0.0, "analogies": None, "analogies_known": 0.0}


def test_other_vectors_are_turned_by_the_best_rotation():
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(40, 4))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    names = [f"w{i}" for i in range(40)]
    mine = WordVectors(names[:30], matrix[:30])
    others = WordVectors(names[::-1], (matrix @ turn)[::-1])
    both = joined_vectors(mine, others)
    assert both.words == [*names[:30], *names[:29:-1]]
    np.testing.assert_array_equal(both.matrix[:30], mine.matrix)
    np.testing.assert_allclose(both.matrix[30:], matrix[:29:-1], atol=1e-5)
    assert joined_vectors(mine, mine).words == mine.words
    noisy = WordVectors(names, others.matrix[::-1] + rng.normal(scale=0.1, size=(40, 4)))
    found = joined_vectors(mine, noisy).matrix[30:]
    rotation = np.linalg.lstsq(noisy.matrix[30:], found, rcond=None)[0]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-4)
    near = np.linalg.norm(noisy.matrix[:30] @ rotation - matrix[:30])
    for other in (turn.T, np.linalg.qr(turn.T + rng.normal(scale=0.01, size=(4, 4)))[0]):
        assert near <= np.linalg.norm(noisy.matrix[:30] @ other - matrix[:30]) + 1e-5
    with pytest.raises(DataError, match="expected vectors of 4 numbers, got 3"):
        joined_vectors(mine, WordVectors(["w0"], [[1, 2, 3]]))
    with pytest.raises(DataError, match="expected 4 words or more in common, got 0"):
        joined_vectors(mine, WordVectors(["%"], [[1] * 4]))
