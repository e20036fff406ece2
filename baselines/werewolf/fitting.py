"""Fits the point tables of the multi-perspective agent: counts deeds by role over games whose roles are known.

A row of the tables is a deed; it shares out as many points as were set for it by hand, in proportion to how often those
who did it had each role. A pair's figure is r / (1 + r) of 100, where r says how much oftener than by chance the two of
such a deed were both werewolves.

The gain was not to be seen in games, under the same seeds, of one such agent in a role with the first, hand-set
tables and with these: in the village of five among kanolab players they differ in nothing as a seer and as possessed (300
games each) and by -1.0 ± 1.4 points as a villager (400 games); in that of fifteen among basic players by +1.7 ± 7.3 points
as a villager (60 games). The other roles of fifteen were not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from math import comb
from typing import Any

import numpy as np
import yaml

from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.arena.replay import replay
from asobiba.core import Ruleset, make_agent
from asobiba.envs.werewolf.layout import MEDIUM, POSSESSED, ROLES, SEER, SPECIES, VILLAGES, WEREWOLF

COLUMNS = ("VILLAGER", "SEER", "MEDIUM", "POSSESSED", "WEREWOLF")
_COLUMN_OF = np.array([COLUMNS.index("VILLAGER" if name == "BODYGUARD" else name) for name in ROLES])
_OWN_SIDE = COLUMNS.index("POSSESSED")
TABLES = ("claims", "results", "agreement", "votes")
_LEAST = 50
"""A deed that was seen less often keeps the points that were set by hand."""


def current() -> dict[str, Any]:
    """The tables in use."""
    return yaml.safe_load(files("asobiba.baselines.werewolf").joinpath("perspective.yml").read_text(encoding="utf-8"))


def played(ruleset: Ruleset, mixtures: Sequence[Sequence[str]], games: int, seed: int) -> Iterator[np.void]:
    """The final states of `games` games of each mixture; its agents take the seats in turn, from another one each game."""
    for number, mixture in enumerate(mixtures):
        agents = {text: [make_agent(ruleset.game, text) for _ in range(ruleset.num_players)] for text in mixture}
        for k in range(games):
            names = [mixture[(seat + k) % len(mixture)] for seat in range(ruleset.num_players)]
            match = Match.of(ruleset, names, seed + 10_000 * number + k)
            record = play_match(match, [agents[name][seat] for seat, name in enumerate(names)])
            *_, (state, _) = replay(record)
            yield state


class Counts:
    """Counts of the roles behind each deed, and of the pairs of which both were werewolves."""

    def __init__(self, players: int):
        self.players = players
        self.roles: dict[tuple[str, str], np.ndarray] = {}
        self.pairs: dict[str, list[int]] = {}

    def _deed(self, table: str, row: str, role: Any) -> None:
        self.roles.setdefault((table, row), np.zeros(len(COLUMNS)))[_COLUMN_OF[int(role) - 1]] += 1

    def _pair(self, row: str, a: Any, b: Any) -> None:
        seen = self.pairs.setdefault(row, [0, 0])
        seen[0] += int(a) == WEREWOLF and int(b) == WEREWOLF
        seen[1] += 1

    def add(self, state: np.void) -> None:
        """Counts the deeds of a finished game."""
        n, role, claimed = self.players, state["role"], state["claimed"]
        for k in range(n):
            if 0 < claimed[k] < POSSESSED:
                self._deed("claims", ROLES[int(claimed[k]) - 1], role[k])
                for j in range(k):
                    if claimed[j] == claimed[k] and claimed[k] in (SEER, MEDIUM):
                        self._pair("both_claim", role[j], role[k])
            for told, other in (("reported", "identified"), ("identified", "reported")):
                for t in range(n):
                    if not (found := int(state[told][k, t])):
                        continue
                    self._deed("results", SPECIES[found - 1], role[t])
                    self._pair(SPECIES[found - 1], role[k], role[t])
                    for j in range(n):
                        if j != k and state[other][j, t]:
                            self._deed("agreement", "same" if state[other][j, t] == found else "other", role[k])
        for day, gone in enumerate(state["executed"]):
            for k in range(n if gone else 0):
                if target := int(state["votes"][day, 0, k]):
                    self._pair("vote", role[k], role[target - 1])
                    if target == gone:
                        self._deed("votes", SPECIES[int(role[gone - 1] == WEREWOLF)], role[k])

    def fitted(self, tables: Mapping[str, Any]) -> dict[str, Any]:
        """The tables with the deeds that were seen often enough shared out anew."""
        new = {name: dict(rows) for name, rows in tables.items()}
        for (table, row), counts in self.roles.items():
            if counts.sum() < _LEAST:
                continue
            points = np.rint(sum(tables[table][row]) * counts / counts.sum()).astype(int)
            # Nothing points to 0 that happened, or that the wolves' side might do tomorrow: 0 rules a role out.
            points = np.maximum(points, (counts > 0) | (np.arange(len(COLUMNS)) >= _OWN_SIDE))
            if table != "claims":
                points = np.maximum(points, 1)
            new[table][row] = points.tolist()
        chance = comb(VILLAGES[self.players][-1], 2) / comb(self.players, 2)
        for row, (both, seen) in self.pairs.items():
            if seen >= _LEAST:
                ratio = both / seen / chance
                new["pairs"][row] = round(100 * ratio / (1 + ratio))
        return new


def fit(finished: Iterable[np.void], players: int) -> dict[str, Any]:
    """The tables that these final states lead to."""
    counts = Counts(players)
    for state in finished:
        counts.add(state)
    return counts.fitted(current())


def as_text(tables: Mapping[str, Any], comment: str) -> str:
    """The tables as the YAML file that the agent reads."""
    lines = [*(f"# {line}" for line in comment.splitlines())]
    for name, rows in tables.items():
        lines.append(f"{name}:")
        lines += [f"  {row}: {value}" for row, value in rows.items()]
    return "\n".join(lines) + "\n"
