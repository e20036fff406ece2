"""A page for every package of games, from its docstring, its live declarations, the published league and its report.

Nothing of it is typed here: what the page says is what the package says, and its figures are those of committed files.
Compiling nothing: with NUMBA_DISABLE_JIT=1 kernels are ordinary functions.
"""

from __future__ import annotations

import html
import importlib
import inspect
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import films
import numpy as np

from asobiba import golden
from asobiba.api.render import svg
from asobiba.arena.person import tables
from asobiba.core import Game, Ruleset, agent_declarations, states
from asobiba.core import games as registered

ROOT = Path(__file__).parents[2]
HEADER = {"rng_key", "rng_counter", "rewards", "steps", "to_move", "terminated", "truncated", "end_reason"}
UNBROKEN = "\u00a0"
"""A blank at which no line ends."""
ORDER = ("Description", "Starting State", "Episode End", "Rewards")
"""The sections of the rules, in the order in which somebody learns a game; the others belong to the interface."""


@cache
def packages() -> dict[str, tuple[Game, ...]]:
    """The games of each package in `envs`, the package's own first; `curling/doubles` has the name `curling_doubles`."""
    found: dict[str, list[Game]] = {}
    for game in registered():
        head, _, place = game.package.partition("asobiba.envs.")
        if place and not head:
            found.setdefault(place.replace(".", "_"), []).append(game)
    return {name: tuple(sorted(found[name], key=lambda game: (game.name != name, game.name))) for name in sorted(found)}


def sections(package: str) -> dict[str, str]:
    """The docstring of a package by headings; what stands above the first has the name ''."""
    text = inspect.cleandoc(importlib.import_module(packages()[package][0].package).__doc__ or "")
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    return {"": parts[0].strip()} | {name: body.strip() for name, body in zip(parts[1::2], parts[2::2])}


def cell(text: Any) -> str:
    """A text within a row of a table."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(heads: Sequence[str], rows: list[tuple[Any, ...]]) -> str:
    """Markdown's table; columns whose head ends with ":" are aligned to the right."""
    rule = "|".join("--:" if head.endswith(":") else "---" for head in heads)
    lines = [f"| {' | '.join(head.rstrip(':') for head in heads)} |", f"|{rule}|"]
    return "\n".join([*lines, *(f"| {' | '.join(map(cell, row))} |" for row in rows)])


def facts(game: Game, ruleset: Ruleset) -> str:
    """The facts that a game declares, and its spaces."""
    acts = {"sequential": "in turn", "simultaneous": "all at once", "some": "some at once"}[game.turns]
    rows = [
        ("Gymnasium", f"`{game.gymnasium_id}`"),
        ("PettingZoo", f"`{game.id}`"),
        ("seats", ", ".join(ruleset.players)),
        ("who acts", acts),
        ("information", game.information),
        ("chance", "yes" if ruleset.chance else "no"),
        ("rewards", game.utility.replace("_", " ")),
        ("actions of one player", f"`{ruleset.action_space}`"),
        ("observation", f"`{ruleset.observation_space}`"),
        ("longest game", f"{ruleset.max_steps} steps"),
        ("state", f"{ruleset.dtype.itemsize} bytes"),
        ("verified against", game.evidence),
    ]
    return table(("", ""), [row for row in rows if row[1]])


def interface(game: Game) -> str:
    """Parameters, named variants, channels and fields of the state of one game."""
    ruleset = game.ruleset()
    parts = [facts(game, ruleset), ""]
    parts += [
        table(("parameter", "default"), [(f"`{name}`", f"`{value!r}`") for name, value in ruleset.parameters.items()]),
        "",
    ]
    if game.variants:
        rows = [(f"`{name}`", f"`{dict(values)}`") for name, values in game.variants.items()]
        parts += [table(("named variant", "parameters"), rows), ""]
    channels = [(f"`{name}`", f"`{tuple(shape)}`") for name, shape in ruleset.layout.observation.items()]
    parts += [table(("channel of the observation", "shape"), channels), ""]
    fields = ruleset.dtype.fields or {}
    rows = [
        (f"`{name}`", kind.base.name, f"`{kind.shape}`" if kind.shape else "", offset)
        for name, (kind, offset, *_) in fields.items()
        if not name.startswith("_pad")
    ]
    parts += ["::::{dropdown} Fields of the state", table(("field", "type", "shape", "byte:"), rows), "::::", ""]
    return "\n".join(parts)


def leagues(package: str) -> list[tuple[str, dict[str, Any]]]:
    """The published leagues of a package's games: folder and results."""
    names = {game.name for game in packages()[package]}
    found = []
    for path in sorted((ROOT / "leaderboards").glob("*/results.json")):
        results = json.loads(path.read_text(encoding="utf-8"))
        if re.sub(r"^asobiba/|-v\d+$", "", results["game"]) in names:
            found.append((path.parent.name, results))
    return sorted(found, key=lambda league: (league[0] != package, league[0]))


def league_part(package: str, out: Path) -> str:
    """The tables of the published leagues, and the films of all but the first, whose film begins the page."""
    parts = []
    for k, (folder, results) in enumerate(leagues(package)):
        rows = []
        for line in results["standings"]:
            rating, low, high = (number(line[key], results) for key in ("rating", "low", "high"))
            score = f"{100 * line['score']:.1f}{UNBROKEN}%" if line.get("score") is not None else ""
            speed = f"{line['milliseconds']:.3g}"
            interval = f"{low} to {high}".replace(" ", UNBROKEN)
            rows.append((line["rank"], line["agent"], rating, interval, score, line["games"], speed))
        level = f"{results['level']:.0%} interval:"
        heads = ["#:", "agent", f"{results['rating']}:", level, "score:", "games:", "ms a move:"]
        if not any(row[4] for row in rows):  # a player alone has no score
            heads, rows = [*heads[:4], *heads[5:]], [(*row[:4], *row[5:]) for row in rows]
        name = re.sub(r"^asobiba/|-v\d+$", "", results["game"])
        defaults = next(game for game in packages()[package] if game.name == name).parameters
        chosen = [(key, value) for key, value in results["parameters"].items() if value is not None]
        given = "".join(f", `{key}={value!r}`" for key, value in chosen if not _same(defaults.get(key), value))
        parts += [
            f"`{results['game']}`{given}, {results['games']:,} games. [All columns](../leagues/{folder}.md), "
            f'<a href="../reports/{folder}.html">the report</a>.',
            "",
            table(heads, rows),
            "",
            *([film_part(folder, out)] if k else []),
        ]
    return "\n".join(parts) or "No league of these games has been published yet."


def number(value: float, results: dict[str, Any]) -> str:
    """A rating as its league's table writes it: whole points, or two digits where ratings are mean returns."""
    digits = 0 if max(abs(line["rating"]) for line in results["standings"]) >= 10 else 2
    return f"{round(value, digits) + 0.0:.{digits}f}"  # 0, not -0


def _same(a: Any, b: Any) -> bool:
    return json.loads(json.dumps(a)) == b


def strength(package: str) -> dict[str, str]:
    """The rating of each agent in the first of the package's leagues, of its best parameters."""
    found: dict[str, str] = {}
    for _, results in leagues(package)[:1]:
        for line in results["standings"]:  # the best come first
            found.setdefault(line["agent"].partition(":")[0], number(line["rating"], results))
    return found


def agents_part(package: str) -> str:
    """The agents of a package's games, with their sources."""
    parts, shown, strengths = [], [], strength(package)
    for game in packages()[package]:
        rows = []
        for agent in agent_declarations(game).values():
            given = inspect.signature(agent.make).parameters.values()
            settings = ", ".join(f"`{p.name}={p.default}`" for p in given if p.default is not p.empty)
            told = f"{agent.description}<br>*{agent.source}*" if agent.source else agent.description
            rows.append((f"`{agent.name}`", told, settings, strengths.get(agent.name, "")))
        if rows not in shown:  # games of a package often share their agents
            shown.append(rows)
            heads = ("agent", "what it does, after which source", "parameters", "in the league:")
            parts += [f"Of `{game.name}`:", "", table(heads, rows), ""]
    return "\n".join(parts)


def reproductions(package: str) -> str:
    """Links to the pages that compare with the literature, each with how it begins."""
    rows = []
    for path in sorted((ROOT / "docs" / "reproductions").glob("*.md")):
        if path.stem == package or path.stem.startswith(f"{package}-"):
            text = path.read_text(encoding="utf-8")
            title = re.search(r"^# (.+)$", text, re.M)
            rows.append(f"* [{title[1] if title else path.stem}](../reproductions/{path.stem}.md)")
    policies = ROOT / "baselines" / package / "policies" / "README.md"
    if policies.is_file():
        rows.append(f"* [The trained policy](../policies/{package}.md): how it was trained, its learning curve")
    for path in sorted((ROOT / "baselines" / package / "policies").glob("*/README.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        rows.append(f"* [{title}](../policies/{package}-{path.parent.name}.md): `{path.parent.name}`, how it was made")
    return "\n".join(rows) or "Nothing has been reproduced yet."


def film_part(league: str, out: Path) -> str:
    """A game of a published league: a position of it, which the page lets run as a film. It is HTML, so that the page's
    description for other sites begins with the game instead of the picture's caption.
    """
    film = films.films()[league]
    folder = out.parents[1] / "extra" / "films"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{league}.json").write_text(film.packed(), encoding="utf-8")
    stills = {"begin": film.frames[0], "middle": film.frames[len(film.frames) // 2], "end": film.frames[-1]}
    (folder / f"{league}.svg").write_text(stills["middle"], encoding="utf-8")
    for moment, frame in stills.items():
        (out / f"{league}-{moment}.svg").write_text(frame, encoding="utf-8")
    return (
        f'<figure class="film">\n<img src="../films/{league}.svg" alt="A position in the middle of a game">\n'
        f'<div class="film-of" data-frames="../films/{league}.json" data-seconds="{film.seconds:.4g}"></div>\n'
        f"<figcaption>{film.caption}</figcaption>\n</figure>\n"
    )


def picture_part(package: str, out: Path) -> str:
    """The film of the package's first league; a position of a game that has none."""
    published = leagues(package)
    if published:
        return film_part(published[0][0], out)
    (out / f"{package}-middle.svg").write_text(svg(*_played(packages()[package][0])[:2]), encoding="utf-8")
    return f"```{{figure}} ../media/games/{package}-middle.svg\n:alt: A position\n:width: 480px\n```\n"


def stills_part(league: str) -> str:
    """The beginning and the end of the game of a league's film."""
    return (
        ":::::{grid} 1 2 2 2\n:gutter: 3\n\n"
        f"::::{{grid-item-card}} How it begins\n![The beginning of a game](../media/games/{league}-begin.svg)\n::::\n"
        f"::::{{grid-item-card}} How it ended\n![The end of a game](../media/games/{league}-end.svg)\n::::\n"
        ":::::\n"
    )


@cache
def _played(game: Game) -> tuple[Ruleset, np.void, int]:
    """A position of the golden playthrough, after the greater part of it, and a seat that is asked there."""
    ruleset = game.ruleset()
    seed, actions = golden.read(ruleset, (ROOT / "tests" / "golden" / f"{game.name}.txt").read_text(encoding="utf-8"))
    state = states.new_state(ruleset, seed)
    for action in actions[: max(1, 2 * len(actions) // 3)]:
        state = states.step(ruleset, state, action)
    actors = ruleset.actors(state)
    return ruleset, state, int(actors[0]) if len(actors) else 0


def channel_pictures(game: Game, out: Path) -> str:
    """The planes of the observation of a position, drawn, and the position that they show."""
    ruleset, state, seat = _played(game)
    observation = states.observation(ruleset, state, seat).astype(float)
    planes: list[tuple[str, np.ndarray]] = []
    for name, values in ruleset.channels(observation).items():
        if values.ndim >= 2:
            stack = values.reshape(-1, *values.shape[-2:])
            planes += [(f"{name} {k}" if len(stack) > 1 else name, plane) for k, plane in enumerate(stack)]
        else:
            planes.append((name, values.reshape(1, -1)))
    name = f"{game.name}-channels.svg"
    (out / name).write_text(draw_planes(planes), encoding="utf-8")
    who = ruleset.players[seat]
    return (
        f"What the player `{who}` observes in a position of `{game.name}` (of its golden playthrough), channel by channel: dark is the least "
        f"value of a channel, light the greatest.\n\n![The channels of an observation](../media/games/{name})\n"
    )


def draw_planes(planes: list[tuple[str, np.ndarray]], width: int = 760) -> str:
    """An SVG picture of arrays, each as squares from dark (its least value) to light."""
    x = y = tallest = 0
    parts = []
    for name, plane in planes:
        rows, columns = plane.shape
        size = max(1.0, min(12.0, 150 / max(rows, 1), (width - 20) / columns))
        across, down = max(columns * size, 7 * len(name)) + 16, rows * size + 30
        if x and x + across > width:
            x, y, tallest = 0, y + tallest, 0
        low, high = float(plane.min()), float(plane.max())
        squares = [
            f'<rect x="{x + c * size:.1f}" y="{y + 20 + r * size:.1f}" width="{size:.1f}" height="{size:.1f}" '
            f'fill="{_shade((plane[r, c] - low) / (high - low) if high > low else float(low > 0))}"/>'
            for r in range(rows)
            for c in range(columns)
        ]
        parts += [f'<text x="{x}" y="{y + 14}">{html.escape(name)}</text>', *squares]
        x, tallest = x + across, max(tallest, down)
    height = y + tallest
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}">'
        f'<rect width="{width}" height="{height:.0f}" fill="#ffffff"/><g font-family="sans-serif" font-size="12" '
        f'stroke="#ffffff" stroke-width="0.5" paint-order="stroke">{"".join(parts)}</g></svg>'
    )


def _shade(value: float) -> str:
    dark, light = (38, 50, 84), (255, 214, 102)
    return "#" + "".join(f"{round(a + (b - a) * value):02x}" for a, b in zip(dark, light))


def page(package: str, out: Path) -> str:
    """The page of a package of games; its pictures are written into `out`."""
    text, games = sections(package), packages()[package]
    lead = text[""].split("\n\n")
    parts = [f"# {games[0].title}", "", "\n\n".join(lead), "", picture_part(package, out)]
    parts += [f'<div class="play-here" data-games="{games[0].name}"></div>\n']
    parts += ["## Rules", ""]
    for name in ORDER:
        parts += [*([] if name == "Description" else [f"### {name}", ""]), text[name], ""]
    parts += [f"### {name}\n\n```yaml\n{told}```\n" for name, told in tables(games[0]).items()]
    parts += [stills_part(league) for league, _ in leagues(package)[:1]]
    parts += [
        "## Play and train",
        "",
        f"```console\nasobiba play {games[0].name} --browser\nasobiba agents {games[0].name}\n"
        f"asobiba league run {games[0].name}\n```",
        "",
        "## League",
        "",
        league_part(package, out),
        "## Agents",
        "",
        agents_part(package),
        "## Results of the literature",
        "",
        reproductions(package),
        "",
        "## Actions and observations",
        "",
        "### Action Space",
        "",
        text["Action Space"],
        "",
        "### Observation Space",
        "",
        text["Observation Space"],
        "",
    ]
    parts += [channel_pictures(games[0], out), "", "### Arguments", "", text["Arguments"], ""]
    for game in games:
        parts += [f"### {game.title}: `{game.name}`", "", interface(game)]
    parts += ["## State", "", text["State"], ""]
    parts += ["## Sources, and how to cite", "", text["References"], ""]
    parts += [
        "Cite these for the game, the sources in the table above for the agents, and asobiba as "
        "[CITATION.cff](../citation.md) says.",
        "",
    ]
    parts += ["## Version History", "", text["Version History"], ""]
    return "\n".join(parts)


def write_pages(out: Path) -> dict[str, str]:
    """All pages of games by their path on the site; pictures and films are written into `out`."""
    out.mkdir(parents=True)
    found = {f"games/{name}.md": page(name, out) for name in packages()}
    tree = "\n".join(packages())
    found["games/index.md"] = (
        f'# Games\n\n<div class="play-here"></div>\n\n{cards("", "../media/games/")}\n\n{films.CHOICE}\n\n'
        f"```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )
    return found


def cards(pages: str, pictures: str) -> str:
    """A picture of every game, with its summary, that leads to its page. `pages` and `pictures` are where these lie."""
    found = []
    for name, games in packages().items():
        picture = f"{[*(league for league, _ in leagues(name)), name][0]}-middle.svg"
        summary = " ".join(sections(name)[""].split("\n\n")[0].split())
        found += [
            f"::::{{grid-item-card}} {games[0].title}",
            f":link: {pages}{name}",
            ":link-type: doc",
            f":img-top: {pictures}{picture}",
            f":img-alt: A position of {games[0].title}",
            "",
            summary,
            "::::",
        ]
    return "\n".join([":::::{grid} 1 2 3 3", ":gutter: 3", ":class-container: games", "", *found, ":::::"])
