"""Files with given bytes."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes bytes to a file of that name and returns its path."""

    def write(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write
