"""Golden playthroughs: one short, readable text per game that pins its rules byte by byte.

`python -m asobiba.golden FOLDER [GAME ...]` writes the playthroughs of all (or some) games into `FOLDER/<game>.txt`.
Do that when a game is new, or its version was bumped; otherwise a difference is a mistake in the rules.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.api.batch import Batch
from asobiba.api.render import ansi
from asobiba.core import states
from asobiba.core.errors import AsobibaError
from asobiba.core.game import Game, Ruleset
from asobiba.core.record import END_REASONS
from asobiba.core.registry import game as find_game
from asobiba.core.registry import game_names

PLIES, SEEDS, LINES = 100, 32, 200


class GoldenMismatch(AsobibaError, AssertionError):
    """Raised for a playthrough whose replay differs from its text."""


def record(game: Game) -> str:
    """The playthrough of a game: random play from the seed whose game ends soonest, or its first plies."""
    ruleset = game.ruleset()
    batch = Batch(ruleset, SEEDS, autoreset="disabled", threads=1)
    batch.reset(seed=1)
    played: list[np.ndarray] = []
    while len(played) < PLIES and not (batch.terminated | batch.truncated).any():
        played.append(batch.sample_actions().copy())
        batch.step(played[-1])
    over = np.flatnonzero(batch.terminated | batch.truncated)
    chosen = int(over[0]) if len(over) else 0
    return playthrough(ruleset, 1 + chosen, [actions[chosen] for actions in played])


def playthrough(ruleset: Ruleset, seed: int, actions: list[Any]) -> str:
    """The text of a game from `seed` with these actions."""
    state = states.new_state(ruleset, seed)
    lines = [
        f"game: {ruleset.game.id}",
        f"seed: {seed}",
        "",
        *_board(ruleset, state),
        "",
        f"start {_digest(state)}",
    ]
    for ply, action in enumerate(actions, 1):
        before, state = state, states.step(ruleset, state, action)
        rewards = " ".join(f"{x:g}" for x in state["rewards"])
        text = _action_text(ruleset, before, action)
        lines.append(f"{ply} | {_who(ruleset, before)} | {text} | rewards {rewards} | {_digest(state)}")
    lines += ["", *_board(ruleset, state), "", f"end: {END_REASONS[state['end_reason']]}"]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    if text.count("\n") > LINES:
        raise GoldenMismatch(
            f"the playthrough of {ruleset.game.name} has {text.count(chr(10))} lines, more than {LINES}"
        )
    return text


def check_playthrough(game: Game, text: str) -> None:
    """Plays a playthrough again. Raises `GoldenMismatch` with the first line that comes out differently."""
    ruleset = game.ruleset()
    again = playthrough(ruleset, *read(ruleset, text)).splitlines()
    written = text.splitlines()
    for number, (old, new) in enumerate(zip(written, again, strict=False), 1):
        if old != new:
            raise GoldenMismatch(f"{game.name}, line {number}: written {old!r}, played {new!r}")
    if len(again) != len(written):
        raise GoldenMismatch(f"{game.name}: {len(written)} lines are written, {len(again)} were played")


def read(ruleset: Ruleset, text: str) -> tuple[int, list[Any]]:
    """The seed and the actions of a playthrough. Raises `GoldenMismatch` for text that is none."""
    found = re.search(r"^seed: (\d+)$", text, re.M)
    if found is None:
        raise GoldenMismatch(f"this is not a playthrough of {ruleset.game.name}: it has no line 'seed: NUMBER'")
    actions = [_read_action(ruleset, match) for match in re.findall(r"^\d+ \| [^|]* \| ([^|]*) \|", text, re.M)]
    return int(found[1]), actions


def _board(ruleset: Ruleset, state: np.void) -> list[str]:
    return [f"  {line}" for line in ansi(ruleset, state).splitlines()[:30]]


def _who(ruleset: Ruleset, state: np.void) -> str:
    return "all" if ruleset.simultaneous else ruleset.players[int(state["to_move"])]


def _action_text(ruleset: Ruleset, state: np.void, action: Any) -> str:
    if not ruleset.discrete:
        return " ".join(str(float(x)) for x in np.ravel(action))
    if ruleset.simultaneous or ruleset.game.notation is None:
        return " ".join(str(int(x)) for x in np.ravel(action))
    return f"{int(action)} {ruleset.notation.action_to_text(ruleset, state, int(action))}"


def _read_action(ruleset: Ruleset, text: str) -> Any:
    words = text.split()
    if ruleset.discrete and not ruleset.simultaneous:
        return int(words[0])
    return np.array([float(word) for word in words]).astype(ruleset.action_dtype).reshape(ruleset.actions_shape)


def _digest(state: np.void) -> str:
    return hashlib.sha256(state.tobytes()).hexdigest()[:16]


def main(arguments: list[str]) -> None:
    """Writes playthroughs."""
    if not arguments or arguments[0].startswith("-"):
        raise SystemExit("usage: python -m asobiba.golden FOLDER [GAME ...]")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or game_names():
        path = folder / f"{name}.txt"
        path.write_text(record(find_game(name)), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
