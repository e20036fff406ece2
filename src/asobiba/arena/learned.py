"""Compares learned agents with classical ones, over all published leagues: `asobiba league learned`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asobiba.core.agents import agent_declarations, agent_packages
from asobiba.core.registry import game
from asobiba.pages import TextTable

PAGE = Path("docs") / "learned.md"
_BEGIN, _END = "<!-- learned against classical: written by `asobiba league learned` -->", "<!-- end -->"
DUELS = "duels.json"
"""In a league's folder: longer series of a learned agent against the best classical one (`asobiba evaluate -o`)."""
_EQUAL = 1.25
"""A learned agent that takes at most this multiple of the classical one's time takes no longer."""
_FREE = 1.0
"""Milliseconds: where both take less, time is no argument."""


@dataclass(frozen=True)
class Comparison:
    """One published league: its best classical agent, and the learned one that is held against it.

    Args:
        folder: of the league, from the repository's root.
        title: of the game, with the parameters that are not its usual ones.
        learned, classical: their lines in the league's results (see `asobiba.arena.standings.Standing`).
        pairing: their games against each other, seen from the learned one, or `None`; those of a duel where there is one.
        training: decisions, positions or shots that the learned one was trained on, and core hours, as far as its record has
            them.
        alone: whether the game has one player; ratings are then mean returns.
    """

    folder: str
    title: str
    learned: dict[str, Any]
    classical: dict[str, Any]
    pairing: dict[str, Any] | None
    training: str
    alone: bool

    @property
    def difference(self) -> tuple[float, float]:
        """Rating of the learned agent minus that of the classical one, and half its interval as if they were
        independent.
        """
        halves = [(line["high"] - line["low"]) / 2 for line in (self.learned, self.classical)]
        return self.learned["rating"] - self.classical["rating"], math.hypot(*halves)

    @property
    def ratio(self) -> float:
        """The learned agent's time of a move, in times of the classical one's."""
        return _ratio(self.times)

    @property
    def times(self) -> tuple[float, float]:
        """Milliseconds that a move takes the learned and the classical agent: in their duel, or else in the league."""
        if self.pairing is not None and "opponent_milliseconds" in self.pairing:
            return self.pairing["milliseconds"], self.pairing["opponent_milliseconds"]
        return self.learned["milliseconds"], self.classical["milliseconds"]

    @property
    def longer(self) -> bool:
        """Whether the learned agent thinks longer."""
        return not _no_longer(self.times)


def _ratio(times: tuple[float, float]) -> float:
    return float(times[0] / times[1])


def _no_longer(times: tuple[float, float]) -> bool:
    return max(times) < _FREE or _ratio(times) <= _EQUAL


def comparisons(root: Path) -> Iterator[Comparison]:
    """Comparisons for the leagues in `leaderboards/` that have both kinds of agents, by the league's name.

    Agents that look up answers in a solved table are of neither kind.
    """
    for file in sorted(root.glob("leaderboards/*/results.json")):
        results = json.loads(file.read_text(encoding="utf-8"))
        played = game(results["game"].partition("/")[2].rpartition("-v")[0])
        kinds = {name: declared.kind for name, declared in agent_declarations(played).items()}
        best: dict[str, list[dict[str, Any]]] = {}
        for line in results["standings"]:
            best.setdefault(kinds.get(line["agent"].partition(":")[0], ""), []).append(line)
        if not {"learned", "classical"} <= best.keys():
            continue
        classical, duels = best["classical"][0], _duels(file.parent, results["parameters"])
        learned = _opposed(best["learned"], classical, duels)
        usual = json.loads(json.dumps(played.parameters))  # with lists instead of tuples
        usual["opening_plies"] = 0
        changed = [
            f"{v} random plies" if k == "opening_plies" else f"{k}={v}"
            for k, v in results["parameters"].items()
            if v != usual[k]
        ]
        both = learned["agent"], classical["agent"]
        met = [*duels, *results["pairings"]]
        pairing = next((p for p in met if (p["agent"], p["opponent"]) == both), None)
        title = played.title + (f" ({', '.join(changed)})" if changed else "")
        folder = file.parent.relative_to(root).as_posix()
        trained = _training(root, played.name, learned["agent"].partition(":")[0])
        yield Comparison(folder, title, learned, classical, pairing, trained, len(played.players) == 1)


def _duels(folder: Path, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """The longer series under the league's parameters."""
    file = folder / DUELS
    rows = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return [row for row in rows if row["parameters"] == parameters]


def _opposed(learned: list[dict[str, Any]], classical: dict[str, Any], duels: list[dict[str, Any]]) -> dict[str, Any]:
    """The learned agent with a duel against the classical one; else the best that takes no longer; else the best."""
    drawn = {row["agent"] for row in duels if row["opponent"] == classical["agent"]}
    dueling = [line for line in learned if line["agent"] in drawn]
    quick = [line for line in learned if _no_longer((line["milliseconds"], classical["milliseconds"]))]
    return [*dueling, *quick, *learned][0]


def _training(root: Path, name: str, agent: str) -> str:
    record = next((file for file in _records(root, name, agent) if file.is_file()), None)
    if record is None:
        return "not recorded"
    run = json.loads(record.read_text(encoding="utf-8"))
    if "record" in run:  # of a network that several agents share
        run = json.loads((record.parent / run["record"]).read_text(encoding="utf-8"))
    runs = run, run.get("before", {})  # the run whose network this one began with
    counts = ("positions", "steps") if "learned shots" not in run else ("learned shots",)
    steps = sum(next((each[name] for name in counts if name in each), 0) for each in runs) / 1e6
    hours = sum(each.get("core_hours", 0) for each in runs)
    return f"{steps:.2g} M, " + (f"{hours:g} h" if hours else "hours not recorded")


def _records(root: Path, name: str, agent: str) -> Iterator[Path]:
    # A variant of a game has its agents from the same package.
    for package in agent_packages(name):
        policies = root / "baselines" / package.rpartition(".")[2] / "policies"
        yield policies / agent / "run.json"
        if agent.startswith("ppo"):  # that of `asobiba train` lies at the top
            yield policies / "run.json"


def table(root: Path, up: str = "") -> TextTable:
    """The comparisons as a table; `up` leads from the page to the repository's root."""
    rows = []
    for found in comparisons(root):
        difference, half = found.difference
        digits = 3 if found.alone else 0
        met = found.pairing
        rows.append(
            (
                f"[{found.title}]({up}{found.folder}/README.md)",
                *(line["agent"] for line in (found.learned, found.classical)),
                "{:.3g} : {:.3g} ms = ".format(*found.times) + f"{found.ratio:.2g}",
                f"{difference:+.{digits}f} ± {half:.{digits}f}" + (" return" if found.alone else ""),
                ""
                if met is None
                else f"{100 * met['score']:.1f} % ({100 * met['low']:.1f} to {100 * met['high']:.1f}) of {met['games']}",
                found.training,
            )
        )
    columns = (
        "game",
        "learned",
        "best classical",
        "time a move",
        "Elo difference",
        "their games",
        "training",
    )
    return TextTable(columns, rows)


def page(root: Path) -> str:
    """The page `docs/learned.md`."""
    longer = [found for found in comparisons(root) if found.longer]
    exceptions = ", ".join(found.title for found in longer)
    return (
        "# Learned against classical\n\n"
        "The best classical agent of every published league, and a learned one that takes no longer: the best of those whose "
        f"decisions take at most {_EQUAL:g} times as long on the mean (or both less than {_FREE:g} ms)"
        + (f"; where none is that quick, the best one: {exceptions}" if longer else "")
        + ". *Time a move* is the mean time of the two agents' decisions, and their ratio. *Elo difference* is that of their "
        "ratings in the whole league, with the interval that two independent ratings would have. *Their games* is the score "
        "of the learned agent in games of the two against each other, with its 95 % interval and the number of games. Those "
        f"are a longer series at equal time, with its own times, where the league's folder has one (`{DUELS}`, written by "
        "`asobiba evaluate GAME LEARNED -a CLASSICAL -o`), or else the league's games. Agents that look answers up in a "
        "solved table are left out. *Training* is what the learned agent was trained on (decisions; positions, where a search "
        "or an evaluation was learned; a teacher's shots in curling), and the core hours where they were recorded. "
        "Werewolf's ratings are those of a village in which every seat is drawn.\n\n"
        f"{table(root, '../').markdown()}\n\n"
        "Written by `asobiba league learned --write` from the results of the leagues. How each policy was trained stands "
        "beside it in `baselines/GAME/policies`, with what was recorded of its settings, curves and cost.\n"
    )


def write(root: Path) -> list[Path]:
    """Writes the page, and the table into the README between its marks; returns the files written."""
    (root / PAGE).write_text(page(root), encoding="utf-8")
    written, readme = [root / PAGE], root / "README.md"
    text = readme.read_text(encoding="utf-8")
    if _BEGIN in text:
        readme.write_text(with_table(text, root), encoding="utf-8")
        written.append(readme)
    return written


def with_table(text: str, root: Path) -> str:
    """The README's text with the present table between its marks."""
    before, _, rest = text.partition(_BEGIN)
    return f"{before}{_BEGIN}\n{table(root).markdown()}\n{_END}{rest.partition(_END)[2]}"
