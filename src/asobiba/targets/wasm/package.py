"""Writes games as WebAssembly: for each a folder with modules and `game.json`, and around them an npm package.

A module holds the rules and agents for one layout: parameter sets (variants) whose records and arrays have the same
shapes share it, and differ in the bytes of their parameter record, which stand in `game.json`. JavaScript cannot run a
game's `layout`, so it offers only the parameter sets that were written, and explains how to write another.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from numba.core.errors import NumbaError

from asobiba.arena.match import action_dtype, parameters_text
from asobiba.arena.trust import make_trusted, trusted
from asobiba.core import AsobibaError, Game, GameParameterError, Ruleset, agent_declarations
from asobiba.core.agents import Agent, KernelAgent, Thinking, agent_packages
from asobiba.core.folders import cache_folder, sweep, touch, write_whole
from asobiba.core.identity import machine_code_identity
from asobiba.core.states import state_header
from asobiba.targets.wasm import digest, exports, numba_target, objects
from asobiba.targets.wasm.exports import agent_export, rules_exports, thinking_export
from asobiba.targets.wasm.objects import Export, link, object_code
from asobiba.targets.wasm.pictures import picture_exports, picture_tables

FORMAT = 1
_FILES = ("index.js", "index.d.ts", "README.md", "package.json")


Compilable = KernelAgent | Thinking


@dataclass
class Variant:
    """One parameter set of a game: its name in menus, and the agents that are compiled for it."""

    name: str
    ruleset: Ruleset
    agents: dict[str, Compilable] = field(default_factory=dict)


@cache
def _own_code() -> str:
    text = "".join(inspect.getsource(module) for module in (numba_target, objects, exports, digest))
    return hashlib.sha256(f"{llvmlite.__version__} {text}".encode()).hexdigest()


def cached_object(wanted: Sequence[Export]) -> bytes:
    """`object_code`, kept in the cache folder under the digest of all that it is made from."""
    made_from = repr([(export.name, export.types, export.arguments) for export in wanted]) + _own_code()
    name = machine_code_identity([export.function for export in wanted], made_from)
    path = cache_folder() / "wasm" / f"{name}.o"
    if path.is_file():
        touch(path)
        return path.read_bytes()
    found = object_code(wanted)
    write_whole(path, found)
    sweep(path.parent, "*.o", path)
    return found


def kernel_agents(
    ruleset: Ruleset, wanted: Sequence[str] | None = None
) -> tuple[dict[str, Compilable], dict[str, str]]:
    """The agents that do not need Python, by their text, and the reasons for leaving out the others.

    Args:
        wanted: agents as text (`name:key=value,...`); `None`: all that are declared.
    """
    found: dict[str, Compilable] = {}
    missing: dict[str, str] = {}
    for text in _portable(ruleset.game) if wanted is None else wanted:
        if not trusted(ruleset.game, text):
            if wanted is not None:
                raise GameParameterError(f"{text!r} is the agent of a package that is not trusted to run here")
            missing[text] = "comes from a package that is not trusted to run here"
            continue
        try:
            agent = make_trusted(ruleset.game, text)
            agent.prepare(ruleset)
            compilable = agent if isinstance(agent, KernelAgent) else _thinking(agent, ruleset)
        except (AsobibaError, ImportError, OSError) as error:
            if wanted is not None:
                raise
            missing[text] = str(error).partition("\n")[0]
            continue
        if compilable is not None:
            found[text] = compilable
        else:
            missing[text] = _why_python(agent)
    return found, missing


def _portable(game: Game) -> list[str]:
    """All agents of a game, with the parameters that let them play without Python."""
    return [f"{name}:{one.portable}" if one.portable else name for name, one in agent_declarations(game).items()]


def _thinking(agent: Agent, ruleset: Ruleset) -> Thinking | None:
    """The compiled form of an agent that is not a kernel: its own, or what its package has for its class."""
    found = agent.thinking(ruleset)
    for package in agent_packages(ruleset.game.name):
        if found is None and importlib.util.find_spec(f"{package}.compiled") is not None:
            make = importlib.import_module(f"{package}.compiled").COMPILED.get(type(agent))
            found = None if make is None else make(agent, ruleset)
    return found


def _why_python(agent: Agent) -> str:
    kind = type(agent)
    what = (inspect.getdoc(kind) or "").partition("\n")[0].rstrip(".")
    return f"thinks in Python, {kind.__module__}.{kind.__qualname__}{': ' + what if what else ''}"


def _layout(ruleset: Ruleset) -> str:
    """The common part of rulesets that share a module."""
    return repr(
        (
            ruleset.dtype.descr,
            ruleset.params.dtype.descr,
            ruleset.mask_shape,
            ruleset.actions_shape,
            str(ruleset.action_dtype),
            ruleset.observation_size,
            str(ruleset.observation_space.dtype),
        )
    )


def write_game(
    folder: Path,
    variants: Sequence[Variant],
    missing: Mapping[str, str],
    report: Callable[[str], None] = lambda text: None,
    *,
    pictures: bool = False,
) -> dict[str, Any]:
    """Writes the modules and `game.json` of one game into `folder`; returns the contents of `game.json`.

    Args:
        variants: of one game, the first as its defaults.
        missing: agents that are left out, with the reason.
        report: called with a message on what is compiled.
        pictures: whether the game's drawing is compiled too (`asobiba.api.scene`).

    Raises:
        WasmError: where a module cannot be linked.
    """
    game = variants[0].ruleset.game
    modules: dict[str, Any] = {}
    names: dict[str, str] = {}
    exported: dict[str, dict[str, str]] = {}
    left_out = dict(missing)
    folder.mkdir(parents=True, exist_ok=True)
    for layout in dict.fromkeys(_layout(variant.ruleset) for variant in variants):
        sharing = [variant for variant in variants if _layout(variant.ruleset) == layout]
        report(f"{game.name}, {sharing[0].name}: rules and {len(sharing[0].agents)} agents")
        name, content, about, entries = _module(sharing, left_out, pictures)
        exported |= entries
        (folder / name).write_bytes(content)
        modules[name], names[layout] = about, name
    for old in folder.glob("*.wasm"):
        if old.name not in modules:
            old.unlink()
    declared = agent_declarations(game)
    here = dict.fromkeys(text for variant in variants for text in variant.agents)
    manifest = {
        "format": FORMAT,
        "asobiba": version("asobiba"),
        "game": game.name,
        "version": game.version,
        "title": game.title,
        "turns": game.turns,
        "information": game.information,
        "defaults": json.loads(parameters_text(variants[0].ruleset.game.ruleset().parameters)),
        "modules": modules,
        "rulesets": [
            _ruleset(one, names[_layout(one.ruleset)], exported[one.name])
            | ({"picture": picture_tables(one.ruleset)} if pictures else {})
            for one in variants
        ],
        "agents": {text: _agent(declared.get(text.partition(":")[0])) for text in here},
        "missing": left_out,
    }
    (folder / "game.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return manifest


def _module(
    sharing: Sequence[Variant], missing: dict[str, str], pictures: bool
) -> tuple[str, bytes, dict[str, Any], dict[str, dict[str, str]]]:
    """The module of one layout: its file name, its bytes, its entry in `game.json`, by variant the agents' exports."""
    ruleset = sharing[0].ruleset
    rules = rules_exports(ruleset)
    parts, exported = [cached_object(rules)], [export.name for export in rules]
    if pictures:
        drawn = picture_exports(ruleset)
        parts.append(cached_object(drawn))
        exported += [export.name for export in drawn]
    entries: dict[str, dict[str, str]] = {variant.name: {} for variant in sharing}
    known: dict[tuple[Any, str], str] = {}
    for variant in sharing:
        for text, agent in variant.agents.items():
            export = _export(ruleset, agent, f"act_{len(known)}")
            key = export.function if isinstance(agent, Thinking) else agent.policy, repr(export.arguments)
            if key not in known:
                try:
                    parts.append(cached_object([export]))
                except NumbaError as error:
                    missing[text] = f"it does not compile without Python: {str(error).strip().splitlines()[-1]}"
                    continue
                known[key] = export.name
                exported.append(export.name)
            entries[variant.name][text] = known[key]
    content = link(parts, exported)
    about: dict[str, Any] = {
        "size": len(content),
        "digest": hashlib.blake2b(content, digest_size=32).hexdigest(),
        "state": {"size": ruleset.dtype.itemsize, "fields": _fields(ruleset.dtype)},
    }
    return f"{ruleset.game.name}-{about['digest'][:12]}.wasm", content, about, entries


def _export(ruleset: Ruleset, agent: Compilable, name: str) -> Export:
    return thinking_export(ruleset, agent, name) if isinstance(agent, Thinking) else agent_export(ruleset, agent, name)


def _belongings(ruleset: Ruleset, agent: Compilable) -> dict[str, Any]:
    """The memory of an agent in a game: its memory record, or its arrays (without contents that are zero)."""
    if isinstance(agent, KernelAgent):
        return {"memory": _text(agent.initial_for(ruleset))}
    arrays = [
        {"size": one.nbytes, "content": _text(one) if one.tobytes().strip(b"\0") else ""}
        for one in agent.arrays.values()
    ]
    generator = list(agent.arrays).index(agent.generator) if agent.generator else -1
    return {"arrays": arrays, "generator": generator, **({"seated": True} if agent.seated else {})}


def _fields(dtype: np.dtype) -> dict[str, Any]:
    assert dtype.fields is not None
    return {
        name: {"at": entry[1], "type": entry[0].base.name, "shape": list(entry[0].shape)}
        for name, entry in dtype.fields.items()
        if not name.startswith("_pad")
    }


def _text(data: np.ndarray) -> str:
    return base64.b64encode(data.tobytes()).decode()


def _ruleset(variant: Variant, module: str, exported: Mapping[str, str]) -> dict[str, Any]:
    """The entry of one parameter set in `game.json`."""
    ruleset = variant.ruleset
    blank = ruleset.zeros()
    box: Any = None if ruleset.discrete else ruleset.action_space
    return {
        "name": variant.name,
        "parameters": json.loads(parameters_text(ruleset.parameters)),
        "module": module,
        "players": list(ruleset.players),
        "maxSteps": ruleset.max_steps,
        "numActions": ruleset.num_actions if ruleset.discrete else 0,
        "box": None if box is None else {"low": box.low.ravel().tolist(), "high": box.high.ravel().tolist()},
        "masks": list(ruleset.mask_shape),
        "actions": list(ruleset.actions_shape),
        "actionType": ruleset.action_dtype.name,
        "recordType": action_dtype(ruleset).name,
        "observation": {
            "type": ruleset.observation_space.dtype.name if ruleset.observation_space.dtype else "",
            "size": ruleset.observation_size,
            "channels": {name: list(shape) for name, shape in ruleset.layout.observation.items()},
        },
        "illegalReward": float(np.float32(ruleset.game.illegal_reward)),
        "zeroSum": ruleset.game.utility == "zero_sum",
        "params": _text(ruleset.params),
        "blank": _text(blank) if any(blank.tobytes()) else "",
        "header": state_header(ruleset),
        "agents": {
            text: {"export": export, **_belongings(ruleset, variant.agents[text])} for text, export in exported.items()
        },
    }


def _agent(declaration: Any) -> dict[str, Any]:
    if declaration is None:
        return {"description": "", "source": "", "deterministic": False}
    return {
        "description": declaration.description,
        "source": declaration.source,
        "deterministic": declaration.deterministic,
    }


def write_package(folder: Path) -> None:
    """Writes the JavaScript, its types, the README and `package.json` around the games in `folder/games`."""
    place = files("asobiba.targets.wasm") / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        text = (place / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("@VERSION@", version("asobiba")), encoding="utf-8")
