"""What a page or a league came from: the modules of a game and its agents, told by the digest of their sources.

A digest covers these modules, what they import of games and agents (at their top and inside functions), and the data
beside them of the kinds that they name (such as `.yml`); comments, docstrings and layout do not count, nor does what is
shared by all games.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_DATA = {".csv", ".json", ".npz", ".safetensors", ".tbsmap", ".txt", ".yaml", ".yml"}
_NO_SOURCES = re.compile(
    r"league\.yml|training.*\.yml|references\.yml|config\.yml|run\.json|(curve|practice|imitation)\.csv"
)
"""Data that says how an agent was made, not how it plays."""


@cache
def _folders() -> dict[str, Path]:
    """Where games and agents lie: the package's name and its folder."""
    found = {}
    for name in ("asobiba.envs", "asobiba.baselines"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            found[name] = Path(next(iter(spec.submodule_search_locations)))
    return found


def _file(module: str, folders: dict[str, Path]) -> Path | None:
    """The file of a module of a game or of agents, or `None` for any other."""
    for package, folder in folders.items():
        if module.startswith(f"{package}."):
            place = folder.joinpath(*module[len(package) + 1 :].split("."))
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file.is_file():
                    return file
    return None


def _imported(tree: ast.AST) -> Iterable[str]:
    """The modules that a module may import, at its top and inside its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _essence(text: str) -> str:
    """Python without comments, docstrings and layout: its syntax tree as text."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                del node.body[0]
    return _dump(tree)


def _dump(value: object) -> str:
    # Not `ast.dump`: what it leaves out differs between versions of Python. Empty fields are left out here: a version
    # that knows more fields (such as those of type parameters) writes the same.
    if isinstance(value, ast.AST):
        fields = ((name, getattr(value, name, None)) for name in value._fields if name != "type_comment")
        shown = ",".join(f"{name}={_dump(found)}" for name, found in fields if found is not None and found != [])
        return f"{type(value).__name__}({shown})"
    if isinstance(value, list):
        return f"[{','.join(map(_dump, value))}]"
    return repr(value)


def source_files(modules: Iterable[str], folders: dict[str, Path] | None = None) -> dict[str, Path]:
    """The files that these modules come from, by names that do not depend on where they lie: their own, those of the
    games and agents that they import, and the data beside them of the kinds that they name (such as `.yml`)."""
    folders = _folders() if folders is None else folders
    found: dict[str, Path] = {}
    texts: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        file = _file(module, folders)
        if file is None or module in found:
            continue
        found[module] = file
        text = file.read_text(encoding="utf-8")
        package = ".".join(module.split(".")[:3])
        texts[package] = texts.get(package, "") + _essence(text)
        waiting += _imported(ast.parse(text))
    for package, text in texts.items():
        parent, _, game = package.rpartition(".")
        for file in (folders[parent] / game).rglob("*"):
            if file.suffix in _DATA and file.suffix in text and not _NO_SOURCES.fullmatch(file.name):
                found[f"{package}/{file.relative_to(folders[parent] / game).as_posix()}"] = file
    return found


def sources_digest(modules: Iterable[str], folders: dict[str, Path] | None = None) -> str:
    """The digest of what these modules come from (see `source_files`): 16 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=8)
    for name, file in sorted(source_files(modules, folders).items()):
        content = _essence(file.read_text(encoding="utf-8")).encode() if file.suffix == ".py" else file.read_bytes()
        digest.update(json.dumps([name, hashlib.blake2b(content, digest_size=16).hexdigest()]).encode())
    return digest.hexdigest()


def league_modules(game_name: str) -> tuple[str, ...]:
    """What the games of a league come from: the game's declaration and rules, and its agents."""
    from asobiba.core.agents import agent_packages
    from asobiba.core.registry import game

    found = game(game_name)
    return found.package, found.rules.__name__, *agent_packages(game_name)


@cache
def league_digest(game_name: str) -> str | None:
    """The digest of what the games of a league come from, or `None` for a game of another package."""
    modules = league_modules(game_name)
    return sources_digest(modules) if _file(modules[0], _folders()) is not None else None
