import json

import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.backoff import BACKOFFS
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.vector_coverage import measure_coverage
from keraszoo.text.word_vectors import WordVectors


def test_counts_against_a_loop():
    draw = np.random.default_rng(0)
    pool = ["a", "A", "b1", "B1", "B7", "c", "C", "x9", "X9", "y"]
    vectors = WordVectors(["a", "b1", "B0", "C", "x0"], np.ones((5, 1)))
    sentences = []
    for length in draw.integers(0, 9, 40):
        tokens = tuple(draw.choice(pool, length).tolist())
        sentences.append(TaggedSentence(tokens, tuple(draw.choice(["O", "B-X", "I-X"], length).tolist())))
    backoff = ["exact", "lower", "digits0", "lower+digits0"]
    found = measure_coverage(vectors, sentences, backoff)

    expected = {name: [0, set(), 0] for name in (*backoff, "none", "all")}
    for sentence in sentences:
        for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
            step = next((name for name in backoff if BACKOFFS[name](token) in vectors), "none")
            for name in (step, "all"):
                expected[name][0] += 1
                expected[name][1].add(token)
                expected[name][2] += tag != "O"
    counts = {**found.steps, "none": found.missing, "all": found.total}
    assert {name: [c.tokens, c.types, c.entity_tokens] for name, c in counts.items()} == {
        name: [tokens, len(types), inside] for name, (tokens, types, inside) in expected.items()
    }
    assert all(count.tokens for count in counts.values())  # no step was left untried
    assert found.tokens == 1 - found.missing.tokens / found.total.tokens
    assert found.rows == 5 and {word for word, _ in found.most_missed} == {"c", "y"}
    assert json.loads(json.dumps(found.as_dict()))["covered"]["entity_tokens"] == found.entity_tokens
    assert "entity tokens" in str(found) and "no vector" in str(found)


def test_text_without_tags_or_without_words():
    vectors = WordVectors(["a"], [[1.0]])
    found = measure_coverage(vectors, [["a", "b", "b"]])
    assert found.entity_tokens is None and "entity" not in str(found)
    assert (found.tokens, found.types, found.most_missed) == (1 / 3, 1 / 2, [("b", 2)])
    nothing = measure_coverage(vectors, [])
    assert (nothing.tokens, nothing.types, nothing.rows) == (0, 0, 0) and "most missed" not in str(nothing)
    with pytest.raises(KerasZooError, match="'soundex'"):
        measure_coverage(vectors, [], ["soundex"])
