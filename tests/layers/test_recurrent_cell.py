"""The cells against their equations, one number at a time, and against Keras' own layers."""

import math
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import AttentionDecoder, BahdanauAttention, BidirectionalEncoder, RecurrentStack
from keraszoo.layers.recurrent_cell import GATES, RecurrentCell
from keraszoo.models import RNNSearch

to_numpy = ops.convert_to_numpy
N, E, U = 3, 5, 7


def sigma(a):
    return 1 / (1 + math.exp(-a))


def loop(kind, x, state, w, added=None):
    """The next state of one row; `w` is what `weights_of` returns."""
    s = state[0]

    def projected(k):
        return w["b"][k] + sum(w["W"][e, k] * x[e] for e in range(E))

    def recurrent(k, s=s):
        own = sum(w["U"][u, k] * s[u] for u in range(U))
        return own + (w["b_after"][k] if "b_after" in w else 0) + (0 if added is None else added[k])

    new_s, new_c = np.zeros(U), np.zeros(U)
    if kind == "gru":
        z = [sigma(projected(u) + recurrent(u)) for u in range(U)]
        r = [sigma(projected(U + u) + recurrent(U + u)) for u in range(U)]
        for u in range(U):
            more = 0 if added is None else added[2 * U + u]
            inner = sum(w["U_s"][v, u] * r[v] * s[v] for v in range(U))
            new_s[u] = z[u] * s[u] + (1 - z[u]) * math.tanh(projected(2 * U + u) + inner + more)
        return [new_s]
    for u in range(U):
        if kind == "rnn":
            new_s[u] = math.tanh(projected(u) + recurrent(u))
        elif kind == "gru_reset_after":
            z, r = sigma(projected(u) + recurrent(u)), sigma(projected(U + u) + recurrent(U + u))
            candidate = math.tanh(projected(2 * U + u) + r * recurrent(2 * U + u))
            new_s[u] = z * s[u] + (1 - z) * candidate
        else:
            i, f, c, o = (projected(g * U + u) + recurrent(g * U + u) for g in range(4))
            new_c[u] = sigma(f) * state[1][u] + sigma(i) * math.tanh(c)
            new_s[u] = sigma(o) * math.tanh(new_c[u])
    return [new_s, new_c] if kind == "lstm" else [new_s]


def weights_of(cell):
    """W, U, b and perhaps U_s, b_after by name."""
    weights = {"W": cell.W.kernel, "b": cell.W.bias, "U": cell.U.kernel}
    weights |= {"b_after": cell.U.bias} if cell.U.use_bias else {}
    weights |= {"U_s": cell.U_s.kernel} if cell.U_s else {}
    return {name: to_numpy(weight) for name, weight in weights.items()}


def random_cell(kind):
    rng = np.random.default_rng(0)
    cell = RecurrentCell(U, kind)
    cell.build((None, E))
    for weight in cell.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return cell, rng


@pytest.mark.parametrize("with_added", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_equals_the_equations(kind, with_added):
    cell, rng = random_cell(kind)
    x = rng.normal(size=(N, E)).astype("float32")
    state = [rng.normal(size=(N, U)).astype("float32") for _ in range(1 + (kind == "lstm"))]
    added = rng.normal(size=(N, cell.width)).astype("float32") if with_added else None
    given = None if added is None else ops.convert_to_tensor(added)
    weights = {name: weight.astype("float64") for name, weight in weights_of(cell).items()}
    actual = cell.advance(cell.project(x), [ops.convert_to_tensor(s) for s in state], given)
    for n in range(N):
        rows = [s[n] for s in state]
        expected = loop(kind, x[n], rows, weights, None if added is None else added[n])
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_allclose(to_numpy(a)[n], b, atol=1e-5)


def keras_layer(kind, weights):
    """Keras' layer of this kind, with the same weights in the form it keeps them in."""
    options = {"return_sequences": True, "zero_output_for_mask": True}
    W, recurrent, b = weights["W"], weights["U"], weights["b"]
    if kind == "rnn":
        layer = keras.layers.SimpleRNN(U, **options)
    elif kind == "lstm":
        layer = keras.layers.LSTM(U, use_cudnn=False, **options)
    else:
        after = kind == "gru_reset_after"
        layer = keras.layers.GRU(U, use_cudnn=False, reset_after=after, **options)
        recurrent = recurrent if after else np.concatenate([recurrent, weights["U_s"]], axis=1)
        b = np.stack([b, weights["b_after"]]) if after else b
    layer.build((None, None, E))
    layer.set_weights([W, recurrent, b])
    layer.supports_masking = True
    return layer


@pytest.mark.parametrize("kind", GATES)
def test_equals_the_layer_of_keras(kind):
    cell, rng = random_cell(kind)
    x = rng.normal(size=(N, 11, E)).astype("float32")
    mask = np.arange(11) < np.array([11, 4, 0])[:, None]
    stack = RecurrentStack(U, kind)
    stack.build((None, None, E))
    stack.set_weights(cell.get_weights())
    expected = keras_layer(kind, weights_of(cell))(x, mask=mask)
    np.testing.assert_allclose(to_numpy(stack(x, mask=mask)[0]), to_numpy(expected), atol=1e-5)


@pytest.mark.parametrize("kind", GATES)
def test_is_a_cell_of_the_rnn_layer_of_keras(kind):
    cell, rng = random_cell(kind)
    x = rng.normal(size=(N, 4, E)).astype("float32")
    state = cell.as_state(None, N)
    for t in range(4):
        output, state = cell(x[:, t], state)
        assert output is state[0]
    layer = keras.layers.RNN(cell, return_state=True)
    for one, other in zip(layer(x)[1:], state, strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), atol=1e-6)
    assert layer(x)[0].shape == (N, U)


@pytest.mark.parametrize("kind", GATES)
def test_options_of_kernels_and_biases_reach_all_of_them(kind):
    options = {"kernel_initializer": "ones", "kernel_regularizer": "l2", "bias_initializer": "ones"}
    cell = RecurrentCell(U, kind, **options)
    cell.build((None, E))
    assert all((to_numpy(weight) == 1).all() for weight in cell.weights)
    kernels = sum(to_numpy(w).size for w in cell.weights if w.name == "kernel")
    assert sum(map(float, cell.losses)) == pytest.approx(0.01 * kernels, rel=1e-5)
    assert RecurrentCell.from_config(cell.get_config()).get_config() == cell.get_config()


def test_one_step_by_eye():
    # Without matrices every gate is 1/2: half of the old state, half of tanh(b).
    cell = RecurrentCell(1, "gru")
    cell.build((None, 1))
    for weight in cell.weights:
        weight.assign(np.zeros(weight.shape))
    cell.W.bias.assign([0, 0, math.atanh(0.8)])
    after, _ = cell(np.ones((1, 1), "float32"), [ops.convert_to_tensor([[0.5]])])
    assert float(after[0, 0]) == pytest.approx(0.65)


def test_an_lstm_begins_by_remembering():
    cell = RecurrentCell(3, "lstm")
    cell.build((None, 2))
    np.testing.assert_array_equal(to_numpy(cell.W.bias), [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(("kind", "count"), [("rnn", 1), ("gru", 3), ("gru_reset_after", 3), ("lstm", 4)])
def test_the_number_of_weights(kind, count):
    cell = RecurrentCell(U, kind)
    cell.build((None, E))
    biases = 2 if kind == "gru_reset_after" else 1
    assert cell.count_params() == count * (E * U + U * U + biases * U)


@pytest.mark.parametrize(
    "make",
    [
        partial(RecurrentCell, 3),
        partial(BidirectionalEncoder, 3),
        partial(AttentionDecoder, BahdanauAttention(2), 3),
        partial(RNNSearch, 11),
    ],
)
def test_a_cell_that_nobody_knows_is_an_error(make):
    known = r"\('gru', 'gru_reset_after', 'lstm', 'rnn'\)"
    with pytest.raises(ValueError, match=f"cell must be one of {known}. Received: cell='gro'"):
        make(cell="gro")


@pytest.mark.parametrize("units", [0, -3, 2.5, "3"])
def test_units_must_be_a_positive_integer(units):
    with pytest.raises(ValueError, match="units must be a positive integer. Received: units="):
        RecurrentCell(units)
