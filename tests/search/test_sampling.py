"""Sampling: the right frequencies, the right sets, and the same draw whoever else is in the batch."""

import math

import numpy as np
import pytest
from keras import ops

from keraszoo.search import SearchOptions
from keraszoo.search.sampling import draw, keep_likeliest

to_numpy = ops.convert_to_numpy
LOGITS = np.array([2.0, 1.0, 0.0, -1.0, 0.5, 1.5, -0.5], "float32")
CHI_SQUARE = {6: 22.46, 48: 84.04}  # 99.9 % of the distribution lie below, by degrees of freedom


def draws(number, options, logits=LOGITS, position=0, first=0):
    rows = np.broadcast_to(logits, (number, len(logits)))
    return to_numpy(draw(ops.convert_to_tensor(rows), options, np.arange(first, first + number), position))


def sampling(**options):
    return SearchOptions(beam_width=1, sampling=True, **options)


def chi_square(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize(("temperature", "seed"), [(0.5, 0), (1.0, -7), (2.0, 2**40)])
def test_frequencies_agree_with_the_softmax(temperature, seed):
    number = 5000
    counts = np.bincount(draws(number, sampling(temperature=temperature, seed=seed)), minlength=7)
    probability = np.exp(LOGITS.astype("float64") / temperature)
    assert chi_square(counts, number * probability / probability.sum()) < CHI_SQUARE[6]


def test_positions_and_seeds_give_draws_of_their_own():
    # pairs of draws at two places are as frequent as independence wants
    number, even = 5000, np.zeros(7, "float32")
    first = draws(number, sampling(), even)
    for other in (draws(number, sampling(), even, position=1), draws(number, sampling(seed=1), even)):
        pairs = np.bincount(first * 7 + other, minlength=49)
        assert chi_square(pairs, np.full(49, number / 49)) < CHI_SQUARE[48]
    of_one_sentence = [int(draws(1, sampling(), even, position=t)[0]) for t in range(200)]
    assert chi_square(np.bincount(of_one_sentence, minlength=7), np.full(7, 200 / 7)) < CHI_SQUARE[6]


def test_a_draw_depends_on_the_seed_and_its_row_alone():
    whole = draws(100, sampling(seed=5))
    np.testing.assert_array_equal(draws(7, sampling(seed=5), first=20), whole[20:27])
    assert (draws(100, sampling(seed=6)) != whole).any()


def likeliest(logits, top_k, top_p):
    """The set that stays, one word at a time."""
    order = sorted(range(len(logits)), key=lambda w: -logits[w])
    order = order[:top_k] if top_k else order
    total, stays, sum_so_far = sum(math.exp(logits[w]) for w in order), [], 0.0
    for word in order:
        if stays and sum_so_far >= top_p:
            break
        stays.append(word)
        sum_so_far += math.exp(logits[word]) / total
    return set(stays)


@pytest.mark.parametrize("top_p", [None, 0.95, 0.5, 1e-6])
@pytest.mark.parametrize("top_k", [0, 1, 5, 100])
def test_the_sets_that_stay(top_k, top_p):
    rows = np.random.default_rng(0).normal(size=(20, 11)).astype("float32") * 2
    kept = to_numpy(keep_likeliest(ops.convert_to_tensor(rows), top_k, top_p))
    for row, mine in zip(rows, kept, strict=True):
        stays = likeliest(row.astype("float64"), top_k, 1.0 if top_p is None else top_p)
        assert set(np.flatnonzero(mine > -1e8)) == stays
        assert all(mine[w] == row[w] for w in stays)


def test_sets_by_eye():
    # probabilities 1/2, 1/4, 1/8, 1/8: half is reached by one word, three quarters by two, more by all,
    # since the last two are equally likely
    logits = ops.convert_to_tensor(np.log([[1 / 2, 1 / 4, 1 / 8, 1 / 8]]).astype("float32"))
    for top_p, stays in ((0.49, 1), (0.51, 2), (0.74, 2), (0.76, 4)):
        assert (to_numpy(keep_likeliest(logits, 0, top_p)) > -1e8).sum() == stays


def test_the_greatest_noise_draws_no_word_that_was_left_out():
    # word 240 of this sentence has the greatest hash of 1,000 words: noise must stay finite
    logits = np.where(np.arange(1000) == 7, 9, 0).astype("float32")
    assert draws(1, sampling(top_k=1), logits, first=3138).tolist() == [7]


@pytest.mark.parametrize("cut", [{"top_k": 3}, {"top_p": 0.6}, {"top_k": 4, "top_p": 0.8}])
def test_words_are_drawn_from_the_set_in_proportion(cut):
    number = 4000
    counts = np.bincount(draws(number, sampling(**cut)), minlength=7)
    stays = sorted(likeliest(LOGITS.astype("float64"), cut.get("top_k", 0), cut.get("top_p", 1.0)))
    assert set(np.flatnonzero(counts)) == set(stays)
    probability = np.exp(LOGITS[stays].astype("float64"))
    assert chi_square(counts[stays], number * probability / probability.sum()) < CHI_SQUARE[6]


def test_one_likeliest_word_or_no_warmth_is_greedy_search(tables, find, listed):
    model = tables(sentences=9, length=8)

    def words(options):
        out = listed(find(model, options))
        return [mine[0][1] for mine in out]

    greedy = words(SearchOptions(beam_width=1, max_length=8))
    assert words(sampling(max_length=8, top_k=1)) == greedy
    assert words(sampling(max_length=8, top_p=1e-6)) == greedy
    assert words(sampling(max_length=8, temperature=1e-4)) == greedy
    assert words(sampling(max_length=8)) != greedy


def test_a_search_that_samples_keeps_its_contract(tables, find, listed, same, pick):
    model = tables(sentences=6, length=8)
    options = sampling(max_length=8, temperature=1.3, seed=11)
    out = find(model, options, attention=True)
    same(find(model, options, attention=True), out)
    few = model.some([0, 1, 2])
    same(find(few, options, attention=True), pick(out, [0, 1, 2]))
    for b, ((_, words, log_prob),) in enumerate(listed(out)):
        # of the model as it is, not of the warmer one that was drawn from
        assert log_prob == pytest.approx(model.log_prob(b, words), abs=1e-4)


def test_frequencies_of_whole_hypotheses(tables, find, listed):
    # 3,000 equal sentences, two words at most: 17 hypotheses, each as often as its probability says
    one = tables(sentences=1, length=2, sharpness=0.7)
    many = one.some([0] * 3000)
    options = sampling(max_length=2)
    drawn = [mine[0][1] for mine in listed(find(many, options))]
    every = [words for _, words in one.all_hypotheses(0, options)]
    assert len(every) == 1 + 4 + 16
    counts = np.array([drawn.count(words) for words in every])
    expected = np.array([3000 * math.exp(one.log_prob(0, words)) for words in every])
    assert counts.sum() == 3000
    assert chi_square(counts, expected) < 45.31  # 20 degrees of freedom


@pytest.mark.parametrize("cut", [{}, {"top_k": 2}, {"top_p": 0.5}])
@pytest.mark.parametrize("temperature", [1e-9, 1e-38])
def test_at_a_tiny_temperature_the_likeliest_is_drawn(cut, temperature):
    options = sampling(temperature=temperature, **cut)
    assert draws(3, options, LOGITS[::-1] - 20).tolist() == [6, 6, 6]


def test_no_temperature_draws_a_forbidden_word():
    logits = np.array([1.0, 2.0, -1e9, 0.0], "float32")
    for temperature in (1e9, math.inf):
        assert set(draws(500, sampling(temperature=temperature), logits).tolist()) == {0, 1, 3}
