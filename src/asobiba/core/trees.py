"""Syntax trees of Python files: identify functions, constants and modules regardless of comments and layout.

A tree is identified by a digest of its text, which covers every token but comments, docstrings, blank lines and line
breaks. Parsing takes longer than importing, so a file's result is kept in the cache folder, under the digest of the
file's whole text.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from asobiba.core.folders import cache_folder, sweep, touch, write_whole

_FORM = 2
"""Increased when this module reads files in another way."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

Chain = tuple[str, ...]
"""A name and the attributes read from it: `np.int8` is `("np", "int8")`."""


@dataclass
class Definition:
    """A function, a class or a value: the digest of its tree, the names that it mentions, the words in it (of functions
    alone), and its decorators."""

    kind: str
    digest: str
    chains: list[Chain] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    decorators: list[str] = field(default_factory=list)


@dataclass
class Tree:
    """Content of a file.

    Args:
        digest: of the whole module.
        functions: by `qualified.name@line`, as a code object knows them (of its first decorator's line).
        classes: by qualified name.
        names: definitions at the top of the module, by name; statements without a name count towards all.
        imports: the modules that it may import, at its top and inside functions.
        bound: local name -> what it may be imported from: a module, or a module and a name in it.
        chains: all names that the module mentions.
        endings: the endings of file names in its texts, such as `.yml`.
    """

    digest: str
    functions: dict[str, Definition]
    classes: dict[str, Definition]
    names: dict[str, Definition]
    imports: list[str]
    bound: dict[str, list[list[str]]]
    chains: list[Chain]
    endings: list[str]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *_FUNCTIONS, ast.ClassDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                del node.body[0]
    return tree


def _text(value: object) -> str:
    # Not `ast.dump`: what it leaves out differs between versions of Python. Empty fields are left out here: a version
    # that knows more fields (such as those of type parameters) writes the same.
    if isinstance(value, ast.AST):
        fields = ((name, getattr(value, name, None)) for name in value._fields if name != "type_comment")
        shown = ",".join(f"{name}={_text(found)}" for name, found in fields if found is not None and found != [])
        return f"{type(value).__name__}({shown})"
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    return repr(value)


def _chains(node: ast.AST) -> list[Chain]:
    found: set[Chain] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        attributes: list[str] = []
        end: ast.AST = part
        while isinstance(end, ast.Attribute):
            attributes.append(end.attr)
            end = end.value
        if isinstance(end, ast.Name):
            found.add((end.id, *reversed(attributes)))
        else:
            waiting += ast.iter_child_nodes(end)
    return sorted(found)


def _words(node: ast.AST) -> list[str]:
    """Every word of a tree that a code object may have among its names."""
    found: set[str] = set()
    for part in ast.walk(node):
        for _, value in ast.iter_fields(part):
            for word in value if isinstance(value, list) else [value]:
                if isinstance(word, str):
                    found.update([word, *word.split(".")])
    return sorted(found)


def _definition(node: ast.AST) -> Definition:
    called = [getattr(decorator, "func", decorator) for decorator in getattr(node, "decorator_list", [])]
    decorators = [chain[-1] for decorator in called for chain in _chains(decorator)]
    words = _words(node) if isinstance(node, (*_FUNCTIONS, ast.Lambda)) else []
    kind = "class" if isinstance(node, ast.ClassDef) else "function" if isinstance(node, _FUNCTIONS) else "value"
    return Definition(kind, _digest(_text(node)), _chains(node), words, decorators)


def _walk_definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Functions, lambdas and classes with their qualified names."""
    for child in ast.iter_child_nodes(node):
        name = getattr(child, "name", "<lambda>")
        if isinstance(child, ast.ClassDef):
            yield prefix + name, child
            yield from _walk_definitions(child, f"{prefix}{name}.")
        elif isinstance(child, (*_FUNCTIONS, ast.Lambda)):
            yield prefix + name, child
            yield from _walk_definitions(child, f"{prefix}{name}.<locals>.")
        else:
            yield from _walk_definitions(child, prefix)


def _merged(old: Definition | None, new: Definition) -> Definition:
    """Merges two definitions of one name; only a run decides which one holds, so both count."""
    if old is None:
        return new
    return Definition(
        new.kind,
        _digest(old.digest + new.digest),
        sorted({*old.chains, *new.chains}),
        sorted({*old.words, *new.words}),
        [*old.decorators, *new.decorators],
    )


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that a module runs, those inside `if`, `try`, `with` and loops too."""
    for statement in body:
        yield statement
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _top_level(getattr(statement, part, []))
        for handler in getattr(statement, "handlers", []):
            yield from _top_level(handler.body)


def _names(module: ast.Module) -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    for statement in _top_level(module.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            names = {statement.name}
        else:  # `TABLE[0] = 1` and `fill(TABLE)` change the value of a name too
            plain = isinstance(statement, (ast.Assign, ast.AnnAssign))
            mentioned = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            names = {name.id for name in mentioned if isinstance(name.ctx, ast.Store)} if plain else set()
            names = names or {name.id for name in mentioned}
        definition = _definition(statement)
        for name in names:
            found[name] = _merged(found.get(name), definition)
    return found


def _imports(module: ast.Module, package: str) -> tuple[list[str], dict[str, list[list[str]]]]:
    imports: set[str] = set()
    bound: dict[str, list[list[str]]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imports.add(alias.name)
                first = alias.name.partition(".")[0]
                bound.setdefault(alias.asname or first, []).append([alias.name if alias.asname else first])
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parent, *filter(None, [base])])
            imports.add(base)
            for alias in node.names:
                imports.add(f"{base}.{alias.name}")
                bound.setdefault(alias.asname or alias.name, []).append([base, alias.name])
    return sorted(imports), bound


def read_tree(text: str, package: str = "") -> Tree:
    """Content of a file of this text; `package` is the base of its relative imports.

    Raises:
        SyntaxError: if it is not Python.
    """
    module = _without_docstrings(ast.parse(text))
    functions: dict[str, Definition] = {}
    classes: dict[str, Definition] = {}
    for name, node in _walk_definitions(module):
        if isinstance(node, ast.ClassDef):
            classes[name] = _merged(classes.get(name), _definition(node))
        else:
            lines = [node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))]  # type: ignore[attr-defined]
            key = f"{name}@{min(lines)}"
            functions[key] = _merged(functions.get(key), _definition(node))
    imports, bound = _imports(module, package)
    constants = (n.value for n in ast.walk(module) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    endings = {ending for constant in constants for ending in re.findall(r"\.\w+", constant)}
    return Tree(
        _digest(_text(module)), functions, classes, _names(module), imports, bound, _chains(module), sorted(endings)
    )


_READ: dict[str, tuple[tuple[int, int], Tree | None]] = {}


def tree_of(file: str | os.PathLike[str], package: str = "") -> Tree | None:
    """Content of a file, or `None` where there is no such file, or it is not Python."""
    file = os.fspath(file)
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    state = status.st_mtime_ns, status.st_size
    if file in _READ and _READ[file][0] == state:
        return _READ[file][1]
    try:
        tree = _kept(Path(file).read_bytes(), package)
    except (OSError, SyntaxError, ValueError):
        tree = None
    _READ[file] = state, tree
    return tree


@cache
def _own() -> bytes:
    """This module and Python's version; a kept tree depends on them besides the file."""
    return f"{_FORM} {sys.version_info[:2]} ".encode()


def _kept(content: bytes, package: str) -> Tree:
    key = hashlib.blake2b(_own() + package.encode() + b"\0" + content, digest_size=16).hexdigest()
    try:
        path = cache_folder() / "trees" / f"{key}.json"
        tree = _from_json(json.loads(path.read_bytes()))
        touch(path)
        return tree
    except (OSError, ValueError, TypeError, KeyError):
        tree = read_tree(content.decode("utf-8-sig"), package)
    with suppress(OSError):  # a read-only cache works all the same
        write_whole(path, json.dumps(asdict(tree)).encode())
        sweep(path.parent, "*.json", path)
    return tree


def _from_json(found: dict[str, Any]) -> Tree:
    def definition(value: dict[str, Any]) -> Definition:
        return Definition(
            value["kind"], value["digest"], [tuple(c) for c in value["chains"]], value["words"], value["decorators"]
        )

    for part in ("functions", "classes", "names"):
        found[part] = {name: definition(value) for name, value in found[part].items()}
    found["chains"] = [tuple(chain) for chain in found["chains"]]
    return Tree(**found)
