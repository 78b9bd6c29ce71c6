"""The optimizer that a recipe asks for: its rates by the formulas, and gradients clipped all together."""

import keras
import numpy as np
import pytest

from keraszoo.training.optimizers import Adam, make_optimizer


def rate(optimizer, step):
    optimizer.iterations.assign(step)
    return float(optimizer.learning_rate)


def test_the_papers_schedule():
    optimizer = make_optimizer("transformer", d_model=256, warmup_steps=100, factor=2.0)
    for step in (1, 50, 100, 400):
        wanted = 2 * 256**-0.5 * min(step**-0.5, step * 100**-1.5)
        assert rate(optimizer, step - 1) == pytest.approx(wanted, rel=1e-5)


def test_inverse_square_root_rises_to_its_peak():
    optimizer = make_optimizer("inverse_sqrt", learning_rate=0.01, warmup_steps=100)
    assert rate(optimizer, 49) == pytest.approx(0.005) and rate(optimizer, 99) == pytest.approx(0.01)
    assert rate(optimizer, 399) == pytest.approx(0.005)


def test_constant():
    optimizer = make_optimizer("constant", learning_rate=0.25)
    assert rate(optimizer, 0) == rate(optimizer, 10_000) == 0.25


def test_adam_has_the_papers_numbers_by_default():
    config = make_optimizer("constant").get_config()
    assert (config["beta_1"], config["beta_2"], config["epsilon"]) == (0.9, 0.98, 1e-9)


def test_an_unknown_schedule():
    with pytest.raises(ValueError, match="Unknown schedule: 'cosine'"):
        make_optimizer("cosine")


@pytest.mark.parametrize("clipnorm", [None, 0.5])
def test_the_updates_are_those_of_keras(clipnorm):
    rng = np.random.default_rng(0)
    shapes = (3, 5), (7,)
    start = [rng.normal(size=shape).astype("float32") for shape in shapes]
    gradients = [[rng.normal(size=shape).astype("float32") for shape in shapes] for _ in range(4)]
    found = []
    for kind in (Adam, keras.optimizers.Adam):
        weights = [keras.Variable(value) for value in start]
        optimizer = kind(0.1, 0.9, 0.98, 1e-9, global_clipnorm=clipnorm)
        for some in gradients:
            optimizer.apply(list(map(keras.ops.convert_to_tensor, some)), weights)
        found.append([keras.ops.convert_to_numpy(part) for part in (*weights, *optimizer.variables)])
    for ours, theirs in zip(*found, strict=False):  # ours measures more than Keras' at the end
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_rows_of_an_embedding_that_were_not_looked_up_still_move_by_their_momentum():
    found = []
    for kind in (Adam, keras.optimizers.Adam):
        keras.utils.set_random_seed(1)
        dense = keras.layers.Dense(1)
        model = keras.Sequential([keras.layers.Embedding(5, 2), keras.layers.Flatten(), dense])
        model.compile(kind(0.1), "mse", jit_compile=False)
        for ids in ([[0, 1]], [[3, 1]]):
            model.train_on_batch(np.array(ids), np.ones((1, 1)))
        found.append([keras.ops.convert_to_numpy(weight) for weight in model.trainable_variables])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
