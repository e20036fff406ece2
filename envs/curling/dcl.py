"""Game logs of the cs2 servers (`.dcl`): an INI file with a section a shot.

    [GameInfo]
    First=ayumu
    FirstRemTime=438000
    ...
    [0003]                       end 0, shot 3
    POSITION=2.375000 4.880000 0.000000 0.000000 ...
    SETSTATE=3 0 10 1
    BESTSHOT=-0.990740 -29.559770 0
    RUNSHOT=-0.950000 -29.600000 0
    [0016]                       end 0 is over
    SCORE=1

Coordinates are the server's: x from the left side line, y from behind the house towards the thrower, so that the tee lies
at (2.375, 4.88), a stone that is out at (0, 0), and vy is negative; turn 0 is clockwise.
"""

from __future__ import annotations

import configparser
import math
from dataclasses import dataclass, field

import numpy as np

from asobiba.core import AsobibaError, Ruleset
from asobiba.core.states import new_state
from asobiba.envs.curling.simulate import Shot, deliver

TEE_X, TEE_Y = 2.375, 4.88


class DclError(AsobibaError, ValueError):
    """Text that is no game log."""


def to_server(stones: np.ndarray, in_play: np.ndarray) -> list[float]:
    """Stones `(16, 2)` as the 32 numbers of a POSITION."""
    numbers: list[float] = []
    for (x, y), here in zip(stones, in_play, strict=True):
        numbers += [TEE_X + float(x), TEE_Y - float(y)] if here else [0.0, 0.0]
    return numbers


def from_server(numbers: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """The stones `(16, 2)` and `in_play` `(16,)` of a POSITION's 32 numbers."""
    pairs = np.array(numbers, float).reshape(16, 2)
    in_play = (pairs != 0).any(axis=1)
    stones = np.where(in_play[:, None], pairs * [1, -1] + [-TEE_X, TEE_Y], 0.0)
    return stones, in_play.astype(np.uint8)


def shot_to_server(shot: Shot) -> str:
    """A delivery as `vx vy turn`."""
    return f"{shot.vx:f} {-shot.vy:f} {0 if shot.spin < 0 else 1}"


def shot_from_server(words: list[str]) -> Shot:
    """The delivery of three words.

    Raises:
        DclError: for other words.
    """
    try:
        vx, vy, turn = float(words[0]), -float(words[1]), words[2]
        if len(words) != 3 or turn not in ("0", "1") or not math.isfinite(vx) or not math.isfinite(vy):
            raise ValueError
    except (ValueError, IndexError):
        raise DclError(f"{' '.join(words)!r} is no shot; expected: vx vy turn, with turn 0 or 1") from None
    return Shot(vx, vy, 1 if turn == "1" else -1)


@dataclass
class DclShot:
    """A shot: end, number, the position before it (`to_server`), who throws (0 or 1), as meant and as run."""

    end: int
    number: int
    position: list[float]
    white: int
    asked: Shot
    run: Shot


@dataclass
class DclGame:
    """A game log. Times are in ms; `scores`: points of each end, positive for who began the game."""

    first: str = "first"
    second: str = "second"
    first_time: int = 0
    second_time: int = 0
    random: str = "0.145"
    ends: int = 10
    shots: list[DclShot] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)
    total: tuple[int, int] | None = None


def write(game: DclGame) -> str:
    """The log as text."""
    lines = ["[GameInfo]", f"First={game.first}", f"FirstRemTime={game.first_time}", f"Second={game.second}"]
    lines += [f"SecondRemTime={game.second_time}", f"Random={game.random}"]
    for shot in game.shots:
        lines += [
            f"[{shot.end:02d}{shot.number:02d}]",
            f"POSITION={' '.join(f'{value:f}' for value in shot.position)}",
            f"SETSTATE={shot.number} {shot.end} {game.ends} {shot.white}",
            f"BESTSHOT={shot_to_server(shot.asked)}",
            f"RUNSHOT={shot_to_server(shot.run)}",
        ]
        if shot.number == 15 and shot.end < len(game.scores):
            lines += [f"[{shot.end:02d}16]", f"SCORE={game.scores[shot.end]}"]
    if game.total is not None:
        lines += ["[Result]", f"TOTALSCORE={game.total[0]} {game.total[1]}"]
    return "\n".join(lines) + "\n"


def read(text: str) -> DclGame:
    """The game of a log.

    Raises:
        DclError: naming the section that cannot be read.
    """
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise DclError(f"this is no game log: {error}") from None
    if "GameInfo" not in parser:
        raise DclError("this is no game log: it has no section [GameInfo]")
    info = parser["GameInfo"]
    game = DclGame(first=info.get("First", "first"), second=info.get("Second", "second"), random=info.get("Random", ""))
    for name in parser.sections():
        section = parser[name]
        try:
            if name == "GameInfo":
                game.first_time = int(section.get("FirstRemTime", "0"))
                game.second_time = int(section.get("SecondRemTime", "0"))
            elif "SCORE" in section:
                game.scores.append(int(section["SCORE"]))
            elif "POSITION" in section:
                numbers = [float(word) for word in section["POSITION"].split()]
                shot, end, ends, white = (int(word) for word in section["SETSTATE"].split())
                if len(numbers) != 32 or name != f"{end:02d}{shot:02d}":
                    raise ValueError(f"{len(numbers)} coordinates, shot {shot} of end {end}")
                game.ends = ends
                asked, run = (shot_from_server(section[key].split()) for key in ("BESTSHOT", "RUNSHOT"))
                game.shots.append(DclShot(end, shot, numbers, white, asked, run))
            if "TOTALSCORE" in section:
                one, two = (int(word) for word in section["TOTALSCORE"].split())
                game.total = one, two
        except (ValueError, KeyError) as error:
            raise DclError(f"section [{name}] of the game log cannot be read: {error}") from None
    return game


def replay(ruleset: Ruleset, game: DclGame) -> list[np.void]:
    """The states of a logged game: the start, then one after each shot as it was run."""
    states = [new_state(ruleset, 0)]
    for shot in game.shots:
        states.append(deliver(ruleset, states[-1], shot.run, exact=True))
    return states
