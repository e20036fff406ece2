"""Tables of plain rows, as the commands print and `asobiba bao reproduce` writes them."""

from __future__ import annotations

import numpy as np

from asobiba.baselines.bao.graph import Graph, Solution, solve
from asobiba.baselines.bao.loops import PERIOD_0, TABLE_2, Conditions, conditions, loop_from
from asobiba.core import NotationError
from asobiba.core.states import is_over, legal_actions, new_state, step
from asobiba.envs.bao.notation import LETTERS, counts_of
from asobiba.envs.bao.sowing import is_endless
from asobiba.pages import TextTable

ENDLESS = ("illegal", "loses", "draws")


def letters(line: list[int]) -> str:
    """A line of play as hole letters."""
    return "".join(LETTERS[hole] for hole in line)


def board(cells) -> str:
    """A board as the paper writes it."""
    return "(" + ",".join(map(str, cells)) + ")"


def section(table: TextTable) -> str:
    """A table as a part of the page."""
    return table.markdown(level=3) + "\n"


def replay(ruleset, line: list[int]) -> bool:
    """Whether a line of ring holes is legal play from the start and its last move is endless.

    Raises:
        NotationError: for a move that the rules forbid before the last.
    """
    state = new_state(ruleset, 0)
    holes = ruleset.num_actions
    for ply, hole in enumerate(line):
        counts = counts_of(ruleset, state)
        if ply == len(line) - 1:
            return counts[hole] > 0 and hole // holes == int(state["to_move"]) and is_endless(counts, hole)
        action = hole - holes * int(state["to_move"])
        if is_over(state) or action not in legal_actions(ruleset, state):
            raise NotationError(f"{LETTERS[hole]} is not a legal move at ply {ply + 1} of {letters(line)}")
        state = step(ruleset, state, action)
    return False


def loops_table(graph: Graph) -> TextTable:
    """Every loop that play reaches, and whether the paper's Table 2 has it."""
    boards = (*(cells for cells, _, _ in TABLE_2), PERIOD_0)
    listed = {loop.key: cells for cells in boards if (loop := loop_from(cells)) is not None}
    rows = []
    for each in graph.loops():
        loop = each.loop
        known = listed.get(loop.key) if loop.ring == 8 else None
        rows.append(
            (
                board(known or loop.example),
                str(loop.period),
                str(loop.shift),
                str(loop.seeds),
                str(len(each.line)),
                letters(each.line),
                str(each.moves),
                "" if loop.ring != 8 else ("yes" if known else "no"),
            )
        )
    title = f"Endless moves of {graph.holes}x2 that play reaches: {len(rows)} loops"
    columns = ("starting board", "period", "shift", "seeds", "ply", "shortest line", "endless moves", "in the paper")
    return TextTable(columns, rows, title)


def repetitions_table(graph: Graph) -> TextTable:
    """Every set of positions that play can go round in."""
    rows = []
    for part in graph.repetitions():
        cycle = graph.shortest_cycle(part)
        first = graph.position(cycle[0])
        text = board(first.counts[: graph.holes]) + board(first.counts[graph.holes :])
        player = ("first", "second")[first.player]
        rows.append(
            (str(len(part)), text, player, str(first.plies), str(len(cycle)), letters(graph.line_to(first.index)))
        )
    title = f"Repetitions of {graph.holes}x2: {len(rows)} strongly connected components"
    columns = ("positions", "reached first", "to move", "ply", "shortest cycle", "shortest line")
    return TextTable(columns, rows, title)


def conditions_table(found: list[Conditions]) -> TextTable:
    """The table of the paper's conditions that hold."""

    def yes(value: bool, of: int) -> str:
        return "-" if of == 0 else ("yes" if value else "no")

    rows = [
        (
            str(c.ring), str(c.seeds), f"{c.boards:,}", str(c.period_0), f"{c.pattern_1}+{c.pattern_2}", str(c.longer),
            f"{c.longer_meeting} ({yes(c.necessary, c.longer)})" if c.ring % 2 == 0 else "-",
            f"{c.condition_loops} of {c.condition_boards} ({yes(c.sufficient, c.condition_boards)})" if c.ring % 2 == 0 else "-",
            f"{c.shift_rule} of {c.longer}",
        )
        for c in found
    ]  # fmt: skip
    columns = (
        "ring", "seeds", "boards", "period 0", "of pattern 1+2", "period >= 1", "LOOP met (necessary)",
        "LOOP boards that loop (sufficient)", "period = shift + (ring+1)k",
    )  # fmt: skip
    return TextTable(columns, rows, "The paper's conditions, by enumeration of every board")


def checked_conditions(most: dict[int, int]) -> list[Conditions]:
    """Conditions of every ring size in `most` with up to that many seeds, where there is any loop or LOOP board."""
    found = [conditions(ring, seeds) for ring, last in most.items() for seeds in range(2, last + 1)]
    return [c for c in found if c.period_0 or c.longer or c.condition_boards]


def share_of_results(graph: Graph, solution: Solution) -> tuple[int, int, int]:
    """Positions whose mover wins, draws and loses what is still on the board, counted from a level score."""
    low, high = solution.low.astype(int), solution.high.astype(int)
    wins, losses = int(np.sum((low > 0) & (low > -128))), int(np.sum((high < 0) & (high < 127)))
    return wins, len(graph) - wins - losses, losses


def solution_table(graph: Graph) -> TextTable:
    """The start's value and what every reachable position is worth, under each treatment of endless moves."""
    rows = []
    for endless in ENDLESS:
        solution = solve(graph, endless)
        shares = share_of_results(graph, solution)
        value = (
            f"{solution.low[0]:+d}"
            if solution.low[0] == solution.high[0]
            else f"{solution.low[0]} to {solution.high[0]}"
        )
        undecided = int(np.sum(solution.low != solution.high))
        rows.append(
            (endless, value, *results_at_start(solution), *(f"{share:,}" for share in shares), f"{undecided:,}")
        )
    columns = (
        "endless moves", "margin of the start", "result if a repetition draws", "if it loses for the first player",
        "for the second", "positions won", "drawn", "lost for the mover, from a level score", "values open to repetition",
    )  # fmt: skip
    return TextTable(columns, rows, f"{graph.holes}x2 solved: {len(graph):,} reachable positions")


def results_at_start(solution: Solution) -> tuple[str, str, str]:
    """The result of the start for the first player where a repetition draws, loses for him, or for the second."""

    def word(margin: int) -> str:
        return "win" if margin > 0 else ("loss" if margin < 0 else "draw")

    low, high = int(solution.low[0]), int(solution.high[0])
    return solution.result(0), word(low), word(high)
