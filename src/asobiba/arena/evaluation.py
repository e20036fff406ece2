"""Strength of an agent, from games that differ: every opening from both sides, the pair as the unit of the interval.

Two players who always choose the same moves play one game from each seat, however often they are asked. So games without
chance begin with random plies (`OPENING_PLIES`, or as many as asked for), and pairs of games that repeat another, move by
move, count once.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from asobiba.arena.pairs import Score
from asobiba.core import GameParameterError, Ruleset, states
from asobiba.core.agents import Agent

__all__ = [
    "Evaluation",
    "cross_play",
    "evaluate",
    "matrix",
    "opening",
]

OPENING_PLIES = 4
"""Random plies before the players' first move, in games whose course depends on the players alone."""
_TRIES = 100


@dataclass(frozen=True)
class Evaluation:
    """One agent against another.

    Attributes:
        agent, opponent: as they were named.
        opening_plies: random plies before the first move.
        games: how many were played.
        distinct: how many of them differ by their moves.
        score: mean of 1 for a win, 1/2 for a draw, over pairs that differ.
        low, high: its 95 % interval, from pairs that differ (see `asobiba.arena.pairs`).
        seats: the score in each seat.
        length: mean number of steps, opening included.
        milliseconds: mean time of a decision of the agent.
    """

    agent: str
    opponent: str
    opening_plies: int
    games: int
    distinct: int
    score: float
    low: float
    high: float
    seats: tuple[float, ...]
    length: float
    milliseconds: float


@dataclass(frozen=True)
class _Game:
    points: float
    moves: bytes
    steps: int
    seconds: float
    decisions: int


def opening_plies(ruleset: Ruleset, wanted: int | None = None) -> int:
    """Number of random plies that games begin with: `wanted`, or the number that the kind of game asks for.

    Raises:
        GameParameterError: for a number below 0, or one above 0 in a game in which all act at once or actions are
            continuous.
    """
    if wanted is not None and wanted < 0:
        raise GameParameterError(f"opening plies are at least 0, not {wanted}")
    possible = ruleset.discrete and not ruleset.simultaneous and ruleset.num_players > 1
    if wanted and not possible:
        raise GameParameterError(
            f"{ruleset.game.name} has no openings of random plies: its players do not move in turn"
        )
    if wanted is not None:
        return wanted
    return OPENING_PLIES if possible and not ruleset.chance and not ruleset.hidden else 0


def opening(ruleset: Ruleset, seed: int, plies: int) -> tuple[np.void, tuple[int, ...]]:
    """A position after random plies in which the game goes on, and these plies; the same for the same seed.

    Raises:
        GameParameterError: if random plies end the game each time.
    """
    for attempt in range(_TRIES):
        generator = np.random.Generator(np.random.Philox(key=[seed, attempt]))
        state, moves = states.new_state(ruleset, seed), []
        for _ in range(plies):
            if states.is_over(state):
                break
            moves.append(int(generator.choice(states.legal_actions(ruleset, state))))
            state = states.step(ruleset, state, moves[-1])
        if not states.is_over(state):
            return state, tuple(moves)
    raise GameParameterError(f"{plies} random plies end {ruleset.game.name} nearly always; ask for fewer")


def require_two_players(ruleset: Ruleset) -> None:
    """Raises `GameParameterError` for a game of another number of players, or one in which all act at once."""
    if ruleset.num_players != 2 or ruleset.simultaneous:
        raise GameParameterError(
            f"{ruleset.game.name} is no game of two players in turn; asobiba match and league run rate agents of others"
        )


def evaluate(
    ruleset: Ruleset,
    agent: tuple[str, Agent],
    opponent: tuple[str, Agent],
    games: int = 400,
    seed: int = 0,
    plies: int | None = None,
    report: Callable[[int], None] | None = None,
) -> Evaluation:
    """Plays two agents against each other, every opening from both sides.

    Args:
        ruleset: of two players who move in turn.
        agent, opponent: name and agent.
        games: how many; an odd number is rounded up.
        seed: of openings, games and agents.
        plies: random plies of an opening; `None`: see `opening_plies`.
        report: called with the number of games played so far.

    Raises:
        GameParameterError: for another kind of game, or impossible openings.
    """
    require_two_players(ruleset)
    if games < 1:
        raise GameParameterError(f"games is at least 1, not {games}")
    plies = opening_plies(ruleset, plies)
    pairs: list[tuple[_Game, _Game]] = []
    for k in range(-(-games // 2)):
        start, moves = opening(ruleset, seed + k, plies)
        pair = tuple(_play(ruleset, agent[1], opponent[1], seat, start, moves, seed + k) for seat in (0, 1))
        pairs.append(pair)  # type: ignore[arg-type]
        if report is not None:
            report(2 * len(pairs))
    return _summary(agent[0], opponent[0], plies, pairs)


def _summary(agent: str, opponent: str, plies: int, pairs: Sequence[tuple[_Game, _Game]]) -> Evaluation:
    differing = {(first.moves, second.moves): (first, second) for first, second in pairs}
    score = Score(tuple((first.points, second.points) for first, second in differing.values()))
    low, high = score.interval()
    played = [game for pair in pairs for game in pair]
    return Evaluation(
        agent=agent,
        opponent=opponent,
        opening_plies=plies,
        games=len(played),
        distinct=len({game.moves for game in played}),
        score=score.share,
        low=low,
        high=high,
        seats=tuple(float(np.mean([pair[seat].points for pair in differing.values()])) for seat in (0, 1)),
        length=float(np.mean([game.steps for game in played])),
        milliseconds=1000 * sum(game.seconds for game in played) / max(1, sum(game.decisions for game in played)),
    )


def _play(
    ruleset: Ruleset, agent: Agent, opponent: Agent, seat: int, start: np.void, moves: Sequence[int], seed: int
) -> _Game:
    players = (agent, opponent) if seat == 0 else (opponent, agent)
    for k, player in enumerate(players):
        player.begin(ruleset, [k], [seed])
    state, returns, seconds, decisions = start, 0.0, 0.0, 0
    taken = hashlib.blake2b(repr((seat, tuple(moves))).encode(), digest_size=16)
    if ruleset.chance or ruleset.hidden:
        taken.update(start.tobytes())  # who is dealt other cards plays another game
    while not states.is_over(state):
        mover = int(state["to_move"])
        view = states.view_of(ruleset, state, mover)
        legal = states.action_mask(ruleset, state)
        begun = time.perf_counter()
        action = players[mover].act(view, legal)
        if mover == seat:
            seconds += time.perf_counter() - begun
            decisions += 1
        taken.update(np.asarray(action).tobytes())
        state = states.step(ruleset, state, action, strict=False)
        returns += float(state["rewards"][seat])
    return _Game(0.5 + 0.5 * float(np.sign(returns)), taken.digest(), int(state["steps"]), seconds, decisions)


def cross_play(
    ruleset: Ruleset,
    agents: Sequence[tuple[str, Agent]],
    games: int = 400,
    seed: int = 0,
    plies: int | None = None,
    report: Callable[[int], None] | None = None,
) -> list[Evaluation]:
    """Every pair of agents against each other; see `evaluate`."""
    found: list[Evaluation] = []
    for one, other in combinations(agents, 2):
        before = sum(result.games for result in found)

        def tell(done: int, before: int = before) -> None:
            if report is not None:
                report(before + done)

        found.append(evaluate(ruleset, one, other, games, seed, plies, tell))
    return found


def matrix(names: Sequence[str], results: Sequence[Evaluation]) -> np.ndarray:
    """Scores of the agent of each row against that of each column, `(n, n)`; NaN where they did not meet."""
    found = np.full((len(names), len(names)), np.nan)
    for result in results:
        row, column = names.index(result.agent), names.index(result.opponent)
        found[row, column], found[column, row] = result.score, 1 - result.score
    return found


def draw_matrix(names: Sequence[str], results: Sequence[Evaluation], path: Any) -> None:
    """Writes the cross-play matrix as a picture (SVG, PNG or PDF, by the path's ending). Needs the extra `render`.

    Raises:
        MissingExtra: if matplotlib is not installed.
    """
    from asobiba.core.errors import MissingExtra

    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "render") from None
    scores = matrix(names, results)
    figure = Figure(figsize=(2.5 + 0.8 * len(names), 2 + 0.6 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.imshow(scores, cmap="RdYlGn", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(names)), names)
    for row, column in np.argwhere(~np.isnan(scores)):
        axes.text(column, row, f"{100 * scores[row, column]:.0f}", ha="center", va="center")
    axes.set(title="score of the row against the column, per cent")
    with matplotlib.rc_context({"svg.hashsalt": "asobiba", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
