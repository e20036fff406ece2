"""The reference: a page for every public module, from its docstrings, which are Markdown.

What is public stands in `PUBLIC`, and of each module in its `__all__`. Sphinx's autodoc reads reStructuredText, so that the
pages are written here, with the directives of Sphinx's Python domain.
"""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cached_property
from types import ModuleType
from typing import Any

PUBLIC = {
    "asobiba": "Environments by name.",
    "asobiba.api": "The adaptors: one class for each ecosystem.",
    "asobiba.api.sb3": "For Stable-Baselines3 (the extra `sb3`).",
    "asobiba.api.openspiel": "For OpenSpiel (the extra `openspiel`).",
    "asobiba.api.render": "Pictures and films of games (films need the extra `render`).",
    "asobiba.core": "What a game and an agent declare; kernels and random numbers.",
    "asobiba.core.states": "One position: play on, look at it from a seat, copy, save, check.",
    "asobiba.core.elementary": "Sine, exponential and the like for kernels, with the same bytes on every machine.",
    "asobiba.arena.match": "A game between agents, and its record.",
    "asobiba.arena.playing": "Playing it.",
    "asobiba.arena.evaluation": "Many games between two agents, and what they tell.",
    "asobiba.learn.policy_file": "Policies on disk, without pickle.",
    "asobiba.conformance": "What every game is held to: for authors of games.",
}
"""Module -> what it holds, in one line."""

_SECTION = re.compile(r"^(Args|Arguments|Returns|Yields|Raises|Attributes|Note):\s*$")
_ENTRY = re.compile(r"^    (\S.*?): (.*)$")


def public_names(module: str) -> list[str]:
    """The public names of a module, in the order of the page: functions and classes by name."""
    return sorted(importlib.import_module(module).__all__, key=str.lower)


def markdown(text: str) -> str:
    """A docstring as Markdown: the sections of Google's style as lists, examples as code."""
    lines: list[str] = []
    section = example = False
    for line in inspect.cleandoc(text).split("\n"):
        if example and not line.strip():
            lines.append("```")
            example = False
        if line.startswith(">>> ") and not example:
            lines.append("```pycon")
            example = True
        if example:
            lines.append(line)
        elif found := _SECTION.match(line):
            lines += [f"**{found[1]}**", ""]
            section = True
        elif section and (entry := _ENTRY.match(line)):
            lines.append(f"* `{entry[1]}`: {entry[2]}")
        elif section and line.startswith("    "):
            lines.append(f"  {line.strip()}")
        else:
            section = section and not line.strip()
            lines.append(line)
    return "\n".join([*lines, "```"] if example else lines)


def signature(thing: Any) -> str:
    """The arguments of a function or class as they are written, or nothing where Python knows none."""
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "()"
    return re.sub(r"<[^<>]*object at 0x[0-9a-f]+>|<factory>", "...", text).replace("'", "")


def _directive(kind: str, head: str, body: str, depth: int, options: tuple[str, ...] = ()) -> str:
    fence = "`" * (8 - depth)
    settings = "".join(f":{option}:\n" for option in options)
    return f"{fence}{{py:{kind}}} {head}\n{settings}\n{body}\n{fence}\n"


def _members(owner: type) -> list[str]:
    found = []
    for name, member in sorted(vars(owner).items()):
        if name.startswith("_"):
            continue
        plain = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if isinstance(plain, (property, cached_property)):
            text = inspect.getdoc(plain if isinstance(plain, property) else plain.func)
            if text:
                found.append(_directive("property", name, markdown(text), 1))
        elif inspect.isfunction(plain) and (text := inspect.getdoc(plain)):
            options = [f"{type(member).__name__}"] if plain is not member else []
            found.append(_directive("method", f"{name}{signature(plain)}", markdown(text), 1, tuple(options)))
    return found


def text_of(module: ModuleType, name: str) -> str:
    """The docstring of a public name, or the string below the assignment that makes it."""
    thing = getattr(module, name)
    thing = getattr(thing, "py_func", thing)  # of what Numba has compiled
    made = not callable(thing) or getattr(thing, "__name__", "") == "<lambda>"
    if made:
        return _data_text(importlib.import_module(getattr(module, "_LAZY", {}).get(name, module.__name__)), name)
    return inspect.getdoc(thing) or ""


def describe(module: ModuleType, name: str) -> str:
    """The part of a page that describes one name of a module."""
    thing = getattr(module, name)
    thing = getattr(thing, "py_func", thing)
    text = text_of(module, name)
    if inspect.isclass(thing):
        kind = "exception" if issubclass(thing, Exception) else "class"
        body = "\n".join([markdown(text), "", *([] if kind == "exception" else _members(thing))])
        return _directive(kind, name + ("" if kind == "exception" else signature(thing)), body, 0)
    if callable(thing):
        return _directive("function", f"{name}{signature(thing)}", markdown(text), 0)
    return _directive("data", name, markdown(text), 0)


def _data_text(module: ModuleType, name: str) -> str:
    # The string that stands below an assignment.
    source = inspect.getsource(module)
    found = re.search(rf'^{name}\b[^\n]*=.*?^"""(.*?)"""', source, re.M | re.S)
    return found[1] if found else f"`{getattr(module, name)!r}`"


def module_page(name: str) -> str:
    """The page of a public module."""
    module = importlib.import_module(name)
    parts = [f"# {name}", "", markdown(module.__doc__ or ""), "", f"```{{py:module}} {name}\n```", ""]
    parts += [describe(module, public) for public in public_names(name)]
    return "\n".join(parts)


def write_pages() -> dict[str, str]:
    """All pages of the reference by their path on the site."""
    found = {f"api/{name}.md": module_page(name) for name in PUBLIC}
    listing = "\n".join(f"| [{name}]({name}.md) | {what} |" for name, what in PUBLIC.items())
    tree = "\n".join(PUBLIC)
    found["api/index.md"] = (
        "# Reference\n\n"
        "What stands here is public: it changes with a line in the changelog. Everything else may change at any time.\n\n"
        f"| module | what it holds |\n|---|---|\n{listing}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )
    return found
