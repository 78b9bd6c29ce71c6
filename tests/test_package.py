"""What `import keraszoo` costs and offers."""

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import keraszoo

FOLDER = Path(keraszoo.__file__).parent
# What a room may import stands before it; `layers`, `models` and `search` know nothing of files and text.
ROOMS = {
    "errors": "",
    "messages": "",
    "saving": "errors",
    "shipping": "errors saving",
    "text": "errors saving shipping",
    "layers": "errors",
    "models": "errors layers",
    "search": "errors",
    "evaluation": "errors text",
    "plots": "errors saving text",
    "training": "errors messages saving text evaluation",
    "tasks": "errors messages saving shipping text models evaluation training",
    "translation": "errors messages saving shipping text models search evaluation training tasks",
    "tagging": "errors messages saving shipping text models evaluation training tasks",
    "answering": "errors saving text models training tasks",
    "cli": "errors messages saving shipping text plots tasks translation tagging answering",
    "__main__": "cli",
}


def rooms_imported(file):
    """The rooms that a file imports from, wherever in it."""
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


def test_every_file_has_its_room():
    entries = {path.name.removesuffix(".py") for path in FOLDER.iterdir() if path.suffix in ("", ".py")}
    assert entries - {"__init__", "__pycache__"} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_run_downwards(room):
    place = FOLDER / room
    allowed = {room, "__version__", *ROOMS[room].split()}
    for file in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
        assert set(rooms_imported(file)) <= allowed, file


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
