"""Batches of a few short pairs."""

import numpy as np
import pytest

from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.token_batches import TokenBatches


@pytest.fixture
def batches():
    """Pairs of ids from 4 to 11, in batches of an even number of rows."""
    draw = np.random.default_rng(0)
    rows = [[draw.integers(4, 12, size=draw.integers(1, 5)).tolist() for _ in range(18)] for _ in range(2)]
    corpus = ParallelCorpus.from_ids(*rows, pad_id=0, start_id=2, end_id=3)
    return TokenBatches(corpus, 32, seed=1, replicas=2, shapes=None)
