"""The share of exact values that an agent keeps on small boards, over drawn positions and over its own games.

All boards that play reaches from the start are worked out (`asobiba.baselines.bao.reachable`), on 6x2 some 55 million. A
repetition draws; positions that stood before in the game are counted as it ends there, and not foreseen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from asobiba.arena.ratings import wilson
from asobiba.baselines.bao import endgame
from asobiba.baselines.bao.boards import rows_in_order, tables
from asobiba.baselines.bao.endgame import Database, build
from asobiba.baselines.bao.graph import position_values
from asobiba.baselines.bao.reachable import reachable_boards
from asobiba.baselines.search.own_games import Played, opening, play
from asobiba.core import Agent, GameParameterError, Ruleset, make_agent
from asobiba.core.states import action_mask, is_over, legal_actions, step, view_of
from asobiba.envs.bao.layout import starting_counts, unpack
from asobiba.envs.bao.notation import PLAYERS, text_to_state
from asobiba.pages import TextTable

MOST_HOLES = 6
OPENING = 4
"""Random moves before a game, so that agents without chance play different ones."""
_ILLEGAL = -2


@dataclass(frozen=True)
class ExactValues:
    """Exact results of every position that play reaches from a start.

    `wanted`: one bit a board, in the order of `board_rank`; `database` holds the values of these boards.
    """

    ruleset: Ruleset
    wanted: np.ndarray
    database: Database

    @classmethod
    def of(cls, ruleset: Ruleset, report: Callable[[str], None] = lambda line: None) -> ExactValues:
        """The values of a ruleset, from the cache folder, or worked out and stored there (6x2: minutes, 2 GB of memory).

        Raises:
            GameParameterError: for a board of more than six holes in a row, a random start, and other rules of repetition.
        """
        holes, start = ruleset.num_actions, str(ruleset.parameters["start"])
        counts = starting_counts(holes, start)
        if holes > MOST_HOLES or counts is None or ruleset.parameters["repetition"] != "draw":
            raise GameParameterError(
                f"exact values are worked out for boards of up to {MOST_HOLES} holes in a row, one start, and repetitions that "
                f"draw; got {ruleset}"
            )
        endless = str(ruleset.parameters["endless"])
        file = endgame.database_folder() / f"reachable-{'-'.join(map(str, counts))}-{endless}.npz"
        if file.exists():
            with np.load(file) as held:
                return cls(ruleset, held["wanted"], Database(*(held[name] for name in Database._fields)))
        report("reachable boards")
        wanted, _ = reachable_boards(holes, counts)
        database = build(holes, sum(counts), endless, lambda line: report(f"boards of {line['seeds']} seeds"), wanted)
        partial = file.with_suffix(".partial.npz")
        np.savez_compressed(partial, wanted=wanted, **database._asdict())
        partial.replace(file)
        return cls(ruleset, wanted, database)

    def results(self, states: Sequence[np.void]) -> np.ndarray:
        """What the player to move gets with best play, `(n,)` int64: 1 won, 0 drawn, -1 lost."""
        sides = np.array([int(state["to_move"]) for state in states])
        boards = np.array([[state["board"][k], state["board"][1 - k]] for state, k in zip(states, sides)], np.uint64)
        leads = [int(state["stores"][k]) - int(state["stores"][1 - k]) for state, k in zip(states, sides)]
        low, high = np.zeros((2, len(states)), np.int8)
        if len(states):
            params = tables(self.ruleset.num_actions, str(self.ruleset.parameters["endless"]))
            position_values(params, self.database, boards, low, high)
        won = (low > -128) & (leads + low.astype(np.int64) > 0)
        lost = (high < 127) & (leads + high.astype(np.int64) < 0)
        return won.astype(np.int64) - lost

    def move_results(self, state: np.void) -> np.ndarray:
        """What the player to move gets after each action, `(actions,)`; -2 where it is illegal."""
        found, mover = np.full(self.ruleset.num_actions, _ILLEGAL, np.int64), int(state["to_move"])
        after = {int(action): step(self.ruleset, state, int(action)) for action in legal_actions(self.ruleset, state)}
        going = {action: child for action, child in after.items() if not is_over(child)}
        for action in after.keys() - going.keys():
            found[action] = np.sign(after[action]["rewards"][mover])
        for action, value in zip(going, self.results(list(going.values()))):
            found[action] = -value
        return found

    def drawn_positions(self, result: int, count: int, seed: int) -> list[np.void]:
        """States of boards drawn uniformly from those that play reaches, the game not over, that the player to move wins
        (1), draws (0) or loses (-1). The captured seeds are divided evenly; an odd one is the other player's."""
        holes, params = self.ruleset.num_actions, tables(self.ruleset.num_actions, "illegal")[0]
        total = int(self.ruleset.params["total"][0])
        rows, begins = rows_in_order(holes, total)
        generator, found = np.random.default_rng(seed), list[np.void]()
        while len(found) < count:
            at = generator.integers(0, len(self.database.values), 16384)
            reached = (self.wanted[at >> 6] >> (at & 63).astype(np.uint64)) & np.uint64(1) != 0
            states = [self._state(int(k), params, rows, begins, len(found) % 2) for k in at[reached]]
            going = [state for state in states if not is_over(state)]
            found += [state for state, value in zip(going, self.results(going)) if value == result]
        return found[:count]

    def _state(self, at: int, params: np.void, rows: np.ndarray, begins: np.ndarray, mover: int) -> np.void:
        start, total = params["start"], int(self.ruleset.params["total"][0])
        seeds = int(np.searchsorted(start[: total + 1, 0], at, "right")) - 1
        mine = int(np.searchsorted(start[seeds, : seeds + 1], at, "right")) - 1
        own, other = divmod(at - int(start[seeds, mine]), int(params["rows"][seeds - mine]))
        words = [rows[begins[mine] + own], rows[begins[seeds - mine] + other]]
        half = (total - seeds) // 2
        stores = [half, total - seeds - half]
        if mover:
            words, stores = words[::-1], stores[::-1]
        counts = unpack(np.array(words, np.uint64), self.ruleset.num_actions)
        board = "/".join(",".join(map(str, part)) for part in (counts[: len(counts) // 2], counts[len(counts) // 2 :]))
        return text_to_state(self.ruleset, f"{board} {PLAYERS[mover]} {stores[0]}-{stores[1]}")


@dataclass(frozen=True)
class Kept:
    """Decisions of an agent against the exact values, each `(n,)` int64.

    `best`: what the position was worth; `got`: what it is worth after the move; `worst`: after the worst legal move.
    """

    best: np.ndarray
    got: np.ndarray
    worst: np.ndarray

    @classmethod
    def of(cls, values: ExactValues, states: Sequence[np.void], actions: Sequence[int]) -> Kept:
        """The decisions of any agent."""
        found = np.array([values.move_results(state) for state in states]).reshape(len(states), -1)
        worst = np.where(found == _ILLEGAL, 2, found).min(1)
        return cls(found.max(1), found[np.arange(len(states)), list(actions)], worst)

    def where(self, held: np.ndarray) -> Kept:
        """Those that `held` `(n,)` bool marks."""
        return Kept(self.best[held], self.got[held], self.worst[held])

    def choices(self) -> Kept:
        """Those in which a move could change the value."""
        return self.where(self.worst < self.best)

    def text(self) -> str:
        """The share that kept the value with its interval, and the mean loss."""
        kept, of = int((self.got == self.best).sum()), len(self.best)
        return f"{_share(kept, of)} / {(self.best - self.got).mean():.3f}" if of else "-"


def _share(part: int, of: int) -> str:
    if not of:
        return "-"
    low, high = wilson(part, of)
    return f"{100 * part / of:.1f} ({100 * low:.1f} to {100 * high:.1f}) of {of:,}"


def over_positions(values: ExactValues, agent: Agent, states: Sequence[np.void]) -> Kept:
    """An agent's moves in these positions, each asked as the first of a game."""
    actions = []
    for number, state in enumerate(states):
        seat = int(state["to_move"])
        agent.reset(values.ruleset, seat, number)
        actions.append(int(agent.act(view_of(values.ruleset, state, seat), action_mask(values.ruleset, state))))
    return Kept.of(values, states, actions)


def different_games(played: Played) -> list[int]:
    """The numbers of the games that differ from all before them, in a position or a move."""
    lines: dict[int, list[tuple]] = {}
    for who in range(2):
        for number, state, action in zip(played.numbers[who], played.states[who], played.actions[who]):
            lines.setdefault(number, []).append((who, state["board"].tobytes(), state["stores"].tobytes(), action))
    found: dict[tuple, int] = {}
    for number in sorted(lines):
        found.setdefault(tuple(lines[number]), number)
    return list(found.values())


def thrown_away(played: Played, kept: Kept) -> tuple[int, int]:
    """Of the different games in which the first agent once stood won or drawn: how many there are, and in how many one of its
    moves gave a won or drawn position away."""
    numbers, different = np.array(played.numbers[0]), different_games(played)
    stood, lost = set(numbers[kept.best >= 0]), set(numbers[kept.got < kept.best])
    return len(stood.intersection(different)), len(lost.intersection(different))


def strength_table(
    values: ExactValues, agents: Sequence[str], positions: int, games: int, tell: Callable[[str], None]
) -> TextTable:
    """Each agent's moves, wins and games against the exact values."""
    ruleset = values.ruleset
    won, drawn = (values.drawn_positions(result, positions, 2 - result) for result in (1, 0))
    strong, rows = "alpha_beta", []
    for name in agents:
        tell(name)
        agent = make_agent(ruleset.game, name)
        cells = [over_positions(values, agent, states).text() for states in (won, drawn)]
        ended = play(ruleset, (agent, make_agent(ruleset.game, strong)), min(games, positions), won.__getitem__, False)
        cells.append(_share(ended.results.count(1), ended.games))
        own = play(ruleset, (agent, make_agent(ruleset.game, strong)), games, lambda k: opening(ruleset, OPENING, k))
        kept, different = Kept.of(values, own.states[0], own.actions[0]), different_games(own)
        stood, lost = thrown_away(own, kept)
        counted = kept.where(np.isin(own.numbers[0], different)).choices()
        cells += [counted.text(), _share(lost, stood), f"{own.milliseconds(0):.2f}"]
        rows.append((f"`{name}`", *cells))
    return TextTable(
        (
            "agent", "won positions", "drawn positions", "wins won positions", "own games", "own games thrown away",
            "ms a move",
        ),
        rows,
        f"{ruleset.num_actions}x2 against the exact values",
        f"Percent of moves that keep the value, with the 95 % interval; behind the slash the value given away a move (a win 1, a draw 0, a "
        f"loss -1). *won*, *drawn*: {positions:,} positions each, drawn uniformly from the boards that play reaches, captured seeds "
        f"divided evenly. *wins*: of {min(games, positions):,} of these won positions played out against `{strong}`. *own games*: {games} "
        f"against `{strong}`, {OPENING} random moves before, each beginning from both sides, of which those count that differ; of its decisions "
        "those in which a move could change the value. *thrown away*: of the games in which it once stood won or drawn, those in which a "
        "move of its own gave value away.",
    )  # fmt: skip
