"""Search guided by a network, for games of two players, discrete actions, perfect information and no chance after the start.

`NetSearch` searches one position; `SelfPlay` plays whole games of self-play in compiled code, from which a network
learns (`asobiba.learn.expert`). The loops are `search_loops`, compiled together with a game's kernels.

The network is evaluated in compiled code too: a small one over a sparse board costs a few microseconds, no more than a
library needs where some games are over before the others. So games depend on their seeds alone, and not on the machine, on
the number of threads or on what is played beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np

from asobiba.core.agents import Thinking
from asobiba.core.cache import bind_module
from asobiba.core.errors import GameParameterError
from asobiba.core.game import Game, Ruleset
from asobiba.core.networks import Network
from asobiba.core.random import seed_keys, seed_record
from asobiba.core.record import SAMPLER, record_dtype
from asobiba.learn.search_arrays import Memo, Net, Trees

_NODE = record_dtype(
    [("total", np.float64), ("value", np.float64)]
    + [(name, np.int32) for name in ("visits", "first", "edges", "mover", "exact", "plies")]
)
_EDGE = record_dtype(
    [("logit", np.float64), ("prior", np.float64), ("action", np.int32), ("child", np.int32), ("reward", np.float32)]
)
_ROW = record_dtype(
    [(name, np.float64) for name in ("logit", "prior", "value", "completed", "noise")]
    + [(name, np.int64) for name in ("visits", "lost")]
)
_OPTIONS = record_dtype(
    [(name, np.float64) for name in ("scale", "begin", "noise", "exploration", "urgency")] + [("puct", np.int64)]
)
_SELF_PLAY = 7
"""The stream of random numbers that self-play draws noise and openings from."""


class GamesPlayed(NamedTuple):
    """Arrays that self-play writes: one row per game, with one column per position; `lengths` gives their number.

    Attributes:
        generators: `(games,)` records, of noise and openings.
        observations: `(games, length, size)`, of the player to move.
        masks: `(games, length, actions)` int8.
        policies: `(games, length, actions)` float32, the search's improved policy.
        movers: `(games, length)` int8, the player to move.
        learned: `(games, length)` int8: 1 where the network that learns was to move. Of others only mover, reward and result
            are certain to be noted.
        values: `(games, length)` float32, the search's value of the position, for the player to move.
        rewards: `(games, length)` float32, the reward of the move for its player.
        results: `(games, length)` float32, the return of the rest of the game for the player to move.
        lengths: `(games,)` int64.
    """

    generators: np.ndarray
    observations: np.ndarray
    masks: np.ndarray
    policies: np.ndarray
    movers: np.ndarray
    learned: np.ndarray
    values: np.ndarray
    rewards: np.ndarray
    results: np.ndarray
    lengths: np.ndarray

    @classmethod
    def room(cls, ruleset: Ruleset, games: int, length: int) -> GamesPlayed:
        """Room for so many games of at most `length` moves."""
        size, actions = ruleset.observation_size, ruleset.num_actions
        return cls(
            generators=np.zeros(games, SAMPLER),
            observations=np.zeros((games, length, size), ruleset.observation_space.dtype),
            masks=np.zeros((games, length, actions), np.int8),
            policies=np.zeros((games, length, actions), np.float32),
            movers=np.zeros((games, length), np.int8),
            learned=np.zeros((games, length), np.int8),
            values=np.zeros((games, length), np.float32),
            rewards=np.zeros((games, length), np.float32),
            results=np.zeros((games, length), np.float32),
            lengths=np.zeros(games, np.int64),
        )


def require_searchable(ruleset: Ruleset) -> None:
    """Raises `GameParameterError` for a game that these trees do not support."""
    game = ruleset.game
    wrong = []
    if not ruleset.discrete:
        wrong.append("its actions are continuous")
    if ruleset.simultaneous:
        wrong.append("several players act at once")
    if ruleset.hidden:
        wrong.append("its players do not see everything")
    if game.chance:  # a start that is drawn lies above every root
        wrong.append("it has chance events")
    if ruleset.num_players != 2 or game.utility != "zero_sum":
        wrong.append("it is no zero-sum game of two players")
    if wrong:
        raise GameParameterError(f"search with a network does not fit {game.name}: {', '.join(wrong)}")


@cache
def _loops(game: Game, rules: ModuleType | None = None) -> ModuleType:
    kernels = {name: getattr(rules or game.rules, name) for name in ("legal", "observe", "reset", "step")}
    return bind_module(f"search-{game.name}", "asobiba.learn.search_loops", kernels)


def visits_considered(most: int, simulations: int) -> list[int]:
    """The number of visits of the root's edges to try next, for each simulation: sequential halving.

    `most` edges share the simulations of each round; after a round the better half goes on.

    Source: Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013, as in Danihelka et
    al., ICLR 2022.
    """
    if most <= 1:
        return list(range(simulations))
    rounds = math.ceil(math.log2(most))
    found: list[int] = []
    visits = [0] * most
    left = most
    while len(found) < simulations:
        for _ in range(max(1, simulations // (rounds * left))):
            found += visits[:left]
            for k in range(left):
                visits[k] += 1
        left = max(2, left // 2)
    return found[:simulations]


@cache
def _sequences(most: int, simulations: int) -> np.ndarray:
    """Row `m`: `visits_considered` of a root with `m` edges; the last row is for `most` and more."""
    rows = [visits_considered(m, simulations) for m in range(most + 1)]
    return np.array(rows, np.int64).reshape(most + 1, simulations)


def require_fitting(ruleset: Ruleset, inputs: int, actions: int) -> None:
    """Raises `GameParameterError` for a network whose input or output sizes are not the game's."""
    if inputs != ruleset.observation_size or actions != ruleset.num_actions:
        raise GameParameterError(
            f"the network reads {inputs} numbers and knows {actions} actions, but {ruleset} has "
            f"{ruleset.observation_size} and {ruleset.num_actions}"
        )


def _make_trees(ruleset: Ruleset, network: Network, trees: int, simulations: int) -> Trees:
    require_fitting(ruleset, network.inputs, network.actions)
    if network.value < 0:
        raise GameParameterError(
            "a search needs a network with a value; compiled code has none for BoardPolicy, only for dense layers"
        )
    actions, nodes = ruleset.num_actions, simulations + 1
    widest = int(max(network.layers["inputs"].max(), network.layers["outputs"].max()))
    return Trees(
        nodes=np.zeros((trees, nodes), _NODE),
        edges=np.zeros((trees, nodes * actions), _EDGE),
        rows=np.zeros((trees, actions), _ROW),
        path=np.zeros((trees, nodes), np.int64),
        taken=np.zeros((trees, nodes), np.int64),
        node_count=np.zeros(trees, np.int64),
        used=np.zeros(trees, np.int64),
        observation=np.zeros((trees, ruleset.observation_size), ruleset.observation_space.dtype),
        mask=np.zeros((trees, actions), np.int8),
        scratch=np.zeros((1, network.size + 16), np.float32),
        active=np.zeros((1, widest + 1), np.int64),
    )


def _make_options(noise: float, puct: bool, exploration: float) -> np.ndarray:
    # `scale` and `begin` are c_scale (1 for values between 0 and 1; these lie between -1 and 1) and c_visit of Danihelka et
    # al. Values are not rescaled to those of a node, which would magnify noise where all moves are about equal.
    values = {"scale": 0.5, "begin": 50.0, "noise": noise, "exploration": exploration, "urgency": 0.0, "puct": puct}
    found = np.zeros(1, _OPTIONS)
    for name, value in values.items():
        found[name] = value
    return found


def network_arrays(network: Network) -> Net:
    """A network as the loops take it."""
    return Net(network.layers, network.weights, network.policy, network.value)


class NetSearch:
    """Searches positions of one ruleset with one network.

    Args:
        ruleset: the game.
        network: its inputs and outputs are the game's observation and actions.
        simulations: of one search; each evaluates the network once.
        considered: the most moves that are tried at the root (Gumbel).
        noise: strength of the Gumbel noise on the root's logits; 0: none, so that equal positions give equal moves.
        puct: choose by PUCT instead of Gumbel's rules.
        exploration: PUCT's constant.
        rules: a module with the kernels `legal`, `observe`, `reset` and `step` that lines are played by, in place of the game's
            own: such as rules by which a game ends where its result is known.

    Raises:
        GameParameterError: for a game that has chance after its start, hidden information or simultaneous moves, or a
            network of another game.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        network: Network,
        simulations: int = 64,
        *,
        considered: int = 16,
        noise: float = 0.0,
        puct: bool = False,
        exploration: float = 1.25,
        rules: ModuleType | None = None,
    ):
        require_searchable(ruleset)
        if simulations < 1:
            raise GameParameterError(f"simulations is at least 1, not {simulations!r}")
        self.ruleset, self.network, self.simulations = ruleset, network, simulations
        self.policy = np.zeros(ruleset.num_actions, np.float32)
        self._trees, self._memo = _make_trees(ruleset, network, 1, simulations), Memo.empty(ruleset)
        self._sequence = _sequences(considered, simulations)
        self._options = _make_options(noise, puct, exploration)
        self._generator = np.zeros(1, SAMPLER)
        self._roots, self._free = ruleset.zeros(), ruleset.zeros()
        self._loops = _loops(ruleset.game, rules)

    def seed(self, seed: int) -> None:
        """Starts the noise afresh."""
        seed_record(self._generator[0], np.uint64(seed))

    def forget(self) -> None:
        """Computes the network's answers again, also for positions that were met before."""
        self._memo.counts[0] += 1

    def thinking(self) -> Thinking:
        """A search as one compiled function."""
        arrays = {
            **self._trees._asdict(),
            "layers": self.network.layers,
            "weights": self.network.weights,
            "places": np.array([self.network.policy, self.network.value], np.int64),
            "free": self._free,
            "sequence": self._sequence,
            "options": self._options,
            "generator": self._generator,
        }
        return Thinking(self._loops.think, arrays, "generator")

    def search(self, state: np.void) -> tuple[int, float]:
        """The action to play in a state in which the game goes on, and the value for the player to move (-1 to 1).

        `policy` then holds the improved policy `(actions,)`, `visits` the visits of the root's actions.
        """
        self._roots[0] = state
        action, value = self._loops.search(
            trees=self._trees,
            net=network_arrays(self.network),
            memo=self._memo,
            roots=self._roots,
            params=self.ruleset.params,
            scratch=self._free,
            sequence=self._sequence,
            simulations=self.simulations,
            options=self._options,
            generator=self._generator,
            policy=self.policy,
        )
        return int(action), float(value)

    def search_rows(self, states: np.ndarray, generators: np.ndarray) -> np.ndarray:
        """The actions `(n,)` to play in states `(n,)` in which the game goes on: what `search` answers for each.

        Args:
            states: records of the game.
            generators: records of `SAMPLER` `(n,)`, of the noise; they advance.
        """
        roots, actions = self.ruleset.zeros(len(states)), np.zeros(len(states), np.int64)
        roots[:] = states
        self._loops.search_rows(
            trees=self._trees,
            net=network_arrays(self.network),
            memo=self._memo,
            roots=roots,
            params=self.ruleset.params,
            scratch=self._free,
            sequence=self._sequence,
            options=self._options,
            generators=generators,
            actions=actions,
        )
        return actions

    @property
    def visits(self) -> dict[int, int]:
        """Visits of each action of the last root."""
        root = self._trees.nodes[0, 0]
        edges = self._trees.edges[0, root["first"] : root["first"] + root["edges"]]
        tried = np.where(edges["child"] >= 0, self._trees.nodes[0, edges["child"]]["visits"], 0)
        return dict(zip(edges["action"].tolist(), tried.tolist(), strict=True))


class Table(NamedTuple):
    """What a thread needs to play a game; `number` is the thread's."""

    number: int
    trees: Trees
    memo: Memo
    roots: np.ndarray
    scratch: np.ndarray


class SelfPlay:
    """Self-play games of a network, many in one call.

    Args:
        ruleset: the game.
        network: of the architecture that will play; `play` is given the current weights.
        games: in one call.
        simulations: of each move.
        threads: number among which the games are divided; the games do not depend on it.
        length: the most moves of a game.
        openings: a game begins with up to so many random plies, drawn for each game.
        considered: as in `NetSearch`.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        network: Network,
        *,
        games: int,
        simulations: int,
        threads: int,
        length: int,
        openings: int,
        considered: int = 16,
    ):
        require_searchable(ruleset)
        self.ruleset, self.openings, self.cores = ruleset, openings, threads
        self.sequence = _sequences(considered, simulations)
        self.options = _make_options(1.0, False, 0.0)
        self._tables = [
            Table(
                number,
                _make_trees(ruleset, network, 1, simulations),
                Memo.empty(ruleset),
                ruleset.zeros(),
                ruleset.zeros(),
            )
            for number in range(min(threads, games))
        ]
        self.games = GamesPlayed.room(ruleset, games, length)
        self.seeds = self.deals = np.zeros(games, np.uint64)
        self.loops, self.blank = _loops(ruleset.game), ruleset.zeros()

    def play(self, network: Network, seed: int) -> GamesPlayed:
        """Plays all games; game `i` has the seed `seed + i`. The next call overwrites the arrays."""
        self.seeds = np.arange(len(self.games.lengths), dtype=np.uint64) + np.uint64(seed)
        self.deals = self._deals(self.seeds)
        self.games.generators["rng_key"] = seed_keys(self.deals, _SELF_PLAY)
        self.games.generators["rng_counter"] = 0
        numbers = iter(range(len(self.seeds)))
        with ThreadPoolExecutor(len(self._tables)) as pool:
            for done in [pool.submit(self._play, table, network, numbers) for table in self._tables]:
                done.result()
        return self.games

    def close(self) -> None:
        """Nothing: what plays ends with each call."""

    def _deals(self, seeds: np.ndarray) -> np.ndarray:
        """The seeds `(games,)` of the openings and of the noise."""
        return seeds

    def _play(self, table: Table, network: Network, numbers: Iterator[int]) -> None:
        """Plays games, each the next of `numbers`, until there are no more."""
        table.memo.counts[0] += 1  # the answers of the network before do not count any more
        for g in numbers:
            self._play_game(table, network, g)

    def _play_game(self, table: Table, network: Network, g: int) -> None:
        self.loops.self_play(
            trees=table.trees,
            net=network_arrays(network),
            memo=table.memo,
            roots=table.roots,
            params=self.ruleset.params,
            blank=self.blank,
            scratch=table.scratch,
            sequence=self.sequence,
            options=self.options,
            openings=self.openings,
            seed=self.deals[g],
            g=g,
            games=self.games,
        )

    @property
    def evaluations(self) -> tuple[int, int]:
        """Positions for which a search asked, and those that the network computed, since this object was made."""
        asked, computed = np.sum([table.memo.counts[1:] for table in self._tables], 0)
        return int(asked), int(computed)
