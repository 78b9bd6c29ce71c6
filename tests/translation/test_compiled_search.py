"""The compiled search equals the eager one: for one sentence, for a batch, and for no sentences."""

import gc
import time
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest

from keraszoo.models import RNNSearch, Transformer
from keraszoo.search import Hypotheses, SearchOptions
from keraszoo.text.corpus import SpecialIds
from keraszoo.translation import compiled_search
from keraszoo.translation.compiled_search import CompiledSearch
from keraszoo.translation.graph_loop import COLUMNS, ROWS, at_least

V, PAD, END = 12, 0, 3
SPECIAL = SpecialIds(pad_id=PAD, start_id=2, end_id=END)
OPTIONS = SearchOptions(beam_width=2, num_hypotheses=2, max_length=10)
GREEDY = SearchOptions(beam_width=1, max_length=10)
needs_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a TensorFlow graph")


def search_of(model):
    model.build()
    rng = np.random.default_rng(2)
    for weight in model.trainable_variables:  # far from the start, so that hypotheses have many lengths
        scale = 0.6 if len(weight.shape) > 1 else 0.3
        weight.assign(rng.normal(size=weight.shape) * scale + (weight.name == "gamma"))
    return CompiledSearch(model, SPECIAL, SPECIAL)


@pytest.fixture(scope="module")
def search():
    """Of a model whose state has a cache."""
    return search_of(Transformer(V, d_model=8, num_layers=1, num_heads=2, intermediate_dim=16))


@pytest.fixture(scope="module")
def source(search):
    """Ids (5, 6) of sentences of 1 to 5 words."""
    rng = np.random.default_rng(2)
    return search.pad([rng.integers(4, V, length).tolist() for length in (5, 3, 1, 4, 2)])[:, :6]


@pytest.fixture(scope="module")
def eager(search, source):
    """The parts of `Hypotheses` of each sentence alone, without a graph and with one cache length."""
    rows = (row[row != PAD][None] for row in source)
    results = [search.tensors(OPTIONS, True, row, lengths=[OPTIONS.max_length]) for row in rows]
    results = [[np.asarray(part)[0] for part in parts] for parts in results]
    assert len({length for parts in results for length in parts[1].tolist()}) > 2
    return results


def same(hypotheses, wanted, i):
    """Checks that row i has the hypotheses `wanted` of the sentence alone."""
    tokens, lengths, log_prob, score, weights = wanted
    for k in range(hypotheses.lengths.shape[1]):
        length, columns = lengths[k], weights.shape[-1]
        assert hypotheses.lengths[i, k] == length
        assert hypotheses.tokens[i, k, :length].tolist() == tokens[k, :length].tolist()
        ours = hypotheses.attention_weights[i, k, :length]
        np.testing.assert_allclose(ours[:, :columns], weights[k, :length], atol=1e-5)
        assert not ours[:, columns:].any()
        assert hypotheses.log_prob[i, k] == pytest.approx(log_prob[k], abs=1e-4)
        assert hypotheses.score[i, k] == pytest.approx(score[k], abs=1e-4)


def test_a_batch_equals_single_sentences(search, source, eager):
    hypotheses = search(source, OPTIONS, attention=True)
    for i, wanted in enumerate(eager):
        same(hypotheses, wanted, i)


def operations(graph):
    """The names of the operations of a graph, and how many functions XLA would compile."""
    functions = graph.get_concrete_function().graph.as_graph_def().library.function
    jitted = [f for f in functions if "_XlaMustCompile" in f.attr and f.attr["_XlaMustCompile"].b]
    return [node.op for function in functions for node in function.node_def], len(jitted)


@needs_tensorflow
def test_the_first_answers_come_without_xla_from_one_graph_of_a_step(search, source, eager, monkeypatch):
    monkeypatch.setattr(search, "_compiled", {})
    monkeypatch.setattr(search, "_calls", Counter())
    monkeypatch.setattr(compiled_search, "PLAIN_AT_FIRST", 1)
    for i in (0, 1):
        same(search(source[i : i + 1], OPTIONS, attention=True), eager[i], 0)
    plain, compiled = search._compiled.values()
    names, jitted = operations(plain)
    assert jitted == 0 and names.count("TopKV2") == 5  # the five of one step of beam search
    assert operations(compiled)[1] == 1


@needs_tensorflow
def test_greedy_search_with_compiled_steps_equals_the_plain_graph(search, source):
    compiled, plain = (search.graph(GREEDY, jit_compile=way)(source) for way in (True, False))
    for ours, theirs in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.slow
@needs_tensorflow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_every_way_to_compile_equals_single_sentences(search, source, jit_compile):
    options = OPTIONS.replace(max_length=18)  # more than one stage of the cache
    run = search.graph(options, attention=True, jit_compile=jit_compile)
    hypotheses = Hypotheses(*(part.numpy() for part in run(source)))
    for i, row in enumerate(source):
        alone = search.tensors(options, True, row[row != PAD][None], lengths=[18])
        same(hypotheses, [np.asarray(part)[0] for part in alone], i)
    for count in (0, 1, 3):
        some = run(source[:count])
        np.testing.assert_array_equal(some[1], hypotheses.lengths[:count])
        assert some[4].shape[-1] == source.shape[1]


@pytest.mark.slow
@needs_tensorflow
@pytest.mark.parametrize("beam_width", [1, 3])
def test_stages_of_a_search_without_a_cache(source, beam_width):
    search = search_of(RNNSearch(V, embedding_dim=7, units=6))
    options = SearchOptions(beam_width=beam_width, max_length=18)
    compiled, plain = (search.graph(options, jit_compile=way)(source) for way in (True, False))
    for ours, theirs in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@needs_tensorflow
@pytest.mark.parametrize("count,rows", [(1, 1), (3, 4), (16, 16), (17, 17)])
def test_a_batch_is_filled_up_to_a_few_sizes(count, rows):
    assert int(at_least(ROWS, count)) == rows


@needs_tensorflow
def test_no_sentence(search, source):
    none = search(source[:0], OPTIONS, attention=True)
    assert none.tokens.shape[:2] == none.lengths.shape == none.log_prob.shape == (0, 2)
    assert none.attention_weights.shape == (0, 2, none.tokens.shape[2], source.shape[1])
    nothing = search(np.zeros((0, 0), "int32"), OPTIONS, attention=True)
    assert nothing.attention_weights.shape[-1] == 0


def test_rows_are_ended_and_padded(search):
    padded = search.pad([[7, 8], [], [9]])
    assert padded[:, :3].tolist() == [[7, 8, END], [END, PAD, PAD], [9, END, PAD]]
    assert padded.dtype == "int32" and not padded[:, 3:].any()


def test_prefixes_have_few_shapes(search):
    assert search.pad_prefixes([[], []]) is None
    assert search.pad_prefixes([[5], [6, 7]]).tolist() == [[5, *[-1] * 7], [6, 7, *[-1] * 6]]
    assert search.pad_prefixes([[5] * 9]).shape == (1, 16)


@pytest.mark.slow
def test_longer_than_every_compiled_length(search):
    long = np.full((2, COLUMNS[-1] + 3), 7, "int32")
    long[:, -1] = END
    greedy = SearchOptions(beam_width=1, max_length=4)
    both, alone = search(long, greedy), search(long[:1], greedy)
    assert both.tokens[0, 0].tolist() == both.tokens[1, 0].tolist() == alone.tokens[0, 0].tolist()


@needs_tensorflow
def test_the_oldest_of_many_searches_goes(source, eagerly, monkeypatch):
    monkeypatch.setattr(compiled_search, "KEPT", 2)
    search = search_of(RNNSearch(V, embedding_dim=4, units=4))
    found = [search(source[:1], GREEDY.replace(max_length=n)).tokens.shape[-1] for n in (1, 2, 3, 1)]
    assert found == [1, 2, 3, 1]
    assert [options.max_length for options, *_ in search._compiled] == [3, 1]
    search(source[:1], GREEDY.replace(max_length=3))  # is now the last used
    search(source[:1], GREEDY.replace(max_length=4))
    assert [options.max_length for options, *_ in search._compiled] == [3, 4]


@needs_tensorflow
def test_all_models_of_a_process_share_the_number_of_searches(source, eagerly, monkeypatch):
    monkeypatch.setattr(compiled_search, "KEPT", 2)
    one, other = (search_of(RNNSearch(V, embedding_dim=4, units=4)) for _ in range(2))
    for search, length in ((one, 1), (one, 2), (other, 1), (other, 2), (one, 2)):
        search(source[:1], GREEDY.replace(max_length=length))
    assert [len(search._compiled) for search in (one, other)] == [1, 1]
    gone = weakref.ref(other)
    del other, search
    gc.collect()
    assert gone() is None  # the list of searches keeps no model


@needs_tensorflow
def test_threads_that_search_in_many_ways_do_not_lose_each_others_searches(search, source, monkeypatch):
    import tensorflow as tf

    monkeypatch.setattr(compiled_search, "KEPT", 2)
    shared = CompiledSearch(search.model, SPECIAL, SPECIAL)

    def graph(options, *others):
        time.sleep(0.001)  # another thread gets its turn
        return lambda source: [tf.constant(options.max_length)] * 4

    monkeypatch.setattr(shared, "graph", graph)
    ways = [GREEDY.replace(max_length=n) for n in range(1, 7)] * 20
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda options: shared(source, options).tokens, ways))
    assert found == [options.max_length for options in ways] and len(shared._compiled) == 2
