import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keraszoo.text.token_rows import TokenRows

ROWS = st.lists(st.lists(st.integers(0, 60_000), max_size=7), min_size=1, max_size=9)


@given(rows=ROWS, data=st.data())
def test_rows_come_back(rows, data):
    token_rows = TokenRows.from_lists(rows, "uint16")
    assert token_rows.ids.dtype == "uint16"
    assert len(token_rows) == len(rows)
    assert [token_rows[i].tolist() for i in range(len(rows))] == rows
    assert token_rows[-1].tolist() == rows[-1]
    indices = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    ids, lengths = token_rows.gather(np.array(indices, int))
    assert ids.dtype == lengths.dtype == "int32"
    assert ids.tolist() == [id_ for i in indices for id_ in rows[i]]
    assert lengths.tolist() == [len(rows[i]) for i in indices]


def test_no_rows_and_wrong_indices():
    rows = TokenRows.from_lists([])
    assert (len(rows), len(rows.ids), rows.offsets.tolist()) == (0, 0, [0])
    for index in (1, -2):
        with pytest.raises(IndexError):
            TokenRows.from_lists([[1]])[index]
