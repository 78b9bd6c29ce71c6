"""The table of finished runs of taggers."""

import json

import entities


def test_the_table_has_means_over_whole_seeds(tmp_path, capsys):
    def finished(place, f1, unseen=None):
        scores = {"f1": f1, "f1_default": f1, "f1_seen": 2 * f1, "f1_unseen": unseen}
        test = {name: {"score": score} for name, score in scores.items()}
        (tmp_path / place).mkdir(parents=True)
        text = json.dumps({"test": test, "training": {"seconds": 10}})
        (tmp_path / place / "metrics.json").write_text(text)

    finished("bc5cdr/strong_seed1", 80.0)
    finished("bc5cdr/strong_seed2", 82.0)
    for fold in range(1, 6):
        finished(f"wikigold/{fold}/attention_seed1", 10.0 * fold, 5.0)
    finished("wikigold/1/attention_seed2", 99.0)  # the other folds are still to come
    entities.table(tmp_path)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert rows[2:] == [
        ["bc5cdr", "strong", "2", "81.00 ± 1.41", "81.00 ± 1.41", "162.00 ± 2.83", "-", "10"],
        ["wikigold", "attention", "1", "30.00", "30.00", "60.00", "5.00", "10"],
    ]
