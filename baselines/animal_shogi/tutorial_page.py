"""The page of the tutorial's ideas: terms of the evaluation, depth, forward pruning, fighting on, measured one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from asobiba.arena.ratings import wilson
from asobiba.baselines.animal_shogi import forward_pruning, one_ply, plain_alpha_beta
from asobiba.baselines.animal_shogi.pruning import steps
from asobiba.baselines.animal_shogi.search_rules import GROUPS
from asobiba.baselines.animal_shogi.solver.table import TableMissing, ValueTable
from asobiba.baselines.animal_shogi.strength import Judged, drawn_positions, over_games, over_positions, won_from
from asobiba.baselines.search.agent import SearchAgent
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.baselines.search.own_games import opening, play
from asobiba.core import Agent, Ruleset, make_agent
from asobiba.envs.animal_shogi import GAME
from asobiba.pages import Opening, TextTable

OPENING = 4
"""Random moves before a game, so that agents without chance play different ones."""
JUDGED = (
    "random", "first_legal", "one_ply_material", "one_ply_attacks", "one_ply_check", "one_ply_try", "one_ply_lion_rank",
    "one_ply_relations", "one_ply", "minimax:depth=3", "forward_pruning:depth=6", "fighter:depth=6", "alpha_beta:depth=4",
    "alpha_beta:depth=8", "ppo", "gumbel_az:simulations=1", "gumbel_az", "gumbel_az:simulations=400", "perfect",
)  # fmt: skip
"""Agents whose moves are held to the exact values; policies may be named too."""
_SOURCE = 'Hiroshi Gomi, "How to write Doubutsu Shogi, gently" (in Japanese), 2010, chapters 5, 7 and 8.'
_WORDS = (
    ("`one_ply`", "plays the move after which the weighted terms are best; `one_ply:terms=A+B` has these groups alone"),
    ("`minimax:depth=d`, `plain_alpha_beta:depth=d`", "look d plies ahead and evaluate there; the second cuts by alpha and beta "
     "and has the same values"),
    ("`forward_pruning`", "alpha-beta that follows no position whose evaluation is beyond a threshold"),
    ("`fighter`", "alpha-beta that, when every move loses, plays the `longest` line or the most `confusing` move, the one after "
     "which the smallest share of the replies still wins"),
    ("`ppo`, `gumbel_az`", "the trained policies; the second is a network with a search of so many simulations, at first 64"),
    ("ply", "one move of one side"),
    ("keeps the value", "a won position stays won, a drawn one at least drawn"),
    ("score", "points a game, a draw half, in percent, with Wilson's 95 % interval"),
)  # fmt: skip


def _score(points: float, games: int) -> str:
    low, high = wilson(points, games)
    return f"{100 * points / games:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _match(ruleset: Ruleset, one: Agent, other: Agent, games: int):
    return play(ruleset, (one, other), games, lambda k: opening(ruleset, OPENING, k))


def terms_table(ruleset: Ruleset, games: int) -> TextTable:
    """Each group of terms alone against random play, and all without it against all."""
    rows = []
    for group in GROUPS:
        alone = _match(ruleset, one_ply(group), make_agent(GAME, "random"), games)
        rest = "+".join(name for name in GROUPS if name != group)
        without = _match(ruleset, one_ply(rest), one_ply(), games)
        rows.append((group, _score(alone.points, games), _score(without.points, games)))
    every = _match(ruleset, one_ply(), make_agent(GAME, "random"), games)
    rows.append(("all", _score(every.points, games), ""))
    return TextTable(
        ("terms", "alone, against `random`", "all but these, against all"),
        rows,
        "The terms of the evaluation",
        f"`one_ply`, {games} games a cell, {OPENING} random moves before each, both sides of each. A term is worth most where leaving it "
        "out costs most.",
    )


def depth_table(ruleset: Ruleset, games: int, deepest: int) -> TextTable:
    """Each depth against the one before it."""
    _match(ruleset, plain_alpha_beta(2), plain_alpha_beta(1), 2)  # compiles, so that the times are those of thinking
    rows = []
    for depth in range(2, deepest + 1):
        found = _match(ruleset, plain_alpha_beta(depth), plain_alpha_beta(depth - 1), games)
        rows.append(
            (f"{depth}", _score(found.points, games), f"{found.milliseconds(0):.2f}", f"{found.milliseconds(1):.2f}")
        )
    return TextTable(
        ("plies", "score against one ply less", "ms a move", "ms of the other"),
        rows,
        "Looking further ahead",
        f"`plain_alpha_beta`, {games} games a row.",
    )


def pruning_table(ruleset: Ruleset, depth: int) -> TextTable:
    """The savings of each step of pruning."""
    rows, first = [], 0
    for row in steps(ruleset, depth):
        first = first or row.nodes
        rows.append((
            row.name, f"{row.nodes:,}", f"{row.nodes / first:.3%}", f"{row.seconds:.3f}", f"{row.equal} of {row.positions}",
            f"{row.same_move_value} of {row.positions}",
        ))  # fmt: skip
    return TextTable(
        ("step", "positions", "of minimax", "seconds", "value as minimax", "move as good"),
        rows,
        f"Pruning at {depth} plies",
        "Five positions, the settings add up. The steps to *principal variation search* cut nothing that counts; forward pruning does.",
    )


def forward_table(ruleset: Ruleset, games: int, depth: int) -> TextTable:
    """Thresholds against none, at the same depth."""
    rows = []
    for threshold in (150, 300, 700, 1500):
        pruned = forward_pruning(depth, -threshold, threshold)
        whole = SearchAgent("alpha_beta", depth=depth, quiescence=0)
        found = _match(ruleset, pruned, whole, games)
        rows.append(
            (
                f"{threshold}",
                _score(found.points, games),
                f"{found.milliseconds(0):.2f}",
                f"{found.milliseconds(1):.2f}",
            )
        )
    return TextTable(
        ("threshold", "score against none", "ms a move", "ms without"),
        rows,
        "Forward pruning",
        f"`forward_pruning:depth={depth}` against the same search without thresholds, {games} games a row; a chick is 100 points, a giraffe "
        "330.",
    )


def lost_positions(ruleset: Ruleset, count: int, depth: int) -> list[np.void]:
    """Positions that a search of this depth proves lost, from random openings of 6 to 20 plies, in order of their seeds."""
    searcher, seed = Searcher(ruleset, table_size=1 << 14), 0
    found: list[np.void] = []
    while len(found) < count:
        state = opening(ruleset, 6 + seed % 15, 100_000 + seed)
        seed += 1
        searcher.clear()
        result = searcher.search(state, depth=depth)
        if result.proven < 0 and (result.plies_to_end or 0) >= 4:
            found.append(state)
    return found


def fighting_table(ruleset: Ruleset, games: int, depth: int) -> TextTable:
    """The points saved from lost positions, by the manner of fighting on."""
    begins, rows = lost_positions(ruleset, games, depth), []
    for opponent in ("one_ply", "minimax:depth=2", "minimax:depth=3"):
        cells = []
        for losing in ("any", "longest", "confusing"):
            agents = SearchAgent("fighter", losing=losing, depth=depth), make_agent(GAME, opponent)
            found = play(ruleset, agents, games, lambda k: begins[k], both_sides=False)
            cells.append(_score(found.points, games))
        rows.append((f"`{opponent}`", *cells))
    return TextTable(
        ("opponent", "any move", "the longest line", "the most confusing move"),
        rows,
        "Fighting on",
        f"Score of alpha-beta of {depth} plies from {games} positions that it sees to be lost in 4 plies or more, the same for all, by what "
        "it does when every move loses.",
    )


def strength_table(
    table: ValueTable, ruleset: Ruleset, agents: Sequence[str], positions: int, games: int, tell: Callable[[str], None]
) -> TextTable:
    """The share of moves that keep the value, the mean loss of a move, and how often won positions are won."""
    won = drawn_positions(table, ruleset, (1,), positions, 1)
    drawn = drawn_positions(table, ruleset, (0,), positions, 2)
    rows = []
    for name in agents:
        tell(name)
        found = [over_positions(table, ruleset, make_agent(GAME, name), states) for states in (won, drawn)]
        own = _match(ruleset, make_agent(GAME, name), make_agent(GAME, "random"), games)
        strong = _match(ruleset, make_agent(GAME, name), make_agent(GAME, "alpha_beta:depth=4"), games)
        found += [over_games(table, ruleset, played) for played in (own, strong)]
        cells = [_kept(each, k >= 2) for k, each in enumerate(found)]
        cells.insert(2, _share(won_from(table, ruleset, make_agent(GAME, name), won[:games]), min(games, positions)))
        rows.append((f"`{name}`", *cells, f"{own.milliseconds(0):.2f}"))
    return TextTable(
        (
            "agent", "won positions", "drawn positions", "wins won positions", "own games, `random`",
            "own games, `alpha_beta:depth=4`", "ms a move",
        ),
        rows,
        "Against the exact values",
        f"Percent of moves that keep the value, with the 95 % interval; behind the slash the value given away a move (a win 1, a draw 0, a "
        f"loss -1). *won*, *drawn*: {positions:,} positions each, drawn uniformly from all legal ones that the player to move wins or "
        f"draws (mirror images are one), asked as a game's first. *wins*: of {min(games, positions):,} of these won positions played out "
        f"against `perfect`, which holds out as long as can be. *own games*: {games} games each, {OPENING} random moves before; "
        "of their decisions those in which a move could change the value.",
    )  # fmt: skip


def _share(part: int, of: int) -> str:
    low, high = wilson(part, of)
    return f"{100 * part / of:.1f} ({100 * low:.1f} to {100 * high:.1f}) of {of:,}"


def _kept(found: Judged, choices: bool) -> str:
    accuracy = found.accuracy
    kept, of = (accuracy.kept_choices, accuracy.choices) if choices else (accuracy.kept, accuracy.decisions)
    if not of:
        return "-"
    return f"{_share(kept, of)} / {found.loss:.3f}"


def write_page(
    output: Path, command: str, games: int, positions: int, agents: Sequence[str], tell: Callable[[str], None]
) -> str:
    """Measures everything and writes the page. The last table is left out where there is no table of exact values."""
    begun, ruleset = perf_counter(), GAME.ruleset()
    made: dict[str, TextTable] = {}
    for name, make in (
        ("terms", lambda: terms_table(ruleset, games)),
        ("depths", lambda: depth_table(ruleset, games, 6)),
        ("pruning", lambda: pruning_table(ruleset, 6)),
        ("forward", lambda: forward_table(ruleset, games, 6)),
        ("fighting", lambda: fighting_table(ruleset, games, 6)),
    ):
        tell(name)
        made[name] = make()
    parts = [table.markdown() for table in made.values()]
    try:
        parts.append(strength_table(ValueTable.open(None), ruleset, agents, positions, games, tell).markdown())
    except TableMissing as error:
        parts.append(
            f"## Against the exact values\n\nNot measured: {str(error).partition(' at ')[0]} (`asobiba solve animal_shogi`)."
        )
    head = Opening(
        "Animal shogi: the tutorial's ideas measured", _SOURCE, command, perf_counter() - begun, _verdict(made), _WORDS
    )
    text = "\n\n".join([head.markdown(), *parts, _STRENGTH_NOTE]) + "\n"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    return text


def _first(cell: str) -> str:
    return cell.partition(" ")[0]


def _verdict(made: dict[str, TextTable]) -> list[tuple[str, str, str]]:
    without = {row[0]: row[2] for row in made["terms"].rows}
    forward = {row[0]: row[1] for row in made["forward"].rows}
    depths = [f"{row[0]}: {_first(row[1])}" for row in made["depths"].rows]
    fighting = [f"{row[0]} {_first(row[2])} and {_first(row[3])}" for row in made["fighting"].rows]
    work = next(row[2] for row in made["pruning"].rows if row[0] == "alpha-beta")
    return [
        ("An evaluation must know escapes from check and from a try (5.2)",
         f"all terms but check score {without['check']} against all, all but try {without['try']}, all but material {without['material']}",
         "comes out; what the pieces are worth hardly matters to who sees one ply"),
        ("A deeper search is stronger (7.2)", f"score against one ply less, by plies: {', '.join(depths)}", "comes out"),
        ("Alpha-beta gives minimax's result with less work (7.3)", f"equal values with {work} of the positions", "comes out"),
        ("In this game the tide turns often, so that thresholds must be wide, until hardly more than decided positions are cut (7.3, 8.2)",
         f"score against no thresholds: {forward['300']} at 300, {forward['700']} at 700, {forward['1500']} at 1500", "comes out"),
        ("Fight on when you lose: the confusing move is best, and hard to write; the longest line is the usual way (8.3)",
         f"longest line and confusing move, against {'; '.join(fighting)}",
         "differs: the most *confusing* move, which is here the one with the smallest share of winning replies (the tutorial leaves it "
         "open), saves less. Our opponents look ahead and find the one winning reply where there is one, which a share of replies "
         "does not know of"),
        ("Exercises of classes, screens and input (2, 3, 4, 6, 9)", "not replayed: they are program design",
         "chapter 9 is unfinished in the source"),
    ]  # fmt: skip


_STRENGTH_NOTE = (
    "## Strength of a solution\n\nAhmad, Sturtevant and Bowling place a player between a weak and a strong solution by the share of positions "
    "in which it plays without loss, over those that matter. Their text was not at hand; the two ends of the scale are the columns "
    "above: over all positions (a strong solution has 100 %), and over those that its own play reaches (a weak solution has 100 % "
    "there from the start). `perfect` is 100 % in both by construction, which checks the measurement."
)
