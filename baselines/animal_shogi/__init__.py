"""The classical agents of animal shogi."""

AGENTS = ()
