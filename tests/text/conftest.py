"""The shared corpora."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("KERASZOO_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture
def shared_data():
    """Finds a file of the shared corpora; the test is skipped without it."""

    def find(name):
        if not (DATA / name).is_file():
            pytest.skip("the corpora are not here")
        return DATA / name

    return find
