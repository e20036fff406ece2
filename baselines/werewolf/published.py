"""The published figures that the werewolf reproduction is set beside."""

from __future__ import annotations

GAMES = 110_000
"""Games of each theory, in the paper and with `--full`."""

WOLF_WINS = {"basic": 67.15, "A": 63.85, "B": 43.75, "C": 79.28, "D": 47.07, "E": 50.20}
"""Wins of the werewolves' side in percent (Kanda and Ito, GAT 2016, table 1)."""

ORDER = ("C", "basic", "A", "E", "D", "B")
"""From the most wins to the fewest."""
