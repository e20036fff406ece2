"""Opponents in learning by search: a share of the games is not self-play.

The entries of `opponents` are dealt to pairs of games in turn; the two games of a pair have one opening and one opponent, who
sits at either side once. Opponents are earlier networks, which search as the learner does, and agents of the game. Only the
learner's own moves are learned from: a search's policy is a target, an agent's move is none. The positions in between
count for the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from asobiba.arena.match import agent_seed
from asobiba.core.agents import Agent, KernelAgent, make_agent
from asobiba.core.errors import AsobibaError, GameParameterError
from asobiba.core.game import Ruleset
from asobiba.core.networks import Network
from asobiba.core.states import action_mask, agent_views, new_state
from asobiba.learn.agent import PolicyAgent
from asobiba.learn.members import WAYS, Member, Roster
from asobiba.learn.search import GamesPlayed, SelfPlay, Table, network_arrays
from asobiba.learn.search_arrays import Memo

_DRAWS = 0x9001
"""The stream of random numbers that opponents are drawn from."""


class Against(NamedTuple):
    """Who plays against the learner in the games of a round.

    Attributes:
        players: networks, and agents as text.
        chosen: `(games,)` int64, index into `players`; -1: self-play.
    """

    players: tuple[Network | str, ...]
    chosen: np.ndarray

    def part(self, first: int, games: int) -> Against:
        """So many games from the one numbered `first`."""
        return Against(self.players, self.chosen[first : first + games])

    def filled(self, games: int) -> Against:
        """With self-play after the last game, so that there are so many."""
        return Against(self.players, np.append(self.chosen, np.full(games - len(self.chosen), -1)))


def ready_agent(ruleset: Ruleset, text: str) -> Agent:
    """An agent whose games do not depend on the machine, compiled.

    Raises:
        GameParameterError: for an agent that has no compiled form: a program, PyTorch, a table in a file, a limit of time.
        UnknownAgent, GameParameterError: as `make_agent`.
    """
    agent = make_agent(ruleset.game, text)
    if isinstance(agent, PolicyAgent) or not (isinstance(agent, KernelAgent) or agent.thinking(ruleset) is not None):
        agent.close()
        raise GameParameterError(
            f"{text} has no compiled form that plays alike on every machine (it is a program, plays by PyTorch or a table, or "
            "for a time): opponents of learning by search are agents such as random, alpha_beta:depth=3 and net_uct:policy=FILE"
        )
    agent.begin(ruleset, (0,), (0,))
    state = new_state(ruleset, 0)
    if state["to_move"] == 0:
        agent.act(agent_views(ruleset, np.array([state]), np.array([0]))[0], action_mask(ruleset, state))
    return agent


class Opponents:
    """The opponents of a run, and what the learner scored against them.

    Args:
        ruleset: the game.
        config: of the run.

    Raises:
        GameParameterError, UnknownAgent: as `ready_agent`.
    """

    def __init__(self, ruleset: Ruleset, config: dict[str, Any]):
        pool, self._dealt = config["pool"], config["opponents"]
        self._every, self._rounds, self._games = config["snapshot_every"], config["rounds"], config["games"]
        anchors = pool["agents"] if "pool" in self._dealt else ()
        weights = {way: pool[way] for way in WAYS if way in pool}
        self.roster = Roster(weights, pool["keep"], pool["power"], anchors)
        known = {member.name: member for member in self.roster.anchors}
        self.named = {
            text: known.get(text) or Member(0, None, name=text) for text in self._dealt if text not in ("self", "pool")
        }
        self.agents = [*dict.fromkeys([*self.named, *anchors])]
        """The agents among them, as text."""
        for text in self.agents:
            ready_agent(ruleset, text).close()
        self._meeting: list[tuple[str, Member] | None] = []

    @property
    def any(self) -> bool:
        """Whether there are games that are no self-play."""
        return set(self._dealt) != {"self"}

    def keeps(self, done: int) -> bool:
        """Whether the learner is kept, and its scores are told, after so many rounds."""
        return self.any and done % self._every == 0

    def of_round(self, done: int, network: Network, seed: int) -> Against | None:
        """The opponents of a round's games; `None`: all are self-play.

        Args:
            done: rounds that are over.
            network: the learner's present one.
            seed: of the first game, even.
        """
        if not self.any:
            return None
        self.roster.progress = done / self._rounds
        if "pool" in self._dealt and self.keeps(done):
            self.roster.keep_self(network, done)
        pairs = [self._drawn(seed + first) for first in range(0, self._games, 2)]
        self._meeting = [one for one in pairs for _ in range(2)]
        players: dict[int, int] = {}
        found: list[Network | str] = []
        for one in pairs:
            if one is not None and id(one[1]) not in players:
                players[id(one[1])] = len(found)
                found.append(one[1].name or one[1].player)
        chosen = [-1 if one is None else players[id(one[1])] for one in self._meeting]
        return Against(tuple(found), np.array(chosen, np.int64))

    def _drawn(self, seed: int) -> tuple[str, Member] | None:
        text = self._dealt[(seed & 0xFFFFFFFF) // 2 % len(self._dealt)]
        if text == "self":
            return None
        if text != "pool":
            return text, self.named[text]
        member = self.roster.drawn(np.random.Generator(np.random.Philox(key=[seed & (1 << 64) - 1, _DRAWS])))
        return None if member is None else (text, member)

    def record(self, games: GamesPlayed) -> dict[str, float]:
        """Notes the results of the round; returns the learner's mean score by entry of `opponents`, NaN without games."""
        points: dict[str, list[float]] = {text: [] for text in self._dealt if text != "self"}
        for g, one in enumerate(self._meeting):
            own = np.flatnonzero(games.learned[g, : games.lengths[g]])
            if one is not None and len(own):  # else the game ended before the learner's first move
                gain = float(games.results[g, own[0]])
                one[1].record(gain)
                points[one[0]].append(0.5 + 0.5 * float(np.sign(gain)))
        return {f"score against {text}": float(np.mean(got)) if got else np.nan for text, got in points.items()}

    @property
    def everybody(self) -> list[Member]:
        """The members of the pool, and those who are dealt by name."""
        anchors = {one.name for one in self.roster.anchors}
        return [*self.roster.everybody, *(self.named[text] for text in self.named if text not in anchors)]

    def rows(self, done: int) -> list[dict[str, Any]]:
        """Lines of `pool.csv` after so many rounds."""
        return [
            {"round": done, "opponent": one.label, "games": one.games, "score": one.score} for one in self.everybody
        ]

    def saved(self) -> list[dict[str, Any]]:
        """What `restore` reads: texts, numbers and weights (float32; of an agent none)."""
        return [
            {
                "steps": one.steps, "name": one.name, "games": one.games, "points": one.points,
                "weights": np.zeros(0, np.float32) if one.name else one.player.weights,
            }
            for one in self.everybody
        ]  # fmt: skip

    def restore(self, saved: Sequence[dict[str, Any]], network: Network) -> None:
        """Takes what `saved` gave; `network` is of the same architecture."""
        self.roster.members = []
        agents = {one.name: one for one in self.everybody}
        for each in saved:
            if each["name"]:
                one = agents[each["name"]]
            else:
                one = Member(each["steps"], replace(network, weights=each["weights"]))
                self.roster.members.append(one)
            one.games, one.points = each["games"], each["points"]


@dataclass
class _Corner:
    """What a thread needs for the opponents.

    Attributes:
        agents: by their text.
        memo: of the networks; `None` until one plays.
        numbers: of the networks of this call in the memo; `free`: those to come.
    """

    agents: dict[str, Agent]
    memo: Memo | None = None
    numbers: dict[int, int] = field(default_factory=dict)
    free: Iterator[int] = field(default_factory=lambda: count(1))


class Sparring(SelfPlay):
    """Self-play, and games against opponents among it.

    Args:
        ruleset, network, settings: as for `SelfPlay`.
        agents: all that may play, as text.

    Raises:
        GameParameterError, UnknownAgent: as `ready_agent`.
    """

    def __init__(self, ruleset: Ruleset, network: Network, *, agents: Sequence[str] = (), **settings: Any):
        super().__init__(ruleset, network, **settings)
        self._against: Against | None = None
        self._corners = [_Corner({text: ready_agent(ruleset, text) for text in agents}) for _ in self._tables]

    def play(self, network: Network, seed: int, against: Against | None = None) -> GamesPlayed:
        """As `SelfPlay.play`; a game that is no self-play has the opening of the even one of its pair of seeds, and the
        learner sits at seat `seed % 2`."""
        self._against = None if against is None else against.filled(len(self.games.lengths))
        for corner in self._corners:
            corner.numbers.clear()
        return super().play(network, seed)

    def close(self) -> None:
        """Frees what the agents hold."""
        for corner in self._corners:
            for agent in corner.agents.values():
                agent.close()

    def _deals(self, seeds: np.ndarray) -> np.ndarray:
        return seeds if self._against is None else np.where(self._against.chosen < 0, seeds, seeds & ~np.uint64(1))

    def _play_game(self, table: Table, network: Network, g: int) -> None:
        chosen = -1 if self._against is None else int(self._against.chosen[g])
        if chosen < 0:
            super()._play_game(table, network, g)
            return
        assert self._against is not None
        own, corner, games = int(self.seeds[g]) & 1, self._corners[table.number], self.games
        opponent, loops, params = self._against.players[chosen], self.loops, self.ruleset.params
        if isinstance(opponent, str):
            corner.agents[opponent].begin(self.ruleset, (1 - own,), (agent_seed(int(self.deals[g]), 1 - own),))
        goes_on = loops.begin_meeting(
            trees=table.trees,
            roots=table.roots,
            params=params,
            blank=self.blank,
            openings=self.openings,
            seed=self.deals[g],
            g=g,
            games=games,
        )
        moves = 0
        while goes_on and moves < games.movers.shape[1]:
            mine = table.roots["to_move"][0] == own
            if mine:
                goes_on = self._search_turn(table, network, table.memo, g, moves, 1)
            elif isinstance(opponent, str):
                action = self._answer(corner.agents[opponent], table.roots)
                goes_on = loops.agent_turn(table.roots, params, action, g, moves, games)
            else:
                goes_on = self._search_turn(table, opponent, self._memo(corner, chosen), g, moves, 0)
            moves += 1
        loops.end_meeting(g, moves, games)

    def _search_turn(self, table: Table, network: Network, memo: Memo, g: int, k: int, learned: int) -> bool:
        found = self.loops.search_turn(
            trees=table.trees,
            net=network_arrays(network),
            memo=memo,
            roots=table.roots,
            params=self.ruleset.params,
            scratch=table.scratch,
            sequence=self.sequence,
            options=self.options,
            g=g,
            k=k,
            games=self.games,
            learned=learned,
        )
        return bool(found)

    def _memo(self, corner: _Corner, chosen: int) -> Memo:
        if corner.memo is None:
            corner.memo = Memo.empty(self.ruleset)
        if chosen not in corner.numbers:
            corner.numbers[chosen] = next(corner.free)
        corner.memo.counts[0] = corner.numbers[chosen]
        return corner.memo

    def _answer(self, agent: Agent, roots: np.ndarray) -> int:
        legal = action_mask(self.ruleset, roots[0])
        action = int(agent.act(agent_views(self.ruleset, roots, roots["to_move"])[0], legal))
        if not (0 <= action < len(legal) and legal[action]):
            raise AsobibaError(f"the opponent {agent.name} answered {action}, which is not legal in its position")
        return action
