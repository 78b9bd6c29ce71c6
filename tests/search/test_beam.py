"""Beam search against all hypotheses there are, against a beam in plain Python, and against greedy search."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.search import SearchOptions, beam_search, greedy_search

to_numpy = ops.convert_to_numpy
START, END = 1, 3
ALL = 85  # hypotheses of at most 3 words out of 5: 1 + 4 + 16 that end, 64 that are cut


@pytest.fixture
def words_model(tables):
    """Makes a model of the probabilities of a word after another; others are hardly ever written."""

    def make(probabilities, looks=1.0, source=1):
        model = tables(sentences=1, length=20, vocabulary=6, source=source)
        model.logits[:], model.looks[:] = -20, looks
        for (word, after), p in probabilities.items():
            model.logits[..., word, after] = np.log(p)
        return model

    return make


def exhaustive(**options):
    return SearchOptions(beam_width=90, num_hypotheses=90, max_length=3, **options)


def check_n_best(model, hypotheses, expected_of):
    """All of them, in order, each with its own log-probability."""
    for sentence, mine in enumerate(hypotheses):
        expected = expected_of(sentence)
        assert len(mine) == len(expected)
        np.testing.assert_allclose([h[0] for h in mine], [e[0] for e in expected], atol=1e-4)
        assert len({h[1] for h in mine}) == len(mine)
        scores = {words: score for score, words in expected}
        for score, words, log_prob in mine:
            assert score == pytest.approx(scores[words], abs=1e-4)
            assert log_prob == pytest.approx(model.log_prob(sentence, words), abs=1e-4)


SCORES = {
    "log-probability": {"length_penalty": 0.0},
    "length": {"length_penalty": 1.0},
    "gnmt": {"length_penalty": 0.6, "normalization": "gnmt"},
    "coverage": {"length_penalty": 0.5, "normalization": "gnmt", "coverage_penalty": 0.7},
}


@pytest.mark.parametrize("kind", SCORES)
def test_a_beam_as_wide_as_the_space_finds_every_hypothesis_in_order(tables, find, listed, kind):
    model = tables(length=3)
    options = exhaustive(**SCORES[kind])
    hypotheses = listed(find(model, options))
    assert len(hypotheses[0]) == ALL
    check_n_best(model, hypotheses, lambda sentence: model.all_hypotheses(sentence, options))


def repeats(words, n):
    grams = [words[i : i + n] for i in range(len(words) - n + 1)]
    return len(grams) != len(set(grams))


PREFIX = (4, 2), (0,)
CONSTRAINTS = {
    "min_length": ({"min_length": 2}, {}, lambda b, h: END not in h[:2]),
    "no word twice": ({"no_repeat_ngram": 1}, {}, lambda b, h: not repeats(h, 1)),
    "no pair twice": ({"no_repeat_ngram": 2}, {}, lambda b, h: not repeats(h, 2)),
    "never": ({}, {"never": (0, START)}, lambda b, h: not {0, START} & set(h)),
    "prefix": ({}, {"prefix": np.array([[4, 2], [0, -1]], "int32")}, lambda b, h: h[: 2 - b] == PREFIX[b]),
    "all at once": (
        {"min_length": 2, "no_repeat_ngram": 1, "coverage_penalty": 0.3},
        {"never": (0,), "prefix": np.array([[4], [-1]], "int32")},
        lambda b, h: END not in h[:2] and not repeats(h, 1) and 0 not in h and (b == 1 or h[0] == 4),
    ),
}


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_constraints_leave_every_hypothesis_that_keeps_them_and_no_other(tables, find, listed, kind):
    changes, arguments, allowed = CONSTRAINTS[kind]
    model = tables(length=3, seed=1)
    options = exhaustive(**changes)
    hypotheses = listed(find(model, options, **arguments))
    check_n_best(model, hypotheses, lambda b: model.all_hypotheses(b, options, partial(allowed, b)))


def test_a_forced_prefix_does_not_use_up_the_beam(tables, find, listed):
    # While it is forced there is one hypothesis: nothing else may be finished in the beam's free places.
    model = tables(length=8, vocabulary=5, seed=2)
    options = SearchOptions(beam_width=5, num_hypotheses=5, max_length=8)
    prefix = np.array([[4, 4, 2, 4], [2, 2, 4, 2]], "int32")
    for b, mine in enumerate(listed(find(model, options, prefix=prefix))):
        assert len(mine) == 5
        for _, words, log_prob in mine:
            assert words[:4] == tuple(prefix[b])
            assert log_prob == pytest.approx(model.log_prob(b, words), abs=1e-4)


def beam_in_python(model, sentence, options):
    """The docstring of `beam_search`, in lists."""
    W, live, finished = options.beam_width, [(0.0, ())], []
    covered_by_the_next = options.replace(coverage_penalty=0.0)
    for _ in range(options.max_length):
        following = [
            (log_prob + model.log_softmax(sentence, words)[word], (*words, word))
            for log_prob, words in live
            for word in range(model.vocabulary)
        ]
        following = sorted(following, reverse=True)[: 2 * W]
        finished += [words for _, words in following[:W] if words[-1] == END]
        live = [(log_prob, words) for log_prob, words in following if words[-1] != END][:W]
        done = [model.score(sentence, words, options) for words in finished]
        hope = [model.score(sentence, words, covered_by_the_next, more=1) for _, words in live]
        if len(done) >= W and max(hope) <= max(done):
            break
    finished = sorted(((model.score(sentence, words, options), words) for words in finished), reverse=True)
    cut = sorted(((model.score(sentence, words, options), words) for _, words in live), reverse=True)
    return (finished[:W] + (cut if len(finished) < W else []))[: options.num_hypotheses]


@pytest.mark.parametrize(
    ("width", "kind"), [(1, "length"), (2, "coverage"), (3, "log-probability"), (5, "gnmt")]
)
def test_a_narrow_beam_equals_a_beam_in_python(tables, find, listed, width, kind):
    model = tables(sentences=7, length=6, seed=3)
    options = SearchOptions(beam_width=width, num_hypotheses=width, max_length=6, **SCORES[kind])
    out = listed(find(model, options, by=beam_search))
    for sentence, mine in enumerate(out):
        expected = beam_in_python(model, sentence, options)
        assert [h[1] for h in mine] == [words for _, words in expected]
        np.testing.assert_allclose([h[0] for h in mine], [score for score, _ in expected], atol=1e-4)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"attention": True}, {"attention": True, "never": (0,), "prefix": np.full((11, 2), 4, "int32")}],
)
def test_a_beam_of_one_is_greedy_search(tables, find, same, arguments):
    model = tables(sentences=11, length=9, seed=4)
    options = SearchOptions(beam_width=1, max_length=9, length_penalty=0.0)
    beam, greedy = (find(model, options, by=by, **arguments) for by in (beam_search, greedy_search))
    same(beam, greedy)


@pytest.mark.parametrize(("width", "kind"), [(1, "length"), (5, "log-probability"), (5, "gnmt")])
def test_a_long_hypothesis_that_the_model_is_sure_of_is_waited_for(tables, find, listed, width, kind):
    # W short ones end before it: `</s>` is the second likeliest word everywhere
    sure = (2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, END)
    model = tables(sentences=2, length=14)
    model.logits[:] = 0
    model.logits[..., END] = 4
    for i, word in enumerate(sure):
        model.logits[:, i, :, :, word] = 12
    options = SearchOptions(beam_width=width, max_length=14, **SCORES[kind])
    for ((score, words, _),) in listed(find(model, options, by=beam_search)):
        assert words == sure
        assert score == pytest.approx(model.score(0, sure, options), abs=1e-4)


@pytest.mark.parametrize("width", [1, 4])
def test_a_result_does_not_depend_on_the_other_sentences(tables, find, same, pick, width):
    model = tables(sentences=6, length=8, seed=5)
    options = SearchOptions(beam_width=width, num_hypotheses=width, max_length=8, coverage_penalty=0.2)
    together = find(model, options, attention=True)
    assert len(set(to_numpy(together.lengths)[:, 0])) > 1  # some end early and wait for the others
    for sentences in ([3], [5, 1, 1]):
        some = model.some(sentences)
        same(find(some, options, attention=True), pick(together, sentences))


@pytest.mark.parametrize("width", [1, 3])
def test_after_the_end_nothing_changes(tables, find, width):
    # the same model with a longer limit, once every sentence has been done
    model = tables(sentences=5, length=20, seed=6)
    options = SearchOptions(beam_width=width, num_hypotheses=width, max_length=20)
    long = find(model, options, attention=True)
    longest = int(to_numpy(long.lengths).max())
    assert longest < 16
    tokens, lengths = to_numpy(long.tokens), to_numpy(long.lengths)
    for b, k in np.ndindex(5, width):
        n = lengths[b, k]
        assert (tokens[b, k, n - 1 :] == END).all()
        assert (tokens[b, k, : n - 1] != END).all()
        assert (to_numpy(long.attention_weights)[b, k, n:] == 0).all()
    again = find(model, options.replace(max_length=16))
    np.testing.assert_array_equal(to_numpy(again.tokens), tokens[..., :16])
    np.testing.assert_allclose(to_numpy(again.log_prob), to_numpy(long.log_prob), atol=1e-6)


@pytest.mark.parametrize("width", [1, 3])
def test_attention_that_is_asked_for_belongs_to_the_words_of_the_hypothesis(tables, find, listed, width):
    model = tables(sentences=5, length=7, source=4, seed=7)
    options = SearchOptions(beam_width=width, num_hypotheses=width, max_length=7)
    assert find(model, options).attention_weights is None
    out = find(model, options, attention=True)
    weights = to_numpy(out.attention_weights)
    for b, mine in enumerate(listed(out)):
        for k, (_, words, _) in enumerate(mine):
            np.testing.assert_allclose(weights[b, k, : len(words)].sum(-1), 1, atol=1e-5)
            np.testing.assert_allclose(weights[b, k, : len(words)], model.attention(b, words), atol=1e-6)


def test_fewer_hypotheses_than_asked_for(tables, find):
    # one word at most, of five: </s> or one of four that are cut
    model = tables()
    options = SearchOptions(beam_width=7, num_hypotheses=7, max_length=1)
    out = find(model, options, attention=True)
    np.testing.assert_array_equal(to_numpy(out.lengths), [[1] * 5 + [0] * 2] * 2)
    for figures in map(to_numpy, (out.log_prob, out.score)):
        assert np.isfinite(figures[:, :5]).all() and (figures[:, 5:] == -np.inf).all()
    np.testing.assert_allclose(np.exp(to_numpy(out.log_prob)).sum(-1), 1, atol=1e-5)
    assert (to_numpy(out.tokens)[:, 5:] == END).all()
    assert (to_numpy(out.attention_weights)[:, 5:] == 0).all()


def test_as_many_hypotheses_as_asked_for_the_best_first(tables, find, listed):
    model = tables(length=6)
    options = SearchOptions(beam_width=5, num_hypotheses=5, max_length=6)
    five = find(model, options)
    two = find(model, options.replace(num_hypotheses=2))
    assert tuple(two.tokens.shape) == (2, 2, 6)
    np.testing.assert_array_equal(to_numpy(two.tokens), to_numpy(five.tokens)[:, :2])
    for mine in listed(five):  # those that end in order, then those that are cut in order
        ranks = [(END not in words, -score) for score, words, _ in mine]
        assert ranks == sorted(ranks)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX takes nothing from an axis of length 0")
def test_no_sentences_give_no_hypotheses(tables, find):
    model = tables().some([])
    for width in (1, 3):
        options = SearchOptions(beam_width=width, max_length=4)
        out = find(model, options, attention=True)
        assert tuple(out.tokens.shape) == (0, 1, 4)


def test_what_the_next_word_may_cover_is_waited_for(words_model):
    """1 -> 3 -> 2 ends first and covers half of the source; 1 -> 4 -> 5 -> 2 covers all of it."""
    probability = {(1, 3): 0.4, (1, 4): 0.3, (1, 2): 0.3, (3, 2): 0.9, (3, 3): 0.1}
    probability |= {(4, 5): 0.99, (4, 2): 0.01, (5, 2): 1.0, (2, 2): 1.0}
    looks = np.array([[1.0, 0.0]] * 5 + [[0.0, 1.0]])
    model = words_model(probability, looks, source=2)
    options = SearchOptions(beam_width=2, max_length=6, length_penalty=0.0, coverage_penalty=0.2)
    best = beam_search(model, model.memory, options, start_id=1, end_id=2, never=(0, 1))
    assert to_numpy(best.tokens)[0, 0, :3].tolist() == [4, 5, 2]
    assert float(best.score[0, 0]) == pytest.approx(np.log(0.3 * 0.99), abs=1e-4)


@pytest.mark.parametrize("width", [1, 3])
def test_an_empty_prefix_changes_nothing(tables, find, same, width):
    model, options = tables(seed=2), SearchOptions(beam_width=width, max_length=3)
    same(find(model, options, prefix=np.zeros((2, 0), "int32")), find(model, options))


@pytest.mark.parametrize("normalization", ["length", "gnmt"])
def test_hope_counts_the_next_word_and_the_end(words_model, normalization):
    """1 -> 2 ends at once; 1 -> 4 is less probable, but 1 -> 4 -> 2 has the better score."""
    model = words_model({(1, 2): 0.5, (1, 4): 0.45, (4, 2): 1.0, (2, 2): 1.0})
    options = SearchOptions(beam_width=1, max_length=6, length_penalty=2.0, normalization=normalization)
    best = beam_search(model, model.memory, options, start_id=1, end_id=2)
    assert to_numpy(best.tokens)[0, 0, :2].tolist() == [4, 2]


def test_a_sentence_is_done_though_two_more_words_would_score_better(words_model):
    """1 -> 4 -> 5 -> 2 has -1.2 / 3 > -0.5, but when 1 -> 2 ends, 1 -> 4 hopes for -1.2 / 2 < -0.5."""
    model = words_model({(1, 2): np.exp(-0.5), (1, 4): np.exp(-1.2), (4, 5): 1.0, (5, 2): 1.0, (2, 2): 1.0})
    options = SearchOptions(beam_width=1, max_length=6)
    best = beam_search(model, model.memory, options, start_id=1, end_id=2)
    assert to_numpy(best.lengths)[0, 0] == 1
    assert float(best.score[0, 0]) == pytest.approx(-0.5, abs=0.1)


def test_a_sentence_without_a_live_hypothesis_is_done(words_model):
    model, steps = words_model({(1, 4): 1.0, (4, 2): 1.0, (2, 2): 1.0}), []
    step = model.step
    model.step = lambda tokens, state: steps.append(1) or step(tokens, state)
    options = SearchOptions(beam_width=3, max_length=20)
    best = beam_search(model, model.memory, options, start_id=1, end_id=2, prefix=np.array([[4, 2]]))
    assert to_numpy(best.tokens)[0, 0, :2].tolist() == [4, 2]
    assert keras.backend.backend() == "jax" or len(steps) == 2
