"""The graph of imports: no circles, no arrow that runs up the layers, and nothing heavy before it is needed."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import asobiba

ROOT = Path(asobiba.__file__).parent
PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"


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
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found |= {word.value for word in node.args[:1] if isinstance(word, ast.Constant)}
    return found


@cache
def graph() -> dict[str, set[str]]:
    """Every module of the package, the games and the agents, with the modules that it imports."""
    files = {
        module_name(path): path
        for folder, _, names in os.walk(ROOT, followlinks=True)
        for path in (Path(folder, name) for name in names)
        if path.suffix == ".py"
    }
    packages = {name for name, path in files.items() if path.name == "__init__.py"}
    found = {}
    for name, path in files.items():
        needs = {other for other in imported(path) if other in files and other != name}
        # `from asobiba.core import states` needs the module, not what its package offers.
        found[name] = {o for o in needs if o not in packages or not any(n.startswith(o + ".") for n in needs)}
    return found


def layers() -> list[str]:
    """The modules and folders of `src/asobiba` in the order of the architecture's map."""
    text = PAGE.read_text(encoding="utf-8").partition("    src/asobiba/")[2].partition("    envs/<game>/")[0]
    return re.findall(r"^ {8}(\w+)(?:\.py|/) ", text, flags=re.MULTILINE)


def forbidden(name: str, other: str, order: list[str]) -> bool:
    """Whether a module may not import another, as the architecture says."""
    (_, top, *rest), (_, below, *game) = name.split("."), other.split(".")
    if top == "envs":
        return below not in ("core", "api") and (below, *game[:1]) != ("envs", *rest[:1])
    if top == "baselines":
        if below in ("envs", "baselines"):
            return game[:1] not in (rest[:1], ["search"])
        return order.index(below) >= order.index("cli")
    return below in ("envs", "baselines") or order.index(below) > order.index(top)


def test_the_graph_holds_all_files():
    """The links are followed: nothing of the games and agents is left out."""
    top = ROOT.parent.parent
    for folder in ("envs", "baselines"):
        for path in (top / folder).rglob("*.py"):
            parts = path.relative_to(top).with_suffix("").parts
            assert ".".join(("asobiba", *parts)).removesuffix(".__init__") in graph()


def test_no_modules_import_each_other():
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        raise AssertionError(f"these import each other: {' -> '.join(error.args[1])}") from None


def test_no_import_runs_up_the_layers():
    order = layers()
    tops = {name.split(".")[1] for name in graph() if name != "asobiba"} - {"envs", "baselines"}
    assert sorted(order) == sorted(tops), "the map of docs/architecture.md names every module and folder once"
    arrows = [(name, other) for name, needs in graph().items() for other in needs if name != "asobiba"]
    assert len(arrows) > 1000
    up = [f"{name} -> {other}" for name, other in arrows if other == "asobiba" or forbidden(name, other, order)]
    assert up == [], "see docs/architecture.md: imports go to what stands above in the map"


def test_importing_asobiba_does_not_import_numba():
    code = "import sys, asobiba, asobiba.core; print('numba' in sys.modules, 'torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert result.stdout.split() == ["False", "False"]
