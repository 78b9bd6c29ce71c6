"""Settings for all tests and doctests: quiet TensorFlow, one thread, fixed seeds, no windows."""

import gc
import os
import resource
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

# TensorFlow and matplotlib read these when they are imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("MPLBACKEND", "Agg")
# pytest-xdist starts one process per core, so threads of TensorFlow would only compete.
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")
# Each thread of XLA and TensorFlow otherwise gets a heap of its own, which keeps what the thread frees.
os.environ.setdefault("MALLOC_ARENA_MAX", "2")

# A loaded machine is no failure: neither a deadline nor slow examples are one.
settings.register_profile(
    "keraszoo",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("keraszoo")

collect_ignore = []
if find_spec("starlette") is None:  # installed without the extra `serve`
    parts = "playground", "serving"
    collect_ignore += [f"{folder}/{part}" for folder in ("keraszoo", "tests") for part in parts]
if find_spec("spacy") is None:  # 200 MB, so the extra `test` leaves it out
    collect_ignore += ["keraszoo/tagging/spacy_component.py", "tests/tagging/test_spacy_component.py"]


def pytest_sessionstart(session):
    """Imports Keras where tests run: not in a process that only hands them to others."""
    if hasattr(session.config, "workerinput") or not session.config.getoption("numprocesses", None):
        import keras

        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            # Tests trace many graphs and run each a few times: optimizing them takes longer than it saves.
            tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


@pytest.fixture(autouse=True, scope="module")
def _free_memory():
    """Frees the graphs, programs and variables of a file's tests before the next file starts.

    What is left stays, as modules do: the next collections need not look at it, each for half a second.
    """
    import keras

    yield
    keras.utils.clear_session()
    gc.freeze()


@pytest.fixture(autouse=True)
def _seeds():
    """Each test sees the same random numbers, whichever tests ran before it."""
    import keras

    keras.utils.set_random_seed(42)


@pytest.fixture(autouse=True)
def _eager_doctests(request):
    """Runs examples in docstrings without tracing: each calls a function of TensorFlow once or twice."""
    import keras

    if keras.backend.backend() != "tensorflow" or not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks the other models of a test with `one_per_class` as slow: variants, or all but those it names."""
    for item in items:
        if marker := item.get_closest_marker("one_per_class"):
            name = item.callspec.params["name"]
            if "," in name or (marker.args and name not in marker.args):
                item.add_marker("slow")


PROCESSES = {}


def pytest_sessionfinish(session):
    """Sends what a worker process used to the process that reports it."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["usage"] = _usage()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Keeps what a worker process used. `pytest-xdist` calls this when a worker ends."""
    if usage := getattr(node, "workeroutput", {}).get("usage"):
        PROCESSES[node.gateway.id] = usage


def pytest_terminal_summary(terminalreporter):
    """Prints the CPU time and the largest memory of each process that ran tests."""
    for name, (seconds, peak) in sorted((PROCESSES or {"this process": _usage()}).items()):
        terminalreporter.write_line(f"{name}: {seconds:.0f} CPU seconds, at most {peak / 2**20:.2f} GiB")


def _usage():
    """Returns the CPU seconds of this process and the processes it started, and its peak memory in KiB."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts), parts[0].ru_maxrss
