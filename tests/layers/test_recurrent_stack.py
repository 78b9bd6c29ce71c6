"""Stacks of recurrent layers and encoders; tests/models/test_equations.py has stacks that run backward."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BahdanauAttention, BidirectionalEncoder, RecurrentStack

to_numpy = ops.convert_to_numpy
B, T, E, U = 3, 5, 7, 11
LENGTHS = (5, 2, 0)
MASK = np.arange(T) < np.array(LENGTHS)[:, None]
HOLES = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], "bool")  # padding anywhere


def random_stack(kind, num_layers=2, make=RecurrentStack, **options):
    rng = np.random.default_rng(0)
    stack = make(U, kind, num_layers, **options)
    stack.build((None, None, E))
    for weight in stack.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.4)
    return stack, rng.normal(size=(B, T, E)).astype("float32")


class Seen(keras.layers.Layer):
    """The mask that Keras passes on to the next layer."""

    supports_masking = True

    def call(self, inputs, mask=None):
        return mask


def flat(state):
    return [to_numpy(x) for x in keras.tree.flatten(state)]


@pytest.mark.parametrize("connections", ["plain", "residual", "fast_forward"])
def test_connections_with_context_equal_the_equations_and_stepping(connections):
    rng, layers, width = np.random.default_rng(1), 3, 4
    stack = RecurrentStack(U, "lstm", layers, connections=connections)
    stack.build((None, None, E), context_shape=(None, None, width))
    for weight in stack.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.4)
    x, context = (rng.normal(size=(B, T, size)).astype("float32") for size in (E, width))
    outputs, *last = stack(x, context=context, mask=MASK)
    for b, length in enumerate(LENGTHS):
        states = [cell.as_state(None, 1) for cell in stack.cells]
        stepped = stack.as_state(None, 1)
        for t in range(length):
            passed, f = x[b, t], None
            for i, cell in enumerate(stack.cells):
                read = [passed, context[b, t]]
                if i and connections == "fast_forward":
                    read = [f[: 2 * U], *read]
                f = np.concatenate(read) @ to_numpy(cell.W.kernel) + to_numpy(cell.W.bias)
                states[i] = cell.advance(f[None], states[i])
                s = to_numpy(states[i][0])[0]
                passed = s + passed if i and connections == "residual" else s
            np.testing.assert_allclose(to_numpy(outputs)[b, t], passed, atol=1e-5)
            now = context[b, t][None]
            one, stepped = stack.step(stack.project(x[b, t][None], now), stepped, context=now)
            np.testing.assert_allclose(to_numpy(one)[0], passed, atol=1e-5)
        assert not to_numpy(outputs)[b, length:].any()
        for actual, expected in zip(flat(last), flat(states), strict=True):
            np.testing.assert_allclose(actual[b], expected[0], atol=1e-5)


@pytest.mark.parametrize(
    ("make", "with_state"), [(RecurrentStack, False), (RecurrentStack, True), (BidirectionalEncoder, False)]
)
def test_the_mask_of_an_embedding_is_used_and_passed_on(make, with_state):
    ids = np.array([[4, 2, 0, 0], [1, 3, 2, 5]])
    embedding = keras.layers.Embedding(6, E, mask_zero=True)
    stack, _ = random_stack("gru", make=make)
    state = ([ops.ones((2, U))] * 2,) if with_state else ()
    expected, *_ = stack(to_numpy(embedding(ids)), *state, mask=ids != 0)
    arrived, *_ = stack(embedding(ids), *state)
    np.testing.assert_array_equal(to_numpy(arrived), to_numpy(expected))
    outputs = [arrived, expected]
    if with_state:
        outputs = [arrived, stack(to_numpy(embedding(ids)), *state, inputs_mask=ids != 0)[0]]
    for each in outputs:
        np.testing.assert_array_equal(to_numpy(Seen()(each)), ids != 0)


@pytest.mark.parametrize("make", [RecurrentStack, BidirectionalEncoder])
def test_padding_gets_no_attention_in_a_functional_model(make):
    ids = np.array([[0, 4, 2, 0], [1, 3, 2, 5]])
    source, mask = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="bool")
    embedded = keras.layers.Embedding(6, E, mask_zero=True)(source), keras.layers.Embedding(6, E)(source)
    weights = []
    for x, masks in zip(embedded, ({}, {"mask": mask}), strict=True):
        memory, *_ = make(U, "gru")(x, **masks)
        weights.append(BahdanauAttention(3)(memory, memory)[1])
    for actual in keras.Model((source, mask), weights)((ids, ids != 0)):
        assert (to_numpy(actual)[np.broadcast_to((ids == 0)[:, None], actual.shape)] == 0).all()


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a SavedModel")
def test_a_model_that_outputs_the_state_is_exported(tmp_path):
    import tensorflow as tf

    inputs = keras.Input((None, E))
    model = keras.Model(inputs, RecurrentStack(U, "lstm", 2)(inputs))
    model.export(tmp_path / "model", format="tf_saved_model", verbose=False)
    x = np.random.default_rng(1).normal(size=(2, 3, E)).astype("float32")
    exported = tf.saved_model.load(tmp_path / "model")
    actual = exported.serve(x)
    assert len(actual) == 5
    for ours, expected in zip(actual, model(x), strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-6)


def test_the_wrapper_of_keras_for_both_directions_is_named_with_a_way_out():
    with pytest.raises(TypeError, match="no go_backwards: use backward, or BidirectionalEncoder"):
        keras.layers.Bidirectional(RecurrentStack(3))


@pytest.mark.parametrize("make", [RecurrentStack, BidirectionalEncoder])
def test_dropout_stands_between_layers_in_training_alone(make):
    stack, x = random_stack("lstm", dropout=0.5, make=make)
    silent, noisy = to_numpy(stack(x)[0]), to_numpy(stack(x, training=True)[0])
    assert np.abs(silent - noisy).max() > 1e-3
    one_layer, _ = random_stack("lstm", 1, dropout=0.5, make=make)
    np.testing.assert_array_equal(to_numpy(one_layer(x)[0]), to_numpy(one_layer(x, training=True)[0]))


def both_directions(encoder, i, x):
    """Layer i of the encoder, by its cells alone."""
    annotations, first_backward = np.zeros((B, T, 2 * U)), np.zeros((B, U))
    for b, words in enumerate(np.flatnonzero(row) for row in HOLES):
        for stacks, order, part in (
            (encoder.left_to_right, words, slice(U)),
            (encoder.right_to_left, words[::-1], slice(U, None)),
        ):
            cell = stacks[i].cells[0]
            state = cell.as_state(None, 1)
            for j in order:
                _, state = cell(x[b, j : j + 1].astype("float32"), state)
                annotations[b, j, part] = to_numpy(state[0])[0]
        first_backward[b] = to_numpy(state[0])[0]
    return annotations, first_backward


@pytest.mark.parametrize(("cell", "num_layers"), [("gru", 2), ("lstm", 1), ("lstm", 2)])
def test_an_encoder_equals_a_loop_over_words_with_padding_anywhere(agree, cell, num_layers):
    encoder, x = random_stack(cell, num_layers, make=BidirectionalEncoder)
    expected = x
    for i in range(num_layers):
        expected, first = both_directions(encoder, i, expected)
    garbage = np.where(HOLES[..., None], x, 1e3).astype("float32")
    agree(encoder(garbage, mask=HOLES), (expected, first))
    agree(encoder(x[:1])[0], expected[:1])
