import json

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


def same(first, second):
    for side in ("source", "target"):
        rows = [[getattr(corpus, side)(i).tolist() for i in range(len(corpus))] for corpus in (first, second)]
        assert rows[0] == rows[1]
    assert first.dropped == second.dropped
    assert first.source_special == second.source_special
    assert first.target_special == second.target_special


@pytest.mark.parametrize(("chunk", "on_disk"), [(1, True), (2, False), (1000, True)])
def test_pairs_are_encoded_and_bad_ones_counted(subwords, tmp_path, monkeypatch, chunk, on_disk):
    monkeypatch.setattr("keraszoo.text.corpus.CHUNK", chunk)
    directory = tmp_path / "corpus" if on_disk else None
    corpus = ParallelCorpus.from_pairs(iter(PAIRS), *subwords, max_length=20, directory=directory)
    assert len(corpus) == 3
    assert corpus.dropped == {"blank": 2, "too_long": 2}
    assert corpus.sources.ids.dtype == "uint16"
    for i, (source, target) in enumerate(KEPT):
        assert corpus.source(i).tolist() == subwords[0].encode([source])[0]
        assert corpus.target(i).tolist() == subwords[1].encode([target])[0]
        assert corpus.source(i).dtype == "int32"
        assert corpus.source_lengths[i] == len(corpus.source(i))
        assert corpus.target_lengths[i] == len(corpus.target(i))
    assert corpus.source_special == corpus.target_special == SpecialIds(pad_id=0, start_id=2, end_id=3)


def test_no_limit_on_length(subwords):
    assert len(ParallelCorpus.from_pairs(PAIRS, *subwords)) == 5


def test_open_gives_the_same_corpus(subwords, tmp_path):
    written = ParallelCorpus.from_pairs(PAIRS, *subwords, max_length=20, directory=tmp_path / "corpus")
    assert isinstance(written.sources.ids, np.memmap)
    same(ParallelCorpus.open(tmp_path / "corpus"), written)
    same(ParallelCorpus.from_pairs(PAIRS, *subwords, max_length=20), written)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_a_corpus_is_replaced_only_by_a_whole_one(subwords, tmp_path):
    def stops():
        yield PAIRS[0]
        raise DataError("bad line", "text.en", 2)

    place = tmp_path / "corpus"
    old = ParallelCorpus.from_pairs(PAIRS, *subwords, directory=place)
    with pytest.raises(DataError, match=r"text\.en:2: bad line"):
        ParallelCorpus.from_pairs(stops(), *subwords, directory=place)
    with pytest.raises(DataError, match="no pair is left of 1: 1 blank, 0 too long"):
        ParallelCorpus.from_pairs([("", "")], *subwords, directory=place)
    same(ParallelCorpus.open(place), old)
    assert len(ParallelCorpus.from_pairs(PAIRS[:1], *subwords, directory=place)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_other_peoples_files_are_not_replaced(subwords, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("more work")
    for name in ("folder", "file", "file/below"):
        with pytest.raises(DataError, match="file"):
            ParallelCorpus.from_pairs(PAIRS, *subwords, directory=tmp_path / name)
    assert (tmp_path / "folder" / "thesis.tex").read_text() == "years of work"
    assert (tmp_path / "file").read_text() == "more work"


def test_nothing_left(subwords):
    with pytest.raises(DataError, match="no pair is left of 7: 2 blank, 5 too long"):
        ParallelCorpus.from_pairs(PAIRS, *subwords, max_length=1)
    with pytest.raises(DataError, match="an empty corpus"):
        ParallelCorpus.from_pairs([], *subwords)


@pytest.mark.parametrize("name", ["source_ids", "source_offsets", "target_ids", "target_offsets"])
def test_a_cut_or_missing_file_is_named(subwords, tmp_path, name):
    ParallelCorpus.from_pairs(PAIRS, *subwords, directory=tmp_path / "corpus")
    path = tmp_path / "corpus" / f"{name}.bin"
    whole = path.read_bytes()
    for data in (whole[:-1], whole[:-8], whole + b"\0", b""):
        path.write_bytes(data)
        message = rf"{name}\.bin: damaged corpus: expected {len(whole)} bytes, got {len(data)}"
        with pytest.raises(DataError, match=message):
            ParallelCorpus.open(tmp_path / "corpus")
    path.unlink()
    with pytest.raises(DataError, match=rf"{name}\.bin: damaged corpus: No such file"):
        ParallelCorpus.open(tmp_path / "corpus")


def test_damaged_offsets_are_found(subwords, tmp_path):
    ParallelCorpus.from_pairs(PAIRS, *subwords, directory=tmp_path / "corpus")
    path = tmp_path / "corpus" / "target_offsets.bin"
    data = bytearray(path.read_bytes())
    data[8:16] = b"\xff" * 8
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"target_offsets\.bin: damaged offsets"):
        ParallelCorpus.open(tmp_path / "corpus")


def test_a_directory_that_is_no_corpus(subwords, tmp_path):
    with pytest.raises(DataError, match="not the directory of a parallel corpus"):
        ParallelCorpus.open(tmp_path)
    ParallelCorpus.from_pairs(PAIRS, *subwords, directory=tmp_path / "corpus")
    path = tmp_path / "corpus" / "header.json"
    good = json.loads(path.read_text())
    changes = [{"format": "other"}, {"pairs": -1}, {"pairs": "3"}, {"source": None}, {"dropped": 5}]
    changes += [{"special": {"source": [0, 2], "target": [0, 2, 3]}}, {"source": {"tokens": 1, "dtype": "O"}}]
    for text in ["{", "[]", *(json.dumps(good | change) for change in changes)]:
        path.write_text(text)
        with pytest.raises(DataError, match=r"header\.json: (damaged|expected)"):
            ParallelCorpus.open(tmp_path / "corpus")


def test_from_ids_keeps_every_pair():
    ids = dict(pad_id=1, start_id=2, end_id=3)
    corpus = ParallelCorpus.from_ids([[70_000, 5], []], [[], np.array([9])], **ids)
    assert [corpus.source(i).tolist() for i in (0, 1)] == [[70_000, 5], []]
    assert corpus.target(1).tolist() == [9]
    assert corpus.source_special == SpecialIds(1, 2, 3)
    for id_ in (-1, 1, 2, 3):
        with pytest.raises(DataError, match=f"target sentence 2 holds the id {id_}"):
            ParallelCorpus.from_ids([[5]] * 3, [[], [5], [6, id_]], **ids)
    with pytest.raises(DataError, match="2 source sentences, but 1 target"):
        ParallelCorpus.from_ids([[5], [6]], [[5]], **ids)
    with pytest.raises(DataError, match="empty corpus"):
        ParallelCorpus.from_ids([], [], **ids)
