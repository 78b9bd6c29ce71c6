"""What the scripts that no other test runs take from the package is there."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted(path for room in ("benchmarks", "examples") for path in (ROOT / room).rglob("*.py"))


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
