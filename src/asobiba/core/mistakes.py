"""Finds an author's mistakes in a game without playing: compares the declaration with the rules.

`asobiba.core.trial` plays a few games as well; the command `asobiba check` does both, and tests the compiled game too.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from asobiba.core.errors import GameMistake
from asobiba.core.loops import placeholder
from asobiba.core.places import function_of, nearest, place_of

if TYPE_CHECKING:
    from asobiba.core.game import Game, Ruleset

NEEDED = ("reset", "step", "observe", "valid")
OPTIONAL = ("legal", "is_legal", "random_action", "replacement", "hide", "resample")


def home_of(game: Game) -> Path:
    """The folder of the game's own files."""
    return Path(game.rules.__file__ or ".").resolve().parent


def require_sound(game: Game) -> None:
    """Checks a declaration against its kernels.

    Raises:
        GameMistake: for the first mistake, with the file and line of the author's code.
    """
    where = place_of(game.layout) if isinstance(game.layout, FunctionType) else game.name
    _require_words(game, where)
    try:
        ruleset = game.ruleset()
    except GameMistake:
        raise
    except Exception as error:
        raise GameMistake(f"{where}: {game.name} cannot be made with its default parameters: {error}") from error
    _require_kernels(game, ruleset)
    for name in (*NEEDED, *OPTIONAL):
        if hasattr(game.rules, name):
            _require_fields(function_of(getattr(game.rules, name)), ruleset)


def _require_words(game: Game, where: str) -> None:
    hints = get_type_hints(type(game), vars(sys.modules[type(game).__module__]))
    for name in ("information", "utility", "turns", "faults"):
        value, known = getattr(game, name), get_args(hints[name])
        if value not in known:
            raise GameMistake(
                f"{where}: {game.name} declares {name}={value!r}; it is one of {', '.join(map(repr, known))}."
                f"{nearest(str(value), known)}"
            )
    if not isinstance(game.rules, ModuleType):
        raise GameMistake(f"{where}: {game.name} declares rules={game.rules!r}; expected the module with the kernels")
    if isinstance(game.players, str):
        raise GameMistake(
            f"{where}: players={game.players!r} is one text; expected a tuple of names, one for each seat"
        )


def _require_kernels(game: Game, ruleset: Ruleset) -> None:
    rules, file = game.rules, place_of(game.rules)
    wanted = {
        "legal": (ruleset.discrete, "actions is a number" if ruleset.discrete else "actions is a box"),
        "hide": (ruleset.hidden, f"information is {game.information!r}"),
        "resample": (ruleset.hidden, f"information is {game.information!r}"),
        "replacement": (game.faults == "replace", f"faults is {game.faults!r}"),
    }
    kernels = [name for name, value in vars(rules).items() if function_of(value) is not None]
    for name in NEEDED:
        if not hasattr(rules, name):
            raise GameMistake(
                f"{file}: the kernel `{_signature(name)}` is missing, which every game needs."
                f"{nearest(name, [k for k in kernels if k not in (*NEEDED, *OPTIONAL)])} {_purpose(name)}"
            )
    for name, (needed, since) in wanted.items():
        if hasattr(rules, name) != needed:
            raise GameMistake(
                f"{file}: the kernel `{_signature(name)}` is missing; {game.name} needs it, since {since}."
                f"{nearest(name, [k for k in kernels if k not in (*NEEDED, *OPTIONAL)])} {_purpose(name)}"
                if needed
                else f"{place_of(function_of(getattr(rules, name)) or rules)}: there is a kernel `{name}`, but {since}"
            )
    for name in (*NEEDED, *OPTIONAL):
        if hasattr(rules, name):
            _require_arguments(getattr(rules, name), name, ruleset, file)


def _require_arguments(kernel: Any, name: str, ruleset: Ruleset, file: str) -> None:
    function = function_of(kernel)
    if function is None:
        raise GameMistake(f"{file}: `{name}` is {kernel!r}; expected a function decorated with asobiba.core.kernel")
    wanted = list(inspect.signature(_placeholder(name)).parameters)
    given = list(inspect.signature(function).parameters)
    if len(given) != len(wanted):
        raise GameMistake(
            f"{place_of(function)}: the kernel `{name}({', '.join(given)})` takes {len(given)} arguments; "
            f"expected {len(wanted)}: `{_signature(name)}`"
        )


def _placeholder(name: str) -> FunctionType:
    function = function_of(getattr(placeholder, name))
    assert function is not None
    return function


def _signature(name: str) -> str:
    return f"{name}({', '.join(inspect.signature(_placeholder(name)).parameters)})"


def _purpose(name: str) -> str:
    text = inspect.getdoc(function_of(getattr(placeholder, name))) or ""
    return f"It is to say: {' '.join(text.split())}" if text else ""


def _require_fields(function: FunctionType | None, ruleset: Ruleset) -> None:
    # Every field of the state and the parameters (its first two arguments) that a kernel uses must exist.
    if function is None:
        return
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return
    names = list(inspect.signature(function).parameters)[:2]
    fields = dict(zip(names, (ruleset.dtype.names or (), ruleset.params.dtype.names or ())))
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in fields):
            continue
        known = [name for name in fields[node.value.id] if not name.startswith("_pad")]
        if node.attr not in known:
            record = "state" if node.value.id == names[0] else "parameters"
            raise GameMistake(
                f"{place_of(function, first + node.lineno - 1)}: {node.value.id}.{node.attr}: the record of the {record} "
                f"has no field {node.attr!r}.{nearest(node.attr, known)} Its fields are: {', '.join(known)}"
            )
