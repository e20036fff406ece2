"""The games of turn-based tactics behind its page: who meets whom, and what came out.

Finished games are kept in a file, so that a run that was stopped goes on. Since rules and agents may have changed in
between, `play_all` first plays a sample of the kept games again.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from asobiba.core import Agent, Ruleset, game, make_agent
from asobiba.core.states import action_mask, is_over, new_state, step, view_of
from asobiba.envs.tactics.maps import SIZES, load_map, shipped_maps

SEARCHES = ("m_uct", "m_uct_corrected", "f_uct", "f_uct_corrected", "uct_plus")
ALL = (*SEARCHES, "rhea", "max_act_eval")
"""The round robin's agents."""
RATIOS = (2, 4, 8)
"""Multiples of F-UCT's playouts given to M-UCT, to find where both are equally strong."""
STRONGEST = "uct_plus:simulations=300"
PEERS: dict[str, tuple[str, ...]] = {
    "alpha_beta": ("nodes=24000", "nodes=70000", "nodes=100000"),
    "m_uct": ("simulations=380", "simulations=400", "simulations=380"),
    "m_uct_corrected": ("simulations=380", "simulations=400", "simulations=380"),
    "f_uct": ("simulations=200", "simulations=220", "simulations=280"),
    "f_uct_corrected": ("simulations=240", "simulations=320", "simulations=280"),
    "rhea": ("evaluations=2600", "evaluations=3200", "evaluations=2600"),
    "ppo": ("",),
}
"""The others with budgets that take about the time of `STRONGEST`, for each board (the policy knows only the smallest)."""
TIMED_MAPS = ("crossing", "front", "archipelago")
"""Maps on which the time is taken: one of each board."""
TUNING_BUDGETS = (300,)
CHANGES = (
    ("weight=0", "no priors"),
    ("weight=5", "priors of 5 visits, which expand new leaves at once"),
    ("bargain=0", "fuzzy priors"),
    ("bargain=0.05", "priors that differ more"),
    ("caution=0", "priors that fear nothing"),
    ("mean=0", "priors with a mean of 0"),
    ("exploration=0.25", "less exploration"),
    ("exploration=1", "more exploration"),
    ("attack_share=0.8", "playouts that attack in 80 % only"),
    ("choosy=1", "playouts that choose the best attack"),
    ("expand_after=1", "leaves expanded at once"),
    ("expand_after=11", "leaves expanded as in M-UCT"),
    ("widening=4", "progressive widening"),
    ("transpositions=false", "no transpositions"),
    ("reuse=false", "a new tree for each action"),
)
"""Changes of single settings of `uct_plus`."""
VARIANTS = ("widening", "reuse", "transpositions")
VARIANTS_BUDGET, SAVING_BUDGET = 1000, 100
CHECKED = 100
"""Kept games that are played again before others are added to them."""


class Meeting(NamedTuple):
    """Two agents on a map; `red` moves first."""

    map: str
    red: str
    blue: str
    round: int

    @property
    def key(self) -> str:
        return " | ".join(map(str, self))


def with_budget(name: str, budget: int) -> str:
    """An agent with so many playouts an action, where it counts them."""
    if name in ("max_act_eval", "attack_first"):
        return name
    if name == "rhea":
        return f"rhea:evaluations={budget}"
    return f"{name}:simulations={budget}"


def _claims(budget: int) -> list[tuple[str, str]]:
    """The pairs of equal playouts that the claims are about: what fuzzy priors and the right sign are worth."""
    m, m_right, f, f_right, _ = (with_budget(name, budget) for name in SEARCHES)
    return [(f, m), (f_right, m_right), (m_right, m), (f_right, f)]


def _savings(budget: int) -> list[tuple[str, str]]:
    """F-UCT against M-UCT of more playouts, at the smallest budget; variants of M-UCT at the middle one."""
    found = []
    if budget == SAVING_BUDGET:
        for kind in ("", "_corrected"):
            fuzzy = with_budget("f_uct" + kind, budget)
            found += [(fuzzy, with_budget("m_uct" + kind, ratio * budget)) for ratio in RATIOS]
    if budget == VARIANTS_BUDGET:
        plain = with_budget("m_uct_corrected", budget)
        found += [(f"{plain},variant={variant}", plain) for variant in VARIANTS]
    return found


def _round_robin(budget: int) -> list[tuple[str, str]]:
    return list(itertools.combinations([with_budget(name, budget) for name in ALL], 2))


def planned(rounds: Mapping[int, int], sizes: Iterable[int]) -> list[list[Meeting]]:
    """For each budget the meetings in their order: every pair on every map, each colour once a round, the claims' pairs
    first, which have as many rounds again.

    Args:
        rounds: number for each budget.
        sizes: boards whose maps are played, small ones first.
    """
    maps = sorted((m for m in shipped_maps().values() if m.size in set(sizes)), key=lambda m: m.size)
    parts = []
    for budget in sorted(rounds):
        part = []
        claims = _claims(budget)
        others = [
            pair
            for pair in (*_round_robin(budget), *_savings(budget))
            if pair not in claims and pair[::-1] not in claims
        ]
        for number in range(2 * rounds[budget]):
            for pairs in (claims, others if number < rounds[budget] else []):
                for map_, (a, b) in itertools.product(maps, pairs):
                    part += [Meeting(map_.name, a, b, number), Meeting(map_.name, b, a, number)]
        parts.append(part)
    return parts


def tuning_meetings(rounds: int) -> list[Meeting]:
    """`uct_plus` with one setting changed against itself, on the maps of the smallest board."""
    maps = [m.name for m in shipped_maps().values() if m.size == min(m.size for m in shipped_maps().values())]
    meetings = []
    for budget, number, name, (change, _) in itertools.product(TUNING_BUDGETS, range(rounds), maps, CHANGES):
        plain = with_budget("uct_plus", budget)
        for red, blue in ((f"{plain},{change}", plain), (plain, f"{plain},{change}")):
            meetings.append(Meeting(name, red, blue, number))
    return meetings


def peers_on(size: int) -> dict[str, str]:
    """`PEERS` as they play on a board."""
    place = list(SIZES).index(size)
    return {
        name: f"{name}:{budgets[place]}" if budgets[place] else name
        for name, budgets in PEERS.items()
        if place < len(budgets)
    }


def peer_meetings(rounds: int, sizes: Iterable[int]) -> list[Meeting]:
    """`STRONGEST` against each of `PEERS`, on every map with each colour once a round.

    Args:
        rounds: their number.
        sizes: boards whose maps are played, small ones first.
    """
    maps = sorted((m for m in shipped_maps().values() if m.size in set(sizes)), key=lambda m: m.size)
    meetings = []
    for number, map_ in itertools.product(range(rounds), maps):
        for peer in peers_on(map_.size).values():
            for red, blue in ((STRONGEST, peer), (peer, STRONGEST)):
                meetings.append(Meeting(map_.name, red, blue, number))
    return meetings


def milliseconds(text: str, map_name: str, actions: int = 40) -> float:
    """Processor time of an agent for an action, over the first ones of a game that it plays against itself."""
    ruleset = _ruleset(map_name)
    agents = [make_agent(game("tactics"), text) for _ in range(2)]
    for seat, agent in enumerate(agents):
        agent.begin(ruleset, [seat], [seat])
    state = new_state(ruleset, 0)
    spent = 0.0
    for number in range(actions + 1):
        seat = int(state["to_move"])
        view, mask = view_of(ruleset, state, seat), action_mask(ruleset, state)
        begun = time.process_time()
        action = agents[seat].act(view, mask)
        spent += time.process_time() - begun if number else 0.0  # the first one may have to compile or load
        state = step(ruleset, state, action)
        if is_over(state):
            return 1000 * spent / number
    return 1000 * spent / actions


def peer_times() -> dict[str, list[float]]:
    """`milliseconds` of `STRONGEST` and `PEERS` on `TIMED_MAPS`, which are in the order of the boards."""
    boards = [(name, {STRONGEST: STRONGEST, **peers_on(load_map(name).size)}) for name in TIMED_MAPS]
    return {
        agent: [milliseconds(texts[agent], name) for name, texts in boards if agent in texts]
        for agent in (STRONGEST, *PEERS)
    }


@cache
def _agent(text: str) -> Agent:
    return make_agent(game("tactics"), text)


@cache
def _ruleset(name: str) -> Ruleset:
    return game("tactics").ruleset(map=name)


def play_one(meeting: Meeting) -> int:
    """Plays a game; 1 if red wins, -1 if blue does, 0 for a draw."""
    ruleset = _ruleset(meeting.map)
    seed = crc32(meeting.key.encode())
    agents = [_agent(meeting.red), _agent(meeting.blue)]
    if agents[0] is agents[1]:
        agents[1] = make_agent(game("tactics"), meeting.blue)
    for seat, agent in enumerate(agents):
        agent.begin(ruleset, [seat], [seed + seat])
    state = new_state(ruleset, seed)
    while not is_over(state):
        seat = int(state["to_move"])
        action = agents[seat].act(view_of(ruleset, state, seat), action_mask(ruleset, state))
        state = step(ruleset, state, action)
    return int(np.sign(state["rewards"][0]))


def kept_results(kept: Path) -> dict[str, int]:
    """The results in a file by their meetings' keys; a line that was cut off by a kill is left out."""
    known: dict[str, int] = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []:
        try:
            row = json.loads(line)
            known[row["meeting"]] = int(row["result"])
        except (ValueError, KeyError, TypeError):
            continue
    return known


def check_kept(meetings: Iterable[Meeting], known: Mapping[str, int], file: Path) -> None:
    """Plays `CHECKED` of the kept games again.

    Raises:
        ValueError: one of them came out otherwise, so that the file is of other rules or agents.
    """
    there = [meeting for meeting in meetings if meeting.key in known]
    for meeting in sorted(there, key=lambda m: crc32(m.key.encode()))[:CHECKED]:
        result = play_one(meeting)
        if result != known[meeting.key]:
            raise ValueError(
                f"{file}: the game {meeting.key!r} was kept as {known[meeting.key]} and is now {result}: rules or agents "
                "have changed since. Remove the file, and all games are played again"
            )


def play_all(
    parts: list[list[Meeting]], kept: Path | None, minutes: float | None, progress: Callable[[int], None]
) -> dict[Meeting, int]:
    """Plays what `kept` lacks; returns all results that were asked for.

    Args:
        parts: lists of meetings, who share the time equally; what one leaves is for those after it.
        kept: a file to which each result is added; `CHECKED` of the games it has are played again first.
        minutes: the time, of all parts; `None`: until all is played.
        progress: called for each meeting, played or known.

    Raises:
        ValueError: a kept game comes out otherwise.
    """
    known: dict[str, int] = {}
    if kept is not None:
        known = kept_results(kept)
        check_kept(itertools.chain(*parts), known, kept)
        kept.parent.mkdir(parents=True, exist_ok=True)
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    results = {}
    for number, part in enumerate(parts):
        until = time.monotonic() + (end - time.monotonic()) / (len(parts) - number)
        for meeting in part:
            if meeting.key not in known and time.monotonic() < until:
                known[meeting.key] = play_one(meeting)
                if kept is not None:
                    with kept.open("a", encoding="utf-8") as file:
                        file.write(json.dumps({"meeting": meeting.key, "result": known[meeting.key]}) + "\n")
            if meeting.key in known:
                results[meeting] = known[meeting.key]
            progress(1)
    return results
