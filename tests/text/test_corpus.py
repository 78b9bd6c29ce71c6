import numpy as np
import pytest

from keraszoo.errors import DataError
from keraszoo.text.corpus import ParallelCorpus, SpecialIds
from keraszoo.text.subwords import Subwords

PAIRS = [
    ("one two", "eins zwei"),
    (" \u00a0", "drei"),
    ("four", ""),
    ("five six seven", "fünf sechs sieben"),
    ("eight " * 30, "acht"),
    ("nine", "neun " * 30),
    ("ten", "zehn"),
]
KEPT = [PAIRS[0], PAIRS[3], PAIRS[6]]


@pytest.fixture(scope="module")
def subwords():
    return (
        Subwords.train([source for source, _ in PAIRS], 25, "unigram"),
        Subwords.train([target for _, target in PAIRS], 30),
    )


@pytest.mark.parametrize("chunk", [1, 2, 1000])
def test_pairs_are_encoded_and_bad_ones_counted(subwords, monkeypatch, chunk):
    monkeypatch.setattr("keraszoo.text.corpus.CHUNK", chunk)
    corpus = ParallelCorpus.from_pairs(iter(PAIRS), *subwords, max_length=20)
    assert len(corpus) == 3
    assert corpus.dropped == {"blank": 2, "too_long": 2}
    assert corpus.sources.ids.dtype == "uint16"
    for side, rows in enumerate((corpus.sources, corpus.targets)):
        for i, pair in enumerate(KEPT):
            assert rows[i].tolist() == subwords[side].encode([pair[side]])[0]
            assert rows[i].dtype == "int32" and rows.lengths[i] == len(rows[i])
    assert corpus.source_special == corpus.target_special == SpecialIds(pad_id=0, start_id=2, end_id=3)


def test_long_pairs_without_a_limit_and_nothing_left(subwords):
    assert len(ParallelCorpus.from_pairs(PAIRS, *subwords)) == 5
    with pytest.raises(DataError, match="no pair is left of 7: 2 blank, 5 too long"):
        ParallelCorpus.from_pairs(PAIRS, *subwords, max_length=1)
    with pytest.raises(DataError, match="an empty corpus"):
        ParallelCorpus.from_pairs([], *subwords)


def test_from_ids_keeps_every_pair():
    ids = dict(pad_id=1, start_id=2, end_id=3)
    corpus = ParallelCorpus.from_ids([[70_000, 5], []], [[], np.array([9])], **ids)
    assert [corpus.sources[i].tolist() for i in (0, 1)] == [[70_000, 5], []]
    assert corpus.targets[1].tolist() == [9]
    assert corpus.source_special == SpecialIds(1, 2, 3)
    for id_ in (-1, 1, 2, 3):
        with pytest.raises(DataError, match=f"target sentence 2 holds the id {id_}"):
            ParallelCorpus.from_ids([[5]] * 3, [[], [5], [6, id_]], **ids)
    with pytest.raises(DataError, match="2 source sentences, but 1 target"):
        ParallelCorpus.from_ids([[5], [6]], [[5]], **ids)
    with pytest.raises(DataError, match="empty corpus"):
        ParallelCorpus.from_ids([], [], **ids)
