"""Moving hypotheses about: which parts move, and where to."""

import numpy as np
import pytest
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.search import SearchOptions, search
from keraszoo.search.state import (
    attention_width,
    count_sentences,
    lengthen,
    select_rows,
    select_sentences,
    written,
)

to_numpy = ops.convert_to_numpy
B, W, H, L, D = 3, 2, 2, 4, 5


def state():
    rng = np.random.default_rng(0)
    cache = [[rng.normal(size=(B, H, L, W * D)).astype("float32") for _ in range(2)] for _ in range(2)]
    parts = {
        "memory": {"memory_mask": np.arange(B * 3).reshape(B, 3) % 2 == 0},
        "cache": cache,
        "position": np.array(2, "int32"),
        "history": np.arange(B * W * L, dtype="int32").reshape(B * W, L),
        "recurrent": [rng.normal(size=(B * W, 7)).astype("float32")],
    }
    return parts


def test_sentences_are_counted_by_their_rows():
    assert int(count_sentences(state(), W)) == B
    rows = {"memory": {}, "position": np.array(0), "recurrent": [[np.zeros((5, 2))]]}
    assert int(count_sentences(rows)) == 5


@pytest.mark.parametrize("beam_width", [1, 5])
def test_a_state_of_another_beam_is_an_error(beam_width):
    said = f"the state has 6 rows for 3 sentences and a beam of {beam_width}: make it by initial_state"
    options = SearchOptions(beam_width=beam_width, max_length=2)
    with pytest.raises(KerasZooError, match=said):
        search(None, state(), options, start_id=1, end_id=2)
    with pytest.raises(KerasZooError, match="needs a tensor with a row per hypothesis"):
        search(None, {"memory": {}, "position": np.array(0)}, options, start_id=1, end_id=2)


@pytest.mark.parametrize("beam_width", [1, 2])
@pytest.mark.parametrize(("penalty", "attention"), [(0.2, False), (0.0, True)])
def test_a_model_that_attends_to_nothing_has_no_weights_to_give(beam_width, penalty, attention):
    rows = {"memory": {}, "position": np.array(0), "recurrent": np.zeros((B * beam_width, 2))}
    assert int(attention_width({**rows, "attention_weights": np.zeros((B * beam_width, 3))})) == 3
    options = SearchOptions(beam_width=beam_width, coverage_penalty=penalty)
    with pytest.raises(KerasZooError, match="the model attends to nothing"):
        search(None, rows, options, start_id=1, end_id=3, attention=attention)


def test_rows_move_and_what_belongs_to_a_sentence_stays():
    before, rows = state(), np.array([1, 1, 2, 3, 5, 4])
    after = select_rows(before, rows)
    assert after.keys() == before.keys()
    for shared in ("memory", "cache", "position"):
        assert after[shared] is before[shared]
    for n, origin in enumerate(rows):
        np.testing.assert_array_equal(to_numpy(after["history"])[n], before["history"][origin])
        np.testing.assert_array_equal(to_numpy(after["recurrent"][0])[n], before["recurrent"][0][origin])


def test_sentences_take_all_their_rows_with_them():
    before = state()
    after = select_sentences(before, np.array([2, 0], "int32"), W)
    for new, old in enumerate([2, 0]):
        np.testing.assert_array_equal(
            to_numpy(after["memory"]["memory_mask"])[new], before["memory"]["memory_mask"][old]
        )
        np.testing.assert_array_equal(to_numpy(after["cache"][1][0])[new], before["cache"][1][0][old])
        for row in range(W):
            np.testing.assert_array_equal(
                to_numpy(after["history"])[new * W + row], before["history"][old * W + row]
            )
    assert after["position"] is before["position"]


def test_a_longer_cache_holds_the_old_and_room_that_nobody_sees():
    before = state()
    after = lengthen(before, 3)
    for old, new in zip(sum(before["cache"], []), sum(after["cache"], []), strict=True):
        assert tuple(new.shape) == (B, H, L + 3, W * D)
        np.testing.assert_array_equal(to_numpy(new)[:, :, :L], old)
    np.testing.assert_array_equal(to_numpy(after["history"])[:, :L], before["history"])
    assert (to_numpy(after["history"])[:, L:] == -1).all()
    assert after["recurrent"] is before["recurrent"]


def test_a_state_without_a_cache_needs_no_room():
    before = {key: part for key, part in state().items() if key not in ("cache", "history")}
    assert lengthen(before, 3) is before


@pytest.mark.parametrize("axis", [1, 2])
def test_values_are_written_at_one_position(axis):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 5, 7, 2)).astype("float32")
    values = rng.normal(size=[1 if i == axis else size for i, size in enumerate(x.shape)]).astype("float32")
    for position in (0, 3, x.shape[axis] - 1):
        expected = x.copy()
        expected[(slice(None),) * axis + (position,)] = np.take(values, 0, axis=axis)
        np.testing.assert_array_equal(to_numpy(written(x, position, values, axis)), expected)
