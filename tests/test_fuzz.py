"""Damaged inputs of every reader: read, or refused in one line. `benchmarks/fuzz.py` reads many more."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"
spec = importlib.util.spec_from_file_location("fuzz", PATH)
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", fuzz.READERS)
def test_a_damaged_input_is_read_or_refused_in_one_line(name, tmp_path):
    few = 8 if name == "Subwords.train" else 40 if name in ("translate", "tag", "card") else 200
    inputs = 10 if name in fuzz.DIRECTORIES else few
    read, refused, _ = fuzz.fuzz(name, inputs, seed=1, folder=tmp_path)
    assert read + refused == inputs and read > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", fuzz.READERS)
def test_many_damaged_inputs(name, tmp_path):
    inputs = 100 if name in fuzz.DIRECTORIES else 5000
    fuzz.fuzz(name, inputs, seed=1000, folder=tmp_path, huge=True)
