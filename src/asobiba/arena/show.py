"""Shows a recorded match as text, film or picture."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asobiba.api.render import ansi, film_fps, save_movie, svg
from asobiba.arena.match import LiveGame, MatchRecord, decode_actions, digest, parameters_text
from asobiba.arena.person import move_text, result_text
from asobiba.arena.replay import replay
from asobiba.core import AsobibaError
from asobiba.core.answers import printable


def headline(record: MatchRecord) -> str:
    """Players of a match, and how it ended."""
    match = record.match
    result = result_text(record)
    if len(match.seats) == 1:
        result = f"return {record.returns[0]:g}"
    text = f"{match.ruleset()!r}: {' - '.join(match.seats)}, deal {match.seed}: {result}, {record.moves} moves, by {record.reason}"
    if record.culprit is not None:
        text += f" of {match.seats[record.culprit]}"
    return printable(text + (f" ({record.detail})" if record.detail else ""))


def replay_text(record: MatchRecord, seat: int | None = None) -> str:
    """Every position and move as text; with `seat` only the knowledge of this seat, and no moves."""
    ruleset = record.match.ruleset()
    parts = [headline(record)]
    for state, action in replay(record):
        parts.append(ansi(ruleset, state, seat))
        if action is not None and (seat is None or not ruleset.hidden):
            who = "all" if ruleset.simultaneous else ruleset.players[int(state["to_move"])]
            try:
                text = move_text(ruleset, state, action)
            except Exception:  # an illegal action may have no text
                text = str(action)
            parts.append(f"{int(state['steps']) + 1}. {who}: {text}")
    return "\n\n".join(parts)


def record_json(record: MatchRecord) -> dict[str, Any]:
    """A record as plain data, for `Ruleset.replay` of the JavaScript package. Actions are in base 64.

    Opening plies are ordinary actions there, from the game's own start.
    """
    match = record.match
    plain = match.ruleset().unopened
    final = record.digest if plain == match.ruleset() else _played_from_start(record)
    return {
        "game": match.game,
        "version": match.version,
        "parameters": json.loads(parameters_text(plain.parameters)),
        "seats": list(match.seats),
        "seed": str(match.game_seed),
        "agentSeeds": [str(match.agent_seed(seat)) for seat in range(len(match.seats))],
        "actions": base64.b64encode(record.actions).decode(),
        "digest": final,
        "returns": list(record.returns),
        "reason": record.reason,
        "culprit": record.culprit,
    }


def _played_from_start(record: MatchRecord) -> str:
    ruleset = record.match.ruleset().unopened
    live = LiveGame(ruleset)
    live.begin(record.match.game_seed)
    for action in decode_actions(ruleset, record.actions):
        live.play(action)
    return digest(live.states[0])


def pictures(record: MatchRecord, seat: int | None = None) -> Iterator[str]:
    """The SVG pictures of a record, animated where the game draws in-between frames."""
    ruleset = record.match.ruleset()
    animated = seat is None and ruleset.game.draw is not None and hasattr(ruleset.draw, "frames")
    before, last = None, None
    for state, action in replay(record):
        if animated and before is not None:
            yield from ruleset.draw.frames(ruleset, before, last, state)
        else:
            yield svg(ruleset, state, seat, last)
        before, last = state, action


def save_film(path: Path, record: MatchRecord, seat: int | None = None, fps: float | None = None) -> None:
    """Writes a `.gif` or `.mp4` film, or an `.svg` picture of the last position; `fps` is by default the game's own.

    Raises:
        AsobibaError: for another suffix.
        MissingExtra: for a film without the extra `render`.
    """
    if path.suffix in (".gif", ".mp4"):
        save_movie(path, pictures(record, seat), fps=film_fps(record.match.ruleset()) if fps is None else fps)
    elif path.suffix == ".svg":
        path.write_text(list(pictures(record, seat))[-1], encoding="utf-8")
    else:
        raise AsobibaError(f"a replay is written to a .gif, .mp4, .svg or .txt file, not to {path.name!r}")
