"""The loss and its gradient against Keras' own on one-hot targets, and R-Drop against its equation."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keraszoo.training.losses import TokenCrossentropy


@pytest.fixture
def example():
    """Targets (2, 3), logits (2, 3, 5), weights (2, 3) with padding."""
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(2, 3, 5), scale=3).astype("float32")
    weights = np.array([[0.25, 0.25, 0.25], [0.25, 0, 0]], "float32")
    return generator.integers(0, 5, (2, 3)).astype("int32"), logits, weights


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_value_and_gradient_are_those_of_keras_on_one_hot_targets(example, smoothing):
    targets, logits, weights = example
    theirs = keras.losses.CategoricalCrossentropy(True, label_smoothing=smoothing, reduction="sum")
    results = []
    for loss, wanted in (TokenCrossentropy(smoothing), targets), (theirs, ops.one_hot(targets, 5)):
        with tf.GradientTape() as tape:
            variable = tf.Variable(logits)
            value = loss(wanted, variable, weights)
        results.append((value, tape.gradient(value, variable)))
    for ours, others in zip(*results, strict=True):
        np.testing.assert_allclose(ours, others, rtol=1e-5, atol=1e-7)
    gradient = results[0][1].numpy()
    assert not gradient[weights == 0].any() and gradient[weights > 0].any(axis=-1).all()


def test_logits_of_half_precision_are_summed_in_float32(example):
    targets, logits, weights = example
    rounded = ops.cast(logits, "bfloat16")
    value = TokenCrossentropy(0.1)(targets, rounded, weights)
    assert keras.backend.standardize_dtype(value.dtype) == "float32"
    theirs = keras.losses.CategoricalCrossentropy(True, label_smoothing=0.1, reduction="sum")
    exact = theirs(ops.one_hot(targets, 5), ops.cast(rounded, "float32"), weights)
    assert float(value) == pytest.approx(float(exact), rel=1e-5)


def test_ids_are_not_rounded_to_the_dtype_of_the_loss():
    logits = 9 * np.eye(258, dtype="float32")[None, 256:]  # 257 is no bfloat16
    exact = float(TokenCrossentropy()(np.array([[256, 257]]), logits))
    assert float(TokenCrossentropy(dtype="bfloat16")(np.array([[256, 257]]), logits)) == exact < 0.1


def test_large_logits_overflow_nowhere():
    logits = np.array([[[1e4, -1e4, 0.0]]], "float32")
    assert float(TokenCrossentropy()(np.array([[0]]), logits, np.ones((1, 1)))) == 0
    assert float(TokenCrossentropy()(np.array([[1]]), logits, np.ones((1, 1)))) == 2e4


def test_targets_outside_of_the_vocabulary_are_nan_unless_they_do_not_count(example):
    targets, logits, weights = example
    exact = float(TokenCrossentropy(0.1)(targets, logits, weights))
    for outside in (-1, 5):
        changed = np.where(weights > 0, targets, outside)
        value = TokenCrossentropy(0.1)(changed, logits, weights)
        assert float(value) == pytest.approx(exact, rel=1e-6)
        masked = keras.layers.Masking()(logits)  # hides no position, and then those of weight 0
        masked._keras_mask = ops.convert_to_tensor(weights > 0)
        assert float(TokenCrossentropy(0.1)(changed, masked)) == pytest.approx(4 * exact, rel=1e-6)
        changed[0, 1] = outside
        assert np.isnan(TokenCrossentropy(0.1)(changed, logits, weights))
        assert np.isnan(TokenCrossentropy(0.1, r_drop=1.0)(changed, logits, weights))
    rows = np.array([1.0, 0.0], "float32")  # a weight for each sentence
    changed = np.concatenate([targets[:1], np.full((1, 3), -1, "int32")])
    first = TokenCrossentropy()(targets[:1], logits[:1])
    assert float(TokenCrossentropy()(changed, logits, rows)) == pytest.approx(float(first), rel=1e-6)


def test_a_number_weighs_all_targets(example):
    targets, logits, _ = example
    whole = float(TokenCrossentropy(0.1)(targets, logits))
    assert float(TokenCrossentropy(0.1)(targets, logits, 0.5)) == pytest.approx(whole / 2, rel=1e-6)


@pytest.mark.parametrize("shape", [(3, 3, 1), (3, 1), (3,), (3, 3, 3), (1, 3), (3, 2)])
def test_targets_of_another_shape_are_an_error_and_never_broadcast(shape):
    targets, logits = np.zeros(shape, "int32"), np.zeros((3, 3, 3), "float32")
    with pytest.raises(ValueError, match=r"targets must be \(B, T\).*Received: targets.shape="):
        TokenCrossentropy()(targets, logits)
    inputs = keras.Input((None, 3))
    model = keras.Model(inputs, keras.layers.Masking()(inputs))
    model.compile("sgd", TokenCrossentropy())
    if shape[:1] == (3,) and len(shape) > 1:
        with pytest.raises(ValueError, match=r"targets must be \(B, T\)"):
            model.evaluate(logits, targets, verbose=0)


def test_config_round_trip():
    loss = TokenCrossentropy(0.2, name="xent")
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert (again.label_smoothing, again.name, again.reduction) == (0.2, "xent", "sum")
    assert keras.losses.deserialize(keras.losses.serialize(TokenCrossentropy(r_drop=2.0))).r_drop == 2.0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_r_drop_is_equation_4_of_its_paper(dtype):
    """-log p(y) - log q(y) + alpha / 2 (KL(p || q) + KL(q || p)), halved; token by token in NumPy."""
    generator = np.random.default_rng(0)
    logits = ops.cast(generator.normal(size=(4, 3, 5), scale=2), dtype)
    targets = np.repeat(generator.integers(0, 5, (2, 3)), 2, axis=0).astype("int32")
    weights = np.repeat(np.array([[0.25, 0.25, 0.25], [0.25, 0, 0]]), 2, axis=0) / 2
    alpha, wanted = 0.7, 0.0
    exact = ops.convert_to_numpy(ops.cast(logits, "float32")).astype("float64")
    for row, column in np.ndindex(2, 3):
        p, q = (np.exp(exact[2 * row + i, column]) / np.exp(exact[2 * row + i, column]).sum() for i in (0, 1))
        y = targets[2 * row, column]
        divergence = np.sum(p * np.log(p / q)) + np.sum(q * np.log(q / p))
        token = -np.log(p[y]) - np.log(q[y]) + alpha / 2 * divergence
        wanted += 2 * weights[2 * row, column] * token / 2
    value = TokenCrossentropy(r_drop=alpha)(targets, logits, weights)
    assert keras.backend.standardize_dtype(value.dtype) == "float32"
    assert float(value) == pytest.approx(wanted, rel=1e-5)


def test_r_drop_of_equal_predictions_is_the_plain_loss_and_pulls_others_together(example):
    targets, logits, weights = (np.repeat(array, 2, axis=0) for array in example)
    plain = float(TokenCrossentropy(0.1)(*example))
    value = float(TokenCrossentropy(0.1, r_drop=3.0)(targets, logits, weights / 2))
    assert value == pytest.approx(plain, rel=1e-5)
    logits = np.random.default_rng(1).normal(size=logits.shape).astype("float32")
    variable, apart = tf.Variable(logits), []
    for _ in range(2):
        with tf.GradientTape() as tape:
            with_r_drop = TokenCrossentropy(r_drop=1.0)(targets, variable, weights)
            value = with_r_drop - TokenCrossentropy()(targets, variable, weights)
        variable.assign_sub(tape.gradient(value, variable))
        apart.append(float(value))
    assert 0 < apart[1] < apart[0]


def test_invalid_arguments_raise_errors(example):
    targets, logits, weights = (array[:1] for array in example)
    with pytest.raises(ValueError, match="r_drop needs each row twice, an even number. Received: 1 rows"):
        TokenCrossentropy(r_drop=1.0)(targets, logits, weights)
    with pytest.raises(ValueError, match="r_drop must not be negative. Received: -1"):
        TokenCrossentropy(r_drop=-1)
    for smoothing in (-0.1, 1.0):
        with pytest.raises(ValueError, match=r"label_smoothing must be in \[0, 1\)"):
            TokenCrossentropy(smoothing)
