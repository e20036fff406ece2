"""The command line: `asobiba --help`.

Commands are found late: those of a game lie in the package of its agents (`baselines/<game>/commands.py`, a
`typer.Typer` called `app`) and are called as `asobiba GAME VERB` or `asobiba VERB GAME`; other packages add commands
by entry points of the group `asobiba.commands`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

_GAMES, _COMMANDS = "asobiba.games", "asobiba.commands"
_LATE = {"train": ("asobiba.learn.commands", "train")}
"""Commands whose module is imported when they are called: name -> module, function or `typer.Typer`."""


def _command(thing: Any, name: str) -> Any:
    """A `typer.Typer` as a group of commands, or a function as one command."""
    if isinstance(thing, typer.Typer):
        group = typer.main.get_group(thing)
        group.name = name
        return group
    single = typer.Typer(add_completion=False)
    single.command(name)(thing)
    return typer.main.get_command(single)


@cache
def _game_packages() -> dict[str, str]:
    """The package that declares each game, without importing any."""
    return {entry.name: entry.value.partition(":")[0] for entry in entry_points(group=_GAMES)}


@cache
def _game_group(game: str) -> Any:
    """The commands that a game brings, or `None`."""
    package = _game_packages()[game]
    places = [package.replace(".envs.", ".baselines."), package] if ".envs." in package else [package]
    for place in places:
        try:
            spec = importlib.util.find_spec(f"{place}.commands")
        except ModuleNotFoundError:
            continue
        if spec is not None:
            return _command(importlib.import_module(f"{place}.commands").app, game)
    return None


def _verbs(game: str) -> dict[str, Any]:
    group = _game_group(game)
    return {} if group is None else group.commands


class _Verb(TyperGroup):
    """`asobiba VERB GAME`: the games that bring this command."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _verbs(cmd_name).get(self.name or "") if cmd_name in _game_packages() else None

    def list_commands(self, ctx: Any) -> list[str]:
        return [game for game in sorted(_game_packages()) if self.name in _verbs(game)]


class _Asobiba(TyperGroup):
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        if cmd_name in _LATE:
            module, attribute = _LATE[cmd_name]
            return _command(getattr(importlib.import_module(module), attribute), cmd_name)
        for entry in entry_points(group=_COMMANDS):
            if entry.name == cmd_name:
                return _command(entry.load(), cmd_name)
        if cmd_name in _game_packages():
            group = _game_group(cmd_name)
            if group is None:
                ctx.fail(f"{cmd_name} is a game that brings no commands of its own; see: asobiba --help")
            return group
        if any(cmd_name in _verbs(game) for game in sorted(_game_packages())):
            return _Verb(name=cmd_name, help=f"{cmd_name}, for one of the games that have it.", no_args_is_help=True)
        return None

    def list_commands(self, ctx: Any) -> list[str]:
        plugins = [entry.name for entry in entry_points(group=_COMMANDS)]
        return list(dict.fromkeys([*super().list_commands(ctx), *_LATE, *plugins]))


app = typer.Typer(
    cls=_Asobiba,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Games, their classical agents, and the league that ranks them.\n\n"
    "Games may bring commands of their own: asobiba GAME --help.",
    epilog="Begin with: [bold]asobiba games[/bold], then [bold]asobiba agents GAME[/bold], "
    "[bold]asobiba play GAME[/bold], [bold]asobiba match GAME AGENT AGENT -n 1000[/bold] or "
    "[bold]asobiba league run GAME[/bold].",
)


@app.callback(invoke_without_command=True)
def _options(
    ctx: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False
) -> None:
    if version:
        from asobiba import __version__

        print(f"asobiba {__version__}")
        raise typer.Exit


@app.command()
def games() -> None:
    """Lists the games."""
    from asobiba.arena.lists import print_games

    print_games()


@app.command()
def agents(game: Annotated[str, typer.Argument(help="The game, as `asobiba games` lists it.")]) -> None:
    """Lists the agents of a game: name, parameters, what they do and where they are described.

    An agent is named in text as name:parameter=value,parameter=value; sb3:PATH is a trained policy.
    """
    from asobiba.arena.lists import print_agents

    print_agents(game)


@app.command()
def doctor() -> None:
    """Says what is installed, where compiled code is kept, and whether every game loads."""
    from asobiba.arena.lists import print_doctor

    if not print_doctor():
        raise typer.Exit(1)


def _add_arena() -> None:
    from asobiba.arena import commands

    app.command("match")(commands.match)
    app.add_typer(commands.league, name="league")
    app.command("play")(commands.play)
    app.command("replay")(commands.replay)


_add_arena()


def main() -> None:
    """The entry point of the `asobiba` command. Errors made on purpose end it with exit code 2, without a traceback."""
    from asobiba.core.errors import AsobibaError

    try:
        typer.main.get_command(app)(prog_name="asobiba")
    except (AsobibaError, FileNotFoundError) as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(141)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
