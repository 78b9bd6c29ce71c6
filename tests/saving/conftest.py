"""A small model directory, and the files that it is made of."""

import pytest

from keraszoo.saving.model_directory import write_directory


@pytest.fixture
def small_files():
    return {
        "config.json": {"model": "Transformer", "units": 8, "language": "Öäü"},
        "metrics.json": {"bleu": 41.5},
        "source/subwords.model": bytes(range(256)) * 4,
        "README.md": "# A small model\n",
    }


@pytest.fixture
def place(small_files, tmp_path):
    write_directory(tmp_path / "small", small_files)
    return tmp_path / "small"
