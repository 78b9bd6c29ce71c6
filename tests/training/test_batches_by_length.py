"""Batches of rows of similar length, against a sorted list."""

import random

import pytest

from keraszoo.training.batch_plans import batches_by_length


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
