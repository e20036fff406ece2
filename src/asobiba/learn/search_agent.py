"""A network with a search as an agent: `net_uct:policy=FILE,simulations=64`."""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from asobiba.core.agents import Agent, Thinking, agent_loader, parse_agent
from asobiba.core.errors import GameParameterError
from asobiba.core.game import Game, Ruleset
from asobiba.core.networks import Network
from asobiba.core.random import seed_keys
from asobiba.core.record import SAMPLER
from asobiba.learn.kernels import load_network
from asobiba.learn.policy_file import PolicyFile, open_header
from asobiba.learn.search import NetSearch, require_fitting, require_searchable

_TRIAL = 32
"""Simulations of the search that measures how fast this machine is."""


class NetAgent(Agent):
    """Plays the choice of a search guided by a network.

    Args:
        policy: a file of `asobiba train` (layers must be dense), or a network, or several of them, for boards of several
            sizes, of which the one plays that fits. The weights are loaded after a check that the game has the policy's
            spaces.
        simulations: of one move.
        time: milliseconds of a move instead: the number of simulations is measured on this machine before the first
            game, so the play depends on the machine.
        search: `gumbel` (Danihelka et al. 2022) or `puct` (Silver et al. 2017).
        considered: the most moves that are tried at the root (gumbel).
        noise: strength of the Gumbel noise on the root's logits; 0: equal positions give equal moves.
    """

    def __init__(
        self,
        policy: str | Path | Network | Sequence[str | Path],
        simulations: int = 64,
        time: float | None = None,
        search: str = "gumbel",
        considered: int = 16,
        noise: float = 0.0,
        name: str = "net_uct",
    ):
        if simulations < 1 or considered < 1:
            raise GameParameterError(f"simulations and considered are at least 1, not {simulations} and {considered}")
        if time is not None and not time > 0:
            raise GameParameterError(f"time is milliseconds above 0, not {time!r}")
        if search not in ("gumbel", "puct"):
            raise GameParameterError(f"search is gumbel or puct, not {search!r}")
        self.name, self.simulations, self.time = name, simulations, time
        given: Sequence[str | Path | Network] = [policy] if isinstance(policy, (str, Path, Network)) else policy
        self._networks = [each if isinstance(each, Network) else open_header(each) for each in given]
        self._settings: dict[str, Any] = {"considered": considered, "noise": noise, "puct": search == "puct"}
        self._searcher: NetSearch | None = None
        self._generators = np.zeros(0, SAMPLER)

    @property
    def remembers(self) -> bool:
        """Whether a move depends on earlier ones: noise goes on through a game."""
        return bool(self._settings["noise"] > 0)

    @property
    def same_in_batches(self) -> bool:
        return not self.remembers and self.time is None

    def prepare(self, ruleset: Ruleset) -> None:
        if self._searcher is not None and self._searcher.ruleset == ruleset:
            return
        simulations = self.simulations
        if self.time is not None:
            simulations = max(1, int(self.time / 1000 / _seconds_a_simulation(self._search(ruleset, _TRIAL))))
        self._searcher = self._search(ruleset, simulations)

    def _search(self, ruleset: Ruleset, simulations: int) -> NetSearch:
        return NetSearch(ruleset, self._fitting(ruleset), simulations, **self._settings)

    def _fitting(self, ruleset: Ruleset) -> Network:
        # The network that fits this game, or an error about the first.
        require_searchable(ruleset)
        wanted = ruleset.observation_size, ruleset.num_actions
        place = next((k for k, each in enumerate(self._networks) if _sizes(each) == wanted), 0)
        found = self._networks[place]
        if isinstance(found, PolicyFile):
            inputs, actions = _sizes(found)
            if actions:  # `load_network` reports the error for continuous ones
                require_fitting(ruleset, inputs, actions)
            found = self._networks[place] = load_network(found.path)
        return found

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self.prepare(ruleset)
        assert self._searcher is not None
        self._searcher.seed(seed)

    def thinking(self, ruleset: Ruleset) -> Thinking | None:
        """The compiled function, unless the search has a time limit, which depends on the machine."""
        if self.time is not None:
            return None
        return self._search(ruleset, self.simulations).thinking()

    def act(self, view: np.void, legal: np.ndarray) -> int:
        if self._searcher is None:
            raise RuntimeError("reset(ruleset, seat, seed) comes before act")
        return self._searcher.search(view)[0]

    def act_batch(self, views: np.ndarray, legal: np.ndarray) -> np.ndarray | None:
        """Actions `(n,)` for view records `(n,)`, each what `act` answers, in one call of compiled code; `None` with noise."""
        if self._searcher is None:
            raise RuntimeError("reset(ruleset, seat, seed) comes before act_batch")
        return None if self.remembers else self._searcher.search_rows(views, np.zeros(len(views), SAMPLER))

    def begin_rows(self, ruleset: Ruleset, count: int, seed: int) -> None:
        """Begins `count` games that are played side by side, each from one seat; `act_rows` then answers for some of them.

        Without noise the moves are those of games that are played one by one; noise is drawn for each game apart.
        """
        self.prepare(ruleset)
        self._generators = np.zeros(count, SAMPLER)
        self._generators["rng_key"] = seed_keys(np.uint64(seed) + np.arange(count, dtype=np.uint64), 0)

    def act_rows(
        self, views: np.ndarray, legal: np.ndarray, seats: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, None]:
        """Actions `(k,)` in the games `rows` `(k,)`, in one call of compiled code.

        Args:
            views: records `(k,)`; `legal`: masks `(k, num_actions)`; `seats`: its seats `(k,)`.
        """
        if self._searcher is None:
            raise RuntimeError("begin_rows(ruleset, count, seed) comes before act_rows")
        generators = self._generators[rows]
        actions = self._searcher.search_rows(views, generators)
        self._generators[rows] = generators
        return actions, None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_searcher": None}


def _sizes(policy: Network | PolicyFile) -> tuple[int, int]:
    # Inputs and actions; 0 actions where they are continuous.
    if isinstance(policy, Network):
        return policy.inputs, policy.actions
    return prod(policy.observation_space.shape or ()), int(getattr(policy.action_space, "n", 0))


def _seconds_a_simulation(searcher: NetSearch) -> float:
    from asobiba.core.states import new_state

    state = new_state(searcher.ruleset, 0)
    searcher.search(state)  # compiles
    found = []
    for _ in range(5):
        searcher.forget()  # in a game, most positions are new
        begun = time.perf_counter()
        searcher.search(state)
        found.append(time.perf_counter() - begun)
    return sorted(found)[2] / _TRIAL


@agent_loader(starts="nothing")
def load_agent(game: Game, argument: str) -> Agent:
    """The loader behind `net_uct:policy=FILE,...` (entry point of the group `asobiba.agent_loaders`).

    Raises:
        GameParameterError: for a parameter that a search does not have, or without a policy.
        FileNotFoundError, PolicyFileError: as `load_network`.
    """
    settings = parse_agent(f"net_uct:{argument}")[1]
    known = [name for name in inspect.signature(NetAgent.__init__).parameters if name not in ("self", "name")]
    unknown = set(settings) - set(known)
    if unknown or "policy" not in settings:
        what = f"has no parameter {', '.join(sorted(unknown))}" if unknown else "needs policy=FILE"
        raise GameParameterError(f"net_uct:{argument}: the agent {what}; it has: {', '.join(known)}")
    return NetAgent(**settings, name=f"net_uct:{argument}")
