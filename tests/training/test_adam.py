"""Adam: Keras' updates, the same in parts as at once, and none from a gradient that is not finite."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.training.adam import Adam
from keraszoo.training.optimizers import InverseSquareRoot

SHAPES = (3, 5), (7,)


def draw(rng):
    return [rng.normal(size=shape).astype("float32") for shape in SHAPES]


def make(kind=Adam, rate=0.1, **options):
    rng = np.random.default_rng(0)
    weights = [keras.Variable(value, name=name) for value, name in zip(draw(rng), "ab", strict=True)]
    optimizer = kind(rate, **options)
    optimizer.build(weights)
    return optimizer, weights, rng


def numbers(variables):
    return [np.array(ops.convert_to_numpy(variable)) for variable in variables]


def apply(optimizer, weights, gradients):
    optimizer.apply(list(map(ops.convert_to_tensor, gradients)), weights)


CLIPPINGS = {}, {"clipnorm": 0.5}, {"global_clipnorm": 0.5}


@pytest.mark.parametrize("clipping", CLIPPINGS)
def test_the_updates_are_those_of_keras(clipping):
    results = []
    for kind in (Adam, keras.optimizers.Adam):
        optimizer, weights, rng = make(kind, beta_1=0.9, beta_2=0.98, epsilon=1e-9, **clipping)
        for _ in range(4):
            apply(optimizer, weights, draw(rng))
        results.append(numbers([*weights, *optimizer.variables]))
    for ours, theirs in zip(*results, strict=False):  # ours measures more than Keras' at the end
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_rows_of_an_embedding_that_were_not_looked_up_still_move_by_their_momentum():
    results = []
    for kind in (Adam, keras.optimizers.Adam):
        keras.utils.set_random_seed(1)
        dense = keras.layers.Dense(1)
        model = keras.Sequential([keras.layers.Embedding(5, 2), keras.layers.Flatten(), dense])
        model.compile(kind(0.1), "mse", jit_compile=False)
        for ids in ([[0, 1]], [[3, 1]]):
            model.train_on_batch(np.array(ids), np.ones((1, 1)))
        results.append(numbers(model.trainable_variables))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_the_first_update_moves_a_word_by_the_learning_rate_however_often_it_occurs():
    layer = keras.layers.Embedding(4, 1, embeddings_initializer="ones")
    model = keras.Sequential([layer])
    model.compile(Adam(0.01), "mse")
    model.fit(np.array([[1, 1, 1, 2]]), np.zeros((1, 4, 1)), verbose=0)
    np.testing.assert_allclose(layer.get_weights()[0].ravel(), [1, 0.99, 0.99, 1], atol=1e-6)


@pytest.mark.parametrize("clipping", CLIPPINGS)
def test_parts_of_a_batch_make_the_update_of_the_whole(clipping):
    whole, in_parts = make(**clipping), make(accumulate=3, **clipping)
    for _ in range(3):
        parts = [draw(whole[2]) for _ in range(3)]
        before = numbers(in_parts[1])
        for number, part in enumerate(parts):
            if number:
                assert all(map(np.array_equal, before, numbers(in_parts[1])))  # not yet
            apply(*in_parts[:2], part)
        apply(*whole[:2], [np.mean(some, axis=0) for some in zip(*parts, strict=True)])
        for ours, theirs in zip(numbers(in_parts[1]), numbers(whole[1]), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_schedule_counts_updates_and_not_parts():
    optimizer, weights, rng = make(rate=InverseSquareRoot(1.0, 10), accumulate=2)
    rates = []
    for _ in range(6):
        rates.append(round(float(optimizer.learning_rate), 4))
        apply(optimizer, weights, draw(rng))
    assert rates == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("clipnorm", [None, 0.5])
def test_a_gradient_that_is_not_finite_changes_nothing_then_or_later(poison, clipnorm):
    optimizer, weights, rng = make(global_clipnorm=clipnorm)
    apply(optimizer, weights, draw(rng))
    state = [*weights, *optimizer._momentums, *optimizer._velocities]
    before, bad = numbers(state), draw(rng)
    bad[1][2] = poison
    apply(optimizer, weights, bad)
    health = ops.convert_to_numpy(optimizer.health)
    assert not np.isfinite(health[0]) and np.isfinite(health[1]) and health[2] == 2
    apply(optimizer, weights, draw(rng))
    assert all(map(np.array_equal, before, numbers(state)))
    np.testing.assert_array_equal(health, ops.convert_to_numpy(optimizer.health))


def test_health_is_measured():
    optimizer, weights, rng = make(global_clipnorm=0.1)
    gradients = draw(rng)
    apply(optimizer, weights, gradients)
    gradient, length, call = ops.convert_to_numpy(optimizer.health)
    assert gradient == pytest.approx(np.linalg.norm(np.concatenate([g.ravel() for g in gradients])), rel=1e-5)
    wanted = np.linalg.norm(np.concatenate([w.ravel() for w in numbers(weights)]))
    assert (length, call) == (pytest.approx(wanted, rel=1e-5), 1)


def test_a_weight_without_a_gradient():
    optimizer, weights, rng = make()
    before = numbers(weights)[0]
    with pytest.warns(UserWarning, match="no gradient|not exist"):
        optimizer.apply([None, ops.convert_to_tensor(draw(rng)[1])], weights)
    assert np.array_equal(before, numbers(weights)[0])


def test_its_configuration_makes_it_again_and_other_options_are_refused():
    config = Adam(0.5, accumulate=4, weight_decay=0.1, head_factor=20.0).get_config()
    again = Adam.from_config(config)
    assert (again.accumulate, again.weight_decay, again.head_factor) == (4, 0.1, 20.0)
    for options in ({"amsgrad": True}, {"gradient_accumulation_steps": 2}):
        with pytest.raises(KerasZooError, match="Adam: "):
            Adam(0.1, **options)


def test_weight_decay_skips_biases_and_the_head_has_its_own_rate():
    """By the equations of Loshchilov and Hutter 2019, algorithm 2, with the factor of the head."""
    weights = [keras.Variable([[2.0]], name=name) for name in ("kernel", "bias", "other")]
    weights.append(keras.Variable([2.0], name="start"))  # a vector of a CRF
    weights[2]._path = "tagger/head/scores/kernel"
    optimizer = Adam(0.1, weight_decay=0.5, head_factor=3.0, epsilon=0.0)
    optimizer.build(weights)
    apply(optimizer, weights, [np.full(w.shape, 7.0) for w in weights])
    # Adam's first step is the rate.
    wanted = [2 - 0.1 * 0.5 * 2 - 0.1, 2 - 0.1, 2 - 0.3 * 0.5 * 2 - 0.3, 2 - 0.1]
    np.testing.assert_allclose([w.item() for w in numbers(weights)], wanted, rtol=1e-5)
    poisoned = [np.full(w.shape, np.nan) for w in weights]
    apply(optimizer, weights, poisoned)  # nothing decays where an update is skipped
    np.testing.assert_allclose([w.item() for w in numbers(weights)], wanted, rtol=1e-5)
