"""Searches in graphs equal the eager one: for one sentence, for a batch, and for no sentences."""

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
OPTIONS = SearchOptions(beam_width=2, num_hypotheses=2, max_length=18)  # more than one stage of the cache
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


@needs_tensorflow
@pytest.mark.parametrize(
    ("options", "changes"),
    [
        (GREEDY.replace(sampling=True, seed=3, temperature=0.5), {"temperature": 0.7}),
        (OPTIONS, {"length_penalty": 0.5}),
    ],
)
def test_after_warm_up_the_graph_that_xla_compiles_is_called(search, source, monkeypatch, options, changes):
    warm, asked = CompiledSearch(search.model, SPECIAL, SPECIAL), []

    def graph(options, attention, inputs, jit_compile=False):
        asked.append(jit_compile)
        return lambda *inputs: [np.zeros((1, 1))] * 4

    monkeypatch.setattr(warm, "graph", graph)
    warm.warm_up(options)
    assert warm(source[:1], options.replace(**changes)).score.tolist() == [[0]]
    assert asked == [True]


@pytest.mark.slow
@needs_tensorflow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_every_way_to_compile_equals_single_sentences(search, source, eager, jit_compile):
    run = search.graph(OPTIONS, attention=True, jit_compile=jit_compile)
    hypotheses = Hypotheses(*(part.numpy() for part in run(source)))
    for i, wanted in enumerate(eager):
        same(hypotheses, wanted, i)
        same(Hypotheses(*(part.numpy() for part in run(source[i : i + 1]))), wanted, 0)
    for count in (0, 1, 3):
        some = run(source[:count])
        np.testing.assert_array_equal(some[1], hypotheses.lengths[:count])
        assert some[4].shape[-1] == source.shape[1]
    long = np.full((2, COLUMNS[-1] + 3), 7, "int32")  # longer than every program of XLA
    long[:, -1] = END
    np.testing.assert_array_equal(run(long)[1][:1], run(long[:1])[1])
    functions = run.get_concrete_function().graph.as_graph_def().library.function
    by_xla = sum("_XlaMustCompile" in f.attr and f.attr["_XlaMustCompile"].b for f in functions)
    assert by_xla == jit_compile


@needs_tensorflow
def test_no_sentence(search, source):
    none = search(source[:0], OPTIONS, attention=True)
    assert none.tokens.shape[:2] == none.lengths.shape == none.log_prob.shape == (0, 2)
    assert none.attention_weights.shape == (0, 2, none.tokens.shape[2], source.shape[1])
    nothing = search(np.zeros((0, 0), "int32"), OPTIONS, attention=True)
    assert nothing.attention_weights.shape[-1] == 0


def test_rows_prefixes_and_terms_are_padded_to_few_shapes(search):
    padded = search.pad([[7, 8], [], [9]])
    assert padded[:, :3].tolist() == [[7, 8, END], [END, PAD, PAD], [9, END, PAD]]
    assert padded.dtype == "int32" and not padded[:, 3:].any()
    assert search.pad_prefixes([[], []]) is None and search.pad_terms([[], []]) is None
    assert search.pad_prefixes([[5], [6, 7]]).tolist() == [[5, *[-1] * 7], [6, 7, *[-1] * 6]]
    assert search.pad_prefixes([[5] * 9]).shape == (1, 16)
    assert search.pad_terms([[], [[5, 6, 7]]]).tolist() == [[[-1] * 4], [[5, 6, 7, -1]]]
    assert search.pad_terms([[[5]] * 3]).shape == (1, 4, 1)


@needs_tensorflow
def test_a_search_keeps_few_graphs_and_frees_the_others(source, eagerly, monkeypatch):
    monkeypatch.setattr(compiled_search, "KEPT", 2)
    search, asked, graphs = search_of(RNNSearch(V, embedding_dim=4, units=4)), [], []
    make = search.graph

    def graph(kind, *others):
        asked.append(kind.max_length)
        run = make(kind, *others)
        graphs.append(weakref.ref(run))
        return run

    monkeypatch.setattr(search, "graph", graph)
    found = [search(source[:1], GREEDY.replace(max_length=n)).tokens.shape[-1] for n in (1, 2, 1, 3, 1, 2)]
    assert found == [1, 2, 1, 3, 1, 2]
    assert asked == [1, 2, 3, 2]  # 2 was not used for longest
    gc.collect()
    assert [graph() is None for graph in graphs] == [False, True, True, False]


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
