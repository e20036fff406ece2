"""The strength of an agent, measured in games that differ: every deal from every seat, with the group of these games as
the unit.

Two deterministic players repeat the same game from each seat. So games whose course depends only on the players begin
with random plies (`Ruleset.usual_opening`), and intervals count only the groups that do not repeat another, move by
move. All evaluations go through this module: training curves, `run.json` and `asobiba evaluate` show its figures.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import t as student

from asobiba.api.opponents import plays_batches
from asobiba.api.seating import Seating, _Group
from asobiba.arena.match import Match, agent_seed, decode_actions
from asobiba.arena.pairs import Score
from asobiba.arena.playing import _Games, play_match
from asobiba.arena.referee import Clock, MatchReferee
from asobiba.core import GameParameterError, Ruleset
from asobiba.core.agents import Agent, KernelAgent
from asobiba.core.random import GAMMA
from asobiba.core.record import ILLEGAL_ACTION
from asobiba.core.states import agent_views, opened_states

__all__ = ["Evaluation", "SeatScore", "cross_play", "evaluate", "matrix", "play_groups"]

_AT_ONCE = 512
"""Games that are played side by side."""


@dataclass(frozen=True)
class SeatScore:
    """The figures of `Evaluation` for one seat; a game is its own group."""

    seat: str
    games: int
    wins: int
    draws: int
    score: float
    low: float
    high: float
    mean_return: float


@dataclass(frozen=True)
class Evaluation:
    """One agent against another, who sits at all other seats; or one agent alone.

    Attributes:
        agent, opponent: as they were named; "-" where nobody else plays.
        opening_plies: random plies before the first move.
        games: number of games played.
        distinct: how many of them differ by their moves (or by the deal).
        groups: number of different groups (of one game from each seat); intervals count these.
        wins, draws: games with a return above 0, and of 0.
        score: mean of 1 for a win, 1/2 for a draw.
        low, high: its 95 % interval, with the group as the unit (`asobiba.arena.pairs`).
        seats: the same from each seat.
        mean_return: mean sum of rewards; `return_half_width`: half of its 95 % interval (Student's, over groups).
        length: mean number of steps, opening included.
        milliseconds: mean time of a decision of the agent, compiling and loading aside; compiled agents and networks
            decide for many games at once.
        opponent_milliseconds: the same of the opponent, measured in the same games; `None` where nobody else plays.
        illegal: share of its decisions that would be illegal without the mask; `None` for agents without a mask.
        forfeits, opponent_forfeits: games that an illegal action of the agent, or of an opponent, has ended; there
            should be none.
    """

    agent: str
    opponent: str
    opening_plies: int
    games: int
    distinct: int
    groups: int
    wins: int
    draws: int
    score: float
    low: float
    high: float
    seats: tuple[SeatScore, ...]
    mean_return: float
    return_half_width: float
    length: float
    milliseconds: float
    opponent_milliseconds: float | None
    illegal: float | None
    forfeits: int = 0
    opponent_forfeits: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Played:
    """A game as the evaluation sees it.

    Attributes:
        gain: the agent's sum of rewards; `points` are 1, 1/2 or 0 as it is above, at or below 0.
        identity: equal in games that do not differ.
        steps: how long it was.
        seconds, decisions: of the agent.
        checked, illegal: decisions examined without the mask, and how many of them would have been illegal.
        actions: `(steps, *actions_shape)`, the opening aside, where they were asked for.
        other_seconds, other_decisions: of all others.
        forfeit: who ended it by an illegal action: 1 the agent, -1 somebody else, 0 nobody.
    """

    gain: float
    identity: int
    steps: int
    seconds: float
    decisions: int
    checked: int = 0
    illegal: int = 0
    actions: np.ndarray | None = field(default=None, compare=False, repr=False)
    other_seconds: float = 0.0
    other_decisions: int = 0
    forfeit: int = 0

    @property
    def points(self) -> float:
        return 0.5 + 0.5 * float(np.sign(self.gain))


Groups = list[tuple[Played, ...]]
"""The games of each deal, from the first seat to the last."""


def play_groups(
    ruleset: Ruleset,
    agent: Agent,
    opponent: Agent | None,
    games: int,
    seed: int = 0,
    report: Callable[[int], None] | None = None,
    *,
    record: bool = False,
) -> Groups:
    """Plays `games` games or a few more, each deal with the agent at every seat and the opponent at all others.

    Where both are compiled, or answer for many games at once, many are played side by side; the results are the same.

    Args:
        ruleset: the game, with its openings.
        agent, opponent: two objects; the opponent is not needed where one plays alone.
        games: how many.
        seed: of the first deal; the others follow.
        report: called with the number of games played so far.
        record: whether to keep the actions.
    """
    players = ruleset.num_players
    deals = np.arange(-(-games // players), dtype=np.uint64) + np.uint64(seed)
    together = all(
        isinstance(one, KernelAgent) or _answers_together(one) for one in (agent, opponent) if one is not None
    )
    _warm_up(ruleset, agent, opponent, deals[:1], together)
    found: Groups = []
    step = max(1, _AT_ONCE // players) if together else 1
    for first in range(0, len(deals), step):
        some = deals[first : first + step]
        found += (
            _play_together(ruleset, agent, opponent, some, record)
            if together
            else [_play(ruleset, agent, opponent, some[0], record)]
        )
        if report is not None:
            report(players * len(found))
    return found


def _answers_together(agent: Agent) -> bool:
    return hasattr(agent, "act_rows") or plays_batches(agent)


def _blanked(states: np.ndarray) -> np.ndarray:
    """A number for each position, the generator's fields aside."""
    records = states.copy()
    records["rng_key"] = records["rng_counter"] = 0
    return np.array([hash(record.tobytes()) for record in records], np.int64).astype(np.uint64)


def _mixed(numbers: np.ndarray, more: np.ndarray) -> np.ndarray:
    # A running digest of 64 bits (SplitMix64's finaliser): enough to tell some thousands of games apart.
    with np.errstate(over="ignore"):
        x = (numbers ^ more.astype(np.uint64)) + GAMMA
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def _mixed_actions(numbers: np.ndarray, actions: np.ndarray) -> np.ndarray:
    flat = actions.reshape(len(actions), -1)
    words = flat.astype(np.int64) if flat.dtype.kind in "iu" else flat.astype(np.float64).view(np.int64)
    for column in words.T:
        numbers = _mixed(numbers, column)
    return numbers


class _Beside(Seating):
    """Compiled agents side by side; each has its own loops, so that it is compiled once for all opponents."""

    def _set_opponents(self, opponent: Any, learner: int) -> None:
        for agent, occupants in opponent:
            if isinstance(agent, KernelAgent):
                self._groups.append(_Group(self, occupants, hand=self._dealt([agent], occupants)))
            else:  # one that answers by rows begins by rows
                asked = np.full_like(occupants, -1) if not self._groups and hasattr(agent, "act_rows") else occupants
                self._groups.append(_Group(self, asked, agent=agent))


def _table(ruleset: Ruleset, agent: Agent, opponent: Agent | None, deals: np.ndarray) -> tuple[_Beside, np.ndarray]:
    """The first positions of each deal with the agent at every seat, and its seats `(n,)`."""
    players, n = ruleset.num_players, len(deals) * ruleset.num_players
    seeds, place = np.repeat(deals, players), np.tile(np.arange(players), len(deals))
    mine = np.full((n, ruleset.seats), -1, np.int8)
    mine[np.arange(n), place] = 0
    theirs = np.full_like(mine, -1)
    theirs[:, :players] = np.where(mine[:, :players] < 0, 0, -1)
    sides: Any = [(agent, mine)] + ([] if opponent is None or players == 1 else [(opponent, theirs)])
    table = _Beside(ruleset, n, opponent=sides, seat=None, autoreset="disabled", threads=1)
    keys = np.array([[agent_seed(int(seed), seat) for seat in range(players)] for seed in seeds], np.uint64)
    table.begin_games(seeds, keys)
    if hasattr(agent, "act_rows"):
        agent.begin_rows(ruleset, n, int(deals[0]))  # type: ignore[attr-defined]
    return table, place


def _warm_up(ruleset: Ruleset, agent: Agent, opponent: Agent | None, deal: np.ndarray, together: bool) -> None:
    """Lets agent and opponent decide once without the clock: their first decisions may compile kernels or load a network.
    The games that follow begin them again.
    """
    players = range(ruleset.num_players)
    if together:
        table, place = _table(ruleset, agent, opponent, deal)
        for seat in players:
            acts = table.acts(seat)
            if (acts & (place == seat)).any():
                _decide(table, agent, seat, acts & (place == seat))
            for group in table._groups[1:]:
                group.decide(seat, acts & (place != seat))
        return
    for own in players:
        seated = _seated(ruleset, agent, opponent, own)
        match = Match.of(ruleset, ["-"] * len(players), int(deal[0]))
        games = _Games([match], seated, MatchReferee(match, _Unforgiving()))
        for seat in players:
            turn = games.turn(seat)
            if turn.any():
                games.seating.decide(seat, turn)


def _decide(table: _Beside, agent: Agent, seat: int, own: np.ndarray) -> np.ndarray | None:
    """Lets the agent act at `seat` in the games `own` `(n,)`; returns which of its actions `(k,)` would be illegal without
    the mask, where it says.
    """
    if hasattr(agent, "act_rows"):
        return _ask_rows(table, agent, seat, np.flatnonzero(own))
    table._groups[0].decide(seat, own)
    return None


def _play_together(ruleset: Ruleset, agent: Agent, opponent: Agent | None, deals: np.ndarray, record: bool) -> Groups:
    players = ruleset.num_players
    table, place = _table(ruleset, agent, opponent, deals)
    n = len(place)
    identity = _mixed(_blanked(table.states), place)
    plies = opened_states(ruleset, deals)[1] if ruleset.opening_plies else np.zeros((len(deals), 0), np.int64)
    identity = _mixed_actions(identity, np.repeat(plies, players, 0)) if plies.size else identity
    running, log = np.ones(n, bool), []
    gains, seconds, checked, illegal = np.zeros(n), np.zeros((n, 2)), np.zeros(n, np.int64), np.zeros(n, np.int64)
    decisions = np.zeros((n, 2), np.int64)  # the agent's and all others'
    limit = ruleset.game.fault_limit
    while running.any():
        for seat in range(players):
            asked = running & table.acts(seat)
            if limit:
                asked &= table.states["faults"][:, seat] < limit
            own = asked & (place == seat)
            if own.any():
                began = time.perf_counter()
                wrong = _decide(table, agent, seat, own)
                seconds[own, 0] += (time.perf_counter() - began) / own.sum()
                decisions[own, 0] += 1
                if wrong is not None:
                    checked[own] += 1
                    illegal[own] += wrong
            others = asked & ~own
            began = time.perf_counter()
            for group in table._groups[1:]:
                group.decide(seat, others)
            seconds[others, 1] += (time.perf_counter() - began) / max(1, others.sum())
            decisions[others, 1] += 1
        if ruleset.simultaneous:
            for seat in range(ruleset.seats):
                table.actions[~(table.acts(seat) if seat < players else np.zeros(n, bool)), seat] = 0
        identity[running] = _mixed_actions(identity[running], table.actions[running])
        if record:
            log.append(table.actions.copy())
        table.advance(running)
        gains[running] += table.rewards[np.arange(n), place][running]
        running &= (table.states["terminated"] | table.states["truncated"]) == 0
    steps = table.states["steps"]
    broken = table.states["end_reason"] == ILLEGAL_ACTION
    forfeit = np.where(broken, np.where(table.states["to_move"] == place, 1, -1), 0)
    kept = np.stack(log, 1) if record else None
    played = [None if kept is None else kept[i, : steps[i] - ruleset.opening_plies] for i in range(n)]
    games = [
        Played(
            float(gains[i]),
            int(identity[i]),
            int(steps[i]),
            float(seconds[i, 0]),
            int(decisions[i, 0]),
            checked=int(checked[i]),
            illegal=int(illegal[i]),
            actions=played[i],
            other_seconds=float(seconds[i, 1]),
            other_decisions=int(decisions[i, 1]),
            forfeit=int(forfeit[i]),
        )
        for i in range(n)
    ]
    return [tuple(games[k : k + players]) for k in range(0, n, players)]


def _ask_rows(table: Seating, agent: Any, seat: int, where: np.ndarray) -> np.ndarray | None:
    """Lets an agent answer for the games `where`; returns which answers would be illegal without a mask."""
    ruleset = table.ruleset
    params = table.params if len(table.params) == 1 else table.params[where]
    views = agent_views(ruleset, table.states[where], np.full(len(where), seat), params)
    masks = table.masks[where, seat] if ruleset.simultaneous else table.masks[where]
    actions = table.actions[:, seat] if ruleset.simultaneous else table.actions
    actions[where], unmasked = agent.act_rows(views, masks, np.full(len(where), seat), where)
    return None if unmasked is None else masks[np.arange(len(where)), unmasked] == 0


class _Unforgiving(Clock):
    """A referee that raises an agent's error instead of letting the agent lose the game."""

    faults = ()


def _seated(ruleset: Ruleset, agent: Agent, opponent: Agent | None, seat: int) -> list[Any]:
    """The agent at `seat`, and the opponent, copied where it is needed more than once, at all others."""
    players = ruleset.num_players
    others = [opponent] + [copy.deepcopy(opponent) for _ in range(players - 2)] if players > 1 else []
    return [*others[:seat], agent, *others[seat:]]


def _play(ruleset: Ruleset, agent: Agent, opponent: Agent | None, deal: Any, record: bool) -> tuple[Played, ...]:
    players, seed = ruleset.num_players, int(deal)
    start = _blanked(opened_states(ruleset, np.array([deal], np.uint64))[0])
    found = []
    for seat in range(players):
        seated = _seated(ruleset, agent, opponent, seat)
        match = play_match(Match.of(ruleset, ["-"] * players, seed), seated, _Unforgiving())
        identity, actions = _mixed(start, np.array([seat])), decode_actions(ruleset, match.actions)
        for action in actions:
            identity = _mixed_actions(identity, action[None])
        seconds, decisions = match.seconds[seat], match.decisions[seat]
        game = Played(
            match.returns[seat],
            int(identity[0]),
            match.moves,
            seconds,
            decisions,
            actions=actions[ruleset.opening_plies :] if record else None,
            other_seconds=sum(match.seconds) - seconds,
            other_decisions=sum(match.decisions) - decisions,
            forfeit=0 if match.culprit is None else 1 if match.culprit == seat else -1,
        )
        found.append(game)
    return tuple(found)


def differing(groups: Groups) -> int:
    """The number of groups that do not repeat another."""
    return len({tuple(game.identity for game in group) for group in groups})


def score_of(groups: Groups) -> Score:
    """The points of these games, with the interval from the games that differ."""
    return Score(tuple(tuple(g.points for g in group) for group in groups), repeats=len(groups) / differing(groups))


def half_width(groups: Groups) -> float:
    """Half of Student's 95 % interval of the mean return, of the groups that differ; not-a-number for fewer than two."""
    means = [float(np.mean([game.gain for game in group])) for group in groups]
    count = differing(groups)
    if count < 2:
        return math.nan
    return float(np.std(means, ddof=1) / math.sqrt(count) * student.ppf(0.975, count - 1))


def _seat_score(name: str, games: Sequence[Played]) -> SeatScore:
    score = score_of([(game,) for game in games])
    points = [game.points for game in games]
    wins, draws = points.count(1.0), points.count(0.5)
    return SeatScore(
        name, len(games), wins, draws, score.share, *score.interval(), float(np.mean([g.gain for g in games]))
    )


def summary(agent: str, opponent: str, ruleset: Ruleset, groups: Groups) -> Evaluation:
    """The figures of these games."""
    played = [game for group in groups for game in group]
    score = score_of(groups)
    low, high = score.interval()
    points = [game.points for game in played]
    checked = sum(game.checked for game in played)
    asked = sum(game.other_decisions for game in played)
    return Evaluation(
        agent=agent,
        opponent=opponent,
        opening_plies=ruleset.opening_plies,
        games=len(played),
        distinct=len({game.identity for game in played}),
        groups=differing(groups),
        wins=points.count(1.0),
        draws=points.count(0.5),
        score=score.share,
        low=low,
        high=high,
        seats=tuple(_seat_score(name, [group[seat] for group in groups]) for seat, name in enumerate(ruleset.players)),
        mean_return=float(np.mean([game.gain for game in played])),
        return_half_width=half_width(groups),
        length=float(np.mean([game.steps for game in played])),
        milliseconds=1000 * sum(game.seconds for game in played) / max(1, sum(game.decisions for game in played)),
        opponent_milliseconds=1000 * sum(game.other_seconds for game in played) / asked if asked else None,
        illegal=sum(game.illegal for game in played) / checked if checked else None,
        forfeits=sum(game.forfeit > 0 for game in played),
        opponent_forfeits=sum(game.forfeit < 0 for game in played),
    )


def evaluate(
    ruleset: Ruleset,
    agent: tuple[str, Agent],
    opponent: tuple[str, Agent] | None,
    games: int = 400,
    seed: int = 0,
    plies: int | None = None,
    report: Callable[[int], None] | None = None,
    *,
    keep: Callable[[Ruleset, Groups], None] | None = None,
) -> Evaluation:
    """Plays two agents against each other, every opening from both sides; or one agent where one plays alone.

    Args:
        ruleset: of any number of players; where there are more than two, the opponent takes all other seats.
        agent, opponent: name and agent.
        games: how many; rounded up to whole groups of one game from each seat.
        seed: of openings, games and agents.
        plies: random plies of an opening; `None`: the ruleset's own, or else `Ruleset.usual_opening`.
        report: called with the number of games played so far.
        keep: called with the ruleset and all games, with their actions.

    Raises:
        GameParameterError: for impossible openings, or a missing opponent.
    """
    if games < 1:
        raise GameParameterError(f"games is at least 1, not {games}")
    if opponent is None and ruleset.num_players > 1:
        raise GameParameterError(f"{ruleset.game.name} is played against somebody: name an opponent")
    ruleset = ruleset.opened(plies)
    other = None if opponent is None else opponent[1]
    groups = play_groups(ruleset, agent[1], other, games, seed, report, record=keep is not None)
    if keep is not None:
        keep(ruleset, groups)
    return summary(agent[0], "-" if ruleset.num_players == 1 or opponent is None else opponent[0], ruleset, groups)


def cross_play(
    ruleset: Ruleset,
    agents: Sequence[tuple[str, Agent]],
    games: int = 400,
    seed: int = 0,
    plies: int | None = None,
    report: Callable[[int], None] | None = None,
) -> list[Evaluation]:
    """Every pair of agents against each other, in a game of two or more players; see `evaluate`."""
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
        found[row, column] = result.score
        if len(result.seats) == 2:
            found[column, row] = 1 - result.score
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
