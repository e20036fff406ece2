"""Sources of a page or a league: the digest of the modules of a game and its agents, the same on every machine.

A digest covers these modules, what they import of games and agents (at their top and inside functions), and the data
beside them of the kinds that they name (such as `.yml`). Of what all games share it covers the loops over games, the
laws and the random numbers, and the compiled functions that games and agents reach, with all that these reach. As in the
cache of compiled code it is the syntax tree that counts (see `asobiba.core.trees`), not comments, docstrings and layout.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asobiba.core.trees import Definition, Tree

_DATA = {".csv", ".json", ".npz", ".safetensors", ".tbsmap", ".txt", ".yaml", ".yml"}
_NO_SOURCES = re.compile(
    r"league\.yml|training.*\.yml|(gumbel_az|dqn|qrdqn|recurrent_ppo|sac|tqc|crossq).*\.yml|references\.yml"
    r"|config\.yml|run\.json|start\.json|(curve|practice|imitation)\.csv"
)
"""Data that says how an agent was made, not how it plays."""
_SHARED = ("asobiba.core.laws", "asobiba.core.loops.games", "asobiba.core.random")
"""Modules by which every game is played."""
_BOUND = {"asobiba.learn.search_agent": ("asobiba.learn.search", "asobiba.learn.search_loops")}
"""Modules that agents import, and those whose compiled loops are bound to a game only when such an agent plays."""
_PLAIN = {
    "abstractmethod",
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "lru_cache",
    "overload",
    "property",
}
_PLAIN |= {"setter", "singledispatch", "staticmethod", "wraps"}
"""Decorators of plain Python; all others compile."""
_HOW = {f"asobiba.core.{name}" for name in ("cache", "kernels", "surgery", "symbols", "targets")}
"""Modules that decide how code is compiled, which does not change what it plays."""


@cache
def _folders() -> dict[str, Path]:
    """Packages of games and agents: name and folder."""
    found = {}
    for name in ("asobiba.envs", "asobiba.baselines"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            found[name] = Path(next(iter(spec.submodule_search_locations)))
    return found


def _below(folder: Path, parts: list[str]) -> Path | None:
    place = folder.joinpath(*parts)
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if file.is_file():
            return file
    return None


def _file(module: str, folders: dict[str, Path]) -> Path | None:
    """The file of a module of a game or of agents, or `None` for any other."""
    for package, folder in folders.items():
        if module.startswith(f"{package}."):
            return _below(folder, module[len(package) + 1 :].split("."))
    return None


def _tree(module: str, file: Path) -> Tree:
    from asobiba.core.trees import tree_of  # late: the command line imports this module after every command

    tree = tree_of(file, module if file.name == "__init__.py" else module.rpartition(".")[0])
    if tree is None:
        raise SyntaxError(f"{file} cannot be read as Python")
    return tree


def source_files(modules: Iterable[str], folders: dict[str, Path] | None = None) -> dict[str, Path]:
    """The files that these modules come from, by names that do not depend on where they lie: their own, those of the
    games and agents that they import, and the data beside them of the kinds that they name (such as `.yml`)."""
    folders = _folders() if folders is None else folders
    found: dict[str, Path] = {}
    endings: dict[str, set[str]] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        file = _file(module, folders)
        if file is None or module in found:
            continue
        found[module] = file
        tree = _tree(module, file)
        endings.setdefault(".".join(module.split(".")[:3]), set()).update(tree.endings)
        waiting += tree.imports
    for package, named in endings.items():
        parent, _, game = package.rpartition(".")
        for file in (folders[parent] / game).rglob("*"):
            if file.suffix in _DATA and file.suffix in named and not _NO_SOURCES.fullmatch(file.name):
                found[f"{package}/{file.relative_to(folders[parent] / game).as_posix()}"] = file
    return found


def _is_played(definition: Definition) -> bool:
    """Whether a definition is compiled code or a constant, and not what declares, seats or shows games."""
    if definition.kind == "class":
        return any(chain[-1].endswith("Enum") for chain in definition.chains)
    return definition.kind == "value" or bool({*definition.decorators} - _PLAIN)


class _Shared:
    """Shared code that games and agents reach, definition by definition."""

    def __init__(self, root: Path) -> None:
        self.found: dict[str, str] = {}
        self._root = root
        self._waiting: list[tuple[str, str]] = []

    def tree(self, module: str) -> Tree | None:
        """The tree of a module that all games share, or `None` for any other."""
        parts = module.split(".")
        if parts[0] != "asobiba" or parts[1:2] in (["envs"], ["baselines"]):
            return None
        file = _below(self._root, parts[1:])
        return None if file is None else _tree(module, file)

    def follow(self, tree: Tree, everything: bool) -> None:
        """Definitions behind a module's names; only compiled functions and constants, or `everything`."""
        for chain in tree.chains:
            self._enter(tree, chain, everything)
        while self._waiting:
            self._define(*self._waiting.pop())

    def _enter(self, tree: Tree, chain: tuple[str, ...], everything: bool) -> None:
        for target in tree.bound.get(chain[0], []):
            self._resolve(target[0], [*target[1:], *chain[1:]], everything)

    def _resolve(self, module: str, names: list[str], everything: bool) -> None:
        if module in _HOW or not names or (tree := self.tree(module)) is None:
            return
        if (definition := tree.names.get(names[0])) is not None:
            if everything or _is_played(definition):
                self._waiting.append((module, names[0]))
        elif names[0] in tree.bound:
            self._enter(tree, tuple(names), everything)
        else:
            self._resolve(f"{module}.{names[0]}", names[1:], everything)

    def _define(self, module: str, name: str) -> None:
        if f"{module}:{name}" in self.found:
            return
        tree = self.tree(module)
        assert tree is not None
        definition = tree.names[name]
        self.found[f"{module}:{name}"] = definition.digest
        for chain in definition.chains:
            if chain[0] in tree.names:
                self._waiting.append((module, chain[0]))
            self._enter(tree, chain, everything=True)


def sources_digest(modules: Iterable[str], folders: dict[str, Path] | None = None, root: Path | None = None) -> str:
    """The digest of what these modules come from (see `source_files`), and of what they reach of the code that all games
    share, which lies in `root`: 16 hexadecimal digits."""
    shared = _Shared(Path(__file__).parent if root is None else root)
    digest = hashlib.blake2b(digest_size=8)
    played = set(_SHARED)
    for name, file in sorted(source_files(modules, folders).items()):
        if file.suffix == ".py":
            tree = _tree(name, file)
            played.update(*(_BOUND.get(module, ()) for module in tree.imports))
            shared.follow(tree, everything=False)
            content = tree.digest
        else:
            content = hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
        digest.update(json.dumps([name, content]).encode())
    for module in sorted(played):
        found = shared.tree(module)
        if found is not None:
            shared.follow(found, everything=True)
            digest.update(json.dumps([module, found.digest]).encode())
    digest.update(json.dumps(sorted(shared.found.items())).encode())
    return digest.hexdigest()


def league_modules(game_name: str) -> tuple[str, ...]:
    """Modules that the games of a league come from: the game's declaration and rules, and its agents."""
    from asobiba.core.agents import agent_packages
    from asobiba.core.registry import game

    found = game(game_name)
    return found.package, found.rules.__name__, *agent_packages(game_name)


@cache
def league_digest(game_name: str) -> str | None:
    """The digest of what the games of a league come from, or `None` for a game of another package."""
    modules = league_modules(game_name)
    return sources_digest(modules) if _file(modules[0], _folders()) is not None else None
