"""PretrainedTagger: states of words, windows, training, saving and each family of encoders."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.models import PretrainedTagger, PretrainedWords
from keraszoo.models.pretrained_words import ENCODERS
from keraszoo.saving.weights import load_weights, save_weights

pytest.importorskip("keras_hub", exc_type=ImportError)  # the newest may not know tonight's Keras
to_numpy = ops.convert_to_numpy
V = 31
BERT = {"class": "BertBackbone", "vocabulary_size": V, "max_sequence_length": 18, "dropout": 0.0}
BERT |= {"num_layers": 2, "num_heads": 2, "hidden_dim": 12, "intermediate_dim": 16}
ROOM, STRIDE = 16, 12  # subwords of a window, and from one to the next


def make_words(**options):
    keras.utils.set_random_seed(2)
    return PretrainedWords(BERT, start_id=1, end_id=2, **options)


def features_of(lengths_of_rows, seed=0):
    """Subwords and places of words, which have these numbers of subwords."""
    rng, width = np.random.default_rng(seed), max(map(sum, lengths_of_rows))
    subwords = np.zeros((len(lengths_of_rows), width), "int32")
    words = np.zeros((len(lengths_of_rows), max(map(len, lengths_of_rows))), "int32")
    for i, lengths in enumerate(lengths_of_rows):
        subwords[i, : sum(lengths)] = rng.integers(4, V + 1, sum(lengths))
        words[i, : len(lengths)] = np.cumsum([1, *lengths[:-1]])
    return {"words": words, "subwords": subwords}


def encoded(words, ids):
    """What the backbone says of subwords alone, between the special ones."""
    tokens = np.array([[1, *ids, 2]])
    inputs = {"token_ids": tokens, "segment_ids": 0 * tokens, "padding_mask": 0 * tokens + 1}
    return to_numpy(words.backbone(inputs))[0, 1:-1]


def windows(words, ids):
    """States of a row by the definition: of all windows, the one where the nearer end is farthest."""
    starts = [0]
    while starts[-1] + ROOM < len(ids):
        starts.append(starts[-1] + STRIDE)
    read = [encoded(words, ids[start : start + ROOM]) for start in starts]
    states = []
    for place in range(len(ids)):
        context = [min(place - start, start + ROOM - 1 - place) for start in starts]
        best = int(np.argmax(context))
        states.append(read[best][place - starts[best]])
    return np.array(states)


ROWS = [[2, 1, 3], [1] * 16, [3, 1, 2] * 3 + [1] * 20, [1], [40, 2, 2]]


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_words_take_their_state_from_the_window_with_most_context(pooling):
    words, features = make_words(pooling=pooling), features_of(ROWS)
    found = to_numpy(words(features))
    for row, lengths in enumerate(ROWS):
        states = windows(words, features["subwords"][row, : sum(lengths)] - 1)
        first = np.cumsum([0, *lengths])
        wanted = states[first[:-1]]
        if pooling == "mean":
            wanted = [states[a:b].mean(axis=0) for a, b in zip(first, first[1:], strict=False)]
        np.testing.assert_allclose(found[row, : len(lengths)], wanted, atol=1e-5)
    assert to_numpy(words.compute_mask(features)).sum(axis=1).tolist() == list(map(len, ROWS))


@pytest.mark.parametrize("compiled", [False, True])
def test_dynamic_shapes_and_padding_do_not_change_states(compiled):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("a graph of TensorFlow")
    import tensorflow as tf

    words, features = make_words(pooling="mean"), features_of(ROWS)
    specs = {name: tf.TensorSpec([None, None], tf.int32) for name in features}
    program = tf.function(lambda inputs: words(inputs), input_signature=[specs], jit_compile=compiled)
    longer = {name: np.pad(array, ((0, 2), (0, 5))) for name, array in features.items()}
    found = to_numpy(program({name: ops.convert_to_tensor(array) for name, array in longer.items()}))
    rows, length = features["words"].shape
    np.testing.assert_allclose(found[:rows, :length], to_numpy(words(features)), atol=1e-5)
    assert np.isfinite(found).all()


TAGS = np.array([[0, 1, 2, 0, 1], [1, 0, 0, 0, 0]])
FEATURES = features_of([[2, 1, 1, 3, 1], [1, 2]])


def make(**options):
    keras.utils.set_random_seed(4)
    options = {"backbone": BERT, "start_id": 1, "end_id": 2, "dropout": 0.0, **options}
    return PretrainedTagger(3, **options)


@pytest.mark.parametrize("mode", ["all", "frozen", "lora"])
def test_learns_and_updates_only_trainable_parts(mode):
    model = make(train_backbone=mode != "frozen")
    model.build()
    if mode == "lora":
        before = to_numpy(model(FEATURES))
        model.enable_lora(2)
        np.testing.assert_allclose(to_numpy(model(FEATURES)), before, atol=1e-5)
    start = {weight.path: to_numpy(weight).copy() for weight in model.weights}
    model.compile(keras.optimizers.Adam(0.02), run_eagerly=True)
    losses = [float(model.train_on_batch(FEATURES, TAGS)) for _ in range(5)]
    assert losses[-1] < 0.95 * losses[0]
    moved = {w.path for w in model.weights if (to_numpy(w) != start[w.path]).any()}
    own = {path for path in start if {"head", "crf"} & set(path.split("/"))}
    if mode == "frozen":
        assert moved == own
    elif mode == "lora":
        assert own < moved and all("lora" in path for path in moved - own)
        assert any("query" in path for path in moved) and not any("embedding" in path for path in moved)
    else:
        assert len(moved) > len(own) + 20


def test_a_frozen_encoder_runs_without_dropout():
    dropping = {**BERT, "dropout": 0.5}
    for train, same in ((False, True), (True, False)):
        model = make(backbone=dropping, train_backbone=train)
        scores = [to_numpy(model(FEATURES, training=training)) for training in (True, False)]
        assert np.allclose(*scores) == same


def test_mixed_bfloat16_scores_are_close_to_float32():
    exact, half = make(), make(dtype="mixed_bfloat16")
    for model in (exact, half):
        model.build()
    half.set_weights(exact.get_weights())
    scores = half(FEATURES)
    assert keras.backend.standardize_dtype(scores.dtype) == "float32"
    expected = to_numpy(exact(FEATURES))
    np.testing.assert_allclose(to_numpy(scores), expected, atol=0.1 * np.abs(expected).max())


FAMILIES = {
    "BertBackbone": {},
    "DebertaV3Backbone": {"bucket_size": 8},
    "DistilBertBackbone": {},
    "ElectraBackbone": {"embedding_dim": 8},
    "RobertaBackbone": {},
    "XLMRobertaBackbone": {},
}


def test_every_supported_family_is_tested():
    assert set(FAMILIES) == set(ENCODERS)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_saves_loads_and_supports_lora_and_int8(family, tmp_path):
    sizes = {**BERT, "class": family, **FAMILIES[family]}
    if family == "ElectraBackbone":
        sizes["vocab_size"] = sizes.pop("vocabulary_size")
    model = make(backbone=sizes)
    model.build()
    config = model.get_config()
    assert json.loads(json.dumps(config)) == config and config["backbone"] == sizes
    assert model.subword_vocabulary_size == V
    expected = to_numpy(model.tag(FEATURES)[1])
    save_weights(model, tmp_path / "model.safetensors")
    again = PretrainedTagger.from_config(config)
    again.build()
    load_weights(again, tmp_path / "model.safetensors")
    for mode in (None, "int8"):
        if mode:
            again.quantize(mode)
            assert 0 < np.abs(to_numpy(again.tag(FEATURES)[1]) - expected).max() < 0.1
        found = to_numpy(again.tag(FEATURES)[1])
        again.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
        for numbers in (found, to_numpy(again.tag(FEATURES)[1])):
            np.testing.assert_array_equal(numbers, found if mode else expected)
    model.enable_lora(2)
    np.testing.assert_allclose(to_numpy(model.tag(FEATURES)[1]), expected, atol=1e-6)
    assert PretrainedWords.from_config(model.words.get_config()).get_config() == model.words.get_config()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"backbone": {**BERT, "class": "GPT2Backbone"}}, "class of the backbone must be one of"),
        ({"pooling": "last"}, "pooling must be one of"),
        ({"max_positions": 4}, "A window needs at least 6 positions"),
    ],
)
def test_invalid_arguments_raise(options, said):
    with pytest.raises(ValueError, match=said):
        make(**options)
    if "pooling" in options:
        with pytest.raises(ValueError, match="Received: words; missing: subwords"):
            make()({"words": FEATURES["words"]})
