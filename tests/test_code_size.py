"""Functions that can be read at once, and calls whose arguments say what they are. Exceptions give their reason.

The numbers only fall: who shortens an exception lowers its number here, or strikes it out.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import asobiba

ROOT = Path(asobiba.__file__).parent
MOST_LINES = 80
MOST_POSITIONAL = 9

LONG = {
    # A search without recursion, whose state is some forty local variables: machine code keeps them in registers, and a
    # part of it would have to be given and to return most of them.
    "baselines.search.alpha_beta_loops.search": 333,
    "baselines.bao.proof.search": 116,
    "baselines.search.uct_loops.simulate": 83,
    # The loop over one game, which every step of every environment runs through.
    "core.loops.games.run_game": 87,
}
"""Lines of code of the functions that speed excuses, without their docstrings."""


@cache
def sources() -> list[tuple[str, ast.Module]]:
    found = []
    for top in (ROOT, ROOT / "envs", ROOT / "baselines"):  # the last two are links, which rglob does not follow
        for path in sorted(top.resolve().rglob("*.py")):
            parts = (*top.relative_to(ROOT).parts, *path.relative_to(top.resolve()).with_suffix("").parts)
            if top == ROOT and parts[0] in ("envs", "baselines"):
                continue
            found.append((".".join(parts), ast.parse(path.read_text(encoding="utf-8"))))
    return found


def lines_of_code(function: ast.FunctionDef) -> int:
    first = function.body[0]
    text = first.end_lineno - first.lineno + 1 if ast.get_docstring(function) is not None else 0
    return function.end_lineno - function.lineno + 1 - text


def test_functions_are_short():
    long = {
        f"{module}.{node.name}": lines
        for module, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and (lines := lines_of_code(node)) > MOST_LINES
    }
    assert long == LONG


CROWDED = {
    # struct takes the fields of a message one by one, SQLAlchemy the columns of a table or a query.
    "arena.schema": 18,
    "arena.reading": 12,
    "envs.mini4wd.hardware.codec": 16,
}
"""The most positional arguments of a call in the modules that have reason to give more than nine."""


def test_calls_say_what_their_arguments_are():
    """Texts are not counted: lists of names and the words of commands say what they are."""
    crowded: dict[str, int] = {}
    for module, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                given = sum(not isinstance(getattr(word, "value", None), str) for word in node.args)
                if given > MOST_POSITIONAL:
                    crowded[module] = max(given, crowded.get(module, 0))
    assert crowded == CROWDED
