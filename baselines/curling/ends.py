"""Single ends of every player beside the published figures (`asobiba curling ends`): points, steals, blanks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from asobiba.baselines.curling.matches import play_game
from asobiba.baselines.curling.reproduction import EARLIER, table_of_players, with_budget
from asobiba.core import Agent, Ruleset, game, make_agent
from asobiba.core.states import new_state, step, view_of
from asobiba.envs.curling.win_table import END_SCORES, EXTRA_END_FIRST

PLAYERS = (
    "tee_draw", "rule_based", "ayumu", "gccs", "end_plan:shots=8", "through", "kr_uct", "kr_uct_prior", "jiritsu",
    "jiritsu_depth1", "jiritsu_learned", "dis", "dis_mixture", "ppo",
)  # fmt: skip
SITUATIONS = {"first": {"first_end": 0}, "last": {"first_end": 9}}
"""The first of ten ends, and the last, both tied."""


@dataclass(frozen=True)
class Ends:
    """Ends of a player against itself.

    Args:
        player: with its budget. situation: a name in `SITUATIONS`.
        points: of the side that throws first less the other's, end by end.
        firsts: where the first stone of an end came to rest, m from the tee, end by end; `None` if it left the sheet.
        table: the digest of the player's win table (`table_of_players`).
    """

    player: str
    situation: str
    points: tuple[int, ...] = ()
    firsts: tuple[tuple[float, float] | None, ...] = ()
    table: str = ""

    @property
    def name(self) -> tuple[str, str]:
        return self.situation, self.player

    @property
    def stale(self) -> bool:
        """Whether the player has another win table now."""
        return self.table != table_of_players(self.player)

    @property
    def label(self) -> str:
        """The player, and whether these are its ends of today."""
        return f"`{self.player}`{f' ({EARLIER})' if self.stale else ''}"

    def cells(self) -> list[str]:
        """The row of the table."""
        shares = [sum(test(p) for p in self.points) for test in _TESTS]
        n = max(len(self.points), 1)
        with_hammer = sum(max(-p, 0) for p in self.points) / n
        without = sum(max(p, 0) for p in self.points) / n
        return [
            self.label,
            *(f"{share / n:.1%} ± {196 * _error(share, n):.1f}" for share in shares),
            f"{with_hammer:.2f}",
            f"{without:.2f}",
            f"{len(self.points)}",
        ]

    def openings(self, house: float) -> list[str]:
        """The row of the table of first stones, for a house of this radius (a touching stone counts)."""
        kinds = [_kind(place, house) for place in self.firsts]
        shares = [kinds.count(kind) for kind in _KINDS]
        n = max(len(kinds), 1)
        return [self.label, *(f"{share / n:.0%}" for share in shares), f"{n}"]


def _kind(place: tuple[float, float] | None, house: float) -> str:
    if place is None:
        return "off the sheet"
    distance = math.hypot(*place)
    if distance <= house:
        return "on the button" if distance <= BUTTON else "elsewhere in the house"
    return "guard" if place[1] < 0 else "behind the house"


def _error(hits: int, n: int) -> float:
    # Of a share, with one hit and one miss more, so that it is not zero where none was seen.
    share = (hits + 1) / (n + 2)
    return math.sqrt(share * (1 - share) / (n + 2))


_TESTS = (lambda p: p > 0, lambda p: p == 0, lambda p: p == -1, lambda p: p <= -2)
_KINDS = ("guard", "on the button", "elsewhere in the house", "behind the house", "off the sheet")
BUTTON = 0.61
"""m from the tee: half of the four-foot circle's width."""
_COLUMNS = ("player", "steals", "blanks", "one point", "two and more", "points with the hammer", "without", "ends")


def play_all(players: Iterable[str], simulations: int, ends: int, kept: Sequence[Ends] = ()) -> Iterator[Ends]:
    """Plays `ends` ends of each player in each situation, those of `kept` included that are not stale.

    Yields a row after each of its ends.
    """
    known = {row.name: row for row in kept if not row.stale}
    for situation, start in SITUATIONS.items():
        ruleset = game("curling").ruleset(stop_after=1, reward="win_probability", **start)
        for text in players:
            player = with_budget(text, f"simulations={simulations}")
            row = known.get((situation, player), Ends(player, situation, table=table_of_players(player)))
            pair = [make_agent(ruleset.game, player) for _ in range(2)] if len(row.points) < ends else []
            for number in range(len(row.points), ends):
                last = play_game(ruleset, pair, number)
                row = replace(row, points=(*row.points, int(last["total"][0] - last["total"][1])))
                yield row
            if situation == "first" and len(row.firsts) < len(row.points):
                thrower = make_agent(ruleset.game, player)
                more = [first_stone(ruleset, thrower, number) for number in range(len(row.firsts), len(row.points))]
                yield replace(row, firsts=(*row.firsts, *more))


def first_stone(ruleset: Ruleset, agent: Agent, number: int) -> tuple[float, float] | None:
    """Where the first stone of an end comes to rest, m from the tee; `None` if it leaves the sheet."""
    state = new_state(ruleset, number)
    agent.reset(ruleset, int(state["to_move"]), 2 * number)
    action = agent.act(view_of(ruleset, state, int(state["to_move"])), np.ones(ruleset.mask_shape, np.int8))
    after = step(ruleset, state, action)
    x, y = np.round(after["stones"][0], 3).tolist()
    return (x, y) if after["in_play"][0] else None


def merged(rows: Iterable[Ends]) -> list[Ends]:
    """The last of every player and situation."""
    return list({row.name: row for row in rows}.values())


def load(path: Path) -> list[Ends]:
    """The rows of a record; none where there is no file."""
    if not path.exists():
        return []
    found = json.loads(path.read_text(encoding="utf-8"))
    return [
        Ends(
            row["player"],
            row["situation"],
            tuple(row["points"]),
            tuple(place and (place[0], place[1]) for place in row.get("firsts", ())),
            row["table"],
        )
        for row in found
    ]


def save(rows: Iterable[Ends], path: Path) -> None:
    """Writes the rows, for `load`."""
    lines = [
        json.dumps(
            {"situation": row.situation, "player": row.player, "table": row.table, "points": row.points}
            | ({"firsts": row.firsts} if row.firsts else {})
        )
        for row in rows
    ]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def _published() -> list[str]:
    total = sum(END_SCORES)
    shares = [sum(w for p, w in zip(range(-8, 9), END_SCORES, strict=True) if test(p)) / total for test in _TESTS]
    points = [
        sum(max(sign * p, 0) * w for p, w in zip(range(-8, 9), END_SCORES, strict=True)) / total for sign in (-1, 1)
    ]
    return ["published: Ayumu's prior", *(f"{share:.1%}" for share in shares), *(f"{p:.2f}" for p in points), ""]


def _openings(rows: Sequence[Ends]) -> list[str]:
    p = game("curling").ruleset().params[0]
    house = float(p["fgz_house"])
    return [
        "",
        "## The first stone",
        "",
        f"Where the first stone of the first end lies: on the button (within {BUTTON} m of the tee), elsewhere in the house, a guard "
        "before it. With the game's noise, which moves it by about 0.3 m along the sheet.",
        "",
        f"| player | {' | '.join(_KINDS)} | stones |",
        f"|---|{'--:|' * (len(_KINDS) + 1)}",
        *(f"| {' | '.join(row.openings(house))} |" for row in rows if row.firsts),
    ]


def markdown(rows: Iterable[Ends], output: str) -> str:
    """The page."""
    from asobiba.baselines.curling.self_play import SITUATIONS as KINDS
    from asobiba.baselines.curling.self_play import frequencies, own_table, stored_counts
    from asobiba.envs.curling.win_table import LEAD, win_table

    rows = list(rows)
    lines = [
        "# Digital curling: how ends go",
        "",
        f"Written by `asobiba curling ends` (with `--output {output}`): ends of players against themselves, simulator cs2, noise of "
        "the GAT tournaments (standard deviations of the target of half a stone's radius aside and two radii along). *Steals* are "
        "ends in which the side without the hammer scores; *one point* and *two and more* are the hammer's. Points are an end's "
        "mean. Intervals are of 95 %.",
    ]
    heads = {"first": "The first of ten ends, 0 : 0", "last": "The last end, tied"}
    for situation, head in heads.items():
        lines += ["", f"## {head}", "", f"| {' | '.join(_COLUMNS)} |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
        lines += [f"| {' | '.join(row.cells())} |" for row in rows if row.situation == situation]
        if situation == "first":
            lines.append(f"| {' | '.join(_published())} |")
        else:
            lines.append("| published: Jiritsu-kun's win table (GAT 2016) | 31.0% | | | | | | |")
            lines.append(f"| published: Ayumu's extra end | {EXTRA_END_FIRST:.1%} | | | | | | |")
    lines += _openings(rows)
    counts = stored_counts()
    own, prior = own_table(), win_table(10)
    lines += [
        "",
        "## The searchers' win table",
        "",
        "ayumu and the players built on it, and kr_uct, go by a win table from their own ends (`asobiba curling win-table`; "
        "[win-table.json](../../baselines/curling/policies/win-table.json) has its rounds). Frequencies of the last round:",
        "",
        "| situation of the side that throws first | steals | blanks | one point | two and more |",
        "|---|--:|--:|--:|--:|",
    ]
    for kind, shares in zip(KINDS, frequencies(counts), strict=True):
        cells = [f"{sum(w for p, w in zip(range(-8, 9), shares, strict=True) if test(p)):.1%}" for test in _TESTS]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    lines += [
        "",
        "Win probability of the side that throws first, own (by Ayumu's prior):",
        "",
        "| lead | 1 end left | 2 | 3 | 5 | 10 |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for lead in range(-3, 4):
        cells = [f"{own[left, LEAD + lead]:.2f} ({prior[left, LEAD + lead]:.2f})" for left in (1, 2, 3, 5, 10)]
        lines.append(f"| {lead:+d} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
