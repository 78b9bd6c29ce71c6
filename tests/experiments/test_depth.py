"""The experiment on depth: its table, and finished runs that are skipped."""

import json
import sys

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


def test_a_finished_run_is_not_repeated(tmp_path, monkeypatch, capsys):
    (tmp_path / "depth.jsonl").write_text(json.dumps(ROW) + "\n")
    trained = []
    result = {"val_loss": 2.0, "exact": 0}
    monkeypatch.setattr(depth, "train", lambda _, run, *__: trained.append(run) or result)
    options = ["--output", tmp_path, "--depths", "2", "4", "--connections", "plain", "--steps", "7"]
    monkeypatch.setattr(sys, "argv", ["depth.py", *map(str, options), "--numbers", "20"])
    for _ in range(2):
        depth.main()
        assert "| 2 | 0.500, 25.0% |\n| 4 | 2.000, 0.0% |" in capsys.readouterr().out
    assert trained == [{"depth": 4, "connections": "plain", "seed": 1, "steps": 7}]
