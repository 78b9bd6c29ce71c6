"""The compiled search gives what the plain one gives: alone, in a batch, and where there is nothing."""

import numpy as np
import pytest

from keraszoo.search import SearchOptions
from keraszoo.tasks.compiled_search import COLUMNS, search_ids, tensorflow_search

OPTIONS = SearchOptions(beam_width=3, num_hypotheses=2, max_length=18)


@pytest.fixture(scope="module")
def search(trained):
    return trained.compiled_search


@pytest.fixture(scope="module")
def source(trained, test_pairs):
    """Ids (7, S)."""
    rows = trained.source_subwords.encode([source for source, _ in test_pairs[:7]])
    return trained.compiled_search.pad(rows)


@pytest.fixture(scope="module")
def eager(search, source):
    """What the search finds for each sentence alone, without a graph and with one cache for all of it."""
    found = []
    for row in source:
        row = row[row != search.source_special.pad_id][None]
        part = search_ids(search.model, OPTIONS, search.special, row, attention=True, lengths=[18])
        found.append([np.asarray(getattr(part, field))[0] for field in part.__dataclass_fields__])
    return found


def same(found, wanted, i, columns):
    tokens, lengths, log_prob, score, weights = wanted
    for k, length in enumerate(lengths):
        assert found.lengths[i, k] == length
        assert found.tokens[i, k, :length].tolist() == tokens[k, :length].tolist()
        ours = found.attention_weights[i, k, :length]
        np.testing.assert_allclose(ours[:, :columns], weights[k, :length, :columns], atol=1e-5)
        assert not ours[:, columns:].any()
    np.testing.assert_allclose(found.log_prob[i], log_prob, atol=1e-4)
    np.testing.assert_allclose(found.score[i], score, atol=1e-4)


def test_a_batch_is_each_sentence_alone(search, source, eager):
    found = search(source, OPTIONS, attention=True)
    for i, wanted in enumerate(eager):
        same(found, wanted, i, int((source[i] != search.source_special.pad_id).sum()))


def test_a_single_sentence_goes_another_way_and_comes_to_the_same(search, source, eager):
    for i in (0, 3):
        same(search(source[i : i + 1], OPTIONS, attention=True), eager[i], 0, len(eager[i][4][0, 0]))


def test_without_xla(search, source, eager):
    run = tensorflow_search(
        search.model, OPTIONS, search.special, search.source_special.pad_id, jit_compile=False
    )
    tokens, lengths, *_ = (part.numpy() for part in run(source))
    for i, (theirs, counts, *_) in enumerate(eager):
        assert lengths[i].tolist() == counts.tolist()
        assert tokens[i, 0, : counts[0]].tolist() == theirs[0, : counts[0]].tolist()


def test_no_sentence(search, source):
    found = search(source[:0], OPTIONS, attention=True)
    assert found.tokens.shape[:2] == found.lengths.shape == found.log_prob.shape == (0, 2)
    assert found.attention_weights.shape == (0, 2, found.tokens.shape[2], source.shape[1])
    nothing = search(np.zeros((0, 0), "int32"), OPTIONS, attention=True)
    assert nothing.attention_weights.shape[-1] == 0


def test_a_prefix_is_forced(search, source):
    prefix = np.full((7, 2), -1, "int32")
    prefix[2] = [9, 11]
    prefix[4, 0] = 12
    found = search(source, OPTIONS, prefix=prefix)
    assert (found.tokens[2, :, :2] == [9, 11]).all() and (found.tokens[4, :, 0] == 12).all()
    free = search(source, OPTIONS)
    assert (found.tokens[0, 0, : free.lengths[0, 0]] == free.tokens[0, 0, : free.lengths[0, 0]]).all()


def test_rows_are_ended_and_padded(search):
    special = search.source_special
    padded = search.pad([[7, 8], [], [9]])
    end, pad = special.end_id, special.pad_id
    assert padded.tolist() == [[7, 8, end], [end, pad, pad], [9, end, pad]] and padded.dtype == "int32"


def test_longer_than_every_compiled_length(search):
    long = np.full((2, COLUMNS[-1] + 3), 7, "int32")
    long[:, -1] = search.source_special.end_id
    greedy = SearchOptions(beam_width=1, max_length=4)
    both, alone = search(long, greedy), search(long[:1], greedy)
    assert both.tokens[0, 0].tolist() == both.tokens[1, 0].tolist() == alone.tokens[0, 0].tolist()
