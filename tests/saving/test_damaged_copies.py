"""Damaged copies of a model directory: none is read, and nothing but PresetError comes of them."""

import damaged_copies

from keraszoo.saving import manifest as manifests
from keraszoo.saving.model_directory import write_directory


def write(place, seed):
    """Two models of like sizes, as those of one recipe and two corpora are."""
    files = {
        "config.json": {"task": "translation", "model": {"class": "RNNSearch", "config": {"units": seed}}},
        "metrics.json": {"test": {"bleu": 41 + seed}},
        "model.weights.h5": bytes([*range(256), seed]) * 4,
        "joint.model": bytes([seed, *range(100)]),
        "README.md": f"# Model {seed}\n",
    }
    write_directory(place, files)
    return place


def test_none_of_600_damaged_copies_is_read(tmp_path):
    first, second = write(tmp_path / "first", 1), write(tmp_path / "second", 2)
    kinds, wrong = damaged_copies.judge(first, [second], 600)
    assert wrong == [] and set(kinds) == set(damaged_copies.DAMAGES) and min(kinds.values()) > 30


def test_it_would_notice_a_loader_that_looks_at_nothing(tmp_path):
    first, second = write(tmp_path / "first", 1), write(tmp_path / "second", 2)
    kinds, wrong = damaged_copies.judge(first, [second], 50, load=lambda path: None)
    assert len(wrong) == 50
    kinds, wrong = damaged_copies.judge(first, [second], 50, load=lambda path: manifests.read_manifest(path))
    assert 0 < len(wrong) < 50
