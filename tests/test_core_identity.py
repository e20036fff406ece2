"""The digest of compiled code: any token and any value that is reached changes it, comments and layout do not."""

from __future__ import annotations

import importlib
import inspect
import io
import keyword
import os
import random
import subprocess
import sys
import textwrap
import tokenize
from collections import defaultdict
from pathlib import Path
from types import FunctionType

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from asobiba.core import game, game_names, kernel
from asobiba.core.agents import agent_packages
from asobiba.core.identity import identity, machine_code_identity
from asobiba.core.trees import read_tree, tree_of
from asobiba.sources import sources_digest

# The files of a small package of rules, and an edit of them that changes what `worth` is.
BASE = '''"""Rules."""
import math
from enum import IntEnum
from typing import NamedTuple
import numpy as np
from asobiba.core import compiled, kernel
from numba import njit
import edited.sub.constants
from edited.sub import helpers
from edited.sub import helpers as others

class Colour(IntEnum):
    RED = 1
    BLUE = 2

class Piece(NamedTuple):
    value: int
    speed: int = 3

FIRST, SECOND = 3, 4
TABLE = np.array([5, 6])
PIECE = Piece(1)
KIND = np.dtype([("gold", "i2"), ("silver", "i2")])
OPTIONS = {"boundscheck": False}

@kernel
def one(x):
    return x + 10

@kernel
def two(x):
    return x + 20

@njit(**OPTIONS)
def worth(x, bonus=7):
    """What a position is worth."""
    # begins
    s = np.zeros(1, KIND)[0]
    s.gold = 2
    total = s.gold + x - FIRST
    total += math.floor(np.int8(300)) + TABLE[0] * bonus
    if total > 5 and x != 1:
        total += int(Colour.RED) + PIECE.speed
    total += edited.sub.constants.KOMI
    return one(total) - two(x) + helpers.far(x)
'''
CONSTANTS = "KOMI = 6\nOTHER = 6\n"
HELPERS = "from asobiba.core import kernel\n\nFACTOR = 2\n\n@kernel\ndef far(x):\n    return x * FACTOR\n\ndef plain(x):\n    return x\n"
RULES, SUB, FAR = "rules.py", "sub/constants.py", "sub/helpers.py"
EDITS = [
    ("field", RULES, "total = s.gold", "total = s.silver"),
    ("misspelt field", RULES, "total = s.gold", "total = s.golt"),
    ("order of operands", RULES, "+ x - FIRST", "+ FIRST - x"),
    ("function of a module", RULES, "math.floor", "math.ceil"),
    ("type", RULES, "np.int8(300)", "np.int16(300)"),
    ("operator", RULES, "total > 5", "total >= 5"),
    ("word", RULES, "5 and x", "5 or x"),
    ("number", RULES, "total > 5", "total > 6"),
    ("kind of number", RULES, "total > 5", "total > 5.0"),
    ("member of an enumeration", RULES, "Colour.RED", "Colour.BLUE"),
    ("value of an enumeration", RULES, "RED = 1", "RED = 9"),
    ("two values of an enumeration", RULES, "RED = 1\n    BLUE = 2", "RED = 2\n    BLUE = 1"),
    ("order of functions", RULES, "one(total) - two(x)", "two(total) - one(x)"),
    ("default", RULES, "bonus=7", "bonus=8"),
    ("default of a tuple", RULES, "speed: int = 3", "speed: int = 4"),
    ("constant", RULES, "FIRST, SECOND = 3", "FIRST, SECOND = 8"),
    ("kind of constant", RULES, "FIRST, SECOND = 3", "FIRST, SECOND = 3.0"),
    ("another constant", RULES, "x - FIRST", "x - SECOND"),
    ("array", RULES, "array([5, 6])", "array([6, 5])"),
    ("dtype of an array", RULES, "array([5, 6])", "array([5, 6], np.int8)"),
    ("dtype", RULES, '("gold", "i2"), ', '("silver_2", "i2"), ("gold", "i2"), '),
    ("constant of another package", SUB, "KOMI = 6", "KOMI = 7"),
    ("another constant of another package", RULES, "constants.KOMI", "constants.OTHER"),
    ("function that a function calls", RULES, "return x + 10", "return x + 11"),
    ("function of another file", FAR, "return x * FACTOR", "return x + FACTOR"),
    ("constant that another file reads", FAR, "FACTOR = 2", "FACTOR = 3"),
    ("option of a decorator", RULES, '{"boundscheck": False}', '{"boundscheck": True}'),
    ("decorator", RULES, "@kernel\ndef one", "@njit\ndef one"),
    ("statement", RULES, "        total += int(", "        total = int("),
    ("block", RULES, "    total += edited", "        total += edited"),
]
SAME = [
    ("docstring", RULES, "What a position is worth.", "Its worth."),
    ("no docstring", RULES, '    """What a position is worth."""\n', ""),
    ("docstring of the module", RULES, '"""Rules."""\n', ""),
    ("another docstring", RULES, "return x + 10", '"""Adds ten."""\n    return x + 10'),
    ("comment", RULES, "# begins", "# begins here\n    # and here"),
    ("blank lines", RULES, "    s.gold = 2\n", "\n\n    s.gold = 2\n\n"),
    ("line break", RULES, "one(total) - two(x)", "one(\n        total\n    ) - two(x)"),
    ("spaces", RULES, "total > 5", "total  >  5"),
    ("function that nothing calls", FAR, "def plain(x):\n    return x", "def plain(x):\n    return -x"),
    ("constant that nothing reads", RULES, "SECOND = 3, 4", "SECOND = 3, 5"),
]  # fmt: skip


def write_package(folder: Path, file: str = "", old: str = "", new: str = "") -> None:
    """The package `edited` in a folder, with one edit."""
    texts = {"__init__.py": "", "sub/__init__.py": "", RULES: BASE, SUB: CONSTANTS, FAR: HELPERS}
    if file:
        assert texts[file].count(old) == 1
        texts[file] = texts[file].replace(old, new)
    (folder / "edited" / "sub").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / "edited" / name).write_text(text)


def loaded() -> FunctionType:
    """`worth` of the package as it is on disk now."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "edited"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    return importlib.import_module("edited.rules").worth


@pytest.fixture
def digests(tmp_path, monkeypatch):
    """The two digests of the package with an edit."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def measure(*edit: str) -> tuple[str, str]:
        write_package(tmp_path, *edit)
        worth = loaded()
        return identity([worth]), machine_code_identity([worth])

    yield measure
    for name in [name for name in sys.modules if name.partition(".")[0] == "edited"]:
        del sys.modules[name]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit[0])
def test_whatever_is_reached_changes_the_digest(digests, edit):
    before, after = digests(), digests(*edit[1:])
    assert before[0] != after[0]
    assert before[1] != after[1]


@pytest.mark.parametrize("edit", SAME, ids=lambda edit: edit[0])
def test_what_is_not_played_does_not_change_the_digest(digests, edit):
    assert digests() == digests(*edit[1:])


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit[0])
def test_functions_without_a_source_have_a_digest_too(digests, tmp_path, monkeypatch, edit):
    monkeypatch.setattr("asobiba.core.identity.tree_of", lambda file, package="": None)
    monkeypatch.setattr("asobiba.core.identity._machine", lambda: "")
    if edit[0] in ("default of a tuple", "value of an enumeration", "two values of an enumeration"):
        monkeypatch.setattr("asobiba.core.identity.tree_of", tree_of)  # classes are told by their sources
    before, after = digests(), digests(*edit[1:])
    assert before[0] != after[0]


def test_a_file_that_was_edited_after_it_was_loaded_does_not_name_the_code_that_runs(digests, tmp_path):
    digests()
    old = loaded()
    write_package(tmp_path, *EDITS[0][1:])
    mixed = machine_code_identity([old])
    new = machine_code_identity([loaded()])
    assert mixed != new


def test_a_value_of_which_nothing_is_known_is_an_error():
    unknown = object()

    def reads():
        return unknown

    with pytest.raises(TypeError, match="reads unknown: a builtins"):
        identity([kernel(reads)])


def test_a_function_compiled_in_another_way_has_another_digest():
    def rule(x):
        return 1 / x

    ways = [kernel(rule), numba.njit(error_model="python")(rule), numba.njit(error_model="python")(rule)]
    first, second, again = [machine_code_identity([way]) for way in ways]
    assert first != second == again


def test_other_processors_and_versions_have_other_caches(monkeypatch):
    from llvmlite import binding

    from asobiba.core.identity import _machine

    @kernel
    def rule(x):
        return x

    found = [machine_code_identity([rule])]
    for target, name, value in [
        (binding, "get_host_cpu_name", lambda: "abacus"),
        (numba, "__version__", "0.0"),
        (np, "__version__", "0.0"),
        (numba.config, "BOUNDSCHECK", 1),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(target, name, value)
            _machine.cache_clear()
            found.append(machine_code_identity([rule]))
    _machine.cache_clear()
    assert len(set(found)) == 5


# Any token of the kernels of every game.

OTHER = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "*", "<<": ">>", ">>": "<<", "&": "|", "|": "&"}
OTHER |= {"^": "|", "<": "<=", ">": ">=", "<=": "<", ">=": ">", "==": "!=", "!=": "==", "+=": "-=", "-=": "+="}
OTHER |= {"*=": "+=", "|=": "&=", "&=": "|=", "and": "or", "or": "and", "True": "False", "False": "True"}
OTHER |= {"break": "pass", "continue": "pass", "**": "*", "<<=": ">>=", ">>=": "<<=", "^=": "|=", "~": "-", "not": "-"}


def kernels_by_package() -> dict[str, list[FunctionType]]:
    """The compiled functions of the rules and the agents of every game, and of the core."""
    names = ["asobiba.core.laws", "asobiba.core.random"]
    for name in game_names():
        names += [game(name).rules.__name__, *agent_packages(name)]
    for name in names:
        importlib.import_module(name)
    found = defaultdict(dict)
    for module in [
        m for n, m in sys.modules.items() if n.startswith(("asobiba.core", "asobiba.envs.", "asobiba.base"))
    ]:
        for value in vars(module).values():
            if isinstance(value, Dispatcher) and value.py_func.__module__.startswith("asobiba."):
                function = value.py_func
                found[".".join(function.__module__.split(".")[:3])][function.__qualname__] = function
    return {package: [functions[name] for name in sorted(functions)] for package, functions in sorted(found.items())}


KERNELS = kernels_by_package()


def tokens_of(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def another(token: tokenize.TokenInfo) -> str | None:
    """A token that may stand in another's place, or `None` if none may."""
    if token.type == tokenize.NUMBER:
        return "7" if token.string != "7" else "8"
    if token.string in OTHER:
        return OTHER[token.string]
    if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
        return f"{token.string}_"
    return None


def edited(text: str, token: tokenize.TokenInfo, new: str) -> str:
    lines = text.splitlines(keepends=True)
    row, start, end = token.start[0] - 1, token.start[1], token.end[1]
    lines[row] = (
        f"{lines[row][:start]} {new} {lines[row][end:]}"
        if new.isidentifier()
        else lines[row][:start] + new + lines[row][end:]
    )
    return "".join(lines)


def digest_of(text: str) -> str:
    (_, found), *_ = read_tree(text).functions.items()
    return found.digest


@pytest.mark.parametrize("package", KERNELS)
def test_any_token_of_a_kernel_changes_its_digest(package):
    draw, changed = random.Random(package), 0
    for function in draw.sample(KERNELS[package], min(6, len(KERNELS[package]))):
        text = textwrap.dedent(inspect.getsource(function))
        digest = digest_of(text)
        tokens = [token for token in tokens_of(text) if another(token) is not None]
        for token in draw.sample(tokens, min(12, len(tokens))):
            try:
                assert digest_of(edited(text, token, another(token))) != digest, (function, token)
                changed += 1
            except SyntaxError:
                continue  # such as an operator that nothing else can replace here
        comments = "".join(
            f"\n{line}  # comment\n" if line.strip().endswith(":") else f"{line}\n" for line in text.splitlines()
        )
        assert digest_of(comments) == digest
    assert changed >= 6


@pytest.mark.parametrize("package", KERNELS)
def test_any_value_that_a_kernel_reads_changes_its_digest(package, monkeypatch):
    draw = random.Random(package)
    for function in draw.sample(KERNELS[package], min(6, len(KERNELS[package]))):
        before = identity([function])
        for name in sorted({*function.__code__.co_names} & {*function.__globals__}):
            value = function.__globals__[name]
            if isinstance(value, bool):
                new = not value
            elif isinstance(value, (int, float, np.number)):
                new = type(value)(1 if value == 0 else 0)
            elif isinstance(value, np.ndarray):
                new = value.copy()
                new.flat[-1] += 1
            elif isinstance(value, tuple):
                new = (*value, 1)
            else:
                continue
            with monkeypatch.context() as patch:
                patch.setitem(function.__globals__, name, new)
                assert identity([function]) != before, (function, name)
        assert identity([function]) == before


# An installed package that is edited, and played in new processes.

PLAYED = [
    ("field", "s.gold - 1", "s.silver - 1"),
    ("operands", "s.gold - s.silver", "s.silver - s.gold"),
    ("function of a module", "math.sin(x)", "math.cos(x)"),
    ("type", "np.int8(x + 300)", "np.int16(x + 300)"),
    ("colours", "Colour.RED * 10 + Colour.BLUE", "Colour.BLUE * 10 + Colour.RED"),
    ("functions", "first(x) - second(x)", "second(x) - first(x)"),
    ("default", "bonus=7", "bonus=8"),
    ("enumeration", "GREEN = 5", "GREEN = 6"),
    ("another package", "edited.sub.constants.KOMI", "edited.sub.constants.OTHER"),
]
HEAD = """import math
from enum import IntEnum
import numpy as np
import edited.sub.constants
from asobiba.core import compiled, kernel

class Colour(IntEnum):
    RED = 1
    BLUE = 2

class Shade(IntEnum):
    GREEN = 5

KIND = np.dtype([("gold", "i4"), ("silver", "i4")])

@kernel
def first(x):
    return x * 2

@kernel
def second(x):
    return x + 1

@kernel
def given(x, bonus=7):
    return x + bonus
"""
USES = {"default": "given(x)", "enumeration": "Shade.GREEN + 0"}
PLAY = """
import sys, numpy as np
from edited import rules
state = np.array([(3, 7)], rules.KIND)
for name in sys.argv[1:]:
    try:
        print(getattr(rules, name)(state, 4))
    except Exception as error:
        print(type(error).__name__)
"""


def play(folder: Path, *names: str) -> list[str]:
    environment = {**os.environ, "ASOBIBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    run = [sys.executable, "-c", PLAY, *names]
    found = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return found.stdout.split()


def test_a_new_process_plays_the_edited_rules(tmp_path):
    text = HEAD
    names = [kind.replace(" ", "_") for kind, _, _ in PLAYED]
    for name, (kind, old, _) in zip(names, PLAYED, strict=True):
        text += f"\n@compiled()\ndef {name}(states, x):\n    s = states[0]\n    return {USES.get(kind, old)}\n"
    write_package(tmp_path)
    rules = tmp_path / "edited" / "rules.py"
    (tmp_path / "edited" / SUB).write_text("KOMI = 6\nOTHER = 9\n")
    rules.write_text(text)
    before = play(tmp_path, *names)
    assert before == ["2", "-4", str(np.sin(4)), "48", "12", "3", "11", "5", "6"]
    assert play(tmp_path, *names) == before
    for _, old, new in PLAYED:
        assert text.count(old) == 1
        text = text.replace(old, new)
    rules.write_text(text)
    assert play(tmp_path, *names) == ["6", "4", str(np.cos(4)), "304", "21", "-3", "12", "6", "9"]
    rules.write_text(text.replace("s.silver - 1", "s.sliver - 1"))
    assert play(tmp_path, names[0]) == ["KeyError"], "a misspelt field is an error, not the old rule"


GAME = """
from asobiba.core import Game, Layout
from edited import rules
def layout():
    return Layout(state=[("gold", "i4"), ("silver", "i4")], actions=1, observation={"x": (1,)}, max_steps=3)
GAME = Game(name="edited", version=0, title="E", layout=layout, rules=rules, players=("one",), utility="single_agent")
"""
RULES_OF_GAME = """
@kernel
def reset(s, p):
    s.gold = 3
    s.silver = 7
@kernel
def legal(s, p, mask): mask[0] = 1
@kernel
def step(s, p, action):
    x = 4
    s.rewards[0] = {}
@kernel
def observe(s, p, player, out): out[0] = 1
"""
STEP = """
import asobiba, edited
asobiba.register_game(edited.GAME)
env = asobiba.make("edited"); env.reset(seed=0); print(env.step(0)[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "old", "new"), PLAYED, ids=[kind for kind, _, _ in PLAYED])
def test_a_game_that_is_edited_is_played_by_its_new_rules(tmp_path, kind, old, new):
    write_package(tmp_path)
    (tmp_path / "edited" / SUB).write_text("KOMI = 6\nOTHER = 9\n")
    (tmp_path / "edited" / "__init__.py").write_text(GAME)
    text = HEAD + RULES_OF_GAME.format(USES.get(kind, old))
    environment = {**os.environ, "ASOBIBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    rewards = []
    for rules in (text, text.replace(old, new)):
        (tmp_path / "edited" / "rules.py").write_text(rules)
        run = [sys.executable, "-c", STEP]
        found = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        rewards.append(float(found.stdout))
    expected = dict(zip([kind for kind, _, _ in PLAYED], EXPECTED, strict=True))[kind]
    assert rewards == pytest.approx(expected)


EXPECTED = [(2, 6), (-4, 4), (np.sin(4), np.cos(4)), (48, 304), (12, 21), (3, -3), (11, 12), (5, 6), (6, 9)]


# Pages and leagues.


@pytest.fixture
def tree(tmp_path):
    """A core with a kernel, what it reaches and what it does not; a game that imports it."""
    core, rules = tmp_path / "core", tmp_path / "envs" / "go" / "rules.py"
    core.mkdir()
    rules.parent.mkdir(parents=True)
    (tmp_path / "baselines").mkdir()
    (core / "__init__.py").write_text("from asobiba.core.chance import draw\n")
    (core / "chance.py").write_text(CHANCE)
    rules.write_text("from asobiba.core import draw\n\ndef step(s):\n    return draw(s)\n")
    return tmp_path


CHANCE = """
from asobiba.core.kernels import kernel
SIDES = int(6)
OTHER = 1
@kernel
def roll(s):
    return s.key % SIDES
@kernel
def draw(s):
    return roll(s) + 1
@kernel
def flip(s):
    return s.key % 2
def show(s):
    return str(s) + str(OTHER)
"""


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("roll(s) + 1", "roll(s) + 2", True),
        ("s.key % SIDES", "s.counter % SIDES", True),
        ("int(6)", "int(7)", True),
        ("s.key % 2", "s.key % 3", False),
        ("OTHER = 1", "OTHER = 2", False),
        ("return str(s) +", "return str(s) * 2 +", False),
        ("def draw(s):", "def draw(s):\n    # one to six", False),
    ],
)
def test_the_digest_of_a_league_covers_the_core_that_its_rules_reach(tree, old, new, stale):
    folders = {f"asobiba.{name}": tree / name for name in ("envs", "baselines")}
    before = sources_digest(["asobiba.envs.go.rules"], folders, tree)
    assert CHANCE.count(old) == 1
    (tree / "core" / "chance.py").write_text(CHANCE.replace(old, new))
    assert (sources_digest(["asobiba.envs.go.rules"], folders, tree) != before) == stale
