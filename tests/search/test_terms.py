"""Beam search with terms against all hypotheses there are, and the guarantee at every width of the beam."""

import functools
import itertools

import numpy as np
import pytest
from keras import ops

from keraszoo.search import SearchOptions, beam_search
from keraszoo.search.terms import shared_places

END = 3
to_numpy = ops.convert_to_numpy


def text_of(words):
    return "".join(map(str, words))


def contains(words, terms):
    """Counts by `str.count`, which knows nothing of automata: ids of the tests have one digit."""
    return all(text_of(words).count(text_of(term)) >= terms.count(term) for term in terms)


def tensor_of(*sentences):
    number, longest = max(map(len, sentences)), max(len(term) for terms in sentences for term in terms)
    ids = np.full((len(sentences), number, longest), -1, "int32")
    for b, terms in enumerate(sentences):
        for c, term in enumerate(terms):
            ids[b, c, : len(term)] = term
    return ids


TERMS = {
    "one word": [[(4,)], [(2,)]],
    "two words, or none": [[(4, 2)], []],
    "several terms": [[(4,), (2, 0)], [(0,), (2,), (4,)]],
    "the same term twice": [[(4,), (4,)], [(2,), (2,)]],
    "a term that contains another": [[(4, 2), (4,)], [(2,), (0, 2)]],
    "a term that repeats its beginning": [[(4, 4, 2)], [(2, 0, 2)]],
    "two that begin alike": [[(4, 2), (4, 0)], [(2,), (2,)]],
}


@pytest.mark.parametrize(
    ("kind", "options"),
    [*((kind, {"length_penalty": 0.0}) for kind in TERMS), ("several terms", {"min_length": 2})]
    + [("a term that repeats its beginning", {"min_length": 2})],
)
def test_a_wide_beam_finds_every_hypothesis_with_the_terms_in_order(tables, find, listed, kind, options):
    model = tables(length=4, seed=3)
    options = SearchOptions(beam_width=350, num_hypotheses=350, max_length=4, **options)
    out = listed(find(model, options, terms=tensor_of(*TERMS[kind])))
    for b, mine in enumerate(out):
        rules = functools.partial(keeps, terms=TERMS[kind][b], options=options)
        expected = model.all_hypotheses(b, options, rules)
        assert len(mine) == len(expected) > 0
        np.testing.assert_allclose([h[0] for h in mine], [e[0] for e in expected], atol=1e-4)
        assert {h[1] for h in mine} == {e[1] for e in expected}


def keeps(words, terms, options):
    early = END in words[: options.min_length]
    return contains(words, terms) and not early and in_time(words, terms, options.max_length)


def in_time(words, terms, limit):
    """Whether at each place all missing terms, one after the other, would still have fitted."""
    for n in range(len(words) + 1):
        written = text_of(words[:n])
        missing = [
            term for term in set(terms) for _ in range(terms.count(term) - written.count(text_of(term)))
        ]
        begun = [
            max(k for k in range(len(term)) if rest_of(written, term).endswith(text_of(term[:k])))
            for term in missing
        ]
        if n + sum(map(len, missing)) - max(begun, default=0) > limit:
            return False
    return True


def rest_of(written, term):
    """What follows the last counted occurrence of a term."""
    return written.split(text_of(term))[-1]


@pytest.mark.parametrize(("width", "limit"), [(1, 8), (2, 12), (3, 8), (6, 8), (6, 12)])
def test_terms_that_fit_are_in_every_hypothesis_of_any_beam(tables, find, listed, width, limit):
    rng = np.random.default_rng(width)
    model = tables(sentences=40, length=limit, vocabulary=7, seed=width)
    terms = []
    for _ in range(model.sentences):  # 0 to 4 terms with 7 ids in all
        ids = iter(rng.choice([0, 2, 4, 5, 6], size=7).tolist())
        lengths = rng.choice([1, 2, 3], size=rng.integers(0, 3)).tolist()
        terms.append([tuple(itertools.islice(ids, n)) for n in lengths])
    assert max(map(len, terms)) > 1
    options = SearchOptions(beam_width=width, num_hypotheses=width, max_length=limit)
    out = listed(find(model, options, by=beam_search, terms=tensor_of(*terms)))
    for mine, wanted in zip(out, terms, strict=True):
        assert mine
        assert all(contains(words, wanted) for _, words, _ in mine)


def test_terms_may_hold_what_is_otherwise_forbidden_and_come_after_the_prefix(tables, find, listed):
    model = tables(length=6, seed=2)
    options = SearchOptions(beam_width=2, max_length=6, no_repeat_ngram=1, min_length=1)
    prefix, terms = np.array([[2, 4], [2, -1]], "int32"), [[(2, 2)], [(0, 4)]]
    arguments = {"never": (0,), "prefix": prefix, "terms": tensor_of(*terms)}
    for b, mine in enumerate(listed(find(model, options, **arguments))):
        words = mine[0][1]
        assert words[:1] == (2,) and contains(words, terms[b])
        assert b or words[:2] == (2, 4)


def test_terms_that_do_not_fit_leave_no_hypothesis(tables, find, listed):
    model = tables(length=4)
    options = SearchOptions(beam_width=3, max_length=4)
    terms = tensor_of([(2, 4, 2), (4, 0)], [(2, 4), (4, 0)])
    none, some = listed(find(model, options, terms=terms))
    assert none == []
    assert contains(some[0][1], [(2, 4), (4, 0)])


def test_a_sentence_without_terms_is_searched_as_if_there_were_none(tables, find, same, pick):
    model = tables(sentences=4, length=8, seed=5)
    options = SearchOptions(beam_width=4, num_hypotheses=4, max_length=8, coverage_penalty=0.2)
    plain = find(model, options, attention=True)
    mixed = find(model, options, terms=tensor_of([], [(4, 2)], [], [(2,)]), attention=True)
    same(pick(mixed, [0, 2]), pick(plain, [0, 2]))
    alone = model.some([3])
    same(find(alone, options, terms=tensor_of([(2,)]), attention=True), pick(mixed, [3]))


def test_banks_share_the_places_and_give_what_they_do_not_use():
    log_prob = np.array([[-1.0, -2, -3, -4, -5, -6, -7, 0]], "float32")
    missing = np.array([[2, 2, 2, 2, 1, 0, 0, 2]], "int32")
    exists = np.array([[True] * 7 + [False]])
    places = [to_numpy(shared_places(log_prob, exists, missing, n, 2))[0].tolist() for n in (1, 4, 7)]
    # the best of each bank, least missing first; then the second; then bank 2 has the rest
    assert places == [[5], [5, 4, 0, 6], [5, 4, 0, 6, 1, 2, 3]]
