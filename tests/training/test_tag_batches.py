"""Every sentence once, within the budget, and each number where it belongs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.errors import DataError
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tagging_features import TaggingVocabulary
from keraszoo.training.tag_batches import TagBatches, TaggedRows

WORDS = ["a", "bb", "ccc", "dddd", "Eeeee", "unknown"]
TAGS = ["O", "B-X", "I-X"]
FEATURES = ("words", "characters", "casing")


@pytest.fixture(scope="module")
def vocabulary():
    return TaggingVocabulary(WORDS[:-1], "abcdE", ["X"], word_length=4)


def sentences_of(lengths):
    """Sentences whose tokens follow from their number and place; all tags valid."""
    return [
        TaggedSentence(
            tuple(WORDS[(i * 7 + j) % len(WORDS)] for j in range(length)),
            tuple(TAGS[1 if j % 3 == 0 else 2 if j % 3 == 1 else 0] for j in range(length)),
            line=10 * i + 1,
        )
        for i, length in enumerate(lengths)
    ]


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=40),
    tokens=st.integers(36, 100),
    replicas=st.integers(1, 3),
    shuffle=st.booleans(),
    shapes=st.sampled_from([1, 3, None]),
)
def test_every_sentence_once_within_the_budget(vocabulary, lengths, tokens, replicas, shuffle, shapes):
    sentences = sentences_of(lengths)
    rows = TaggedRows(sentences, vocabulary, FEATURES)
    batches = TagBatches(rows, tokens, replicas=replicas, shuffle=shuffle, shapes=shapes)
    for epoch in (0, 2):
        seen = []
        for i in range(len(batches)):
            features, tags, weight = batches.batch(epoch, i)
            indices = batches.indices(epoch, i)
            some = [sentences[k] for k in indices]
            count, length, letters = batches.shape(epoch, i)
            assert features["words"].shape == features["casing"].shape == tags.shape == (count, length)
            assert count % replicas == 0 and count - len(some) < replicas and count * length <= tokens
            wanted = vocabulary.encode([s.tokens for s in some])
            for name in FEATURES:
                part = features[name][tuple(map(slice, wanted[name].shape))]
                np.testing.assert_array_equal(part, wanted[name])
                assert features[name].sum() == part.sum()  # the rest is padding
            ids = vocabulary.encode_tags([s.tags for s in some])
            np.testing.assert_array_equal(tags[: len(some), : ids.shape[1]], ids)
            assert batches.real_tokens(epoch, i) == sum(len(s.tokens) for s in some)
            np.testing.assert_allclose(weight, (features["words"] != 0) / batches.real_tokens(epoch, i))
            if shapes is None:
                assert letters == min(4, max(len(token) for s in some for token in s.tokens))
            seen += indices.tolist()
        assert sorted(seen) == list(range(len(sentences)))


def test_only_what_the_model_reads(vocabulary):
    rows = TaggedRows(sentences_of([3, 2]), vocabulary, ["words"])
    features, *_ = TagBatches(rows, 8).batch(0, 0)
    assert set(features) == {"words"} and rows.letters.tolist() == [0, 0]


def test_what_is_wrong_is_said(vocabulary):
    rows = TaggedRows(sentences_of([3, 7]), vocabulary, FEATURES)
    with pytest.raises(DataError, match="item 1 takes 7 positions; a budget of 6 tokens for at least 1 row"):
        TagBatches(rows, 6)
    with pytest.raises(DataError, match="sentence from line 1: 2 tokens, but 1 tags"):
        TaggedRows([TaggedSentence(("a", "bb"), ("O",))], vocabulary, FEATURES)
    with pytest.raises(DataError, match="expected at least one sentence"):
        TaggedRows([], vocabulary, FEATURES)
    with pytest.raises(DataError, match="sentence 1 has no token"):
        TaggedRows([*sentences_of([1]), TaggedSentence((), ())], vocabulary, FEATURES)
    with pytest.raises(DataError, match="sentence from line 31: expected tags of the labels X, got 'Y'"):
        TaggedRows([TaggedSentence(("a",), ("B-Y",), 0, 31)], vocabulary, FEATURES)
    with pytest.raises(DataError, match="sentence from line 31: expected valid IOB2, got 'O I-X'"):
        TaggedRows([TaggedSentence(("a", "b"), ("O", "I-X"), 0, 31)], vocabulary, FEATURES)
