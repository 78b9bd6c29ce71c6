"""The experiment on depth: its table, and finished runs that are skipped."""

import depth

ROW = {"depth": 2, "connections": "plain", "seed": 1, "steps": 7, "val_loss": 0.5, "exact": 0.25}


def test_the_table_shows_means_over_seeds():
    second, deep = {"seed": 2, "val_loss": 1.5, "exact": 0.75}, {"depth": 4, "connections": "residual"}
    rows = [ROW, {**ROW, **second}, {**ROW, **deep}]
    assert depth.table(rows).splitlines() == [
        "| layers | plain | residual |",
        "|---|---|---|",
        "| 2 | 1.000, 50.0% |  |",
        "| 4 |  | 0.500, 25.0% |",
    ]
