"""The loss of a tagger, its vectors and errors, and TensorFlow's ways to run one."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.models import AttentionTagger, RecurrentTagger, TaggingModel, TagHead, WordFeatures
from keraszoo.models.trained_scores import with_tags

to_numpy = ops.convert_to_numpy
ON_TENSORFLOW = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow alone has it")
V, K = 11, 3
WORDS = np.array([[3, 4, 5, 6], [7, 8, 0, 0], [9, 0, 0, 0], [2, 3, 4, 0]], "int32")
TAGS = np.array([[0, 1, 2, 0], [1, 1, 0, 0], [2, 0, 0, 0], [0, 0, 1, 2]], "int32")
MASK = WORDS > 0
FEATURES = {"words": WORDS}
WEIGHT = (MASK / MASK.sum()).astype("float32")
FOLLOWS = np.array([[True, True, False], [True, True, True], [True, False, True]])
RULES = FOLLOWS, np.array([True, True, False]), np.array([True, False, True])


def make(cls=RecurrentTagger, **arguments):
    keras.utils.set_random_seed(3)
    model = cls(K, V, **{"vector_width": 5, "units": 4, "dropout": 0.0, **arguments})
    model.build()
    return model


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def loss_of(model, **arguments):
    model.compile(run_eagerly=True, **arguments)
    return lambda *batch: float(model.test_on_batch(*batch))


def losses_by_word(model):
    scores = to_numpy(model(FEATURES))
    return -np.take_along_axis(log_softmax(scores), TAGS[..., None], -1)[..., 0]


def test_the_loss_of_a_softmax_is_the_weighted_sum_of_its_words():
    model = make()
    loss, by_word = loss_of(model), losses_by_word(model)
    weight = np.random.default_rng(0).uniform(size=MASK.shape)
    sentences = np.array([1, 2, 3, 4], "float32")  # as many as words in a sentence
    for tags, weights, expected in (
        (TAGS, [WEIGHT], by_word[MASK].mean()),
        (TAGS, [], by_word[MASK].mean()),
        (TAGS, [weight], (weight * by_word)[MASK].sum()),
        (TAGS, [sentences], (sentences[:, None] * by_word)[MASK].sum()),
        (np.where(MASK, TAGS, -1), [np.where(MASK, WEIGHT, 5)], by_word[MASK].mean()),
    ):
        assert loss(FEATURES, tags, *weights) == pytest.approx(expected, abs=1e-5)


def test_the_loss_of_a_crf_is_the_weighted_sum_of_its_sentences():
    model = make(crf=True)
    for weight in model.head.chain.trainable_variables:
        weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    by_sentence = -to_numpy(model.head.chain.log_likelihood(model(FEATURES), TAGS, MASK))
    loss, sentences = loss_of(model), np.array([1, 2, 1, 0], "float32")
    for weights, expected in (
        ([WEIGHT], by_sentence.sum() / MASK.sum()),
        ([], by_sentence.sum() / MASK.sum()),
        ([WEIGHT * sentences[:, None]], by_sentence @ sentences / MASK.sum()),
        ([sentences], by_sentence @ sentences),
    ):
        assert loss(FEATURES, TAGS, *weights) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_loss_may_be_given_to_a_softmax_and_not_to_a_crf():
    given = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    batch = FEATURES, TAGS, WEIGHT
    assert loss_of(make(), loss=given)(*batch) == pytest.approx(loss_of(make())(*batch), abs=1e-6)
    with pytest.raises(ValueError, match="a model with a CRF has its own loss: compile it without one"):
        loss_of(make(crf=True), loss=given)(*batch)


def test_padding_does_not_count_in_a_loss_that_is_given():
    model = make()
    loss = loss_of(model, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    for padding in (0, 3):
        words, tags = (np.pad(part, ((0, 0), (0, padding))) for part in (WORDS, TAGS))
        assert loss({"words": words}, tags) == pytest.approx(losses_by_word(model)[MASK].mean(), abs=1e-6)


@pytest.mark.parametrize("crf", [False, True])
def test_metrics_do_not_count_padding_and_take_the_weight_of_a_sentence(crf):
    model = make(crf=crf)
    right = to_numpy(model(FEATURES)).argmax(-1) == TAGS
    weighted = [keras.metrics.SparseCategoricalAccuracy("weighted")]
    model.compile(metrics=["accuracy"], weighted_metrics=weighted, run_eagerly=True)
    weight = np.array([1, 2, 0, 3], "float32")
    figures = model.test_on_batch(FEATURES, TAGS, weight, return_dict=True)
    assert figures["accuracy"] == pytest.approx(right[MASK].mean())
    assert figures["weighted"] == pytest.approx(np.average(right, weights=MASK * weight[:, None]))


@pytest.mark.parametrize("crf", [False, True])
def test_losses_that_layers_add_count(crf):
    class Regularized(RecurrentTagger):
        def encode(self, x, mask, training=None):
            self.add_loss(ops.convert_to_tensor(7.0))
            return super().encode(x, mask, training)

    batch = FEATURES, TAGS, WEIGHT
    plain, more = loss_of(make(crf=crf))(*batch), loss_of(make(Regularized, crf=crf))(*batch)
    assert more == pytest.approx(plain + 7, abs=1e-5)


def test_a_feature_that_is_missing_is_named():
    model = make(characters="cnn", character_vocabulary_size=7, casing_size=4, casing_dim=2)
    assert model.features == ("words", "characters", "casing") and make().features == ("words",)
    said = "The tagger reads .* Received: casing, words; missing: characters"
    for run in (model, model.tag):
        with pytest.raises(ValueError, match=said):
            run({"words": WORDS, "casing": WORDS})


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"characters": "cnn"}, "character_vocabulary_size must be given where it is used"),
        ({"casing_dim": 3}, "casing_size must be given where it is used"),
        ({"int8_vectors": True, "train_vectors": True}, "int8_vectors are not trained"),
        ({"word_dropout": 1.0}, r"word_dropout must be in \[0, 1\). Received: word_dropout=1.0"),
        ({"attention_heads": 3}, "a multiple of attention_heads. Received: width=8, attention_heads=3"),
        ({"cls": AttentionTagger, "hidden_units": 0}, "must be a positive integer. Received: hidden_units=0"),
        ({"cls": AttentionTagger, "context": "sum"}, "context must be one of .* Received: context='sum'"),
    ],
)
def test_wrong_arguments_are_errors(arguments, said):
    with pytest.raises(ValueError, match=said):
        make(**arguments)


def test_vectors_are_taken_with_and_without_the_special_rows():
    model, rng = make(), np.random.default_rng(2)
    matrix = rng.normal(size=(V, 5)).astype("float32")
    model.words.set_vectors(matrix)
    np.testing.assert_array_equal(to_numpy(model.words.vectors.embeddings), matrix)
    model.words.set_vectors(matrix[2:])
    actual = to_numpy(model.words.vectors.embeddings)
    np.testing.assert_array_equal(actual[2:], matrix[2:])
    np.testing.assert_allclose(actual[:2], [np.zeros(5), matrix[2:].mean(0)], atol=1e-6)
    said = r"vectors must be \(11, 5\), or \(9, 5\) without .* Received: shape"
    for wrong in (matrix[:, :4], matrix[1:]):
        with pytest.raises(ValueError, match=said):
            model.words.set_vectors(wrong)
    with pytest.raises(ValueError, match="vectors must be finite"):
        model.words.set_vectors(np.where(np.eye(V, 5) > 0, np.nan, matrix))
    np.testing.assert_array_equal(to_numpy(model.words.vectors.embeddings), actual)


def test_word_dropout_shows_words_as_unknown_in_training_alone():
    model = make(word_dropout=0.5)
    table = to_numpy(model.words.vectors.embeddings)
    words = np.tile(np.arange(2, V), (50, 1))
    seen = to_numpy(model.words({"words": words}, training=True))
    unknown = (seen == table[1]).all(-1)
    assert 0.4 < unknown.mean() < 0.6
    np.testing.assert_array_equal(seen[~unknown], table[words[~unknown]])
    np.testing.assert_array_equal(to_numpy(model.words({"words": words})), table[words])
    padding = to_numpy(model.words({"words": np.zeros((9, 9), int)}, training=True))
    np.testing.assert_array_equal(padding, np.broadcast_to(table[0], padding.shape))


@pytest.mark.parametrize("context", ["weighted", "concat", "scaled"])
def test_the_attention_tagger_is_its_equations(context):
    """Against Keras' own layers, sentence by sentence without any padding."""
    model, rng = make(AttentionTagger, context=context, units=6), np.random.default_rng(4)
    for weight in model.weights:
        weight.assign(0.7 * rng.normal(size=weight.shape))
    gru = keras.layers.GRU(6, return_sequences=True)
    gru.build((None, None, 5))
    (W_x, b), (U_h, b_after) = (
        layer.get_weights() for layer in (model.recurrent.cells[0].W, model.recurrent.cells[0].U)
    )
    gru.set_weights([W_x, U_h, np.stack([b, b_after])])
    tags, probabilities, weights = map(to_numpy, model.tag(FEATURES))
    U, v = map(to_numpy, model.attention_vector.get_weights())
    assert U.shape == (6, 3)  # d_a = h/2
    (W_1, b_1), (W_2, b_2), (W, b) = (
        layer.get_weights() for layer in (model.hidden_1, model.hidden_2, model.head.scores)
    )
    for row, length in enumerate(MASK.sum(1)):
        h = to_numpy(gru(to_numpy(model.words.vectors.embeddings)[WORDS[row : row + 1, :length]]))[0]
        e = np.tanh(h @ U) @ v[:, 0]
        alpha = np.exp(e) / np.exp(e).sum()
        c = {"weighted": alpha[:, None] * h, "scaled": length * alpha[:, None] * h}.get(context)
        c = np.concatenate([h, alpha[:, None] * h], axis=1) if c is None else c
        z = np.maximum(np.maximum(c @ W_1 + b_1, 0) @ W_2 + b_2, 0)
        p = np.exp(log_softmax(z @ W + b))
        np.testing.assert_allclose(weights[row, :length], alpha, atol=1e-5)
        np.testing.assert_allclose(probabilities[row, :length], p, atol=1e-5)
        np.testing.assert_array_equal(tags[row, :length], p.argmax(-1))


@pytest.mark.slow
@ON_TENSORFLOW
def test_compiled_by_xla_with_lengths_that_vary_equals_eager():
    import tensorflow as tf

    model = make(crf=True, bidirectional=False)

    def gradient(words, tags):
        with tf.GradientTape() as tape:
            loss = model.compute_loss({"words": words}, tags, model({"words": words}), None)
        return loss, *tape.gradient(loss, model.trainable_variables)

    compiled = tf.function(
        gradient, jit_compile=True, input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2
    )
    for length in (4, 1):
        batch = [part[:, :length] for part in (WORDS, TAGS)]
        for actual, expected in zip(compiled(*batch), gradient(*map(tf.constant, batch)), strict=True):
            actual, expected = map(tf.convert_to_tensor, (actual, expected))
            np.testing.assert_allclose(actual, expected, atol=1e-5)


REPLICAS = """
import json, sys
import keras, numpy as np, tensorflow as tf
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
from keraszoo.models import RecurrentTagger

# Ten words for one device, one for the other, and padding in front and inside.
words = np.array([[3, 4, 5, 6, 7, 8, 9], [0, 7, 0, 8, 2, 0, 0], [9, 0, 0, 0, 0, 0, 0], [0] * 7], "int32")
tags = np.where(words > 0, words % 3, 0)
weight = ((words > 0) / (words > 0).sum()).astype("float32")
crf, weighted = json.loads(sys.argv[1])  # TensorFlow mixes up the collective operations of several models
results = []
for strategy in (tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), tf.distribute.get_strategy()):
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = RecurrentTagger(3, 11, 5, units=4, bidirectional=False, dropout=0.0, crf=crf)
        model.build()
        model.trainable_variables[0].regularizer = keras.regularizers.L2(0.3)  # counts once
        model.compile(keras.optimizers.SGD(0.5), jit_compile=False)
    before = np.concatenate([w.ravel() for w in model.get_weights()])
    batch = ({"words": words}, tags, weight) if weighted else ({"words": words}, tags)
    batches = tf.data.Dataset.from_tensors(batch).repeat(3)
    losses = model.fit(batches, epochs=2, steps_per_epoch=1, verbose=0).history["loss"]
    after = np.concatenate([w.ravel() for w in model.get_weights()])
    results.append([losses, (after - before).tolist()])
print(json.dumps(results))
"""


@pytest.mark.slow
@pytest.mark.parametrize("crf", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@ON_TENSORFLOW
def test_two_replicas_make_the_updates_of_one_device(crf, weighted, on_backend):
    printed = on_backend("tensorflow", REPLICAS, json.dumps([crf, weighted]), timeout=300)
    (losses, update), (expected_losses, expected) = json.loads(printed.splitlines()[-1])
    assert expected_losses[1] < expected_losses[0]
    np.testing.assert_allclose(losses, expected_losses, atol=1e-5)
    assert np.linalg.norm(update) / np.linalg.norm(expected) == pytest.approx(1, abs=1e-4)
    np.testing.assert_allclose(update, expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("crf", [False, True])
def test_any_encoder_stands_in_the_middle(crf, tmp_path):
    """A stock recurrent model, which gets the mask of the words; trained, saved and read again."""
    keras.utils.set_random_seed(3)
    inputs, lstm = keras.Input((None, 7)), keras.layers.LSTM(6, return_sequences=True)
    h = keras.layers.Dense(7, name="dense")(keras.layers.Bidirectional(lstm)(inputs))
    table, casing = keras.layers.Embedding(V, 5, trainable=False), keras.layers.Embedding(4, 2)
    words = WordFeatures(table, casing=casing, word_dropout=0.1)
    model = TaggingModel(words, keras.Model(inputs, h), TagHead(K, crf=crf))
    features = {"words": WORDS, "casing": WORDS % 4}
    model.compile(keras.optimizers.Adam(0.1), run_eagerly=True)
    losses = [float(model.train_on_batch(features, TAGS)) for _ in range(25)]
    assert losses[-1] < 0.2 < losses[0]
    np.testing.assert_array_equal(to_numpy(model.tag(features)[0]), np.where(MASK, TAGS, 0))
    longer = {name: np.pad(part, ((0, 0), (1, 2))) for name, part in features.items()}
    tags, probabilities, attention_weights = model.tag(longer)
    np.testing.assert_array_equal(to_numpy(tags)[:, 1:-2], np.where(MASK, TAGS, 0))
    np.testing.assert_allclose(to_numpy(probabilities).sum(-1), longer["words"] > 0, atol=1e-5)
    assert attention_weights is None
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(to_numpy(again(features)), to_numpy(model(features)))


def test_arrays_and_numpy_numbers_are_recorded_as_pythons():
    config = make(units=np.int64(4), allowed=RULES, dropout=np.float32(0.5)).get_config()
    assert list(config["allowed"]) == [part.tolist() for part in RULES] and type(config["dropout"]) is float
    assert RecurrentTagger.from_config(config).get_config() == config


@pytest.mark.parametrize("crf", [True, False])
def test_fewer_tags_of_a_scheme_keep_what_it_permits_of_them(crf):
    model = make(crf=crf, allowed=[part.tolist() for part in RULES])
    fewer = with_tags(model, [2, 0])
    expected = FOLLOWS[np.ix_([2, 0], [2, 0])], RULES[1][[2, 0]], RULES[2][[2, 0]]
    for part, of_these in zip(fewer.head.allowed, expected, strict=True):
        np.testing.assert_array_equal(part, of_these)
    scores, few = (to_numpy(each(FEATURES)) for each in (model, fewer))
    np.testing.assert_allclose(few, scores[..., [2, 0]], atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "float16"])
def test_symbolic_scores_have_the_dtype_of_real_ones(dtype):
    model = make(dtype=dtype)
    symbolic = model({"words": keras.Input((None,), dtype="int32")})
    real = model(FEATURES)
    assert symbolic.dtype == keras.backend.standardize_dtype(real.dtype) == "float32"
    assert symbolic.shape == (None, None, K)
