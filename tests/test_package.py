"""`import keraszoo` is cheap, and packages import each other in one direction only."""

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import keraszoo

FOLDER = Path(keraszoo.__file__).parent
# package -> the packages it may import. `layers`, `models` and `search` do not know files and text.
PACKAGES = {
    "errors": "",
    "messages": "",
    "saving": "errors messages",
    "shipping": "errors saving",
    "text": "errors saving shipping",
    "layers": "errors",
    "models": "errors layers",
    "search": "errors",
    "evaluation": "errors text",
    "plots": "errors saving text",
    "training": "errors messages saving text evaluation",
    "tasks": "errors messages saving shipping text models evaluation training",
    "translation": "errors messages saving shipping text plots models search evaluation training tasks",
    "tagging": "errors messages saving shipping text plots models evaluation training tasks",
    "answering": "errors saving text models training tasks",
    "playground": "errors messages saving shipping text layers translation tagging answering",
    "cli": "errors messages saving shipping text plots tasks translation tagging answering playground",
    "__main__": "cli",
}


def packages_imported(file):
    """Yields the packages that a file imports from, at any place in the file."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            top, _, below = name.partition(".")
            if top == "keraszoo" and below:
                yield below.split(".")[0]


def test_every_package_is_listed():
    entries = {path.name.removesuffix(".py") for path in FOLDER.iterdir() if path.suffix in ("", ".py")}
    assert entries - {"__init__", "__pycache__"} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_run_downwards(package):
    place = FOLDER / package
    allowed = {package, "__version__", *PACKAGES[package].split()}
    for file in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
        assert set(packages_imported(file)) <= allowed, file


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


def test_names_are_imported_on_first_use():
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
