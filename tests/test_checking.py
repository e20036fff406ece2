"""Mistakes of authors: each ends in one message with the file and line, and harms nobody else's game."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOYS = Path(__file__).parent / "toys"
RULES = """\
from asobiba.core import kernel


@kernel
def reset(s, p):
    s.left = p.stones


@kernel
def legal(s, p, mask):
    for a in range(3):
        mask[a] = a < s.left


@kernel
def step(s, p, action):
    s.left -= action + 1
    s.taken[s.to_move] += action + 1
    if s.left == 0:
        s.rewards[s.to_move] = 1
        s.rewards[1 - s.to_move] = -1
        s.terminated = 1
    s.to_move = 1 - s.to_move


@kernel
def observe(s, p, player, out):
    out[0] = s.left


@kernel
def valid(s, p):
    return 0 <= s.left <= p.stones
"""
DECLARATION = """\
from asobiba.core import Game, Layout
from NAME import rules


def layout(stones: int = 9) -> Layout:
    return Layout(
        state=[("left", "i4"), ("taken", "i4", (2,))],
        parameters={"stones": stones},
        actions=3,
        observation={"left": (1,)},
        observation_high=9,
        max_steps=9,
    )


GAME = Game(
    name="NAME",
    version=0,
    title="Stones",
    layout=layout,
    rules=rules,
    evidence="none",
)
"""
JOINT = {
    "    s.left = p.stones\n": "    s.left = p.stones\n    s.to_move = TURN\n",
    "    for a in range(3):\n        mask[a] = a < s.left\n": "    mask[:] = 1\n",
    "    s.left -= action + 1\n    s.taken[s.to_move] += action + 1\n": "    s.left -= 1 + (action[0] == action[1])\n",
    "    if s.left == 0:\n        s.rewards[s.to_move] = 1\n        s.rewards[1 - s.to_move] = -1\n": "    if s.left <= 0:\n",
    "    s.to_move = 1 - s.to_move\n": "",
}
# name: what is replaced by what, the file and line that the message begins with, and what it says
MISTAKES: dict[str, tuple[dict[str, str], str, int, str]] = {
    "index_too_large": ({"s.taken[s.to_move] +=": "s.taken[s.to_move + 1] +="}, "rules.py", 18, "IndexError: index 2 is out"),
    "index_negative": ({"s.taken[s.to_move] +=": "s.taken[s.to_move - 1] +="}, "rules.py", 18, "index -1 is negative"),
    "observation_too_long": ({"    out[0] = s.left": "    out[1] = s.left"}, "rules.py", 28, "in the kernel `observe`"),
    "no_valid": ({"def valid": "def valyd"}, "rules.py", 1, "`valid(s, p)` is missing, which every game needs. Did you mean 'valyd'?"),
    "no_legal": ({"def legal": "def moves"}, "rules.py", 1, "`legal(s, p, mask)` is missing; no_legal needs it, since actions is"),
    "arguments": ({"def step(s, p, action)": "def step(s, action)"}, "rules.py", 16, "takes 2 arguments; expected 3: `step(s, p, action)`"),
    "no_kernel": ({"@kernel\ndef valid(s, p):\n    return 0 <= s.left <= p.stones\n": "valid = 1\n"}, "rules.py", 1, "expected a function decorated with asobiba.core.kernel"),
    "unknown_field": ({"s.left -= action": "s.lefd -= action"}, "rules.py", 17, "no field 'lefd'. Did you mean 'left'?"),
    "unknown_parameter": ({"s.left = p.stones": "s.left = p.stone"}, "rules.py", 6, "no field 'stone'. Did you mean 'stones'?"),
    "forbidden_name": ({'("left", "i4")': '("round", "i4")'}, "__init__.py", 5, "rename field 'round'"),
    "empty_mask": ({"mask[a] = a < s.left": "mask[a] = a + 1 < s.left"}, "rules.py", 10, "the mask is empty"),
    "mask_of_twos": ({"mask[a] = a < s.left": "mask[a] = 2 * (a < s.left)"}, "rules.py", 10, "the mask holds [2]; expected 0 and 1"),
    "not_zero_sum": ({"s.rewards[1 - s.to_move] = -1": "s.rewards[1 - s.to_move] = 0"}, "rules.py", 16, "do not add up to 0, though utility"),
    "to_move_of_a_joint_game": (
        {**JOINT, "TURN": "0", '    title="Stones",\n': '    title="Stones",\n    turns="simultaneous",\n'},
        "rules.py", 5, "to_move is 0, but turns is 'simultaneous': it is -1 then",
    ),
    "to_move_of_nobody": ({"s.to_move = 1 - s.to_move": "s.to_move = 2"}, "rules.py", 16, "to_move is 2; expected a player, 0 to 1"),
    "misspelt_value": ({'    title="Stones",\n': '    title="Stones",\n    utility="zerosum",\n'}, "__init__.py", 5, "utility='zerosum'; it is one of 'zero_sum', 'general_sum', 'single_agent'. Did you mean 'zero_sum'?"),
    "misspelt_argument": ({"    title=": "    tilte="}, "__init__.py", 16, "unexpected keyword argument 'tilte'"),
    "misspelt_layout": ({"max_steps=9": "max_step=9"}, "__init__.py", 5, "unexpected keyword argument 'max_step'"),
    "syntax": ({"def reset(s, p):": "def reset(s, p)"}, "rules.py", 5, "expected ':'"),
    "reward_range": ({"s.rewards[s.to_move] = 1": "s.rewards[s.to_move] = 2", "s.rewards[1 - s.to_move] = -1": "s.rewards[1 - s.to_move] = -2"}, "rules.py", 16, "reward_range declares -1.0 to 1.0"),
    "observation_high": ({"observation_high=9": "observation_high=8"}, "rules.py", 27, "entry 0 is 9; observation_low and observation_high declare 0 to 8"),
    "valid_that_is_wrong": ({"0 <= s.left <= p.stones": "0 < s.left <= p.stones"}, "rules.py", 32, "it calls a state of random play invalid"),
    "in_a_variant": ({'    title="Stones",\n': '    title="Stones",\n    variants={"short": {"stones": 4}, "long": {"stones": 12}},\n'}, "rules.py", 27, "entry 0 is 12; observation_low and observation_high declare 0 to 9 (variant 'long': {'stones': 12})"),
    "variant_of_nothing": ({'    title="Stones",\n': '    title="Stones",\n    variants={"long": {"stone": 12}},\n'}, "__init__.py", 5, "the variant 'long' is refused: "),
    "inexact": ({"from asobiba": "import math\nfrom asobiba", "out[0] = s.left": "out[0] = math.exp(s.left)"}, "rules.py", 29, "math.exp: machines differ in its last bits"),
    "inexact_in_a_function": ({"@kernel\ndef reset": "def half(x):\n    return np.power(x, 0.5)\n\n\n@kernel\ndef reset", "from asobiba": "import numpy as np\nfrom asobiba", "out[0] = s.left": "out[0] = half(s.left)"}, "rules.py", 6, "np.power: machines differ"),
    "foreign_chance": ({"from asobiba": "import numpy as np\nfrom asobiba", "    s.left = p.stones": "    s.left = p.stones + 0 * np.random.randint(9)"}, "rules.py", 7, "np.random.randint: kernels draw from the state"),
    "no_notation": ({'    title="Stones",\n': '    title="Stones",\n    notation="no_notation.rules",\n'}, "rules.py", 1, "the notation has no function `action_to_text`"),
    "missing_notation": ({'    title="Stones",\n': '    title="Stones",\n    notation="missing_notation.notation",\n'}, "", 0, "importing missing_notation.notation: ModuleNotFoundError"),
    "overflow": ({'("taken", "i4", (2,))': '("taken", "u1", (2,))', "+= action + 1\n    if": "= action - 5\n    if"}, "rules.py", 18, "out of bounds for uint8"),
}  # fmt: skip
TRY = """
import importlib, json, sys
from asobiba import checking
from asobiba.core import GameMistake

for name in sys.argv[1:]:
    try:
        checking.play_plainly(name)
    except GameMistake as mistake:
        print(json.dumps([name, str(mistake)]))
"""


def write(folder: Path, name: str, changes: dict[str, str]) -> Path:
    """A package with a game in `folder`."""
    texts = {"rules.py": RULES, "__init__.py": DECLARATION}
    for old, new in changes.items():
        assert any(old in text for text in texts.values()), old
        texts = {file: text.replace(old, new) for file, text in texts.items()}
    package = folder / name
    package.mkdir()
    for file, text in texts.items():
        (package / file).write_text(text.replace("NAME", name))
    return package


def install(folder: Path, *games: str) -> None:
    """The packages' entry points, as pip would write them."""
    info = folder / "mistakes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mistakes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[asobiba.games]", *games]))


def python(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), str(TOYS), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200", "ASOBIBA_TRIAL": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The message about each mistake, and the folder of the packages."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, (changes, *_) in MISTAKES.items():
        write(folder, name, changes)
    write(folder, "sound", {})
    write(
        folder,
        "joint",
        {**JOINT, "TURN": "-1", '    title="Stones",\n': '    title="Stones",\n    turns="simultaneous",\n'},
    )
    done = python(folder, "-c", TRY, *MISTAKES, "sound", "joint", NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return folder, dict(lines)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_line(told, name):
    folder, messages = told
    _, file, line, text = MISTAKES[name]
    first = messages[name].splitlines()[0]
    assert first.startswith(f"{folder / name / file}:{line}: " if file else text), first
    assert text in first


def test_sound_games_are_let_through(told):
    assert {"sound", "joint"}.isdisjoint(told[1])


@pytest.fixture(scope="module")
def installed(told):
    """The same folder with entry points: two broken games, one whose entry point is wrong, and one that is missing."""
    folder, _ = told
    install(
        folder,
        "index_too_large = index_too_large:GAME",
        "forbidden_name = forbidden_name:GAME",
        "misspelt_argument = misspelt_argument:GAME",
        "wrong_entry = sound:NO_GAME",
        "missing = no_such_package:GAME",
        "leaving = leaving:GAME",
        "[asobiba.agents]",
        "battleship = no_such_package",
        "[asobiba.agent_loaders]",
        "absent = no_such_package:load",
        "[asobiba.commands]",
        "evaluate = no_such_package:app",
        "absent = no_such_package:app",
        "unreadable = syntax.rules:app",
    )
    (folder / "leaving").mkdir()
    (folder / "leaving" / "__init__.py").write_text("import sys\n\nsys.exit(3)\n")
    (folder / "index_too_large" / "commands.py").write_text("def (\n")
    return folder


def test_a_match_names_the_mistake_instead_of_dying(installed, tmp_path):
    environment = {"ASOBIBA_CACHE_DIR": str(tmp_path)}
    match = ["-m", "asobiba.cli", "match", "index_too_large", "random", "random", "-n", "2", "-j", "1"]
    done = python(installed, *match, **environment)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{installed / 'index_too_large' / 'rules.py'}:18: in the kernel `step`: IndexError" in done.stderr
    assert "Traceback" not in done.stderr
    (verdict,) = (tmp_path / "trials").iterdir()
    assert "IndexError" in verdict.read_text()
    verdict.write_text(json.dumps({"mistake": "remembered"}))
    again = python(
        installed,
        "-c",
        "from asobiba import conformance, game; conformance.check(game('index_too_large'))",
        **environment,
    )
    assert "GameMistake: remembered" in again.stderr
    assert again.returncode == 1


def test_a_broken_game_breaks_no_other(installed):
    listed = python(installed, "-m", "asobiba.cli", "games")
    assert listed.returncode == 0, listed.stderr
    for name in ("forbidden_name", "misspelt_argument", "wrong_entry", "missing", "leaving"):
        assert f"asobiba check {name}" in listed.stdout
    assert "toy_nim" in listed.stdout
    match = python(installed, "-m", "asobiba.cli", "match", "toy_nim", "random", "random", "-n", "2", "-j", "1")
    assert match.returncode == 0, match.stderr
    wrong = python(installed, "-m", "asobiba.cli", "match", "wrong_entry", "random", "random")
    assert wrong.returncode == 2
    assert "entry point 'sound:NO_GAME'" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from asobiba.api import openspiel\n"
        "print(*openspiel.register())\n"
        "import gymnasium, asobiba; print('asobiba/ToyNim-v0' in gymnasium.registry)"
    )
    done = python(installed, "-c", code)
    assert done.returncode == 0, done.stderr
    assert "toy_nim" in done.stdout
    assert "forbidden_name" not in done.stdout
    assert done.stdout.split()[-1] == "True"


def test_what_is_broken_beside_a_game_breaks_no_other(installed):
    """Agents, loaders of agents and commands, of the same names as ours too."""
    match = python(installed, "-m", "asobiba.cli", "match", "battleship", "random", "rnb", "-n", "2", "-j", "1")
    assert match.returncode == 0, match.stderr
    assert "the agents of 'no_such_package' are left out: ModuleNotFoundError" in match.stderr
    loader = python(installed, "-m", "asobiba.cli", "match", "toy_nim", "absent:x", "random", "-n", "2", "-j", "1")
    assert loader.returncode == 2
    assert "loading 'absent' (entry point 'no_such_package:load'): ModuleNotFoundError" in loader.stderr
    assert "Traceback" not in loader.stderr
    listed = python(installed, "-m", "asobiba.cli", "--help")
    assert listed.returncode == 0, listed.stderr
    assert "evaluate" in listed.stdout
    assert python(installed, "-m", "asobiba.cli", "evaluate", "--help").returncode == 0
    for command, text in (("absent", "No module named 'no_such_package'"), ("unreadable", "rules.py:5: expected ':'")):
        done = python(installed, "-m", "asobiba.cli", command)
        assert done.returncode == 2, done.stdout
        assert text in done.stderr
        assert "Traceback" not in done.stderr


SEAT = "from asobiba.core import kernel\n\n\n@kernel\ndef seat(s):\n    return s.to_move"


@pytest.mark.parametrize(
    ("changes", "wrong", "right"),
    [
        ({"taken[s.to_move]": "taken[shared.seat(s)]"}, f"{SEAT} + 1\n", f"{SEAT}\n"),
        ({"observation_high=9": "observation_high=shared.HIGH"}, "HIGH = 8\n", "HIGH = 9\n"),
    ],
)
def test_what_is_mended_in_another_file_is_tried_again(tmp_path, changes, wrong, right):
    write(tmp_path, "reaching", {"from asobiba": "import shared\nfrom asobiba", **changes})
    install(tmp_path, "reaching = reaching:GAME")
    code = "from asobiba import make; make('reaching').reset(seed=1); print('played')"
    kept = {"ASOBIBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "shared.py").write_text(wrong)
    assert "GameMistake" in python(tmp_path, "-c", code, **kept).stderr
    (tmp_path / "shared.py").write_text(right)
    done = python(tmp_path, "-c", code, **kept)
    assert "played" in done.stdout, done.stderr


def test_conformance_names_the_file_of_a_missing_kernel(tmp_path):
    package = write(tmp_path, "lacking", {"def valid": "def valyd"})
    code = "from asobiba import conformance; from lacking import GAME; conformance.check(GAME)"
    last = python(tmp_path, "-c", code).stderr.strip().splitlines()[-1]
    assert last.startswith(f"AssertionError: {package / 'rules.py'}:1: the kernel `valid(s, p)` is missing"), last


ENDLESS = """
from asobiba import checking

checking.PATIENCE = 1.0
checking.play_plainly("endless")
"""


def test_a_loop_that_does_not_end_is_named(tmp_path):
    package = write(tmp_path, "endless", {"    s.left -= action + 1\n": "    while s.left:\n        s.left += 0\n"})
    done = python(tmp_path, "-c", ENDLESS, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 3, done.stderr
    lines = [f"{package / 'rules.py'}:{line}: `step` has been running for 1 s" for line in (17, 18)]
    assert any(line in done.stdout for line in lines), done.stdout


def test_the_neighbours_of_a_folder_hide_no_module_of_python(tmp_path):
    package = write(tmp_path, "beside", {"def valid": "def valyd"})
    write(tmp_path, "random", {})
    (tmp_path / "math.py").write_text("")
    for target, text in (
        ("beside", f"{package / 'rules.py'}:1: the kernel `valid(s, p)` is missing"),
        ("random", "there is another module called 'random'"),
    ):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "asobiba.cli", "check", f"./{target}"],
            env={**os.environ, "ASOBIBA_CACHE_DIR": str(tmp_path / "cache")},
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        assert text in done.stdout
        assert "Traceback" not in done.stdout + done.stderr


def test_check_passes_a_sound_folder_on_to_the_compiler_and_names_what_numba_cannot_compile(tmp_path):
    package = write(tmp_path, "uncompilable", {"s.left = p.stones": "s.left = int(str(p.stones) * {1: 1}.get(1))"})
    done = python(tmp_path, "-m", "asobiba.cli", "check", str(package), ASOBIBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 1, done.stderr
    assert "3 games in the plain interpreter" in done.stdout
    assert f"{package / 'rules.py'}:6: Numba cannot compile this: " in done.stdout
    assert done.stdout.index("rules.py:6") < done.stdout.index("Numba's own page")


def test_check_says_what_it_takes(tmp_path):
    done = python(tmp_path, "-m", "asobiba.cli", "check", "toy_nin")
    assert done.returncode == 1
    assert "Did you mean 'toy_nim'?" in done.stdout
    assert "asobiba check ./my_game" in done.stdout
