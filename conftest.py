"""What every test and doctest starts from: quiet TensorFlow, fixed seeds, no windows, no stored examples."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("MPLBACKEND", "Agg")

import keras  # noqa: E402 - the variables above are read when TensorFlow and matplotlib are imported
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# A loaded machine is no failure: neither a deadline nor slow examples are one.
settings.register_profile(
    "keraszoo",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("keraszoo")


@pytest.fixture(autouse=True)
def _seeds():
    """Each test sees the same random numbers, whichever tests ran before it."""
    keras.utils.set_random_seed(42)
