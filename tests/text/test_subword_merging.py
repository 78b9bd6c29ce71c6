"""Words from subwords, and attention between words, against a loop."""

import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.subword_merging import join_pieces, merge_subwords


@pytest.mark.parametrize(
    ("pieces", "words", "indices"),
    [
        ([], [], []),
        (["▁a"], ["a"], [0]),
        (["a", "b"], ["ab"], [0, 0]),  # cut text need not begin with a mark
        (["▁a", "▁b", "c", "▁", "d"], ["a", "bc", "d"], [0, 1, 1, 2, 2]),
        (["<s>", "a", "b", "</s>", "<pad>"], ["<s>", "ab", "</s>", "<pad>"], [0, 1, 1, 2, 3]),
        (["▁", "<unk>", "▁x"], ["<unk>", "x"], [0, 0, 1]),
        (["▁New▁York", "er"], ["New Yorker"], [0, 0]),
    ],
)
def test_words_from_pieces(pieces, words, indices):
    assert join_pieces(pieces) == (words, indices)


def test_merged_attention_equals_a_loop():
    rng = np.random.default_rng(0)
    source = ["▁" * (s in (0, 2, 3, 7)) + "ab"[s % 2] for s in range(11)] + ["</s>"]
    target = ["▁" * (t in (0, 1, 5)) + "xy"[t % 2] for t in range(7)] + ["</s>"]
    weights = rng.dirichlet(np.ones(12), size=8).astype("float32")
    source_words, target_words, merged = merge_subwords(source, target, weights)
    source_groups = [[0, 1], [2], [3, 4, 5, 6], [7, 8, 9, 10], [11]]
    target_groups = [[0], [1, 2, 3, 4], [5, 6], [7]]
    assert (len(source_words), len(target_words)) == (5, 4)
    for t, target_group in enumerate(target_groups):
        for s, source_group in enumerate(source_groups):
            total = sum(weights[i, j] for i in target_group for j in source_group)
            assert merged[t, s] == pytest.approx(total / len(target_group), abs=1e-6)
    np.testing.assert_allclose(merged.sum(axis=1), 1, atol=1e-6)


def test_nothing_to_merge_and_a_shape_that_does_not_fit():
    assert merge_subwords([], [], np.zeros((0, 0)))[2].shape == (0, 0)
    assert merge_subwords(["▁a"], [], np.zeros((0, 1)))[2].shape == (0, 1)
    with pytest.raises(KerasZooError, match=r"expected shape \(1, 2\).* got \(2, 1\)"):
        merge_subwords(["▁a", "▁b"], ["▁x"], np.zeros((2, 1)))
