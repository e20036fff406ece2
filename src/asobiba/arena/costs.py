"""Chooses the next games: those that narrow the ratings' intervals most for the time that they cost.

The variance of an agent's rating falls with the information of its games, `p (1 - p)` for a game that it wins with
probability p. The worth of a pairing's next game is the decrease in the sum of its agents' variances. The pairing with
the greatest worth per second, by the time that its games have taken so far, plays next. So slow agents play fewer games
than fast ones, and whenever a league is stopped its intervals are about as narrow as the time allowed. Before that
every agent plays a pair of games, and then every pairing, the cheapest first, so that no agent is missing if time is
short. A league that is resumed begins with its store's figures of every pairing: the results, and how long the agents
thought.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from asobiba.arena.match import Match, MatchRecord
from asobiba.arena.playing import plays_in_lockstep
from asobiba.arena.results import Results
from asobiba.arena.trust import NOBODY, Trust, is_loaded, make_trusted, trusted
from asobiba.arena.worker import Unit
from asobiba.core import Agent, KernelAgent, Ruleset
from asobiba.core.engine import agent_engine_for

_LOCKSTEP = 1024
"""Games of a batch at most: more of them do not fit into the cache."""
_PROBE = 2
"""The first games of an agent and of a pairing."""
_SECONDS = (0.3, 4.0)
"""Duration of a unit: short at first, so that every pairing has results early, longer as the league goes on."""
_LEAST_INFORMATION = 0.005


@dataclass(frozen=True)
class Past:
    """A store's figures of a pairing. `seconds`: of thinking, all its agents; `scored`, `score`: see `_Pairing`."""

    games: int
    seconds: float
    scored: int = 0
    score: float = 0.0


def past_pairings(results: Results) -> dict[tuple[str, ...], Past]:
    """Figures of every pairing in these results, by the agents of its seats, sorted."""
    if not len(results):
        return {}
    members, pairing = np.unique(np.sort(results.seats, axis=1), axis=0, return_inverse=True)
    pairing = pairing.reshape(-1)
    games, seconds = np.bincount(pairing), np.bincount(pairing, results.seconds.sum(axis=1))
    scored, score = np.zeros_like(games), np.zeros_like(seconds)
    if members.shape[1] == 2:
        sign = np.sign(results.values[:, 0] - results.values[:, 1])
        first = np.where(results.seats[:, 0] == members[pairing, 0], sign, -sign)
        scored, score = games, np.bincount(pairing, (1 + first) / 2)
    return {
        tuple(results.agents[k] for k in row): Past(int(games[i]), float(seconds[i]), int(scored[i]), float(score[i]))
        for i, row in enumerate(members.tolist())
    }


@dataclass
class _Pairing:
    agents: tuple[str, ...]
    lockstep: bool
    needs: frozenset[str]
    waiting: dict[tuple[str, ...], deque[Match]] = field(default_factory=dict)
    given: int = 0
    played: int = 0
    seconds: float = 0.0
    remembered: float | None = None
    """Seconds a game, of thinking alone, in the games of an earlier run."""
    scored: int = 0
    """Games between two; of others only the number counts."""
    score: float = 0.0

    def turns(self, size: int) -> tuple[Match, ...]:
        """The next `size` matches, of all seatings in turn: the same deals with seats swapped."""
        chosen: list[Match] = []
        while len(chosen) < size and self.waiting:
            chosen.append(self._next(max(self.waiting, key=lambda seats: len(self.waiting[seats]))))
        return tuple(chosen)

    def batches(self, size: int) -> list[Unit]:
        """The next `size` matches of each seating."""
        return [
            Unit(tuple(self._next(seats) for _ in range(min(size, len(self.waiting[seats])))), "batch")
            for seats in sorted(self.waiting, key=lambda seats: -len(self.waiting[seats]))
        ]

    def _next(self, seats: tuple[str, ...]) -> Match:
        waiting = self.waiting[seats]
        match = waiting.popleft()
        if not waiting:
            del self.waiting[seats]
        self.given += 1
        return match

    @property
    def cost(self) -> float | None:
        """Seconds a game; `None` before the first."""
        return self.seconds / self.played if self.played else self.remembered

    @property
    def information(self) -> float:
        """The information of a game between two, `p (1 - p)`; never 0, even for a one-sided pairing."""
        share = (self.score + 1) / (self.scored + 2)
        return max(share * (1 - share), _LEAST_INFORMATION)


class Workload:
    """The matches to play, handed out in units.

    Args:
        matches: of one or more rulesets.
        jobs: number of units played at the same time.
        before: figures of pairings (the agents of their seats, sorted) that have played already.
        trust: the agents that may play inside the workers; compiled ones among them play in lockstep.
        kernels: agents of files and third parties that may play inside the workers, and that are known to play in lockstep.
            Others are not built here: their constructors may do anything.
    """

    def __init__(
        self,
        matches: Sequence[Match],
        jobs: int,
        before: Mapping[tuple[str, ...], Past] | None = None,
        trust: Trust = NOBODY,
        kernels: Set[str] = frozenset(),
    ):
        self.jobs = jobs
        self._trust, self._kernels = trust, kernels
        self._again: deque[Unit] = deque()
        self._first: deque[Unit] = deque()
        self._rest: deque[Unit] = deque()
        self._missing: set[str] = set()
        self._spent = 0.0
        self.compiling: list[str] = []
        """The agents whose kernels must be compiled before their games begin, one for each kernel."""
        pairings: dict[tuple, _Pairing] = {}
        engines: dict[tuple, str | None] = {}
        for match in matches:
            key = (match.game, match.parameters_text, tuple(sorted(match.seats)))
            pairing = pairings.get(key)
            if pairing is None:
                pairing = pairings[key] = self._pairing(match, engines)
                past = (before or {}).get(key[2])
                if past is not None and past.games:
                    pairing.given, pairing.remembered = past.games, past.seconds / past.games
                    pairing.scored, pairing.score = past.scored, past.score
            pairing.waiting.setdefault(match.seats, deque()).append(match)
        self._pairings = list(pairings.values())
        self._by_agents = {p.agents: p for p in self._pairings}
        names = sorted({name for p in self._pairings for name in p.agents})
        place = {name: i for i, name in enumerate(names)}
        self._members = [np.array([place[name] for name in dict.fromkeys(p.agents)]) for p in self._pairings]
        self._agents = len(names)

    def _pairing(self, match: Match, engines: dict[tuple, str | None]) -> _Pairing:
        ruleset = match.ruleset()
        found = [self._engine(ruleset, match, text, engines) for text in match.seats]
        lockstep = None not in found
        return _Pairing(
            tuple(sorted(match.seats)), lockstep, frozenset(e for e in found if e) if lockstep else frozenset()
        )

    def _engine(self, ruleset: Ruleset, match: Match, text: str, known: dict[tuple, str | None]) -> str | None:
        """Key of the code that has to be compiled for this agent to play in lockstep; equal for agents that differ in settings only.

        "" for a network, which compiles what it needs when it is first asked; `None` for an agent that does not play in
        lockstep, or may not run inside a worker.
        """
        key = (match.game, match.parameters_text, text)
        if key in known:
            return known[key]
        known[key] = None
        ours = trusted(ruleset.game, text) and not is_loaded(text)
        if ours or (text in self._kernels and trusted(ruleset.game, text, self._trust)):
            agent = make_trusted(ruleset.game, text, self._trust)
            if plays_in_lockstep(ruleset, [agent]):
                known[key] = engine = kernel_name(ruleset, agent) if isinstance(agent, KernelAgent) else ""
                if engine and engine not in self._missing and not is_compiled(ruleset, agent):
                    self._missing.add(engine)
                    self.compiling.append(text)
                    alone = Match(match.game, match.version, match.parameters, (text,) * len(match.seats), 0)
                    # The first agent of a game compiles its rules too; the others do not.
                    (self._rest if self._first else self._first).append(Unit((alone,), "warm", engine))
            agent.close()
        return known[key]

    def __bool__(self) -> bool:
        """Whether any unit is left, now or when a running unit is finished."""
        return bool(self._first or self._rest or self._again or any(p.waiting for p in self._pairings))

    def take(self) -> Unit | None:
        """Next unit to play, or `None` if nothing can be played until a running unit is finished."""
        if self._first:
            self._compiling_first = True
            return self._first.popleft()
        if self._rest and not self._compiling_first:
            return self._rest.popleft()
        if self._again:
            return self._again.popleft()
        ready = [k for k, p in enumerate(self._pairings) if p.waiting and not p.needs & self._missing]
        if not ready:
            return None
        worth = self._worth(ready)
        return self._cut(self._pairings[ready[max(range(len(ready)), key=worth.__getitem__)]])

    _compiling_first = False

    def finished(self, unit: Unit) -> None:
        """The unit is done with, whether or not all of it was played."""
        if unit.kind == "warm":
            self._compiling_first = False
            self._missing.discard(unit.compiles)

    def again(self, units: Iterable[Unit]) -> None:
        """These are to be played (again) before all others."""
        for unit in units:
            self._again.append(unit)

    def played(self, unit: Unit, records: Sequence[MatchRecord], seconds: float) -> None:
        """A worker spent `seconds` on these games."""
        self._spent += seconds
        pairing = self._by_agents.get(tuple(sorted(unit.matches[0].seats)))
        if pairing is None or not records:
            return
        pairing.seconds += seconds
        pairing.played += len(records)
        for record in records:
            if len(record.returns) == 2:
                first = 0.5 * ((record.returns[0] > record.returns[1]) + (record.returns[0] >= record.returns[1]))
                pairing.scored += 1
                pairing.score += first if record.match.seats[0] == pairing.agents[0] else 1 - first

    def _worth(self, ready: list[int]) -> list[tuple[int, float]]:
        """The urgency of the next game of each of these pairings, and its worth among equally urgent ones.

        Pairings with agents that have not played are most urgent, then pairings that have not met. The worth is the
        decrease of the variances per second of the game; of pairings that have not met, the cheapest goes first.
        """
        information, games = np.full(self._agents, 1e-6), np.zeros(self._agents)
        least = np.full(self._agents, np.inf)
        weights = np.array([p.information for p in self._pairings])
        for members, pairing, weight in zip(self._members, self._pairings, weights):
            information[members] += pairing.given * weight
            games[members] += pairing.given
            if pairing.cost is not None:
                least[members] = np.minimum(least[members], pairing.cost)
        measured = [p.cost for p in self._pairings if p.cost is not None]
        usual = float(np.median(measured)) if measured else 0.01
        least[np.isinf(least)] = usual
        worth = []
        for k in ready:
            pairing, members = self._pairings[k], self._members[k]
            fresh = int((games[members] < _PROBE).sum())
            if fresh or not pairing.given:
                worth.append((1 + fresh, -float(least[members].sum())))
            else:
                cost = max(usual if pairing.cost is None else pairing.cost, 1e-7)
                worth.append((0, float((weights[k] / information[members] ** 2).sum() / cost)))
        return worth

    def _cut(self, pairing: _Pairing) -> Unit:
        if not pairing.given and not pairing.lockstep:
            return Unit(pairing.turns(_PROBE), "single")
        most = max(map(len, pairing.waiting.values()))
        if pairing.played:
            wanted = min(max(self._spent / (8 * self.jobs), _SECONDS[0]), _SECONDS[1])
            size = max(1, int(wanted * pairing.played / max(pairing.seconds, 1e-9)))
        else:
            size = _PROBE
        size = min(size, max(_PROBE, -(-most // self.jobs)))
        if not pairing.lockstep:
            return Unit(pairing.turns(size), "single")
        # A batch has one seating. Those of the others follow it, so that a league that is stopped has as many of each.
        batches = pairing.batches(min(size, _LOCKSTEP))
        self._again.extend(batches[1:])
        return batches[0]


def kernel_name(ruleset: Ruleset, agent: Agent) -> str:
    """Key of a kernel agent's machine code: its policy, and the dtypes of its memory and the game's state."""
    assert isinstance(agent, KernelAgent)
    policy = getattr(agent.policy, "py_func", agent.policy)
    return f"{policy.__module__}.{policy.__qualname__} {agent.memory_dtype} {ruleset.dtype}"


def is_compiled(ruleset: Ruleset, agent: Agent) -> bool:
    """Whether the machine code of a kernel agent for some ruleset of its game lies in the disk cache."""
    assert isinstance(agent, KernelAgent)
    file = getattr(agent_engine_for(ruleset.game, agent.policy, masked=agent.masks), "__file__", None)
    return file is not None and any((Path(file).parent / "__pycache__").glob("*.nbc"))
