"""What imports what: no circles, and nothing heavy before it is needed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import asobiba

ROOT = Path(asobiba.__file__).parent


def module_name(path: Path) -> str:
    parts = ("asobiba", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> set[str]:
    """All modules that a file imports, at its top or in a function; not what only a type checker reads."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []
    found = set()
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def test_no_modules_import_each_other():
    files = {
        module_name(path): path
        for folder, _, names in os.walk(ROOT, followlinks=True)
        for path in (Path(folder, name) for name in names)
        if path.suffix == ".py"
    }
    packages = {name for name, path in files.items() if path.name == "__init__.py"}
    graph = {
        name: {other for other in imported(path) if other in files and other != name} for name, path in files.items()
    }
    for name, needs in graph.items():
        # `from asobiba.core import states` needs the module, not what its package offers.
        graph[name] = {
            other for other in needs if other not in packages or not any(n.startswith(other + ".") for n in needs)
        }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"these import each other: {' -> '.join(error.args[1])}") from None


def test_importing_asobiba_does_not_import_numba():
    code = "import sys, asobiba, asobiba.core; print('numba' in sys.modules, 'torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert result.stdout.split() == ["False", "False"]
