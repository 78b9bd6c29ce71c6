"""Which sentences go through the model together."""

import random

import keras
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.tagging.compiled_tagger import BATCH_COST, POSITION_COST, length_batches


@pytest.mark.parametrize("budget", [1, 40, 5000])
@pytest.mark.parametrize("seed", range(5))
def test_every_sentence_with_a_word_comes_once_and_within_the_budget(budget, seed):
    draw = random.Random(seed)
    lengths = [draw.choice([0, 1, 5, 8, 20, draw.randint(1, 120)]) for _ in range(draw.randint(0, 90))]
    batches = list(length_batches(lengths, budget))
    assert sorted(i for batch in batches for i in batch) == [i for i, n in enumerate(lengths) if n]
    longest = [[lengths[i] for i in batch] for batch in batches]
    assert all(some == sorted(some) for some in longest)
    assert all(len(some) == 1 or len(some) * some[-1] <= budget for some in longest)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="there a shape costs more than padding")
def test_padding_costs_no_more_than_another_batch_would():
    lengths = [5] * 30 + [6] * 30 + [100, 40, 41]
    batches = [[lengths[i] for i in batch] for batch in length_batches(lengths, 8192)]
    assert batches == [[5] * 30 + [6] * 30, [40, 41, 100]]  # 121 of padding are too few to be worth a batch
    for some in batches:
        assert sum(some[-1] - n for n in some) <= BATCH_COST + POSITION_COST * some[-1]


@pytest.mark.parametrize("budget", [0, -3, 2.5, None])
def test_a_budget_of_nothing_is_refused(budget):
    with pytest.raises(KerasZooError, match="batch_tokens must be at least 1"):
        list(length_batches([3], budget))
