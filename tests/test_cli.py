"""Messages of the command line before it imports anything."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from asobiba import cli
from asobiba.progress import progress_bar, training_bar

HEAVY = ("numpy", "numba", "gymnasium", "pettingzoo", "torch", "scipy")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("arguments", ["--help", "reproduce", "reproduce --help"])
def test_help_imports_nothing_heavy(arguments):
    out = run(
        f"import sys; sys.argv[1:] = {arguments.split()!r}\n"
        "from asobiba import cli\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        f"print('imported:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert out.rstrip().endswith("imported: []")
    assert "animal_shogi" in out
    assert "bao" in out


@pytest.mark.parametrize("game", sorted(cli._game_packages()))
def test_commands_read_from_the_source_are_those_that_there_are(game):
    group = cli._game_group(game)
    assert set(cli.verbs_of(game)) == (set(group.commands) if group else set())
    assert all(cli.verbs_of(game).values())


def test_a_game_may_have_more_to_train_than_its_policy():
    """`asobiba train curling-dis` is the command train-dis of curling, and keeps what comes after it."""
    group = typer.main.get_command(cli.app)
    context = typer.Context(group)
    name, command, rest = group.resolve_command(context, ["train", "curling-dis", "--shots", "200"])
    assert name == "train curling-dis"
    assert command is cli._game_group("curling").commands["train-dis"]
    assert rest == ["--shots", "200"]
    for words in (["train", "curling"], ["train", "curling-nothing"], ["train", "nothing-dis"]):
        name, command, _ = group.resolve_command(context, words)
        assert (name, command.name) == ("train", "train")


def test_late_commands_have_their_help():
    for module, attribute in cli._late().values():
        assert cli._summary(module, attribute)


@pytest.mark.parametrize("first", ["asobiba", "gymnasium, pettingzoo"])
def test_games_are_registered_whichever_is_imported_first(first):
    out = run(
        f"import {first}, asobiba, gymnasium, pettingzoo\n"
        "from asobiba.core.registry import game_ids\n"
        "ids = game_ids().values()\n"
        "print(all(i.gymnasium in gymnasium.registry for i in ids))\n"
        "print(all(i.pettingzoo in pettingzoo.aec_registry for i in ids))\n"
        "print(gymnasium.make('asobiba/AnimalShogi-v0').spec.id)"
    )
    assert out.split() == ["True", "True", "asobiba/AnimalShogi-v0"]


@pytest.mark.parametrize("terminal", [False, True])
def test_bars_are_drawn_at_terminals_only_whatever_a_notebook_forces(terminal, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert progress_bar().console.is_terminal == terminal
    assert training_bar().disable != terminal
