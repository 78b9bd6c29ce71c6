"""Memory networks: the paper's equations by loops, what is tied, time, noise, linear start."""

import keras
import numpy as np
import pytest
from keras import ops
from model_cases import QUESTION, STORY

from keraszoo.layers import SentenceEncoder
from keraszoo.models import MemoryNetwork

to_numpy = ops.convert_to_numpy
V, D, HOPS = 13, 7, 3


def make(**arguments):
    keras.utils.set_random_seed(3)
    model = MemoryNetwork(V, **{"width": D, "hops": HOPS, "memory_size": 5, **arguments})
    model.build()
    rng = np.random.default_rng(4)
    for weight in model.trainable_variables:
        weight.assign(0.5 * rng.normal(size=weight.shape))
    return model


def encode(E, words, encoding):
    """A sentence by the formula of section 4.1, word by word."""
    words = [word for word in words if word]
    total = np.zeros(D)
    for j, word in enumerate(words, start=1):
        for k in range(1, D + 1):
            weight = 2 * ((1 - j / len(words)) - (k / D) * (1 - 2 * j / len(words)))
            total[k - 1] += E[word, k - 1] * (weight if encoding == "position" else 1)
    return total


def by_loops(model, story, question):
    """Logits and attention weights of one story by equations (1) to (4)."""
    adjacent, encoding = model.tying == "adjacent", model.encoders[0].encoding
    tables = [to_numpy(encoder.E.embeddings) for encoder in model.encoders]
    times = [to_numpy(time.embeddings) for time in model.times]
    u = encode(to_numpy(model.question_encoder.E.embeddings), question, encoding)
    said = [sentence for sentence in story if any(sentence)]
    attention = []
    for k in range(HOPS):
        a, c = (k, k + 1) if adjacent else (0, 1)
        m, o = [
            [encode(tables[i], x, encoding) + times[i][len(said) - 1 - n] for n, x in enumerate(said)]
            for i in (a, c)
        ]
        scores = np.array([u @ row for row in m])
        nothing = model.memory_size - len(said)  # places that are empty, each with exp(0)
        p = scores if float(model.linear) else np.exp(scores) / (np.exp(scores).sum() + nothing)
        attention.append(p)
        kept = u if adjacent else u @ model.hop.H.get_weights()[0]
        u = kept + sum(weight * row for weight, row in zip(p, o, strict=True))
    if not adjacent:
        return u @ model.answers.get_weights()[0], attention
    W = tables[-1].copy()
    W[0] = 0  # the null word
    return W @ u, attention


@pytest.mark.parametrize("encoding", ["position", "bag"])
def test_padding_of_a_sentence_changes_nothing_and_stands_for_nothing(encoding):
    encoder = SentenceEncoder(V, D, encoding, pad_id=4)
    expected = to_numpy(encoder(np.array([[1, 2, 3]])))
    for padded in ([1, 2, 3, 4, 4], [1, 4, 2, 3], [4, 4, 1, 2, 4, 3]):
        np.testing.assert_allclose(to_numpy(encoder(np.array([padded]))), expected, atol=1e-6)
    assert (to_numpy(encoder(np.array([[4, 4]]))) == 0).all()


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="Keras promotes float64 to float32")
def test_a_sentence_in_float64_is_computed_in_float64():
    encoder = SentenceEncoder(V, D, dtype="float64")
    words = np.array([[1, 2, 3]])
    encoded = to_numpy(encoder(words))[0]
    np.testing.assert_allclose(
        encoded, encode(to_numpy(encoder.E.embeddings), words[0], "position"), rtol=1e-13
    )


@pytest.mark.parametrize("tying", ["adjacent", "layer_wise"])
@pytest.mark.parametrize("encoding", ["position", "bag"])
@pytest.mark.parametrize("linear", [0.0, 1.0])
def test_equals_the_equations_by_loops(tying, encoding, linear):
    model = make(tying=tying, encoding=encoding)
    model.linear.assign(linear)
    logits, attention = map(to_numpy, model.read(STORY, QUESTION))
    np.testing.assert_allclose(to_numpy(model((STORY, QUESTION))), logits, atol=1e-5)
    for b in range(2):
        expected, weights = by_loops(model, STORY[b], QUESTION[b])
        np.testing.assert_allclose(logits[b], expected, atol=1e-3, rtol=1e-3)
        count = len(weights[0])
        np.testing.assert_allclose(attention[b, :, :count], weights, atol=1e-3, rtol=1e-3)
        assert (attention[b, :, count:] == 0).all()


def test_adjacent_tying_shares_variables():
    model = make(tying="adjacent")
    # K + 1 embeddings of words and as many of times: A_{k+1} is C_k, B is A_1; by_loops takes C_K as W.
    assert len(model.trainable_variables) == 2 * (HOPS + 1)
    assert model.question_encoder is model.encoders[0]
    assert float(model.linear) == 0  # not trained, and off at first


def test_layer_wise_tying_shares_variables():
    model = make(tying="layer_wise")
    shapes = sorted(tuple(w.shape) for w in model.trainable_variables)
    assert shapes == sorted([(V, D)] * 3 + [(5, D)] * 2 + [(D, D), (D, V)])  # A, B, C; T_A, T_C; H, W
    sizes = {make(tying="layer_wise", hops=hops).count_params() for hops in (1, 2, 3)}
    assert len(sizes) == 1


@pytest.mark.parametrize("tying", ["adjacent", "layer_wise"])
def test_initial_weights_are_those_of_the_paper_and_differ(tying):
    model = MemoryNetwork(50, width=50, memory_size=50, tying=tying)
    model.build()
    first = [to_numpy(weight) for weight in model.trainable_variables]
    for i, weight in enumerate(first):
        assert weight.mean() == pytest.approx(0, abs=0.01) and weight.std() == pytest.approx(0.1, abs=0.01)
        assert all(abs(np.corrcoef(weight.ravel(), other.ravel())[0, 1]) < 0.1 for other in first[:i])


def test_a_story_longer_than_the_memory_loses_its_beginning():
    model = make(memory_size=2)
    whole, attention = map(to_numpy, model.read(STORY[:1], QUESTION[:1]))
    end = to_numpy(model((STORY[:1, 1:], QUESTION[:1])))
    np.testing.assert_allclose(whole, end, atol=1e-5)
    assert (attention[0, :, 0] == 0).all()


def test_an_empty_story_leaves_the_question():
    model = make()
    logits, attention = map(to_numpy, model.read(np.zeros((1, 3, 2), "int32"), QUESTION[:1]))
    u = model.question_encoder(QUESTION[:1])
    np.testing.assert_allclose(logits, to_numpy(model.score(u)), atol=1e-5)
    assert (attention == 0).all()


def test_noise_is_in_training_alone_and_of_the_right_share():
    model = make(memory_size=50, noise=0.1)
    story = ops.convert_to_tensor(np.ones((500, 10, 2), "int32"))
    assert (to_numpy(model.times_of(story)) == np.arange(9, -1, -1)).all()
    times = to_numpy(model.times_of(story, training=True))
    gaps = times[:, :-1] - times[:, 1:]
    assert set(np.unique(gaps)) == {1, 2}  # a neighbour, or an empty memory in between
    assert (gaps == 2).mean() == pytest.approx(0.1, abs=0.02)
    assert (times[:, -1] == 1).mean() == pytest.approx(0.1, abs=0.05)  # one may come last, too
    quiet = make(noise=0.0)
    assert (to_numpy(quiet.times_of(story, training=True)) == np.arange(9, -1, -1)).all()


def test_padding_in_front_and_inside_changes_nothing():
    model = make()
    story, question = np.insert(STORY, [0, 1, 2], 0, axis=1), np.insert(QUESTION, [0, 2], 0, axis=1)
    story = np.insert(story, [0, 1], 0, axis=2)
    expected, attention = map(to_numpy, model.read(STORY, QUESTION))
    found, weights = map(to_numpy, model.read(story, question))
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(weights[..., [1, 3, 5]], attention, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"hops": 0}, "hops must be a positive integer. Received: hops=0"),
        ({"width": 2.5}, "width must be a positive integer"),
        ({"memory_size": None}, "memory_size must be a positive integer"),
        ({"tying": "none"}, "tying must be one of .*Received: tying='none'"),
        ({"encoding": "tree"}, "encoding must be one of"),
        ({"noise": 1.0}, r"noise must be in \[0, 1\). Received: noise=1.0"),
    ],
)
def test_arguments_out_of_range(arguments, said):
    with pytest.raises(ValueError, match=said):
        MemoryNetwork(V, **arguments)
