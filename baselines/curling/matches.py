"""Matches between players, with a fixed budget of simulations a shot, and the shots that they throw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from asobiba.core import Agent, Ruleset, game, make_agent
from asobiba.core.states import is_over, new_state, step, view_of

if TYPE_CHECKING:
    from asobiba.arena.evaluation import Evaluation


@dataclass
class Result:
    """Games of the first player against the second, sides alternating.

    Args:
        wins, losses, draws: of the first player. margins: its points less the other's, game by game.
    """

    one: str
    two: str
    wins: int = 0
    losses: int = 0
    draws: int = 0
    margins: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, one: str, two: str, margins: Iterable[int]) -> Result:
        """The result of games with these margins."""
        result = cls(one, two)
        for margin in margins:
            result.add(margin)
        return result

    def add(self, margin: int) -> None:
        """Counts a game that the first player won by `margin` points."""
        self.margins.append(margin)
        self.wins += margin > 0
        self.losses += margin < 0
        self.draws += margin == 0

    @property
    def games(self) -> int:
        return self.wins + self.losses + self.draws

    @property
    def rate(self) -> float:
        """Share of wins, drawn games left out, as the papers count."""
        return self.wins / max(self.wins + self.losses, 1)

    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of `rate`."""
        n, z = max(self.wins + self.losses, 1), 1.96
        middle = (self.rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(self.rate * (1 - self.rate) / n + z * z / (4 * n * n))
        return max(middle - half, 0.0), min(middle + half, 1.0)


def play_game(
    ruleset: Ruleset,
    players: Sequence[Agent],
    seed: int,
    on_shot: Callable[[int, np.void, np.void], None] | None = None,
) -> np.void:
    """Plays a game; `on_shot(seat, view, state after)` is called for every shot. Returns the last state."""
    state = new_state(ruleset, seed)
    for seat, player in enumerate(players):
        player.reset(ruleset, seat, 2 * seed + seat)
    legal = np.ones(ruleset.mask_shape, np.int8)
    while not is_over(state):
        seat = int(state["to_move"])
        view = view_of(ruleset, state, seat)
        state = step(ruleset, state, players[seat].act(view, legal))
        if on_shot is not None:
            on_shot(seat, view, state)
    return state


def margin_of(ruleset: Ruleset, pair: Sequence[Agent], number: int, seed: int = 0) -> int:
    """The first player's points less the other's in a game, in which it begins if the game's number is even.

    The game depends on `number` and `seed` alone, not on games before it.
    """
    swapped = number % 2
    last = play_game(ruleset, pair[::-1] if swapped else pair, seed + number)
    return int(last["total"][swapped] - last["total"][1 - swapped])


def margins_of(ruleset: Ruleset, one: str, two: str, numbers: Iterable[int], seed: int = 0) -> Iterator[int]:
    """`margin_of`, game by game.

    Args:
        one, two: players as text, such as `ayumu:simulations=200`. numbers: of the games.
    """
    pair = [make_agent(ruleset.game, one), make_agent(ruleset.game, two)]
    for number in numbers:
        yield margin_of(ruleset, pair, number, seed)


def play_match(ruleset: Ruleset, one: str, two: str, games: int, seed: int = 0) -> Result:
    """Plays `games` games, each player beginning in half of them; see `margins_of`."""
    return Result.of(one, two, margins_of(ruleset, one, two, range(games), seed))


def opening_points(
    ruleset: Ruleset, opener: str, other: str, rest: str, side: int, numbers: Iterable[int], shots: int = 6
) -> Iterator[int]:
    """Points of single ends for one side, whose first stones `opener` throws; -8 to 8, end by end.

    Args:
        ruleset: of one end (`stop_after=1`).
        opener: throws that side's stones among the first `shots`; other: the other side's; rest: all that follow.
        side: 0 or 1. numbers: of the ends; an end depends on its number alone.
    """
    first = [make_agent(ruleset.game, opener if seat == side else other) for seat in (0, 1)]
    then = [make_agent(ruleset.game, rest) for _ in (0, 1)]
    legal = np.ones(ruleset.mask_shape, np.int8)
    for number in numbers:
        state = new_state(ruleset, number)
        for seat in (0, 1):
            first[seat].reset(ruleset, seat, 4 * number + seat)
            then[seat].reset(ruleset, seat, 4 * number + 2 + seat)
        while not is_over(state):
            seat = int(state["to_move"])
            player = (first if int(state["shot"]) < shots else then)[seat]
            state = step(ruleset, state, player.act(view_of(ruleset, state, seat), legal))
        yield int(state["total"][side] - state["total"][1 - side])


def over_single_ends(player: str, opponent: str, ends: int, seed: int) -> Evaluation:
    """A player of the discrete game over games of one end: the scores of its seats are those without the hammer and with it.

    A won end counts 1, a blank one half. Needs the extra `sb3`.
    """
    from asobiba.arena.evaluation import evaluate

    ruleset = game("curling_discrete").ruleset(ends=1)
    agent: Any = make_agent(ruleset.game, player)
    return evaluate(ruleset, (player, agent), (opponent, make_agent(ruleset.game, opponent)), ends, seed)


def shots_of(
    ruleset: Ruleset, teacher: str, others: list[str], count: int, seed: int, report: Callable[[int], None]
) -> tuple[np.ndarray, np.ndarray]:
    """Views (records) and deliveries `(n, 3)` of at least `count` shots that `teacher` intended in games against
    `others`.
    """
    views: list[np.void] = []
    shots: list[np.ndarray] = []
    player = make_agent(ruleset.game, teacher)
    opponents = [make_agent(ruleset.game, text) for text in others]
    game = 0
    while len(shots) < count:
        seat = game % 2
        pair = [player, opponents[(game // 2) % len(opponents)]]

        def keep(who: int, view: np.void, after: np.void, seat: int = seat) -> None:
            if who == seat:
                views.append(view.copy())
                shots.append(after["asked"].copy())

        play_game(ruleset, pair if seat == 0 else pair[::-1], seed + game, keep)
        game += 1
        report(len(shots))
    return np.array(views, ruleset.dtype), np.array(shots)
