"""Game logs of the cs2 servers (`.dcl`): an INI file with one section per shot.

    [GameInfo]
    First=ayumu
    FirstRemTime=438000
    ...
    [0003]                       end 0, shot 3
    POSITION=POSITION 2.375000 4.880000 0.000000 0.000000 ...
    SETSTATE=SETSTATE 3 0 10 1
    BESTSHOT=BESTSHOT -0.990740 -29.559770 0
    RUNSHOT=RUNSHOT -0.950000 -29.600000 0
    ...
    [0016]                       how end 0 lay when it was over
    POSITION=POSITION 2.375000 4.880000 ...
    SCORE=SCORE 1
    ...
    TOTALSCORE=TOTALSCORE 5 3    in the last section
    [GameOverInfo]
    ENDSTATE=NORMAL
    WIN=ayumu
    LOSE=gccs
    TOTALSCORE=TOTALSCORE 5 3

Values repeat the message that the server sent, its name included; logs without the names are read, too. Coordinates are
the server's: x from the left side line, y from behind the house towards the thrower, so that the tee lies at (2.375, 4.88),
a stone that is out at (0, 0), and vy is negative; turn 0 is clockwise.

Sources: the program Ayumu (github.com/YuriCat/AyumuCurling, its writer of logs), and github.com/leekwoon/KR-DL-UCT,
whose program reads the servers' logs.
"""

from __future__ import annotations

import configparser
import math
from dataclasses import dataclass, field

import numpy as np

from asobiba.core import AsobibaError, GameParameterError, Ruleset
from asobiba.core.states import new_state
from asobiba.envs.curling.simulate import Shot, deliver

TEE_X, TEE_Y = 2.375, 4.88


class DclError(AsobibaError, ValueError):
    """Text that is not a game log."""


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
        if len(words) != 3 or turn not in ("0", "1"):
            raise ValueError
        return Shot(vx, vy, 1 if turn == "1" else -1)
    except (GameParameterError, ValueError, IndexError):
        raise DclError(
            f"{' '.join(words)[:80]!r} is not a shot; expected: vx vy turn, in m/s below 1000, with turn 0 or 1"
        ) from None


@dataclass
class DclShot:
    """A shot: end, number, the position before it (`to_server`), the thrower (0 or 1), as intended and as run."""

    end: int
    number: int
    position: list[float]
    white: int
    asked: Shot
    run: Shot


@dataclass
class DclGame:
    """A game log. Times are in ms.

    Args:
        first, second: names; WIN and LOSE are told only where `reason` is NORMAL. random: the servers' noise, as text.
        shots: in order. scores: points of each end, positive for the team that began the game.
        finals: the final position of each end, as from `to_server`; missing ones are not written.
        total: points of both; `None`: not told. reason: NORMAL for a game that was played to its end.
    """

    first: str = "first"
    second: str = "second"
    first_time: int = 0
    second_time: int = 0
    random: str = "0.145"
    ends: int = 10
    shots: list[DclShot] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)
    finals: list[list[float]] = field(default_factory=list)
    total: tuple[int, int] | None = None
    reason: str = "NORMAL"


def _said(name: str, *values: float | int | str) -> str:
    """A line that repeats a message."""
    return f"{name}={name} {' '.join(f'{v:f}' if isinstance(v, float) else str(v) for v in values)}"


def write(game: DclGame) -> str:
    """The log as text."""
    lines = ["[GameInfo]", f"First={game.first}", f"FirstRemTime={game.first_time}", f"Second={game.second}"]
    lines += [f"SecondRemTime={game.second_time}", f"Random={game.random}"]
    for shot in game.shots:
        lines += [
            f"[{shot.end:02d}{shot.number:02d}]",
            _said("POSITION", *shot.position),
            _said("SETSTATE", shot.number, shot.end, game.ends, shot.white),
            _said("BESTSHOT", shot_to_server(shot.asked)),
            _said("RUNSHOT", shot_to_server(shot.run)),
        ]
        if shot.number == 15 and shot.end < len(game.scores):
            lines.append(f"[{shot.end:02d}16]")
            if shot.end < len(game.finals):
                lines.append(_said("POSITION", *game.finals[shot.end]))
            lines.append(_said("SCORE", game.scores[shot.end]))
    if game.total is not None:
        total = _said("TOTALSCORE", *game.total)
        if game.shots:
            lines.append(total)
        lines += ["[GameOverInfo]", f"ENDSTATE={game.reason}"]
        if game.reason == "NORMAL":
            draw = game.total[0] == game.total[1]
            names = (game.first, game.second) if game.total[0] > game.total[1] else (game.second, game.first)
            lines += [f"WIN={'DRAW' if draw else names[0]}", f"LOSE={'DRAW' if draw else names[1]}"]
        lines.append(total)
    return "\n".join(lines) + "\n"


def _heard(section: configparser.SectionProxy, name: str) -> list[str]:
    """The words of a message, without its name. Raises `KeyError` where the section has none."""
    words = section[name].split()
    return words[1:] if words[:1] == [name] else words


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
        raise DclError(f"this is not a game log: {error}") from None
    if "GameInfo" not in parser:
        raise DclError("this is not a game log: it has no section [GameInfo]")
    info = parser["GameInfo"]
    apart = " ".join(
        filter(None, (info.get("FirstRandom_1"), info.get("FirstRandom_2")))
    )  # later servers give each side's
    game = DclGame(info.get("First", "first"), info.get("Second", "second"), random=info.get("Random", apart))
    for name in parser.sections():
        section = parser[name]
        try:
            if name == "GameInfo":
                game.first_time = int(section.get("FirstRemTime", "0"))
                game.second_time = int(section.get("SecondRemTime", "0"))
            elif name == "GameOverInfo":
                game.reason = section.get("ENDSTATE", "NORMAL")
            elif "SCORE" in section:
                (points,) = (int(word) for word in _heard(section, "SCORE"))
                game.scores.append(points)
                if "POSITION" in section:
                    game.finals.append(_places(section))
            elif "POSITION" in section:
                shot, end, ends, white = (int(word) for word in _heard(section, "SETSTATE"))
                if name != f"{end:02d}{shot:02d}":
                    raise ValueError(f"it holds shot {shot} of end {end}")
                game.ends = ends
                asked, run = (shot_from_server(_heard(section, key)) for key in ("BESTSHOT", "RUNSHOT"))
                game.shots.append(DclShot(end, shot, _places(section), white, asked, run))
            if "TOTALSCORE" in section:
                one, two = (int(word) for word in _heard(section, "TOTALSCORE"))
                game.total = one, two
        except (ValueError, KeyError) as error:
            raise DclError(f"section [{name}] of the game log cannot be read: {error}") from None
    return game


def _places(section: configparser.SectionProxy) -> list[float]:
    numbers = [float(word) for word in _heard(section, "POSITION")]
    if len(numbers) != 32 or not all(map(math.isfinite, numbers)):
        raise ValueError(f"POSITION has {len(numbers)} coordinates; expected 32 finite numbers")
    return numbers


def replay(ruleset: Ruleset, game: DclGame) -> list[np.void]:
    """The states of a logged game: the start, then one after each shot as it was run."""
    states = [new_state(ruleset, 0)]
    for shot in game.shots:
        states.append(deliver(ruleset, states[-1], shot.run, exact=True))
    return states
