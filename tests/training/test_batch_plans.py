import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keraszoo.training.batch_plans import ShapeLadder, batches_by_length, batches_of_rows, rounded_lengths

LENGTHS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12)


@pytest.mark.parametrize("multiple", [1, 4, 8])
def test_rounding_adds_little(multiple):
    steps = rounded_lengths(5000, multiple)
    lengths = np.arange(1, 5001)
    rounded = steps[np.searchsorted(steps, lengths)]
    assert (rounded >= lengths).all()
    assert (rounded % multiple == 0).all()
    assert (rounded - lengths < np.maximum(lengths / 16, 0) + multiple).all()
    assert len(steps) <= 32 + 16 * 8
    if multiple == 1:
        assert rounded[:33].tolist() == list(range(1, 33)) + [34]


def cheapest(pairs, shapes):
    """The least padded cost of any rising ladder, by trying all of them."""
    cells = [(s, t) for s in {s for s, _ in pairs} for t in {t for _, t in pairs}]
    last = (max(s for s, _ in pairs), max(t for _, t in pairs))
    best = np.inf
    for count in range(min(shapes, len(cells))):
        for ladder in itertools.combinations(sorted(set(cells) - {last}), count):
            if any(a[1] > b[1] for a, b in itertools.pairwise(ladder)):
                continue
            rungs = [*ladder, last]
            cost = sum(sum(next(r for r in rungs if r[0] >= s and r[1] >= t)) for s, t in pairs)
            best = min(best, cost)
    return best


@given(LENGTHS.map(lambda pairs: [(min(s, 4), min(t, 3)) for s, t in pairs]), st.integers(1, 3))
def test_no_ladder_is_cheaper(pairs, shapes):
    source, target = np.array(pairs).T
    ladder = ShapeLadder(source, target, shapes)
    which = ladder.first_holding(source, target)
    assert ladder.lengths[which].sum() == cheapest(pairs, shapes)


@given(LENGTHS, st.integers(1, 20))
def test_a_ladder_rises_and_holds_every_pair(pairs, shapes):
    source, target = np.array(pairs).T
    ladder = ShapeLadder(source, target, shapes)
    assert len(ladder) <= shapes
    assert (np.diff(ladder.lengths, axis=0) >= 0).all()
    for (s, t), which in zip(pairs, ladder.first_holding(source, target), strict=True):
        holding = [k for k in range(len(ladder)) if (ladder.lengths[k] >= (s, t)).all()]
        assert which == holding[0]


def test_limit():
    ladder = ShapeLadder(np.array([33, 3]), np.array([2, 33]), limit=33)
    assert ladder.lengths.max(axis=0).tolist() == [33, 33]


@pytest.mark.parametrize("size", [1, 3, 7, 40])
def test_batches_are_slices_of_the_rows_sorted_by_length(size):
    draw = random.Random(size)
    lengths = [draw.randrange(6) for _ in range(23)]
    batches = list(batches_by_length(lengths, lambda start, stop: stop - start == size))
    order = [i for length in range(1, 6) for i in range(23) if lengths[i] == length]
    assert batches == [order[i : i + size] for i in range(0, len(order), size)]
    pairs = [(length, draw.randrange(3)) for length in lengths]  # rows of two lengths are never empty
    order = sum(batches_by_length(pairs, lambda start, stop: False), [])
    assert [pairs[i] for i in order] == sorted(pairs) and len(set(order)) == 23
    assert list(batches_by_length([0, 0], None)) == []


def test_a_long_row_shares_its_batch_with_few_others():
    draw = random.Random(1)
    lengths = [(draw.choice([0, 5, 9, 700]), draw.choice([1, 8, 3000])) for _ in range(300)]
    batches = list(batches_of_rows(lengths, 64))
    assert sorted(sum(batches, [])) == list(range(300)) and 40 < max(map(len, batches)) <= 64
    assert all(len(some) * max(max(lengths[i]) for i in some) <= 64 * 128 for some in batches)
