"""The list of agents in `docs/wasm.md`: `python -m asobiba.targets.wasm.page docs/wasm.md` writes it anew."""

from __future__ import annotations

import sys
from pathlib import Path

from asobiba.core import games
from asobiba.targets.wasm.package import kernel_agents

_HEAD = "| game | in the module | not in it |\n|---|---|---|\n"


def agent_table() -> str:
    """The table of the compiled agents of each game, and of those that think in Python, with the reason."""
    lines = []
    for game in games():
        if not game.package.startswith("asobiba."):
            continue
        found, missing = kernel_agents(game.ruleset())
        by_reason: dict[str, list[str]] = {}
        for name, why in missing.items():
            by_reason.setdefault(why.partition(": ")[0], []).append(name)
        left_out = "; ".join(f"{', '.join(names)}: {why}" for why, names in by_reason.items())
        lines.append(f"| {game.name} | {', '.join(found)} | {left_out} |")
    return _HEAD + "\n".join(lines) + "\n"


def main() -> None:
    page = Path(sys.argv[1])
    head, table, _ = page.read_text(encoding="utf-8").partition(_HEAD)
    page.write_text((head if table else head.rstrip() + "\n\n") + agent_table(), encoding="utf-8")


if __name__ == "__main__":
    main()
