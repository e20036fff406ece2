"""Replays Kanda and Ito's table of theories, measures the effect of the open points of their text, and tries the
villagers' theories that they name as future work."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from asobiba.arena.match import Match
from asobiba.arena.playing import play_lockstep
from asobiba.baselines.werewolf.basic_play import NEAREST, OPEN_POINTS, THEORIES, VILLAGE_THEORIES, basic_agent
from asobiba.baselines.werewolf.published import GAMES, ORDER, WOLF_WINS
from asobiba.baselines.werewolf.simulate import Tally, simulate
from asobiba.core import KernelAgent, game, make_agent
from asobiba.envs.werewolf.layout import POSSESSED, ROLES
from asobiba.pages import TextTable, verdict_table

Progress = Callable[[str, int], None]

AGENTS = ("basic", "sample", "kanolab")
"""The agents that take a role, or a side, among the basic play."""
_DEAL = "vvvvvvvvsmbpwww"
_LETTERS = dict(zip(ROLES, "vsmbpw", strict=True))
PARTS = {
    **{name.lower(): letter for name, letter in _LETTERS.items()},
    "villagers' side": "vsmb",
    "wolves' side": "pw",
}
"""Roles that an agent takes: its name -> their letters."""


def run(key: str, games: int, theory: str = "basic", progress: Progress | None = None, **choices: int) -> Tally:
    """Games of a theory with other choices by name; `key` seeds them."""
    ruleset = game("werewolf").ruleset()
    initial = np.repeat(basic_agent(theory, **choices).initial, 2)
    told = None if progress is None else (lambda n: progress(key, n))
    return simulate(ruleset, initial, games, crc32(key.encode()) << 24, progress=told)


@dataclass(frozen=True)
class Results:
    """The tallies: the theories, each open point read the other way under each theory, the villagers' theories, and the
    theories with all of `NEAREST` read the other way, and each of `AGENTS` in each of `PARTS`."""

    theories: dict[str, Tally]
    sensitivity: dict[tuple[str, str], Tally]
    village: dict[str, Tally]
    nearest: dict[str, Tally]
    parts: dict[tuple[str, str], Tally]


def planned(games: int, side_games: int, part_games: int) -> int:
    """Number of games that `play_all` plays."""
    theories = games * (2 * len(THEORIES) + len(VILLAGE_THEORIES)) + side_games * len(OPEN_POINTS) * len(THEORIES)
    return theories + part_games * (1 + (len(AGENTS) - 1) * len(PARTS))


def run_part(agent: str, letters: str, games: int) -> Tally:
    """Games in which an agent has the roles of these letters, and the basic play all others; all under the same seeds."""
    declared = game("werewolf")
    ruleset = declared.ruleset(deal=_DEAL)
    names = [agent if letter in letters else "basic" for letter in _DEAL]
    matches = [Match.of(ruleset, names, seed) for seed in range(games)]
    made = (make_agent(declared, name) for name in names)
    agents = [agent for agent in made if isinstance(agent, KernelAgent)]
    records = [r for part in play_lockstep(matches, agents) for r in part]
    return Tally(games, sum(r.returns[-1] > 0 for r in records), 0, sum(map(sum, (r.decisions for r in records))))


def play_parts(games: int, progress: Progress | None = None) -> dict[tuple[str, str], Tally]:
    """Plays `games` for each of `AGENTS` in each of `PARTS`; the first agent is the basic play itself, once."""
    alone = run_part(AGENTS[0], "", games)
    found = {(AGENTS[0], part): alone for part in PARTS}
    for agent in AGENTS[1:]:
        for part, letters in PARTS.items():
            found[agent, part] = run_part(agent, letters, games)
            if progress is not None:
                progress(f"{agent} as {part}", games)
    return found


def play_all(games: int, side_games: int, part_games: int, progress: Progress | None = None) -> Results:
    """Plays everything: `games` a theory, `side_games` a cell of the sensitivity table, `part_games` of an agent's part."""
    theories = {name: run(f"theory {name}", games, name, progress) for name in THEORIES}
    sensitivity = {}
    for point, (value, _) in OPEN_POINTS.items():
        for name in THEORIES:
            key = f"{point} {name}"
            sensitivity[point, name] = run(key, side_games, name, progress, **{point: 1 - value})
    village = {
        name: run(f"village {name}", games, "basic", progress, **{name: 1 - value})
        for name, (value, _) in VILLAGE_THEORIES.items()
    }
    choices = {point: 1 - OPEN_POINTS[point][0] for point in NEAREST}
    nearest = {name: run(f"nearest {name}", games, name, progress, **choices) for name in THEORIES}
    return Results(theories, sensitivity, village, nearest, play_parts(part_games, progress))


def percent(tally: Tally) -> float:
    """Wins of the werewolves' side in percent."""
    return 100 * tally.wolf_wins / tally.games


def half_width(tally: Tally) -> float:
    """Half of the 95 % interval of `percent`, in points (normal approximation, as in the paper)."""
    share = tally.wolf_wins / tally.games
    return 196 * math.sqrt(share * (1 - share) / tally.games)


def z_score(a: Tally, b: Tally) -> float:
    """Distance between the wins of two tallies in standard errors (pooled, two samples)."""
    share = (a.wolf_wins + b.wolf_wins) / (a.games + b.games)
    error = math.sqrt(share * (1 - share) * (1 / a.games + 1 / b.games))
    return (a.wolf_wins / a.games - b.wolf_wins / b.games) / error if error > 0 else 0.0


def order_of(tallies: Mapping[str, Tally]) -> tuple[str, ...]:
    """The theories from the most wins of the werewolves' side to the fewest."""
    return tuple(sorted(tallies, key=lambda name: -percent(tallies[name])))


def _table(title: str, columns: list[str], rows: list[list[str]]) -> str:
    lines = [f"## {title}", "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _theory_table(title: str, tallies: Mapping[str, Tally]) -> str:
    rows = []
    for name, tally in tallies.items():
        value, half = percent(tally), half_width(tally)
        z = z_score(tally, tallies["basic"])
        verdict = "" if name == "basic" else "higher" if z > 1.645 else "lower" if z < -1.645 else "no difference"
        rows.append(
            [
                name,
                f"{WOLF_WINS[name]:.2f}",
                f"{value:.2f}",
                f"{value - half:.2f} to {value + half:.2f}",
                f"{value - WOLF_WINS[name]:+.2f}",
                verdict,
            ]
        )
    columns = ["play", "paper", "measured", "95 % interval", "difference", "than basic (one-sided, 5 %)"]
    return f"{_table(title, columns, rows)}\n\n{_order_note(tallies)}"


def _sensitivity_table(results: Results) -> str:
    rows = []
    widest = max(
        math.hypot(half_width(tally), half_width(results.theories[name]))
        for (_, name), tally in results.sensitivity.items()
    )
    for point, (value, meaning) in OPEN_POINTS.items():
        moved = [
            f"{percent(results.sensitivity[point, name]) - percent(results.theories[name]):+.2f}" for name in THEORIES
        ]
        rows.append([f"`{point}`", str(value), meaning, *moved])
    return (
        _table(
            "What the open points move, in points, each read the other way",
            ["point", "value taken", "what it means", *THEORIES],
            rows,
        )
        + f"\n\nA figure is at most {widest:.1f} points (95 %) from the true one."
    )


def _village_table(results: Results) -> str:
    basic = results.theories["basic"]
    rows = []
    for name, (_, meaning) in VILLAGE_THEORIES.items():
        tally = results.village[name]
        z = z_score(tally, basic)
        verdict = "helps" if z < -1.645 else "harms" if z > 1.645 else "no difference"
        rows.append(
            [
                f"`{name}`",
                meaning,
                f"{100 - percent(tally):.2f}",
                f"{half_width(tally):.2f}",
                f"{percent(basic) - percent(tally):+.2f}",
                f"{-z:+.1f}",
                verdict,
            ]
        )
    return _table(
        "Theories of the villagers' side against basic wolves: wins of the villagers' side, in percent",
        ["theory", "what it means", "wins", "+/-", "against basic", "z", "one-sided, 5 %"],
        rows,
    )


def _order_note(tallies: Mapping[str, Tally]) -> str:
    found = order_of(tallies)
    verdict = "as in the paper" if found == ORDER else f"the paper has {' > '.join(ORDER)}"
    return f"Order of the theories: {' > '.join(found)} ({verdict})."


def _orders_note(results: Results) -> str:
    found = []
    for point in OPEN_POINTS:
        if order_of({name: results.sensitivity[point, name] for name in THEORIES}) == ORDER:
            found.append(f"`{point}`")
    return f"Open points that alone, read the other way, give the paper's order: {', '.join(found) or 'none'}."


def _distance_note(results: Results) -> str:
    lines = []
    for name, tally in results.theories.items():
        gap = percent(tally) - WOLF_WINS[name]
        if abs(gap) <= 3:
            continue
        moves = {point: percent(results.sensitivity[point, name]) - percent(tally) for point in OPEN_POINTS}
        helpful = sorted((point for point in moves if moves[point] * gap < 0), key=lambda point: -abs(moves[point]))
        told = ", ".join(f"`{point}` {moves[point]:+.2f}" for point in helpful[:3] if abs(moves[point]) > 0.5)
        lines.append(
            f"* {name} is {gap:+.2f} points off. Open points that move it towards the paper: {told or 'none'}."
        )
    return "\n".join(lines) or "No figure is more than 3 points off."


def _part_table(results: Results) -> str:
    rows = []
    for agent in AGENTS:
        row = [f"`{agent}`"]
        for part, letters in PARTS.items():
            tally, basic = results.parts[agent, part], results.parts[AGENTS[0], part]
            wolves = ROLES.index(next(name for name, letter in _LETTERS.items() if letter in letters)) + 1 >= POSSESSED
            won = percent(tally) if wolves else 100 - percent(tally)
            z = z_score(tally, basic)
            row.append(f"{won:.1f} ± {half_width(tally):.1f}{' *' if abs(z) > 1.96 else ''}")
        rows.append(row)
    games = next(iter(results.parts.values())).games
    title = "Other agents by role, among basic players: wins of the side that the agent is on, in percent"
    note = f"{games:,} games a cell, under the same seeds; * differs from the basic play (two-sided, 5 %)."
    return f"{_table(title, ['agent', *PARTS], rows)}\n\n{note}"


def _listed(points: Sequence[str]) -> str:
    return ", ".join(f"`{point}`" for point in points[:-1]) + f" and `{points[-1]}`"


_NEAREST_NOTE = f"""{_listed(NEAREST)} were found by trying the open points in pairs and threes, and are no reading that
the text suggests; they are shown because they say what may have run. That the possessed never slanders would follow from
a quotient of whole numbers (in Java, 3 / 15 is 0), and section 2.2 of the paper says of him that he calls anybody human.
For a seer who divines from day 1 on, and for mediums whom nobody heeds, there is no such reason. The agent `basic` and the
first table above keep to the text."""


def _verdict(results: Results) -> TextTable:
    gaps = {name: percent(tally) - WOLF_WINS[name] for name, tally in results.theories.items()}
    near = [name for name, gap in gaps.items() if abs(gap) <= 3]
    far = max(gaps, key=lambda name: abs(gaps[name]))
    closest = {name: percent(tally) - WOLF_WINS[name] for name, tally in results.nearest.items()}
    worst = max(closest, key=lambda name: abs(closest[name]))
    found, read = order_of(results.theories), order_of(results.nearest)
    wins = {name: percent(results.theories["basic"]) - percent(tally) for name, tally in results.village.items()}
    helping = [
        f"`{name}`"
        for name, gain in wins.items()
        if gain > 0 and z_score(results.village[name], results.theories["basic"]) < -1.645
    ]
    return verdict_table(
        [
            (
                f"Order of the plays by the wolves' wins: {' > '.join(ORDER)}",
                " > ".join(found),
                "comes out"
                if found == ORDER
                else "differs; the text leaves points open, and the table of open points says which of them "
                "change the order",
            ),
            (
                f"Their wins: {min(WOLF_WINS.values()):.1f} to {max(WOLF_WINS.values()):.1f} %",
                f"{len(near)} of {len(gaps)} within 3 points; the farthest is {far}, {gaps[far]:+.1f}",
                "the same open points: for each figure the page names those that move it towards the paper",
            ),
            (
                f"The same with {_listed(NEAREST)} read the other way",
                f"{' > '.join(read)}; the farthest is {worst}, {closest[worst]:+.1f}",
                "what may have run in the paper; the text does not suggest these readings",
            ),
            (
                "Future work: theories of the villagers' side",
                f"of {len(wins)} tried, {', '.join(helping) or 'none'} help",
                "the paper names none and has no figures",
            ),
        ]
    )


_WORDS = """## Words

* *basic*: everybody plays as the paper's section 2 describes. *A* to *E*: the wolves' side plays by one of the
  paper's theories (`THEORIES` in `baselines/werewolf/basic_play.py`); all others play as *basic*.
* *open point*: a choice that the text does not settle, with the value taken and the effect of the other one."""


def markdown(results: Results, command: str) -> str:
    """The whole report in Markdown."""
    games = next(iter(results.theories.values())).games
    side = next(iter(results.sensitivity.values())).games
    head = f"""# Werewolf: the theories of Kanda and Ito, replayed

Source: N. Kanda and T. Ito, "Verification of Accepted Theories in Werewolf AI Environment" (GAT 2016, in Japanese);
{GAMES:,} games each there. Here {games:,} games a theory and {side:,} a cell of the sensitivity table, 15 players,
rules of 2016. Written by `{command}`.
"""
    parts = [
        head.rstrip(),
        _verdict(results).markdown(),
        _WORDS,
        _theory_table("Wins of the werewolves' side, in percent", results.theories),
        _distance_note(results),
        _sensitivity_table(results),
        _orders_note(results),
        _theory_table(f"The same with {_listed(NEAREST)} read the other way", results.nearest),
        _NEAREST_NOTE,
        _village_table(results),
        _part_table(results),
    ]
    return "\n\n".join(parts) + "\n"
