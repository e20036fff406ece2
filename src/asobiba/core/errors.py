"""Errors that name what was given, what was expected, and what to do."""

from __future__ import annotations


class AsobibaError(Exception):
    """Base of the errors that asobiba raises on purpose."""


class GameParameterError(AsobibaError, ValueError):
    """A parameter that does not exist, or a value that makes no game."""


class UnknownParameter(GameParameterError, TypeError):
    """A parameter that the game does not have. A `TypeError`, as Python raises for an argument that a function does not have:
    libraries that try arguments of their own on every environment look for that, and for its words."""


class GameMistake(AsobibaError):
    """Something that the author of a game got wrong: the message begins with the file and line."""


class UnknownGame(AsobibaError, KeyError):
    """No game of that name is registered."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownAgent(UnknownGame):
    """No agent of that name plays that game."""


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
