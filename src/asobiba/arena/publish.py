"""Publishes a league: a folder with a table, the figures, and a page."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from asobiba.arena.ledger import seeds_note
from asobiba.arena.ratings import ANCHOR
from asobiba.arena.records_file import NAME, write_records
from asobiba.arena.report import write_report
from asobiba.arena.standings import PROVISIONAL, Standings, provisional, standings, to_csv, to_json, to_markdown
from asobiba.arena.store import MIXED, Result, Store
from asobiba.core import Game, Ruleset
from asobiba.core.game import OPENING
from asobiba.pages import stamped


def publish(ruleset: Ruleset, store: Store, results: Sequence[Result], folder: Path) -> Path:
    """Writes README.md, results.csv, results.json, records.xz and report.html into `folder`; returns the path of the page.

    These files contain the secret from which the games' seeds follow; further games of the store use a new one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    store.publish_secrets(ruleset)
    table = standings(ruleset, results, seeds=seeds_note(store.secrets(ruleset)))
    code = store.code(ruleset)
    records = write_records(
        folder / NAME, ruleset, list(store.listed(ruleset)), store.list_seal(ruleset),
        {"sources": code, "public_seeds": _public_seeds(store, ruleset)},
    )  # fmt: skip
    text = _readme(table, table.games if ruleset.unopened.chance else store.different_games(ruleset), records)
    if code == MIXED:
        text += (
            "\nNot all of these games are known to have been played by the same edition of the game and its agents.\n"
        )
    (folder / "README.md").write_text(text if code is None else stamped(text, code), encoding="utf-8")
    (folder / "results.csv").write_text(to_csv(table), encoding="utf-8")
    (folder / "results.json").write_text(to_json(table), encoding="utf-8")
    write_report(folder / "report.html", table, results, store)
    return folder / "report.html"


def _public_seeds(store: Store, ruleset: Ruleset) -> dict[str, int]:
    """The secrets that follow from a seed, with the seed."""
    known = [used.secret for used in store.secrets(ruleset) if used.secret is not None]
    return {secret.text: secret.seed for secret in known if secret.seed is not None}


def _readme(table: Standings, different: int, records: str) -> str:
    game = table.ruleset.game
    repeated = ""
    if different < table.games:
        repeated = (
            f" Only {different} of the games differ: where both agents are deterministic and the start is fixed, every "
            "further game repeats the first, and the intervals are narrower than what was learned."
        )
    plies = table.ruleset.opening_plies
    opened = (
        f" Every game begins with {plies} uniformly random plies, drawn from the seed of its deal and recorded with it; "
        "agents meet in each opening from both sides."
        if plies
        else ""
    )
    marked = f" Ratings with ? are provisional, of fewer than {PROVISIONAL} games." if provisional(table) else ""
    ended = ", ".join(f"{name} {count}" for name, count in table.reasons.items() if count)
    alone = table.ruleset.num_players == 1
    zero = "random = 0" if any(line.agent == ANCHOR for line in table.lines) else "the mean of the agents = 0"
    rating = "the mean of the returns" if alone else f"Elo points of a Davidson model with seat advantage ({zero})"
    return (
        f"# {game.title}: league\n\n"
        f"`{table.ruleset!r}`, {table.games} games, asobiba {version('asobiba')}. Written by `asobiba league publish "
        f"{game.name}{_options(table.ruleset)}`; do not edit. More in report.html, all figures in results.csv and results.json.\n\n"
        f"{to_markdown(table)}\n"
        f"Rating: {rating}, with {100 * table.level:.0f} % intervals. *Tied with* lists agents whose difference is not "
        f"significant at that level.{marked} Games ended by: {ended}. Time per move was measured on the machine that played."
        f"{opened}{repeated}\n\n{table.seeds} All games are in {NAME} (SHA-256 of what is packed in it: `{records}`); "
        "`asobiba league verify` and this folder's path plays them again.\n"
        f"{_rule(game) if alone else ''}"
    )


def _options(ruleset: Ruleset) -> str:
    """The command's options for the parameters that are not the game's own."""
    usual = {OPENING: 0, **ruleset.game.parameters}
    return "".join(f" -p {name}={value}" for name, value in ruleset.parameters.items() if value != usual[name])


def _rule(game: Game) -> str:
    """Meaning of a return: the section on rewards of the game's documentation."""
    text = inspect.cleandoc(importlib.import_module(game.package).__doc__ or "")
    found = re.search(r"^## Rewards\n+(.*?)(?=^## |\Z)", text, re.M | re.S)
    return f"\n## Rewards, whose sum is the return\n\n{found[1].strip()}\n" if found else ""
