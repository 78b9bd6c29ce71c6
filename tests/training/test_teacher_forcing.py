import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keraszoo.text.corpus import SpecialIds
from keraszoo.text.token_rows import TokenRows
from keraszoo.training.token_batches import teacher_forced

SENTENCES = st.lists(st.integers(10, 99), max_size=5)


@given(pairs=st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6), spare=st.integers(0, 2))
def test_equals_a_loop_over_tokens(pairs, spare):
    source_special, target_special = SpecialIds(0, 1, 2), SpecialIds(5, 6, 7)
    rows = len(pairs) + spare
    length = max(len(side) for pair in pairs for side in pair) + 1 + spare
    expected = {name: np.full((rows, length), pad) for name, pad in zip("stow", (0, 5, 5, 0), strict=True)}
    expected["w"] = expected["w"].astype("float64")
    tokens = sum(len(target) + 1 for _, target in pairs)
    for row, (source, target) in enumerate(pairs):
        for place, id_ in enumerate([*source, 2]):
            expected["s"][row, place] = id_
        for place, id_ in enumerate([6, *target]):
            expected["t"][row, place] = id_
        for place, id_ in enumerate([*target, 7]):
            expected["o"][row, place] = id_
            expected["w"][row, place] = 1 / tokens
    sides = [TokenRows.from_lists(side).gather(range(len(pairs))) for side in zip(*pairs, strict=True)]
    (source, target_in), target_out, weight = teacher_forced(
        *sides, source_special, target_special, (rows, length, length)
    )
    np.testing.assert_array_equal(source, expected["s"])
    np.testing.assert_array_equal(target_in, expected["t"])
    np.testing.assert_array_equal(target_out, expected["o"])
    np.testing.assert_allclose(weight, expected["w"], rtol=1e-6)
    assert [array.dtype for array in (source, target_in, target_out, weight)] == ["int32"] * 3 + ["float32"]
