"""`import keraszoo` is cheap, and packages import each other in one direction only."""

import ast
import graphlib
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import keraszoo

FOLDER = Path(keraszoo.__file__).parent
# package -> the packages it may import. `layers`, `models` and `search` do not know files and text.
PACKAGES = {
    "compiling": "",
    "errors": "",
    "messages": "",
    "registry": "",
    "saving": "errors layers messages",
    "shipping": "errors messages saving",
    "text": "errors messages saving shipping",
    "layers": "errors",
    "models": "errors layers",
    "search": "errors messages layers",
    "evaluation": "errors messages text",
    "converters": "errors messages saving shipping text models search",
    "plots": "errors saving text",
    "training": "errors messages saving text",
    "recipes": "errors messages registry saving shipping text plots training",
    "tasks": "errors messages registry saving shipping text plots models evaluation training",
    "translation": "compiling errors messages registry saving shipping text plots layers models search "
    "evaluation training recipes tasks converters",
    "tagging": "compiling errors messages registry saving shipping text plots models evaluation training "
    "recipes tasks",
    "answering": "errors messages saving text models training recipes tasks",
    "serving": "errors messages registry saving shipping text",
    "playground": "errors registry saving serving text layers tagging",
    "cli": "errors messages registry saving shipping text plots recipes tasks converters translation tagging "
    "answering serving playground",
    "__main__": "cli",
}


def imported(file):
    """Yields the dotted names below `keraszoo` that a file imports, at any place in the file."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.startswith("keraszoo."))


def test_every_package_is_listed():
    entries = {path.name.removesuffix(".py") for path in FOLDER.iterdir() if path.suffix in ("", ".py")}
    assert entries - {"__init__", "__pycache__"} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_run_downwards(package):
    place = FOLDER / package
    allowed = {package, "__version__", *PACKAGES[package].split()}
    for file in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
        assert {name.split(".")[1] for name in imported(file)} <= allowed, file


def test_no_import_leads_back_to_its_module():
    modules = {
        ".".join(file.relative_to(FOLDER.parent).with_suffix("").parts).removesuffix(".__init__"): file
        for file in FOLDER.rglob("*.py")
    }
    del modules["keraszoo"]  # imports the others when they are used
    graph = {
        module: {name if name in modules else name.rpartition(".")[0] for name in imported(file)}
        for module, file in modules.items()
    }
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


CODE_LOADERS = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "runpy", "code"}
RUN_OR_UNPICKLE = set("eval exec compile __import__ load_model unsafe_load full_load system".split())


def unsafe_parts(tree):
    """Yields what may run code of a file that it reads: imports, calls, and arguments of calls."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            yield from {name for module in modules for name in module.split(".")} & CODE_LOADERS
        elif isinstance(node, ast.Call):
            function = node.func
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            owner = getattr(getattr(function, "value", None), "id", "")
            if name in RUN_OR_UNPICKLE and (owner, name) not in ALLOWED:
                yield name
            arguments = {argument.arg: ast.unparse(argument.value) for argument in node.keywords}
            if owner in ("np", "numpy") and name == "load" and arguments.get("allow_pickle") != "False":
                yield "np.load"
            if owner == "yaml" and name == "load" and "Loader" not in arguments:
                yield "yaml.load"
            if arguments.get("shell") == "True" or arguments.get("safe_mode", "True") != "True":
                yield "shell or safe_mode"


ALLOWED = {("re", "compile"), ("model", "compile")}


def test_nothing_runs_code_that_comes_with_a_file():
    """No pickle, no `eval`, no Keras archive: a model directory, a recipe or a text holds data only."""
    for file in sorted(FOLDER.rglob("*.py")):
        assert list(unsafe_parts(ast.parse(file.read_text()))) == [], file


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from joblib import load",
        "import keras; keras.models.load_model(path)",
        "np.load(path, allow_pickle=True)",
        "np.load(path)",
        "eval(text)",
        "yaml.load(file)",
        "subprocess.run(line, shell=True)",
    ],
)
def test_it_would_notice(code):
    assert list(unsafe_parts(ast.parse(code)))


def test_every_requirement_is_locked():
    locked = (FOLDER.parent / "constraints.txt").read_text()
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]
    required = sum(project["optional-dependencies"].values(), project["dependencies"])
    names = {re.match(r"[\w-]+", one)[0].replace("_", "-") for one in required} - {"keraszoo"}
    assert {name for name in names if not re.search(rf"^{name}==", locked, re.MULTILINE)} == set()
    assert "://" not in locked


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
