"""The person beside a real car: the dead-man key, and what is done by hand."""

from __future__ import annotations

from typing import Any

import typer


def dead_man_of(port: str, keys: Any, wanted: bool | None, only: str | None = " ") -> Any:
    """The dead-man key of a car at this port, or `None` where nobody needs to hold one. Raises `CarNotReady` without a terminal."""
    from asobiba.envs.mini4wd.hardware.env import CarNotReady
    from asobiba.envs.mini4wd.hardware.keys import DeadMan

    if not (port != "sim" if wanted is None else wanted):
        return None
    if not keys.there:
        raise CarNotReady("nobody is at the terminal to hold the dead-man key; --no-dead-man drives without one")
    return DeadMan(keys.read, only=only)


def wait_for(dead_man: Any) -> None:
    """Returns when the dead-man key is held down."""
    from asobiba.envs.mini4wd.hardware.keys import HOLD

    typer.echo(HOLD)
    dead_man.wait()


def placing(port: str, placed: bool, key: Any, dead_man: Any) -> Any:
    """A function that asks a person to put the car on the start; `None` for the simulator."""
    if port == "sim":
        return None
    if dead_man is None:
        return (lambda message: None) if placed else ask_by_key(key)

    def place(message: str) -> None:
        if not placed:
            typer.echo(message)
        wait_for(dead_man)

    return place


def ask_by_key(key: Any) -> Any:
    """A function that says what to do, and returns when a key is pressed."""
    # The stop key has the terminal: any key is also the answer.
    import time

    from asobiba.envs.mini4wd.hardware.env import CarNotReady

    def ask(message: str) -> None:
        typer.echo(f"{message} Then press a key.")
        if not key.there:
            raise CarNotReady("nobody is at the terminal to say when the car is in its place")
        while not key():
            time.sleep(0.05)

    return ask
