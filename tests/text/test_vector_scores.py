"""Scores of word vectors, against scipy, a search through all words, and loops."""

import json
import os

import numpy as np
import pytest
from scipy.stats import spearmanr

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.vector_scores import score_vectors
from keraszoo.text.word_vectors import BACKOFFS, WordVectors

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
    figures = score_vectors(WordVectors(words, matrix), tmp_path / "pairs.tsv", tmp_path / "analogies.txt")
    cosines = [float(unit[i] @ unit[j]) for i, j, _ in judged]
    assert figures["pairs"] == pytest.approx(spearmanr(cosines, [value for *_, value in judged]).statistic)
    assert figures["pairs_known"] == pytest.approx(100 * 11 / 12)
    assert 0 < right < 7 and figures["analogies"] == pytest.approx(100 * right / 7)
    assert figures["analogies_known"] == pytest.approx(100 * 7 / 8)


def test_nothing_is_known(tmp_path):
    (tmp_path / "pairs.tsv").write_text("cat\tdog\t5\n")
    (tmp_path / "analogies.txt").write_text(": one\na b c d\n")
    vectors = WordVectors(["nowhere"], np.ones((1, 3), "float32"))
    scores = score_vectors(vectors, tmp_path / "pairs.tsv", tmp_path / "analogies.txt")
    assert scores == {"pairs": None, "pairs_known": 0.0, "analogies": None, "analogies_known": 0.0}


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="pairs.tsv: cannot read: No such file"):
        score_vectors(WordVectors(["a"], [[1.0]]), pairs=tmp_path / "pairs.tsv")
    os.mkfifo(tmp_path / "pipe")  # gensim would wait for a second writer
    for options in ({"pairs": tmp_path / "pipe"}, {"analogies": tmp_path / "pipe"}):
        with pytest.raises(DataError, match="pipe: a pipe, which is read only once; expected a file"):
            score_vectors(WordVectors(["a"], [[1.0]]), **options)


def test_counts_against_a_loop():
    draw = np.random.default_rng(0)
    pool = ["a", "A", "b1", "B1", "B7", "c", "C", "x9", "X9", "y"]
    vectors = WordVectors(["a", "b1", "B0", "C", "x0"], np.ones((5, 1)))
    sentences = []
    for length in draw.integers(0, 9, 40):
        tokens = tuple(draw.choice(pool, length).tolist())
        sentences.append(TaggedSentence(tokens, tuple(draw.choice(["O", "B-X", "I-X"], length).tolist())))
    backoff = ["exact", "lower", "digits0", "lower+digits0"]
    coverage = vectors.coverage(sentences, backoff)

    expected = {name: [0, set(), 0] for name in (*backoff, "missing", "total")}
    for sentence in sentences:
        for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
            step = next((name for name in backoff if BACKOFFS[name](token) in vectors), "missing")
            for name in (step, "total"):
                expected[name][0] += 1
                expected[name][1].add(token)
                expected[name][2] += tag != "O"
    assert {name: list(count.values()) for name, count in coverage.counts.items()} == {
        name: [tokens, len(types), inside] for name, (tokens, types, inside) in expected.items()
    }
    assert all(count["tokens"] for count in coverage.counts.values())  # every step finds something
    missing, total = coverage.counts["missing"], coverage.counts["total"]
    assert coverage.covered["tokens"] == 1 - missing["tokens"] / total["tokens"]
    assert coverage.rows == 5 and {word for word, _ in coverage.most_missed} == {"c", "y"}
    assert json.loads(json.dumps(coverage.as_dict()))["covered"] == coverage.covered
    assert "entity tokens" in str(coverage) and "no vector" in str(coverage)


def test_coverage_without_tags_or_without_words():
    vectors = WordVectors(["a"], [[1.0]])
    coverage = vectors.coverage([TaggedSentence(("a", "b", "b"))])
    assert coverage.covered == {"tokens": 1 / 3, "types": 1 / 2, "entity_tokens": None}
    assert coverage.most_missed == [("b", 2)] and "entity" not in str(coverage)
    nothing = vectors.coverage([])
    assert nothing.covered == {"tokens": 0, "types": 0, "entity_tokens": None}
    assert nothing.rows == 0 and "most missed" not in str(nothing)
    with pytest.raises(KerasZooError, match="'soundex'"):
        vectors.coverage([], ["soundex"])


@pytest.mark.parametrize("text", ["a b c d\n", "\n: one\na b c d\n", "", ": one\n"])
def test_analogies_that_cannot_be(tmp_path, text):
    (tmp_path / "analogies.txt").write_text(text)
    vectors = WordVectors(list("abcd"), np.eye(4))
    with pytest.raises(DataError, match="analogies.txt: expected a line ': name'"):
        score_vectors(vectors, analogies=tmp_path / "analogies.txt")


def test_pairs_without_tabs(tmp_path):
    (tmp_path / "pairs").write_text("cat dog 3.0\n")
    with pytest.raises(DataError, match="pairs: expected lines 'word TAB word TAB judgement'"):
        score_vectors(WordVectors(["cat", "dog"], np.eye(2)), tmp_path / "pairs")
