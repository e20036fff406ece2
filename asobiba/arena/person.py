"""A person at the terminal, as an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from asobiba.api.render import ansi
from asobiba.arena.match import Match, Record, play_match
from asobiba.arena.replay import replay
from asobiba.core import Agent, AsobibaError, Ruleset

_HELP = """Commands:
  ?       this help
  moves   the legal moves
  board   the position again
  quit    end the game; nothing is put on record"""


class Quit(BaseException):
    """The person has had enough. Not an `Exception`: it is no fault of an agent."""


class Person(Agent):
    """Asks for every action.

    Args:
        ask: shows a prompt and returns the line that was typed; raises `EOFError` at the end of the input.
        say: shows a text.
    """

    def __init__(self, ask: Callable[[str], str] = input, say: Callable[[str], None] = print, name: str = "person"):
        self.ask, self.say, self.name = ask, say, name
        self.opponents: Sequence[Agent] = ()

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self._ruleset, self._seat = ruleset, seat
        self.say(f"You are {ruleset.players[seat]} (seat {seat + 1} of {ruleset.num_players}). Type ? for help.")

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        self.say("\n" + ansi(self._ruleset, view, self._seat))
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
                text = self.ask(f"{self._ruleset.players[self._seat]}, your move: ").strip()
            except EOFError:
                raise Quit from None
            command = text.lower()
            if not command:
                continue
            if command in ("quit", "exit"):
                raise Quit
            if command in ("?", "help"):
                self.say(f"{_HELP}\n{self._how(view, legal)}")
            elif command == "moves":
                self.say(self._moves(view, legal))
            elif command == "board":
                self.say(ansi(self._ruleset, view, self._seat))
            else:
                action = self._action(view, legal, text)
                if action is not None:
                    return action

    def _action(self, view: np.void, legal: np.ndarray, text: str) -> Any:
        """The action that was typed, or `None` after saying what is wrong with it."""
        ruleset = self._ruleset
        if not ruleset.discrete:
            return self._numbers(text)
        try:
            if ruleset.game.notation is not None and not text.startswith("#"):
                action = int(ruleset.notation.text_to_action(ruleset, view, text))
            else:
                action = int(text.removeprefix("#"))
        except AsobibaError as error:
            self.say(f"{error}")
            return None
        except (ValueError, LookupError):
            self.say(f"{text!r} is no move. {self._how(view, legal)}")
            return None
        if not 0 <= action < len(legal) or not legal[action]:
            self.say(f"{text} is not legal here. {self._how(view, legal)}")
            return None
        return action

    def _numbers(self, text: str) -> Any:
        box = self._box()
        try:
            values = np.array([float(part) for part in text.replace(",", " ").split()], box.dtype).reshape(box.shape)
        except ValueError:
            self.say(f"{text!r} is no action: type {box.low.size} numbers, within {box}")
            return None
        if not ((values >= box.low) & (values <= box.high)).all():
            self.say(f"{text} lies outside {box}")
            return None
        return values

    def _box(self) -> spaces.Box:
        assert isinstance(self._ruleset.action_space, spaces.Box)
        return self._ruleset.action_space

    def _how(self, view: np.void, legal: np.ndarray) -> str:
        if not self._ruleset.discrete:
            return f"An action is {self._box().low.size} numbers, within {self._box()}."
        actions = np.flatnonzero(legal)
        shown = [move_text(self._ruleset, view, int(a)) for a in actions[:5]]
        more = f" and {len(actions) - 5} more (type: moves)" if len(actions) > 5 else ""
        return f"Legal moves: {', '.join(shown)}{more}."

    def _moves(self, view: np.void, legal: np.ndarray) -> str:
        if not self._ruleset.discrete:
            return self._how(view, legal)
        return " ".join(move_text(self._ruleset, view, int(a)) for a in np.flatnonzero(legal))


def move_text(ruleset: Ruleset, state: np.void, action: Any) -> str:
    """An action, or those of all players who act at once, in the game's notation, or as numbers."""
    given = np.asarray(action)
    if not ruleset.discrete or ruleset.game.notation is None:
        return str(given.tolist())
    if given.ndim == 0 and not 0 <= int(given) < ruleset.num_actions:
        return str(int(given))
    return ruleset.notation.action_to_text(ruleset, state, given if given.ndim else int(given))


class _Announced(Agent):
    """Says what an agent plays; in games of hidden information only that it has played."""

    def __init__(self, agent: Agent, say: Callable[[str], None]):
        self.agent, self.say, self.name = agent, say, agent.name

    def reset(self, ruleset: Ruleset, seat: int, seed: int) -> None:
        self._ruleset = ruleset
        self.agent.begin(ruleset, (seat,), (seed,))

    def act(self, view: np.void, legal: np.ndarray) -> Any:
        action = self.agent.act(view, legal)
        if not self._ruleset.hidden and not self._ruleset.simultaneous:
            try:
                self.say(f"{self.name} plays {move_text(self._ruleset, view, action)}")
            except Exception:  # an answer that is no move ends the game, which says so
                self.say(f"{self.name} answers {action!r}")
        return action


def play_person(
    ruleset: Ruleset,
    person: Person,
    seat: int,
    opponents: Sequence[Agent],
    seed: int,
    names: Sequence[str] | None = None,
) -> Record:
    """A game of a person against agents, told move by move.

    Args:
        seat: the person's.
        opponents: the other seats' agents, in order of the seats.
        names: of all seats on record; those of the agents if not given.

    Raises:
        Quit: if the person ends the game.
    """
    if not ruleset.hidden:
        person.opponents = opponents
    agents: list[Agent] = [_Announced(agent, person.say) for agent in opponents]
    agents.insert(seat, person)
    match = Match.of(ruleset, names or [agent.name for agent in agents], seed)
    record = play_match(match, agents)
    final = [state for state, _ in replay(record)][-1]
    person.say("\n" + ansi(ruleset, final, None))
    person.say(_outcome(ruleset, record, seat))
    return record


def _outcome(ruleset: Ruleset, record: Record, seat: int) -> str:
    if ruleset.num_players == 1:
        result = f"Your return is {record.returns[0]:g}"
    elif record.winner < 0:
        result = "A draw"
    else:
        result = "You win" if record.winner == seat else f"{record.match.seats[record.winner]} wins"
    reason = "" if record.reason == "rules" else f" ({record.reason}{': ' + record.detail if record.detail else ''})"
    return f"{result} after {record.moves} moves{reason}."
