"""The command line: `asobiba --help`.

Commands are found late: those of a game lie in the package of its agents (`commands.py`, a `typer.Typer` called `app`)
and are called as `asobiba GAME VERB` or `asobiba VERB GAME`; a command VERB-WHAT also as `asobiba VERB GAME-WHAT`, so that a
game may have more to train than its policy. Other packages add commands by entry points of the group `asobiba.commands`.
Nothing but typer is imported before a command runs.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import time
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from asobiba.arena import commands

_GAMES, _AGENTS, _COMMANDS = "asobiba.games", "asobiba.agents", "asobiba.commands"
_LATE = {
    "compile": ("asobiba.arena.prepare", "compile_games"),
    "evaluate": ("asobiba.learn.evaluate_command", "evaluate"),
    "tune": ("asobiba.learn.tune_command", "tune"),
    "train": ("asobiba.learn.commands", "train"),
    "export": ("asobiba.learn.export_command", "export"),
    "enjoy": ("asobiba.learn.enjoy_command", "enjoy"),
    "hub": ("asobiba.learn.hub_command", "app"),
    "wasm": ("asobiba.targets.wasm.commands", "wasm"),
    "play": ("asobiba.targets.playground.play", "play"),
    "playground": ("asobiba.targets.playground.commands", "playground"),
}


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
def _game_packages() -> dict[str, list[str]]:
    """Packages in which the commands of each game may lie, without importing anything: those of its agents, then its own."""
    agents = [(entry.name, entry.value.partition(":")[0]) for entry in entry_points(group=_AGENTS)]
    found = {}
    for entry in entry_points(group=_GAMES):
        name, package = entry.name.partition("-v")[0], entry.value.partition(":")[0]
        found[name] = list(dict.fromkeys([*(place for game, place in agents if game == name), package]))
    return found


@cache
def _game_group(game: str) -> Any:
    """The commands that a game brings, or `None`."""
    for place in _game_packages()[game]:
        folder = _folder(place)
        if folder is not None and (folder / "commands.py").is_file():
            return _command(_loaded(f"{place}.commands", "app"), game)
    return None


def _loaded(module: str, attribute: str) -> Any:
    """A command, whose package may be somebody else's and broken."""
    try:
        return getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:
        from asobiba.core.errors import AsobibaError, GameMistake
        from asobiba.core.places import told

        if isinstance(error, AsobibaError) or module.startswith("asobiba."):
            raise
        raise GameMistake(told(error, None, f"loading the command {module}:{attribute}")) from error


def _statements(file: Path | None) -> list[ast.stmt]:
    """The statements of a file; none of one that cannot be read, whose author is told when it is imported."""
    try:
        return ast.parse(file.read_text(encoding="utf-8")).body if file and file.is_file() else []
    except (SyntaxError, ValueError, OSError):
        return []


def _folder(package: str) -> Path | None:
    """Place of a package; none of its parents but the first is imported, and those of this one cost nothing."""
    parent, _, last = package.rpartition(".")
    try:
        if parent in ("", "asobiba.baselines", "asobiba.envs"):
            spec = importlib.util.find_spec(parent or last)
            places = spec.submodule_search_locations if spec else None
            return Path(next(iter(places))) / (last if parent else "") if places else None
    except ModuleNotFoundError:
        return None
    above = _folder(parent)
    return above / last if above else None


@cache
def _late() -> dict[str, tuple[str, str]]:
    """Commands whose module is imported when they are called: name -> module, function or `typer.Typer`."""
    plugins = entry_points(group=_COMMANDS)
    return {**{entry.name: (entry.module, entry.attr) for entry in plugins}, **_LATE}


def _summary(module: str, attribute: str) -> str:
    """The first lines of the help of a function or of a `typer.Typer(help=...)`, read from the source of its module."""
    package, _, name = module.rpartition(".")
    if package:
        folder = _folder(package)
        file = folder / f"{name}.py" if folder else None
    else:
        spec = importlib.util.find_spec(name)
        file = Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None
    for node in _statements(file):
        if isinstance(node, ast.FunctionDef) and node.name == attribute:
            return (ast.get_docstring(node) or "").partition("\n\n")[0]
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == attribute:
            for keyword in node.value.keywords if isinstance(node.value, ast.Call) else []:
                if keyword.arg == "help":
                    return str(ast.literal_eval(keyword.value))
    return ""


@cache
def verbs_of(game: str) -> dict[str, str]:
    """The commands of a game and the first line of their help, read from their source: importing agents takes seconds."""
    for place in _game_packages()[game]:
        folder = _folder(place)
        if folder is None or not (folder / "commands.py").is_file():
            continue
        found = {}
        for file in [folder / "commands.py", *sorted(folder.glob("*_commands.py"))]:
            for node in _statements(file):
                if isinstance(node, ast.FunctionDef) and (name := _command_name(node)):
                    found[name] = (ast.get_docstring(node) or "").partition("\n")[0]
        return found
    return {}


def _command_name(function: ast.FunctionDef) -> str | None:
    """The name of the command that a function decorated with `@app.command(...)` is, or `None`."""
    for decorator in function.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if not (isinstance(call, ast.Attribute) and call.attr == "command"):
            continue
        given = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
        return str(given.value) if isinstance(given, ast.Constant) else function.name.replace("_", "-")
    return None


def _games_with(verb: str) -> list[str]:
    """The games that have a command; of several with the same agents the one with the shortest name."""
    found: dict[str, str] = {}
    for game in sorted(_game_packages(), key=lambda name: (len(name), name)):
        if verb in verbs_of(game):
            found.setdefault(_game_packages()[game][0], game)
    return sorted(found.values())


class _Verb(TyperGroup):
    """`asobiba VERB GAME`: the games that bring this command."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self.name not in (verbs_of(cmd_name) if cmd_name in _game_packages() else {}):
            games = ", ".join(_games_with(self.name or ""))
            ctx.fail(f"{cmd_name!r} is not a game that has {self.name}; these have: {games}")
        return _game_group(cmd_name).commands[self.name]

    def list_commands(self, ctx: Any) -> list[str]:
        return _games_with(self.name or "")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        # typer's own would import every game for the list
        from rich.console import Console
        from rich.table import Table

        console, verb = Console(), self.name or ""
        console.print(f"\n Usage: asobiba {verb} GAME [OPTIONS] ...\n", highlight=False)
        table = Table("game", "what it does", title=f"{verb} is there for", title_justify="left", expand=True)
        for game in _games_with(verb):
            table.add_row(game, verbs_of(game)[verb])
        console.print(table)
        console.print(f" Options: asobiba {verb} GAME --help\n", highlight=False)


class _Asobiba(TyperGroup):
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        if cmd_name in _late():
            return _command(_loaded(*_late()[cmd_name]), cmd_name)
        if cmd_name in _game_packages():
            if not verbs_of(cmd_name):
                ctx.fail(f"{cmd_name} is a game that brings no commands of its own; see: asobiba --help")
            return _game_group(cmd_name)
        if _games_with(cmd_name):
            return _Verb(name=cmd_name, help=f"{cmd_name}, for one of the games that have it.", no_args_is_help=True)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        # VERB GAME-WHAT is the game's VERB-WHAT, whatever else VERB is.
        if len(args) > 1:
            game, _, what = args[1].partition("-")
            name = f"{args[0]}-{what}"
            if what and game in _game_packages() and name in verbs_of(game):
                return f"{args[0]} {args[1]}", _game_group(game).commands[name], args[2:]
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(dict.fromkeys([*super().list_commands(ctx), *_late()]))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for name, (module, attribute) in _late().items():  # stand-ins, for the list only
            self.commands[name] = TyperCommand(name, help=_summary(module, attribute))
        super().format_help(ctx, formatter)
        from rich.console import Console
        from rich.table import Table

        table = Table(title="Commands of the games: asobiba COMMAND GAME", title_justify="left", expand=True)
        table.add_column("command", style="cyan", no_wrap=True)
        table.add_column("games")
        for verb in sorted({verb for game in _game_packages() for verb in verbs_of(game)}):
            table.add_row(verb, ", ".join(_games_with(verb)))
        Console().print(table)


app = typer.Typer(
    cls=_Asobiba,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Games, their classical agents, and the league that ranks them.\n\n"
    "Games bring commands of their own: asobiba GAME --help.",
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
def games(
    game: Annotated[
        str | None, typer.Argument(help="Show this game: parameters, spaces, channels, fields of the state.")
    ] = None,
    param: commands.Parameters = None,
) -> None:
    """Lists the games, or describes one: parameters, spaces, channels and state fields."""
    from asobiba.arena.lists import print_game, print_games

    if game is None:
        print_games()
    else:
        print_game(commands.ruleset_of(game, param))


@app.command()
def agents(game: Annotated[str, typer.Argument(help="The game, as listed by `asobiba games`.")]) -> None:
    """Lists the agents of a game: name, parameters, what they do and their source.

    An agent is named in text as name:parameter=value,parameter=value; sb3:PATH is a trained policy.
    """
    from asobiba.arena.lists import print_agents

    print_agents(game)


@app.command()
def doctor() -> None:
    """Shows what is installed, where compiled code is cached, and whether every game loads."""
    from asobiba.arena.lists import print_doctor

    if not print_doctor():
        raise typer.Exit(1)


@app.command()
def check(
    target: Annotated[
        str, typer.Argument(metavar="GAME_OR_PACKAGE", help="A game's name, a package of games, or the folder of one.")
    ],
) -> None:
    """For authors of games: reports mistakes in a declaration or kernel, with file and line.

    Plays a few games in the plain interpreter, then compiled with bounds checks, then runs the conformance tests. Each part
    runs in a process of its own. Example: asobiba check ./my_game
    """
    from asobiba.checking import check

    if not check(target):
        raise typer.Exit(1)


@app.command()
def publish(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="TEXT", help="Only pages with this text in their path; may be repeated."),
    ] = None,
    again: Annotated[
        list[str] | None,
        typer.Option(
            "--again",
            metavar="AGENT",
            help="Leagues keep the games of all agents but this one, if a game of each seating comes out the same; may be "
            "repeated.",
        ),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List what is stale and stop.")] = False,
) -> None:
    """Plays the leagues and pages of the repository again that are older than their code, the cheapest first, and writes
    docs/learned.md and the tables of the leagues anew.

    It can be stopped at any time; the next call resumes.
    """
    from asobiba.arena import across, learned
    from asobiba.publishing import publish, stale_pages

    jobs = stale_pages(Path(), only or ())
    for job in jobs:
        print(f"{job.page.path} ({job.estimate}): {job.why}")
    print(f"{len(jobs)} pages are older than their code" if jobs else "Every page is what its code writes.")
    if listing or not jobs:
        return
    failed = publish(Path(), jobs, lambda text: print(text, file=sys.stderr, flush=True), again or ())
    learned.write(Path())
    across.write(Path())
    if failed:
        print(f"Not written: {', '.join(job.page.path for job in failed)}", file=sys.stderr)
        raise typer.Exit(1)


def _add_arena() -> None:
    from asobiba.arena import contest

    assert contest.league is commands.league  # which it adds commands to
    app.command("match")(commands.match)
    app.add_typer(commands.league, name="league")
    app.command("replay")(commands.replay)


_add_arena()


def main() -> None:
    """The entry point of the `asobiba` command. Errors made on purpose end it with exit code 2, without a traceback."""
    started = time.time()
    try:
        typer.main.get_command(app)(prog_name="asobiba")
    except SystemExit as done:
        if not done.code and Path("docs/reproductions").is_dir():
            from asobiba.pages import stamp_written

            stamp_written(Path(), started)
        raise
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:
        from asobiba.core.errors import AsobibaError  # what it costs to import, an answer to --help need not wait for

        if not isinstance(error, (AsobibaError, FileNotFoundError)):
            raise
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
