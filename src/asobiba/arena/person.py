"""A person at the terminal, as an agent."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import secrets
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from gymnasium import spaces

from asobiba.api.render import ansi
from asobiba.arena.match import Match, MatchRecord
from asobiba.arena.playing import play_match
from asobiba.arena.replay import replay
from asobiba.arena.secret import Secret
from asobiba.core import Agent, AsobibaError, Game, NotationError, Ruleset
from asobiba.protocols.process import EngineError

_HELP = """Commands:
  ?       the rules, and this help
  moves   the legal moves
  board   the position again
  quit    end the game; nothing is put on record"""


_SECTIONS = ("Description", "Rewards", "Episode End", "References")
"""The sections of a game's documentation that a player reads."""


def sections(game: Game) -> dict[str, str]:
    """The sections of a game's documentation that a player reads, in Markdown, by heading; "" is the summary line."""
    text = inspect.cleandoc(importlib.import_module(game.package).__doc__ or "")
    parts = dict(re.findall(r"^## ([^\n]+)\n+(.*?)(?=^## |\Z)", text, re.M | re.S))
    return {"": text.partition("\n")[0], **{name: parts[name].strip() for name in _SECTIONS if name in parts}}


def tables(game: Game) -> dict[str, str]:
    """The files of the game's package that its description names as tables of the rules, as text by name."""
    folder = files(game.package)
    named = re.findall(r"`([\w-]+\.ya?ml)`", sections(game).get("Description", ""))
    return {name: (folder / name).read_text(encoding="utf-8") for name in named if (folder / name).is_file()}


_CODE = re.compile(r"^```.*?^```$\n*", re.M | re.S)
"""Code for programmers, which is no matter of a player."""


def rules_text(game: Game) -> str:
    """The rules for a terminal."""
    told = sections(game)
    parts = [
        f"{name.upper()}\n{_flowing(_CODE.sub('', text).strip())}"
        for name, text in told.items()
        if name not in ("", "References")
    ]
    parts += [f"{name.upper()}\n{text.strip()}" for name, text in tables(game).items()]
    return "\n\n".join([told[""], *parts])


def _flowing(text: str) -> str:
    """Markdown whose paragraphs and points are a line each."""
    return re.sub(r"(?<=[^\n])\n(?: *)(?=[^\s*|\-#])", " ", text)


def say_wrapped(text: str) -> None:
    """Prints a text whose lines break between words, where a terminal (or COLUMNS) tells the width."""
    width = shutil.get_terminal_size().columns
    if not (sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()):
        print(text)
        return
    for line in text.split("\n"):
        begin = line[: len(line) - len(line.lstrip())]
        indent = begin + "  " if begin or line.startswith("* ") else ""
        parts = textwrap.wrap(
            line, width, subsequent_indent=indent, replace_whitespace=False, break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip
        print("\n".join(parts) if len(line) > width and len(indent) < width // 2 else line)


class Quit(BaseException):
    """Raised when the person quits. Not an `Exception`: it is no fault of an agent."""


class Person(Agent):
    """Asks for every action.

    Args:
        ask: shows a prompt and returns the line that was typed; raises `EOFError` at the end of the input.
        say: shows a text.
    """

    def __init__(
        self, ask: Callable[[str], str] = input, say: Callable[[str], None] = say_wrapped, name: str = "person"
    ):
        self.ask, self.say, self.name = ask, say, name
        self._begun = False
        self.opponents: Sequence[Agent] = ()

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self._ruleset, self._seat, self._begun = ruleset, seat, False
        self.say(f"{ruleset.game.title}: you are {ruleset.players[seat]} (seat {seat + 1} of {ruleset.num_players}).")

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        self.say("\n" + ansi(self._ruleset, view, self._seat))
        if not self._begun:
            self.say(f"Type a move and Enter; ? tells the rules. {self._how(view, legal)}")
            self._begun = True
        for opponent in self.opponents:
            opponent.ponder(view)
        try:
            return self._read(view, legal)
        finally:
            for opponent in self.opponents:
                opponent.stop_pondering()

    def _read(self, view: np.void, legal: np.ndarray) -> Any:
        while True:
            try:
                now = status_text(self._ruleset, view, self._seat)
                text = self.ask(f"{self._ruleset.players[self._seat]}, {now or 'your move'}: ").strip()
            except EOFError:
                raise Quit from None
            command = text.lower()
            if not command:
                continue
            if command in ("quit", "exit"):
                raise Quit
            if command in ("?", "help"):
                self.say(f"{rules_text(self._ruleset.game)}\n\n{_HELP}\n{self._how(view, legal)}")
            elif command == "moves":
                self.say(self._moves(view, legal))
            elif command == "board":
                self.say(ansi(self._ruleset, view, self._seat))
            else:
                action = self._action(view, legal, text)
                if action is not None:
                    return action

    def _action(self, view: np.void, legal: np.ndarray, text: str) -> Any:
        """The typed action, or `None` after a message on its fault."""
        try:
            action = read_action(self._ruleset, view, text)
        except AsobibaError as error:
            self.say(f"{error}")
            return None
        except (ValueError, LookupError):
            self.say(f"{text!r} is not a move. {self._how(view, legal)}")
            return None
        if self._ruleset.discrete:
            if not 0 <= action < len(legal) or not legal[action]:
                reason = why_not(self._ruleset, view, action) or f"{text} is not legal here"
                self.say(f"{reason}. {self._how(view, legal)}")
                return None
        elif not self._box().contains(action):
            self.say(f"{text} lies outside {self._box()}. {self._how(view, legal)}")
            return None
        return action

    def _box(self) -> spaces.Box:
        assert isinstance(self._ruleset.action_space, spaces.Box)
        return self._ruleset.action_space

    def _how(self, view: np.void, legal: np.ndarray) -> str:
        if not self._ruleset.discrete:
            numbers = f"{self._box().low.size} numbers, within {self._box()}"
            if self._ruleset.game.notation is None:
                return f"An action is {numbers}."
            if hasattr(self._ruleset.notation, "how_text"):
                return str(self._ruleset.notation.how_text(self._ruleset))
            example = move_text(self._ruleset, view, np.zeros(self._box().shape, self._box().dtype))
            return f"An action is written like this: {example}; or as {numbers}."
        actions = np.flatnonzero(legal)
        shown = [move_text(self._ruleset, view, int(a)) for a in actions[:5]]
        more = f" and {len(actions) - 5} more (type: moves)" if len(actions) > 5 else ""
        return f"Legal moves: {', '.join(shown)}{more}."

    def _moves(self, view: np.void, legal: np.ndarray) -> str:
        if not self._ruleset.discrete:
            return self._how(view, legal)
        return grouped([move_text(self._ruleset, view, int(a)) for a in np.flatnonzero(legal)])


_MANY = 24
"""With more moves than this, only their first words are listed."""


def grouped(texts: Sequence[str]) -> str:
    """Moves as text: in one line, or, if there are many that share words, one line for each first word."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        word, _, rest = text.partition(" ")
        groups.setdefault(word, []).append(rest)
    if len(texts) <= _MANY or len(groups) > len(texts) // 2:
        return " ".join(texts)
    return "\n".join(f"{word} {' | '.join(rests)}".rstrip() for word, rests in groups.items())


def status_text(ruleset: Ruleset, view: np.void, seat: int) -> str:
    """The question to a player, if the game's notation provides one (`status_text`); else an empty text."""
    known = ruleset.game.notation is not None and hasattr(ruleset.notation, "status_text")
    return str(ruleset.notation.status_text(ruleset, view, seat)) if known else ""


def setting_text(ruleset: Ruleset) -> str:
    """The setting, such as a map, if the game's notation names it (`setting_text`); else an empty text."""
    known = ruleset.game.notation is not None and hasattr(ruleset.notation, "setting_text")
    return str(ruleset.notation.setting_text(ruleset)) if known else ""


def end_text(ruleset: Ruleset, state: np.void, seat: int) -> str:
    """The winner by the rules, if the game's notation names one (`end_text`); else an empty text."""
    known = ruleset.game.notation is not None and hasattr(ruleset.notation, "end_text")
    return str(ruleset.notation.end_text(ruleset, state, seat)) if known and bool(state["terminated"]) else ""


def move_text(ruleset: Ruleset, state: np.void, action: Any) -> str:
    """An action, or those of all players who act at once, as the game's notation says it to people, or as numbers."""
    given = np.asarray(action)
    if ruleset.game.notation is None:
        return str(given.tolist())
    say = getattr(ruleset.notation, "move_text", ruleset.notation.action_to_text)
    if not ruleset.discrete:
        return say(ruleset, state, given)
    if given.ndim == 0 and not 0 <= int(given) < ruleset.num_actions:
        return str(int(given))
    return say(ruleset, state, given if given.ndim else int(given))


def why_not(ruleset: Ruleset, view: np.void, action: int) -> str:
    """The reason why an action is illegal, if the game's notation gives one (`why_not`); else an empty text."""
    known = ruleset.game.notation is not None and hasattr(ruleset.notation, "why_not")
    return str(ruleset.notation.why_not(ruleset, view, action)) if known and 0 <= action < ruleset.num_actions else ""


def read_action(ruleset: Ruleset, view: np.void, text: str) -> Any:
    """One player's action as typed by a person: in the game's notation, as numbers, or (discrete ones) as `#17`.

    Returns:
        An `int`, or a float array of the action space's shape; legal or not.

    Raises:
        NotationError, IllegalAction: from the game's notation.
        ValueError: for text that is not an action of a game without notation.
    """
    if ruleset.discrete:
        if ruleset.game.notation is not None and not text.startswith("#"):
            return int(ruleset.notation.text_to_action(ruleset, view, text))
        return int(text.removeprefix("#"))
    box: Any = ruleset.action_space
    try:
        numbers = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        if ruleset.game.notation is None:
            raise NotationError(f"{text!r} is not an action: write {box.shape[0]} numbers") from None
        return np.asarray(ruleset.notation.text_to_action(ruleset, view, text), box.dtype)
    if len(numbers) != box.shape[0]:
        raise NotationError(f"{text!r} is not an action: write {box.shape[0]} numbers, not {len(numbers)}")
    return np.array(numbers, box.dtype)


class _Refusal(BaseException):
    """Raised for an agent that does not play these rules, or lacks a file; leagues check this beforehand, so it is no
    crash.
    """

    def __init__(self, error: Exception):
        super().__init__(str(error))
        self.error = error


class _Announced(Agent):
    """Prints the agent's move; in games of hidden information only the fact that it has moved."""

    def __init__(self, agent: Agent, say: Callable[[str], None]):
        self.agent, self.say, self.name = agent, say, agent.name

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self._ruleset = ruleset
        try:
            self.agent.begin(ruleset, (seat,), (seed,))
        except (AsobibaError, FileNotFoundError) as error:
            if isinstance(error, EngineError):
                raise
            raise _Refusal(error) from error

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        action = self.agent.act(view, legal)
        if not self._ruleset.hidden and not self._ruleset.simultaneous:
            try:
                self.say(f"{self.name} plays {move_text(self._ruleset, view, action)}")
            except Exception:  # an answer that is not a move ends the game, and the result reports it
                self.say(f"{self.name} answers {action!r}")
        return action


def play_person(
    ruleset: Ruleset,
    person: Person,
    seat: int,
    opponents: Sequence[Agent],
    secret: Secret,
    names: Sequence[str] | None = None,
) -> MatchRecord:
    """Plays a person against agents, and prints the game move by move.

    Args:
        seat: the person's.
        opponents: the other seats' agents, in order of the seats.
        secret: from which the seeds follow.
        names: of all seats on record; those of the agents if not given.

    Raises:
        Quit: if the person ends the game.
        AsobibaError, FileNotFoundError: from an agent that refuses these rules, or lacks a file.
    """
    if not ruleset.hidden:
        person.opponents = opponents
    agents: list[Agent] = [_Announced(agent, person.say) for agent in opponents]
    agents.insert(seat, person)
    deal = secrets.randbelow(2**48) if secret.seed is None else secret.seed
    match = secret.deal(Match.of(ruleset, names or [agent.name for agent in agents], deal))
    try:
        record = play_match(match, agents)
    except _Refusal as refusal:
        raise refusal.error from None
    final = [state for state, _ in replay(record)][-1]
    person.say("\n" + ansi(ruleset, final, None))
    told = end_text(ruleset, final, seat)
    person.say(f"{told[0].upper()}{told[1:]}." if told else _outcome(ruleset, record, seat))
    return record


def result_text(record: MatchRecord) -> str:
    """Winners: all of a team; by their seats where the others have the same name."""
    seats = record.match.seats
    won = [seats[seat] for seat in record.winners]
    others = {name for seat, name in enumerate(seats) if seat not in record.winners}
    names = list(dict.fromkeys(won))
    if others & set(won):
        players = record.match.ruleset().players
        names = [f"{seats[seat]} ({players[seat]})" for seat in record.winners]
    return f"{', '.join(names)} win{'s' if len(names) == 1 else ''}" if names else "drawn"


def _outcome(ruleset: Ruleset, record: MatchRecord, seat: int) -> str:
    if ruleset.num_players == 1:
        result = f"Your return is {record.returns[0]:g}"
    elif record.winner < 0:
        result = "A draw"
    else:
        result = "You win" if seat in record.winners else result_text(record)
    reason = "" if record.reason == "rules" else f" ({record.reason}{': ' + record.detail if record.detail else ''})"
    return f"{result} after {record.moves} moves{reason}."
