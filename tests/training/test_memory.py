import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "keraszoo/training"
COUNT = """
import ctypes, resource
import numpy as np
from memory import M_TRIM_THRESHOLD, keep_freed_memory  # the file alone: Keras would be slow to import

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.zeros(8 << 20, "uint8")[:] = 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, 128 << 10)  # as TensorFlow does
first = faults()
keep_freed_memory()
np.zeros(8 << 20, "uint8")[:] = 1
print(first, faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_freed_blocks_are_used_again_instead_of_mapped_anew():
    # NumPy would ask for huge pages of its own accord, of which there are few faults either way.
    environment = {**os.environ, "NUMPY_MADVISE_HUGEPAGE": "0", "PYTHONPATH": str(FOLDER)}
    command = [sys.executable, "-c", COUNT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    mapped_anew, used_again = map(int, done.stdout.split())
    assert mapped_anew > 100 and used_again < mapped_anew / 10
