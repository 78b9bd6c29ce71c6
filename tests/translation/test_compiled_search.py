"""The compiled search gives what the plain one gives: alone, in a batch, and where there is nothing."""

import numpy as np
import pytest
import tensorflow as tf

from keraszoo.errors import KerasZooError
from keraszoo.models import RNNSearch
from keraszoo.search import Hypotheses, SearchOptions
from keraszoo.text.corpus import SpecialIds
from keraszoo.translation import compiled_search
from keraszoo.translation.compiled_search import COLUMNS, search_ids, tensorflow_search
from keraszoo.translation.staged_loop import ROWS, at_least

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
    tf.config.run_functions_eagerly(True)
    for row in source:
        row = row[row != search.source_special.pad_id][None]
        part = search_ids(search.model, OPTIONS, search.special, row, attention=True, lengths=[18])
        found.append([np.asarray(getattr(part, field))[0] for field in part.__dataclass_fields__])
    tf.config.run_functions_eagerly(False)
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


def test_a_single_sentence_is_compiled_in_time_and_stays_the_same(search, source, eager, monkeypatch):
    monkeypatch.setattr(search, "_alone", 0)
    monkeypatch.setattr(compiled_search, "ALONE_AT_FIRST", 1)
    for i in (0, 3):
        same(search(source[i : i + 1], OPTIONS, attention=True), eager[i], 0, len(eager[i][4][0, 0]))
    assert "single" in {way for *_, way in search._compiled}


@pytest.mark.parametrize("jit_compile", ["never", "all"])
def test_whatever_is_compiled(search, source, eager, jit_compile):
    pad_id = search.source_special.pad_id
    run = tensorflow_search(search.model, OPTIONS, search.special, pad_id, True, jit_compile=jit_compile)
    found = Hypotheses(*(part.numpy() for part in run(source)))
    for i, wanted in enumerate(eager):
        same(found, wanted, i, int((source[i] != pad_id).sum()))
    for count in (0, 1, 3):
        some = run(source[:count])
        np.testing.assert_array_equal(some[1], found.lengths[:count])
        assert some[4].shape[-1] == source.shape[1]


def test_stages_of_a_search_without_a_cache(source):
    model = RNNSearch(40, embedding_dim=7, units=6)
    model.build()
    special = SpecialIds(pad_id=0, start_id=2, end_id=3)
    for beam_width in (1, 3):
        options = SearchOptions(beam_width=beam_width, max_length=18)
        ids = np.where(source > 3, source % 40, source)
        ways = {
            way: tensorflow_search(model, options, special, 0, jit_compile=way)(ids)
            for way in ("all", "never")
        }
        for ours, theirs in zip(ways["all"], ways["never"], strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_an_unknown_way_is_refused(search):
    with pytest.raises(KerasZooError, match="single, all or never, got True"):
        tensorflow_search(search.model, OPTIONS, search.special, 0, jit_compile=True)


@pytest.mark.parametrize("count,rows", [(1, 1), (5, 8), (64, 64), (250, 256), (257, 257)])
def test_a_batch_is_filled_up_to_a_few_sizes(count, rows):
    assert int(at_least(ROWS, count)) == rows


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
