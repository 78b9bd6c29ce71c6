"""Arrays that other people's code computed; data/README.md says which code."""

from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def numbers(request):
    """The arrays of the file that a module names, by their names."""
    return dict(np.load(DATA / request.module.FILE))
