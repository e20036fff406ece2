"""Errors that name the given value, the expected one, and the remedy."""

from __future__ import annotations


class AsobibaError(Exception):
    """The base class of asobiba's errors."""


class GameParameterError(AsobibaError, ValueError):
    """A parameter that does not exist, or a value that the game does not accept."""


class UnknownParameter(GameParameterError, TypeError):
    """A parameter that the game does not have. A `TypeError`, as Python raises for an argument that a function does not have:
    libraries that try their own arguments on every environment look for that type, and for its message."""


class GameMistake(AsobibaError):
    """A mistake of a game's author; the message begins with the file and line."""


class UnknownGame(AsobibaError, KeyError):
    """No game of that name is registered."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownAgent(UnknownGame):
    """No agent of that name plays that game."""


class RefusedAgent(AsobibaError, ValueError):
    """An agent that cannot be built, or does not play this game at all."""


class IllegalAction(AsobibaError, ValueError):
    """An action that the rules forbid in this position."""


class NotationError(AsobibaError, ValueError):
    """Text that is not a move or a position."""


class PositionError(AsobibaError, ValueError):
    """A position that cannot occur."""


class StateBytesError(AsobibaError, ValueError):
    """Bytes, or a record, that are not a state of this game."""


class MissingExtra(AsobibaError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str):
        super().__init__(
            f"This needs {package}, which is not installed. Install it with: pip install 'asobiba[{extra}]'"
        )
