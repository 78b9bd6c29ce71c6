"""Damaged copies of a model directory: none is read, and nothing but PresetError comes of them."""

import damaged_copies

from keraszoo.saving.model_directory import write_directory


def test_none_of_600_damaged_copies_is_read(tmp_path):
    for seed in (1, 2):  # two models of like sizes, as those of one recipe and two corpora are
        files = {
            "config.json": {"task": "translation", "model": {"class": "X", "config": {"units": seed}}},
            "metrics.json": {"test": {"bleu": 41 + seed}},
            "model.weights.h5": bytes([*range(256), seed]) * 4,
            "joint.model": bytes([seed, *range(100)]),
            "README.md": f"# Model {seed}\n",
        }
        write_directory(tmp_path / str(seed), files)
    kinds, wrong = damaged_copies.judge(tmp_path / "1", [tmp_path / "2"], 600)
    assert wrong == [] and set(kinds) == set(damaged_copies.DAMAGES) and min(kinds.values()) > 30
