"""What the scripts that no other test runs take from the package is there."""

import ast
import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("benchmarks", "examples", "experiments")
SCRIPTS = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_that_is_imported_is_there(path):
    taken = [
        (node.module, name.name)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "keraszoo"
        for name in node.names
    ]
    missing = [f"{module}.{name}" for module, name in taken if not _is_there(module, name)]
    assert not missing


def _is_there(module, name):
    if hasattr(importlib.import_module(module), name):
        return True
    try:
        return bool(importlib.import_module(f"{module}.{name}"))
    except ImportError:
        return False


def test_start_up_exports_what_it_serves(monkeypatch):
    spec = importlib.util.spec_from_file_location("start_up", ROOT / "benchmarks" / "start_up.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    groups = []
    monkeypatch.setattr(module.subprocess, "run", lambda command, check: groups.append(command[2]))
    for given in (["serve"], ["serve", "export"], ["export", "fit", "serve"]):
        monkeypatch.setattr(sys, "argv", ["start_up.py", *given])
        module.main()
    assert groups == ["export", "serve", "export", "serve", "export", "export", "fit", "serve"]
