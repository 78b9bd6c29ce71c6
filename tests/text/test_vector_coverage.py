"""Coverage of a text by word vectors, against loops."""

import json

import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.word_vectors import BACKOFFS, WordVectors


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
