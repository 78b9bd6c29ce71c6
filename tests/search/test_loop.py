"""Stages of the cache, sentences that leave and compiled graphs: none of them changes a result.

Real models, since these have a cache that grows.
"""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.models import LuongNMT, RNNSearch, Transformer
from keraszoo.search import SearchOptions, cache_lengths, search
from keraszoo.search.loop import run
from keraszoo.translation import graph_loop

to_numpy = ops.convert_to_numpy
START, END, V, L = 1, 3, 7, 12
MODELS = {
    "Transformer": (lambda: Transformer(V, d_model=8, num_layers=1, num_heads=2, intermediate_dim=16), 4),
    "Transformer, rotary": (
        lambda: Transformer(V, d_model=8, num_layers=1, num_heads=2, intermediate_dim=16, positions="rotary"),
        5,
    ),
    "LuongNMT": (lambda: LuongNMT(V, embedding_dim=7, units=6, num_layers=2), 1),
    "RNNSearch": (lambda: RNNSearch(V, embedding_dim=7, units=6), 1),
}


# A beam of one and a wider one; the others run in `make test-all`.
DEFAULT = [("Transformer", 1), ("Transformer", 3), ("RNNSearch", 3)]
CASES = [
    pytest.param(name, width, marks=[] if (name, width) in DEFAULT else pytest.mark.slow)
    for name in MODELS
    for width in (1, 3)
]
each_case = pytest.mark.parametrize(("model", "width"), CASES, indirect=True, scope="module")


@pytest.fixture(scope="module")
def model(request):
    make, seed = MODELS[request.param]  # a seed whose hypotheses are of many lengths
    model, rng = make(), np.random.default_rng(seed)
    model.build()
    for weight in model.trainable_variables:
        scale = 0.6 if len(weight.shape) > 1 else 0.3
        weight.assign(rng.normal(size=weight.shape) * scale + (weight.name == "gamma"))
    return model


@pytest.fixture(scope="module")
def source():
    source = np.random.default_rng(0).integers(4, V, (9, 6)).astype("int32")
    for b in range(9):
        source[b, 6 - b % 4 :] = 0
    return source


def options_of(width, **changes):
    return SearchOptions(beam_width=width, num_hypotheses=width, max_length=L, **changes)


def find(model, source, options, lengths=(L,), attention=True, **arguments):
    arguments |= {"start_id": START, "end_id": END, "attention": attention, "lengths": list(lengths)}
    return search(model, model.encode(source), options, **arguments)


@pytest.fixture(scope="module")
def width(request):
    return request.param


@pytest.fixture(scope="module")
def in_one_stage(model, source, width):
    return find(model, source, options_of(width))


@each_case
@pytest.mark.parametrize("lengths", [(3, 5, 8, 12), pytest.param((1, 12), marks=pytest.mark.slow)])
def test_stages_equal_one_stage(model, source, same, width, in_one_stage, lengths):
    assert len(np.unique(to_numpy(in_one_stage.lengths))) >= 3
    same(find(model, source, options_of(width), lengths), in_one_stage)


@each_case
def test_log_probabilities_and_attention_are_those_of_the_words(model, source, width, in_one_stage):
    out = in_one_stage
    tokens, lengths, log_prob = (to_numpy(x) for x in (out.tokens, out.lengths, out.log_prob))
    for k in range(width):
        target_in = np.concatenate([np.full((9, 1), START), tokens[:, k, :-1]], 1).astype("int32")
        logits = to_numpy(ops.log_softmax(model((source, target_in))))
        state, weights = model.initial_state(model.encode(source), 1, L), []
        for t in range(L):  # the weights that the model has when it is told these words
            _, state = model.step(ops.convert_to_tensor(target_in[:, t]), state)
            weights.append(to_numpy(state["attention_weights"]))
        for b in range(9):
            n = lengths[b, k]
            of_words = sum(logits[b, t, tokens[b, k, t]] for t in range(n))
            assert log_prob[b, k] == pytest.approx(of_words, abs=1e-4)
            mine = to_numpy(out.attention_weights)[b, k]
            np.testing.assert_allclose(mine[:n], np.array(weights)[:n, b], atol=1e-5)
            np.testing.assert_allclose(mine[:n].sum(-1), 1, atol=1e-5)
            assert (mine[n:] == 0).all()
            assert (mine[:, source[b] == 0] == 0).all()


needs_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="shapes that a running graph alone knows are TensorFlow's"
)
KINDS = {
    "greedy": (1, {}),
    "beam": (3, {"coverage_penalty": 0.2}),
    "sampling": (1, {"sampling": True, "seed": 3}),
}


IN_GRAPHS = [("Transformer", "beam", "plain"), ("RNNSearch", "sampling", "plain")]  # the others are slow
ALL_GRAPHS = [(name, kind, way) for name in MODELS for kind in KINDS for way in ("plain", "XLA")]


@needs_tensorflow
@pytest.mark.parametrize(
    ("model", "kind", "way"),
    [pytest.param(*case, marks=[] if case in IN_GRAPHS else pytest.mark.slow) for case in ALL_GRAPHS],
    indirect=["model"],
)
def test_graphs_equal_eager_with_leaving_sentences_and_under_xla(model, source, same, kind, way):
    import tensorflow as tf

    beam_width, changes = KINDS[kind]
    options = options_of(beam_width, **changes)
    prefix = np.full((9, 2), -1, "int32")
    prefix[2], prefix[5, 0] = (4, 5), 6
    eager = find(model, source, options, prefix=prefix)
    jit = way == "XLA"  # sentences leave in plain graphs alone
    lengths = (3, 12) if jit else (3, 7, 12)
    any_size = tf.TensorSpec((None, None), "int32")

    @tf.function(autograph=False, jit_compile=jit, input_signature=None if jit else [any_size, any_size])
    def graph(source, prefix):
        out = find(model, source, options, lengths, prefix=prefix, loop=run if jit else graph_loop.run)
        return {name: part for name, part in vars(out).items() if part is not None}

    out = graph(tf.constant(source), tf.constant(prefix))
    same(type(eager)(**out), eager)


def test_cache_lengths_by_eye():
    assert cache_lengths(1) == [1] and cache_lengths(16) == [16] and cache_lengths(17) == [16, 17]
    assert cache_lengths(100) == [16, 32, 64, 100]
    assert cache_lengths(12, first=3, factor=1.6) == [3, 4, 6, 9, 12]
    assert cache_lengths(5, first=1, factor=1.0) == [1, 2, 3, 4, 5]


def test_the_loop_stops_when_all_are_done():
    # sentence b is done after b + 1 steps; the counter says how many there were
    def advance(progress, state):
        steps = progress["steps"] + ops.cast(progress["live"], "int32")
        return {**progress, "steps": steps, "live": steps < progress["wanted"]}, model.stepped(state)

    class model:
        def lengthen(state, extra):
            return state

        def stepped(state):
            return {"position": state["position"] + 1}

    wanted = ops.convert_to_tensor(np.array([1, 5, 3], "int32"))
    progress = {"steps": ops.zeros((3,), "int32"), "live": ops.ones((3,), "bool"), "wanted": wanted}
    state = {"position": ops.zeros((), "int32")}
    for lengths, expected in (([9], [1, 5, 3]), ([2, 9], [1, 5, 3]), ([2, 4], [1, 4, 3])):
        out = run(advance, progress, state, model, lengths)
        np.testing.assert_array_equal(to_numpy(out["steps"]), expected)
