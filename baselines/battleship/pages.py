"""The pages of battleship that commands write."""

from __future__ import annotations

from asobiba.pages import Page

_GAMES = 4


def _probe() -> list:
    from asobiba.baselines.battleship.duels import play_games
    from asobiba.baselines.battleship.published import CHECKERBOARD_PAIRS, TABLE_1, Cell, largest_first
    from asobiba.baselines.battleship.reproduction import agent_of, cell_seed
    from asobiba.core import game

    ruleset = game("battleship").ruleset()
    cells = [Cell("table 1", *pair) for pair in TABLE_1] + [largest_first(pair) for pair in CHECKERBOARD_PAIRS]
    return [
        [cell.key, play_games(ruleset, agent_of(cell.first), agent_of(cell.second), _GAMES, cell_seed(cell)).tolist()]
        for cell in cells
    ]


PAGES = (
    Page(
        "docs/reproductions/battleship.md",
        "asobiba reproduce battleship --full --output docs/reproductions/battleship.md",
        ("asobiba.baselines.battleship.reproduction",),
        probe=_probe,
    ),
    Page(
        "docs/reproductions/battleship-readings.md",
        "asobiba battleship readings --output docs/reproductions/battleship-readings.md",
        ("asobiba.baselines.battleship.readings_page",),
    ),
    Page(
        "docs/reproductions/battleship-equilibrium.md",
        "asobiba battleship equilibrium --output docs/reproductions/battleship-equilibrium.md",
        ("asobiba.baselines.battleship.equilibrium_page",),
        expected=1500,
    ),
)
