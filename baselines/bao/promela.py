"""A Promela model of Bao for the model checker SPIN, with the two specifications of Inahata and Takahashi.

As in their model, a process `board` keeps the seeds and does one sowing for every hole it is sent, and a process
`manager` keeps the turn: it sends the hole that the mover chooses, and then the hole where each sowing ended, until the
board answers that the move, or the game, is over. Specification 1: the game ends. Specification 2: whenever a move
begins, the turn passes (or the game ends). A counterexample to the second is an endless move; one to the first may be
a repetition too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from asobiba.core import GameParameterError
from asobiba.envs.bao.layout import check_holes, starting_counts

SPECIFICATIONS = {"game_ends": "<> over", "turn_passes": "[] (sowing -> <> !sowing)"}
_MOVE = re.compile(r"MOVE (\d+)")


def model(holes: int = 4, start: str = "alternate") -> str:
    """The Promela text for a board and start.

    Raises:
        GameParameterError: for a board that is none, or a random start.
    """
    counts = starting_counts(check_holes(holes), start)
    if counts is None:
        raise GameParameterError("a model needs a definite start; random is none")
    ring = 2 * holes
    setup = " ".join(f"board[{hole}] = {seeds};" for hole, seeds in enumerate(counts) if seeds)
    choices = "\n".join(
        f"      :: mover == {hole // holes} && board[{hole}] > 0 -> hole = {hole}" for hole in range(ring)
    )
    first = " + ".join(f"board[{hole}]" for hole in range(holes))
    second = " + ".join(f"board[{hole}]" for hole in range(holes, ring))
    formulas = "\n".join(f"ltl {name} {{ {formula} }}" for name, formula in SPECIFICATIONS.items())
    return f"""/* Bao, {holes}x2: moves may never end. Written by: asobiba bao promela --holes {holes} */
#define RING {ring}

byte board[RING];
bit mover;
bool sowing = false, over = false;
mtype = {{ sow_on, move_over, game_over }};
chan to_board = [0] of {{ byte }};
chan to_manager = [0] of {{ mtype, byte }};

proctype Board() {{
  byte at, hand;
  do
  :: to_board?at ->
    d_step {{
      hand = board[at]; board[at] = 0;
      do
      :: hand > 0 -> at = (at + 1) % RING; board[at]++; hand--
      :: else -> break
      od
    }}
    if
    :: board[at] > 1 -> to_manager!sow_on, at
    :: else ->
      board[RING - 1 - at] = 0; at = 0;
      if
      :: {first} == 0 || {second} == 0 -> to_manager!game_over, 0; break
      :: else -> to_manager!move_over, 0
      fi
    fi;
    at = 0
  od
}}

proctype Manager() {{
  byte hole;
  mtype answer;
  do
  :: !sowing ->
    atomic {{
      if
{choices}
      fi;
      printf("MOVE %d\\n", hole); sowing = true
    }}
    to_board!hole; hole = 0
  :: sowing ->
    to_manager?answer, hole;
    if
    :: answer == sow_on -> to_board!hole
    :: answer == move_over -> atomic {{ mover = 1 - mover; sowing = false }}
    :: answer == game_over -> atomic {{ over = true; sowing = false }}; break
    fi;
    hole = 0
  od
}}

init {{
  atomic {{ {setup} run Board(); run Manager() }}
}}

{formulas}
"""


def counterexample(
    folder: Path, specification: str = "turn_passes", holes: int = 4, start: str = "alternate", depth: int = 200_000
) -> list[int] | None:
    """Runs SPIN in `folder`: the moves (holes of the ring) of a counterexample, or `None` if the specification holds.

    The last move of a counterexample to `turn_passes` never ends.

    Raises:
        FileNotFoundError: where `spin` or a C compiler is not installed.
        RuntimeError: when SPIN fails.
    """
    if specification not in SPECIFICATIONS:
        raise GameParameterError(f"specification is one of {', '.join(SPECIFICATIONS)}; got {specification!r}")
    for program, package in (("spin", "spin"), ("gcc", "gcc")):
        if shutil.which(program) is None:
            raise FileNotFoundError(f"{program} is not installed; on Debian: apt-get install {package}")
    (folder / "bao.pml").write_text(model(holes, start))

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=3600)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    run("spin", "-a", "bao.pml")
    run("gcc", "-O2", "-w", "-o", "pan", "pan.c")
    report = run("./pan", "-a", "-N", specification, f"-m{depth}")
    if "max search depth too small" in report:
        raise RuntimeError(f"the search depth of {depth} is too small:\n{report}")
    if not (folder / "bao.pml.trail").exists():
        return None
    return [int(hole) for hole in _MOVE.findall(run("spin", "-t", "bao.pml"))]
