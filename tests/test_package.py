"""What `import keraszoo` costs and offers."""

import importlib.metadata
import subprocess
import sys

import pytest

import keraszoo


def test_importing_the_package_imports_nothing_large():
    code = "import sys, keraszoo; print(sorted({'keras', 'tensorflow', 'numpy', 'jax'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_layers_models_and_search_do_without_tensorflow():
    code = (
        "import sys; sys.modules['tensorflow'] = None\n"  # importing it is an error now
        "import keraszoo.layers, keraszoo.models, keraszoo.search"
    )
    command = [sys.executable, "-c", code]
    pytest.importorskip("jax")
    done = subprocess.run(command, env={"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_names_are_there_when_they_are_asked_for():
    assert keraszoo.errors.KerasZooError is keraszoo.KerasZooError
    assert set(keraszoo.__all__) <= set(dir(keraszoo))
    with pytest.raises(AttributeError, match="module 'keraszoo' has no attribute 'translator'"):
        _ = keraszoo.translator


def test_the_version_is_that_of_the_installed_package():
    try:
        installed = importlib.metadata.version("keraszoo")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("keraszoo is not installed")
    assert installed == keraszoo.__version__
