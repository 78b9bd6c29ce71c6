"""Searches in graphs equal the eager one: for one sentence, for a batch, and for no sentences."""

import dataclasses
import gc
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest

from keraszoo.models import RNNSearch, Transformer
from keraszoo.search import Hypotheses, SearchOptions
from keraszoo.text.corpus import SpecialIds
from keraszoo.translation import compiled_search
from keraszoo.translation.compiled_search import COLUMNS, CompiledSearch

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


@needs_tensorflow
def test_one_trace_serves_all_lengths_batches_and_numbers(monkeypatch):
    search, rng, traced = search_of(RNNSearch(V, embedding_dim=4, units=4)), np.random.default_rng(1), []
    tensors, step = search.tensors, search.model.step

    def counted(options, *arguments, **others):
        traced.append(options.beam_width)
        return tensors(options, *arguments, **others)

    monkeypatch.setattr(search, "tensors", counted)
    monkeypatch.setattr(search.model, "step", lambda *arguments: traced.append("step") or step(*arguments))
    for i, (rows, columns) in enumerate([(1, 1), (5, 3), (1, 7), (17, 2), (64, 40), (1, 130), (0, 2)]):
        ids = rng.integers(4, V, (rows, columns)).astype("int32")
        changes = {"coverage_penalty": 0.1 + i, "min_length": 1 + i, "num_hypotheses": 1 + i % 2}
        search(ids, OPTIONS.replace(length_penalty=i / 4, **changes))
        search(ids, GREEDY.replace(sampling=True, seed=i, temperature=0.5 + i, top_p=0.1 + i / 10))
    assert traced == [2, "step", 1, "step"]


@needs_tensorflow
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"length_penalty": 0.0}, marks=pytest.mark.slow),
        pytest.param({"length_penalty": 3.0, "normalization": "gnmt"}, marks=pytest.mark.slow),
        {"coverage_penalty": 0.7, "min_length": 4},
        {"sampling": True, "temperature": 0.4, "top_p": 0.6, "min_length": 2, "seed": 5},
    ],
)
def test_numbers_that_are_arguments_of_a_graph_act_as_constants_do(search, source, changes):
    options = (GREEDY if "sampling" in changes else OPTIONS).replace(**changes)
    wanted = search.tensors(options, True, source)
    ours = search(source, options, attention=True)
    for mine, theirs in zip(vars(ours).values(), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-4)


@pytest.mark.slow
@needs_tensorflow
def test_xla_runs_where_it_was_asked_for(search, source, eager):
    warm = CompiledSearch(search.model, SPECIAL, SPECIAL)
    assert not warm._by_xla
    warm.warm_up(OPTIONS.replace(length_penalty=0.5))
    (run,) = warm._by_xla.values()
    functions = run.get_concrete_function().graph.as_graph_def().library.function
    assert sum("_XlaMustCompile" in f.attr and f.attr["_XlaMustCompile"].b for f in functions) == 1
    whole = [dataclasses.replace(warm(source[i : i + 1], OPTIONS)) for i in range(len(source))]
    for wanted, found in zip(eager, whole, strict=True):
        assert found.lengths[0].tolist() == wanted[1].tolist()
        np.testing.assert_allclose(found.score[0], wanted[3], atol=1e-4)
    assert warm._plain.cache_info().misses == 0


@pytest.mark.slow
@needs_tensorflow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_every_way_to_compile_equals_single_sentences(search, source, jit_compile):
    options = OPTIONS.replace(max_length=18)  # more than one stage of the cache
    run = search.graph(options, attention=True, jit_compile=jit_compile)
    hypotheses = Hypotheses(*(part.numpy() for part in run(source)))
    for i, row in enumerate(source):
        parts = search.tensors(options, True, row[row != PAD][None], lengths=[18])
        wanted = [np.asarray(part)[0] for part in parts]
        same(hypotheses, wanted, i)
        same(Hypotheses(*(part.numpy() for part in run(source[i : i + 1]))), wanted, 0)
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
    compiled, plain = (search.graph(options, jit_compile=way) for way in (True, False))
    batch = plain(source)
    for i in range(len(source)):
        for ours, theirs in zip(compiled(source[i : i + 1]), batch, strict=True):
            np.testing.assert_allclose(ours[0], theirs[i], atol=1e-4)


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
def test_a_search_keeps_few_graphs_and_frees_the_others(source, eagerly, monkeypatch):
    monkeypatch.setattr(compiled_search, "KEPT", 2)
    search, asked = search_of(RNNSearch(V, embedding_dim=4, units=4)), []
    make = search.graph

    def graph(kind, *others):
        asked.append(kind.max_length)
        return make(kind, *others)

    monkeypatch.setattr(search, "graph", graph)
    found = [search(source[:1], GREEDY.replace(max_length=n)).tokens.shape[-1] for n in (1, 2, 1, 3, 1, 2)]
    assert found == [1, 2, 1, 3, 1, 2]
    assert asked == [1, 2, 3, 2]  # 2 was not used for longest


@pytest.mark.slow
@needs_tensorflow
def test_a_graph_that_is_not_kept_frees_its_memory(source, monkeypatch):
    monkeypatch.setattr(compiled_search, "KEPT", 1)
    search = search_of(RNNSearch(V, embedding_dim=4, units=4))
    graphs = []
    for length in (1, 2):
        options = GREEDY.replace(max_length=length)
        search(source[:1], options)
        run = search._plain(options.kind, False, "source", "numeric")
        graphs.append(weakref.ref(run.get_concrete_function().graph))
    del run
    gc.collect()
    assert [graph() is None for graph in graphs] == [True, False]


@needs_tensorflow
def test_threads_that_search_in_many_ways_do_not_lose_each_others_searches(search, source, monkeypatch):
    import tensorflow as tf

    monkeypatch.setattr(compiled_search, "KEPT", 2)
    shared = CompiledSearch(search.model, SPECIAL, SPECIAL)

    def graph(options, *others):
        time.sleep(0.001)  # another thread gets its turn
        return lambda *inputs: [tf.fill([1, 1], options.max_length)] * 4

    monkeypatch.setattr(shared, "graph", graph)
    ways = [GREEDY.replace(max_length=n) for n in range(1, 7)] * 20
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda options: shared(source, options).tokens.item(), ways))
    assert found == [options.max_length for options in ways]
    assert shared._plain.cache_info().currsize == 2
