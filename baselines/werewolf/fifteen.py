"""The agents in the village of fifteen: each in every role among each other's villages, and side against side."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from asobiba.arena.match import Match
from asobiba.arena.playing import play_lockstep, play_match, plays_in_lockstep
from asobiba.arena.ratings import wilson
from asobiba.baselines.werewolf.reproduction import _DEAL, PARTS
from asobiba.core import KernelAgent, game, make_agent
from asobiba.pages import Opening, TextTable

FIELDS = ("basic", "sample", "kanolab")
"""The villages that an agent plays in."""
_WOLF_SIDE = ("p", "w")


@dataclass
class Kept:
    """Wins of the wolves' side by cell: who plays the letters, which letters, who plays the others, the game's number. A file
    keeps them, so that a run can be broken off and taken up again."""

    path: Path | None

    def __post_init__(self) -> None:
        self.won: dict[tuple[str, str, str, int], bool] = {}
        self.seconds = 0.0
        if self.path is not None and self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                agent, letters, field, seed, won, seconds = json.loads(line)
                self.won[agent, letters, field, seed] = won
                self.seconds += seconds

    def add(self, key: tuple[str, str, str, int], won: bool, seconds: float) -> None:
        self.won[key] = won
        self.seconds += seconds
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([*key, won, seconds]) + "\n")


def play_cell(kept: Kept, agent: str, letters: str, field: str, games: int) -> tuple[int, int]:
    """Wins of the wolves' side, and games, where `agent` has the roles of these letters and `field` all others; the seeds are
    the same for all cells."""
    declared = game("werewolf")
    ruleset = declared.ruleset(deal=_DEAL)
    names = [agent if letter in letters else field for letter in _DEAL]
    seeds = [seed for seed in range(games) if (agent, letters, field, seed) not in kept.won]
    matches = [Match.of(ruleset, names, seed) for seed in seeds]
    agents = [make_agent(declared, name) for name in names]
    begun = perf_counter()
    kernels = [a for a in agents if isinstance(a, KernelAgent)]
    if plays_in_lockstep(ruleset, agents):
        for part in play_lockstep(matches, kernels):
            for record in part:
                spent, begun = perf_counter() - begun, perf_counter()
                kept.add((agent, letters, field, record.match.seed), record.returns[-1] > 0, spent)
    else:
        for match in matches:
            won = play_match(match, agents).returns[-1] > 0
            spent, begun = perf_counter() - begun, perf_counter()
            kept.add((agent, letters, field, match.seed), bool(won), spent)
    return sum(kept.won[agent, letters, field, seed] for seed in range(games)), games


def _share(wolf_wins: int, games: int, letters: str) -> str:
    wins = wolf_wins if letters[0] in _WOLF_SIDE else games - wolf_wins
    low, high = wilson(wins, games)
    return f"{100 * wins / games:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def roles_table(
    kept: Kept, agents: Sequence[tuple[str, int]], fields: Sequence[str], tell: Callable[[str], None]
) -> TextTable:
    """Each agent, with its number of games a cell, in each role among each field."""
    rows = []
    for field in fields:
        for agent, games in agents:
            row = []
            for part, letters in PARTS.items():
                if len(letters) > 1 and games < 100:
                    row.append("")
                    continue
                tell(f"{agent} as {part} among {field}")
                played = "v" if agent == field else letters  # a guest who is no guest: the same games for every role
                row.append(_share(*play_cell(kept, agent, played, field, games), letters))
            rows.append((f"`{field}`", f"`{agent}`", f"{games:,}", *row))
    return TextTable(
        ("among", "agent", "games a cell", *PARTS),
        rows,
        "By role, in the village of fifteen",
        "Wins of the side that the agent is on, in percent, with Wilson's 95 % interval. The agent has the role of the column (all seats of "
        "it), the village of the first column the others; the same deals for all. Where agent and village are the same, the row is the village "
        "without any guest. A blank stands where the side of several roles was not played.",
    )


_PLAYED = "played"
"""Placeholder in the verdict for the sentence on the villages played."""
_WORDS = (
    ("`perspective`", "the multi-perspective agent: tables of what everybody thinks that everybody is (Nakamura et al.)"),
    ("`basic`", "the standard play of Kanda and Ito, public suspicion"),
    ("`sample`", "the sample agents of the platform of 2016"),
    ("`kanolab`", "weighted rules and pair rules (Minowa and Kano)"),
    ("villagers' side, wolves' side", "villager, seer, medium and bodyguard; possessed and werewolf"),
)  # fmt: skip
_VERDICT = (
    ("The multi-perspective agent plays the village of fifteen by tables of points (GAT 2016, sections 1 to 3)", _PLAYED,
     "the paper prints the method and no win rates; its point tables are not printed, ours were counted over games and for the rest set by hand"),
    ("Section 2.6: once a unique role is certain, the others' points for it become 0", "so it is; two certain ones keep theirs",
     "the text does not say which of two gives way"),
    ("Minowa and Kano: weighted rules and pair rules", _PLAYED, "the paper prints no win rates"),
)  # fmt: skip


def write_page(
    output: Path,
    command: str,
    games: tuple[int, int],
    fields: Sequence[str],
    keep: Path | None,
    tell: Callable[[str], None],
) -> None:
    """Plays the missing games and writes the page. `games`: a cell, of the agents that are kernels, and of the
    multi-perspective
    agent, which takes seconds a game; `fields`: the villages."""
    kept = Kept(keep)
    agents = (*((name, games[0]) for name in FIELDS), ("perspective", games[1]))
    table = roles_table(kept, agents, fields, tell)
    where = f"played in {'that' if len(fields) == 1 else 'those'} of {', '.join(f'`{field}`' for field in fields)}, all six roles"
    verdict = [(claim, where if here == _PLAYED else here, why) for claim, here, why in _VERDICT]
    opening = Opening(
        "Werewolf: the agents in the village of fifteen",
        "The agents of GAT 2016 (in Japanese) that the proceedings describe without results.",
        command,
        kept.seconds,
        verdict,
        _WORDS,
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n\n".join([opening.markdown(), table.markdown()]) + "\n", encoding="utf-8")
