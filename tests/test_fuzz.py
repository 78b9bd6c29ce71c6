"""Damaged inputs of every reader: read, or refused in one line. `benchmarks/fuzz.py` reads many more."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"
spec = importlib.util.spec_from_file_location("fuzz", PATH)
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("many", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize("name", fuzz.READERS)
def test_a_damaged_input_is_read_or_refused_in_one_line(name, many, tmp_path):
    few = 8 if name == "Subwords.train" else 40 if name in ("translate", "tag", "card") else 200
    few, most = (10, 100) if name in fuzz.DIRECTORIES else (few, 5000)
    inputs = most if many else few
    read, refused, _ = fuzz.fuzz(name, inputs, seed=1000 if many else 1, folder=tmp_path, huge=many)
    assert read + refused == inputs + many and read > 0
