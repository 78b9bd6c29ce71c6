"""The contract itself: what the base supplies and what it leaves to a model."""

import keras
import numpy as np
import pytest
from keras import ops

import keraszoo.models
from keraszoo.models import (
    DeepLSTM,
    MemoryNetwork,
    RNNSearch,
    SimplifiedRNNSearch,
    Transformer,
    TranslationModel,
)
from keraszoo.search import SearchOptions, search

TINY = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8}


@pytest.fixture
def floatx():
    """Sets the default dtype of Keras for a test."""
    before, policy = keras.config.floatx(), keras.config.dtype_policy()

    def use(dtype):
        keras.config.set_floatx(dtype)
        keras.config.set_dtype_policy(dtype)

    yield use
    keras.config.set_floatx(before)
    keras.config.set_dtype_policy(policy)


@pytest.mark.parametrize(
    ("method", "count"), [("encode", 1), ("decode", 2), ("initial_state", 1), ("step", 2)]
)
def test_the_base_is_abstract(method, count):
    with pytest.raises(TypeError, match=f"TranslationModel is abstract: a model supplies {method}."):
        getattr(TranslationModel(5, 5), method)(*[None] * count)


def test_config_and_shape():
    model = TranslationModel(5, 7, source_pad_id=2)
    inputs = keras.Input((4,), dtype="int32"), keras.Input((None,), dtype="int32")
    model.built = True
    assert model(inputs).shape == (None, None, 7)
    logits, weights = model(inputs, return_attention_weights=True)
    assert (logits.shape, weights.shape) == ((None, None, 7), (None, None, 4))
    again = TranslationModel.from_config(model.get_config())
    assert (again.source_vocabulary_size, again.target_vocabulary_size, again.source_pad_id) == (5, 7, 2)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow traces it")
def test_stock_fit_traces_the_step_once():
    """Nothing is left to build within the traced step."""
    calls = []

    class Counted(SimplifiedRNNSearch):
        def call(self, *args, **kwargs):
            calls.append(self.built)
            return super().call(*args, **kwargs)

    model = Counted(9, embedding_dim=3, units=2)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    ids = np.ones((2, 3), "int32")
    model.fit((ids, ids), ids, verbose=0)
    assert calls.count(True) == 1


def test_a_symbolic_call_for_weights_of_a_model_without_attention_is_an_error():
    model = DeepLSTM(9, embedding_dim=4, units=4, num_layers=1)
    inputs = [keras.Input((None,), dtype="int32") for _ in range(2)]
    with pytest.raises(ValueError, match="DeepLSTM does not attend"):
        model(inputs, return_attention_weights=True)


def test_models_run_in_double_precision(floatx):
    floatx("float64")
    model = Transformer(9, **TINY)
    model.build()
    state = model.initial_state(model.encode(np.ones((2, 3), "int32")), 1, 4)
    logits, _ = model.step(np.ones((2,), "int32"), state)
    story = np.ones((2, 3, 4), "int32"), np.ones((2, 3), "int32")
    answer = MemoryNetwork(9, width=4, memory_size=5)(story)
    for outputs in (logits, keras.tree.flatten(answer)[0]):
        assert keras.backend.standardize_dtype(outputs.dtype) == "float64"


@pytest.mark.parametrize("name", ["RNNEncDec", "DeepLSTM", "SimplifiedRNNSearch", "RNNSearch", "LuongNMT"])
def test_source_and_target_embeddings_start_apart(name):
    model = getattr(keraszoo.models, name)(50, 60, embedding_dim=32, units=4)
    model.build()
    sides = model.source_embedding, model.target_embedding
    source, target = (ops.convert_to_numpy(side.embeddings)[:50].ravel() for side in sides)
    assert abs(np.corrcoef(source, target)[0, 1]) < 0.15


def test_vocabulary_sizes_must_be_positive_and_both_sides_have_as_many_sentences():
    with pytest.raises(ValueError, match="target_vocabulary_size must be a positive integer"):
        RNNSearch(9, 0, embedding_dim=4, units=4)
    with pytest.raises(ValueError, match="source and target_in must have one batch size"):
        RNNSearch(9, embedding_dim=4, units=4)((np.array([[5, 4], [6, 7]]), np.array([[1]])))


class Dropped(DeepLSTM):
    def __init__(self, source_vocabulary_size, **kwargs):
        sizes = {"embedding_dim": 6, "units": 6, "num_layers": 2}
        super().__init__(source_vocabulary_size, **sizes, dropout=0.5, **kwargs)


class Rotary(Transformer):
    def __init__(self, source_vocabulary_size, **kwargs):
        super().__init__(source_vocabulary_size, **TINY, positions="rotary", **kwargs)


def test_a_subclass_may_fix_an_argument():
    assert Dropped(11).encoder.between.rate == 0.5
    model = Rotary(11)
    source, words = np.array([[4, 5, 6]]), np.array([[1, 7]])
    forced = ops.convert_to_numpy(model((source, words)))[:, 1]
    state = model.initial_state(model.encode(source), length=2)
    for t in range(2):
        logits, state = model.step(words[:, t], state)
    np.testing.assert_allclose(ops.convert_to_numpy(logits), forced, atol=1e-5)


STATE = {
    "memory": {"memory_mask": np.arange(9).reshape(3, 3) % 2 == 0},
    "position": np.array(2, "int32"),
    "recurrent": [np.arange(42, dtype="float32").reshape(6, 7)],
    "attention_weights": np.arange(18, dtype="float32").reshape(6, 3),
}


def equal(part, expected):
    np.testing.assert_array_equal(ops.convert_to_numpy(part), expected)


def test_sentences_take_all_their_rows_with_them():
    after = TranslationModel(5).select_sentences(STATE, np.array([2, 0]), 2)
    equal(after["memory"]["memory_mask"], STATE["memory"]["memory_mask"][[2, 0]])
    equal(after["recurrent"][0], STATE["recurrent"][0][[4, 5, 0, 1]])
    assert after["position"] is STATE["position"]


def test_the_base_lengthens_nothing_and_says_which_axes_vary():
    model = TranslationModel(5)
    assert model.lengthen(STATE, 3) is STATE
    axes = {"memory": {"memory_mask": (0,)}, "position": (), "recurrent": [(0,)], "attention_weights": (0,)}
    assert model.free_axes(STATE) == axes


@pytest.mark.parametrize("start_id", [1, 8])  # 8: padding itself, as in Marian
@pytest.mark.parametrize("kind", [RNNSearch, Transformer])
def test_padding_counts_in_no_loss(kind, start_id):
    sizes = TINY if kind is Transformer else {"embedding_dim": 4, "units": 4}
    model = kind(9, **sizes, target_pad_id=8)
    source, target_in = np.array([[4, 5, 3], [6, 3, 0]]), np.array([[1, 5, 7, 6], [1, 4, 8, 8]])
    target_in[:, 0] = start_id
    target_out = np.array([[5, 7, 6, 3], [4, 3, 8, 8]])
    log_probs = ops.convert_to_numpy(ops.log_softmax(model((source, target_in))))
    wanted = -np.mean([log_probs[b, t, target_out[b, t]] for b, t in np.argwhere(target_out != 8)])
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=True)
    assert model.evaluate((source, target_in), target_out, verbose=0) == pytest.approx(wanted, abs=1e-5)


KINDS = {"tokens": "int32", "lengths": "int32", "log_prob": "float32", "score": "float32"}


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_results_of_a_search_have_one_dtype_whatever_keras_prefers(floatx, dtype):
    floatx(dtype)
    model = Transformer(9, **TINY)
    model.build()
    memory = model.encode(np.array([[4, 5, 3], [6, 3, 0]]))
    for width in (1, 2):
        options = SearchOptions(beam_width=width, max_length=4, coverage_penalty=0.1, min_length=2)
        best = search(model, memory, options, start_id=1, end_id=3, lengths=[2, 4])
        assert np.isfinite(ops.convert_to_numpy(best.score)).all()
        dtypes = {name: keras.backend.standardize_dtype(getattr(best, name).dtype) for name in KINDS}
        assert dtypes == KINDS
