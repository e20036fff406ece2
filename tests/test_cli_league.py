"""The command line as a person calls it: leagues, matches, play, replay, and every kind of bad input."""

from __future__ import annotations

import json

import pytest
from arena_tools import asobiba, asobiba_each


@pytest.fixture(scope="module")
def league(tmp_path_factory):
    """A folder in which a small league was played."""
    folder = tmp_path_factory.mktemp("league")
    done = asobiba("league", "run", "toy_nim", "-n", 4, "--publish", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "bouton" in done.stdout
    assert "Report:" in done.stdout
    assert "4 of 4 matches" in done.stderr
    return folder


def test_help_names_the_commands_and_where_to_begin():
    done = asobiba("--help")
    assert done.returncode == 0
    for word in ("games", "agents", "match", "league", "play", "replay", "doctor", "train"):
        assert f" {word} " in done.stdout
    assert asobiba("league", "run", "--help").returncode == 0


def test_lists():
    assert "toy_nim" in asobiba("games").stdout
    facts = asobiba("games", "toy_nim", "-p", "heaps=4").stdout
    for word in (
        "Discrete(20)",
        "(20,), int8",
        "(4, 5)",
        "State: 40 bytes",
        "rng_key",
        "uint64",
        "heaps",
        "asobiba_toys.nim",
    ):
        assert word in facts
    assert "Did you mean 'toy_nim'" in asobiba("games", "toy_nin").stderr
    found = asobiba("agents", "toy_nim").stdout
    assert "Bouton 1901" in found
    assert "moves=1" in found
    doctor = asobiba("doctor").stdout
    assert "game toy_nim: asobiba/toy_nim-v0" in doctor
    assert "compiled code:" in doctor


def test_commands_of_other_packages_are_mounted():
    assert asobiba("rogue", "--name", "you").stdout == "hello you\n"


def test_a_league_goes_on_where_it_stopped(league):
    again = asobiba("league", "run", "toy_nim", "-n", 4, cwd=league)
    assert "4 of 4 matches are on record already" in again.stderr
    data = json.loads(asobiba("league", "table", "toy_nim", "-f", "json", cwd=league).stdout)
    assert data["games"] == 4
    assert asobiba("league", "table", "toy_nim", "-f", "markdown", cwd=league).stdout.startswith("| # | agent |")
    assert asobiba("league", "table", "toy_nim", "-f", "csv", cwd=league).stdout.startswith("rank,agent,")
    for name in ("README.md", "results.csv", "results.json", "records.xz", "report.html"):
        assert (league / "out" / name).stat().st_size > 100
    assert "<svg" in (league / "out" / "report.html").read_text()
    assert asobiba("league", "publish", "toy_nim", cwd=league).returncode == 0
    assert (league / "leaderboards" / "toy_nim" / "README.md").exists()
    assert asobiba("league", "report", "toy_nim", "-o", "page.html", cwd=league).returncode == 0
    assert (league / "page.html").exists()


def test_the_table_fits_80_columns_unless_it_is_asked_to_be_wide(league):
    narrow = asobiba("league", "table", "toy_nim", cwd=league, columns=80).stdout
    assert max(map(len, narrow.splitlines())) <= 80
    for word in ("#", "agent", "Elo", "±", "score", "games", "bouton"):
        assert word in narrow
    wide = asobiba("league", "table", "toy_nim", "--wide", cwd=league).stdout
    for word in ("95 % interval", "tied with", "ms/move", "score of the row against"):
        assert word in wide


def test_verify_plays_the_league_again(league):
    done = asobiba("league", "verify", "toy_nim", cwd=league)
    assert done.returncode == 0
    assert "4 of 4 matches were played again: 0 do not agree" in done.stdout


def test_a_strategy_is_submitted_and_gets_its_place(league, tmp_path):
    strategy = tmp_path / "mine.py"
    strategy.write_text(
        "import numpy as np\nfrom asobiba.core import Agent\n\n\nclass Mine(Agent):\n"
        "    def reset(self, ruleset, seat, seed):\n        pass\n\n"
        "    def act(self, view, legal):\n        return int(np.flatnonzero(legal)[0])\n"
    )
    done = asobiba("league", "submit", "toy_nim", strategy, "-n", 2, "-j", 1, cwd=league)
    assert done.returncode == 0, done.stderr
    assert "takes place" in done.stdout
    assert "file:runs/league/submissions/toy_nim/mine-" in done.stdout
    bad = tmp_path / "empty.py"
    bad.write_text("x = 1\n")
    done = asobiba("league", "submit", "toy_nim", bad, cwd=league)
    assert done.returncode == 2
    assert "0 classes that are agents" in done.stderr


def test_who_is_better_and_how_schedules_compare():
    done = asobiba("league", "test", "toy_nim", "bouton", "random", "--elo1", 100, "-j", 1)
    assert done.returncode == 0, done.stderr
    assert "bouton stands about 100 Elo above random" in done.stdout
    done = asobiba("league", "simulate", "--agents", 30, "-n", 10, "--schedule", "swiss")
    assert "rank correlation" in done.stdout


def test_replay_as_text_and_picture(league):
    text = asobiba("replay", "toy_nim", 1, cwd=league).stdout
    assert "1. first:" in text
    assert asobiba("replay", "toy_nim", 1, "-o", "last.svg", cwd=league).returncode == 0
    assert (league / "last.svg").read_text().startswith("<svg")
    assert asobiba("replay", "toy_nim", 1, "-o", "game.gif", cwd=league).returncode == 0
    assert (league / "game.gif").read_bytes()[:3] == b"GIF"


def test_a_match_tells_who_wins_how_often():
    done = asobiba("match", "toy_nim", "bouton", "random", "-n", 10, "-j", 1, "--seed", 0)
    assert done.returncode == 0
    assert "bouton scores 90.0 % against random" in done.stdout


def test_the_order_of_the_names_changes_no_table(tmp_path):
    orders = (("random", "random", "bouton"), ("bouton", "random", "random"))
    series = [["match", "toy_nim", *names, "-p", "players=3", "-n", "12", "-j", "1", "--seed", "2"] for names in orders]
    one, other = (done.stdout for done in asobiba_each(series, tmp_path))
    assert "12 games" in one
    assert other == one


def test_a_person_plays_and_is_refused_kindly(tmp_path):
    lines = "?\nmoves\n\nnonsense\nc9\na1\nboard\nb2\n#12\nc1\nc2\nc1\n"
    done = asobiba("play", "toy_nim", "--against", "bouton", "--seed", 3, "--store", "s.sqlite", "--name", "Ann",
                   stdin=lines, cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Legal moves:" in done.stdout
    assert "write heap and number" in done.stdout
    assert "bouton plays" in done.stdout
    assert "wins after" in done.stdout
    assert "On record" in done.stdout
    assert "person:Ann" in asobiba("league", "table", "toy_nim", "--store", "s.sqlite", cwd=tmp_path).stdout
    refused = asobiba("play", "battleship", "--against", "mp_exact", "-p", "height=12", "-p", "width=12")
    assert refused.returncode == 2
    assert "at most 128 cells" in refused.stderr
    assert "win" not in refused.stdout
    gone = asobiba("play", "toy_nim", stdin="a1\n", cwd=tmp_path)
    assert gone.returncode == 0
    assert "nothing was put on record" in gone.stdout


def test_a_person_sees_no_hidden_card():
    done = asobiba("play", "toy_kuhn", "--against", "timid", "--seed", 5, stdin="quit\n")
    assert "cards: [-1," in done.stdout or ", -1]" in done.stdout
    assert "timid plays" not in done.stdout


def test_a_person_plays_with_numbers():
    done = asobiba("play", "toy_push", "--seat", "2", "--seed", 1, stdin="x\n7\n" + "0.9\n" * 60)
    assert done.returncode == 0, done.stderr
    assert "is not an action: write 1 numbers" in done.stdout
    assert "lies outside" in done.stdout
    assert "after" in done.stdout


BAD = [
    (("agents", "chess"), "No game is called 'chess'"),
    (("match", "toy_nim", "random", "boutom"), "No agent of toy_nim is called 'boutom'"),
    (("match", "toy_nim", "random"), "has 2 seats: name an agent for each, not 1"),
    (("match", "toy_nim", "random", "raises:depth=3"), "has no parameter 'depth'"),
    (("match", "toy_nim", "random", "usi:true"), "has no USI notation"),
    (("match", "toy_nim", "random", "process:./no_such_program"), "cannot start"),
    (("match", "toy_nim", "random", "bouton", "-p", "heap=3"), "Did you mean 'heaps'"),
    (("match", "toy_nim", "random", "bouton", "-p", "heaps"), "expected KEY=VALUE"),
    (("match", "toy_nim", "random", "bouton", "-p", "heaps=0"), "at least 1"),
    (("match", "toy_nim", "random", "bouton", "-p", "heaps=many"), "cannot be made with"),
    (("match", "toy_nim", "random", "bouton", "-n", "0"), "greater than or equal to 1"),
    (("match", "toy_nim", "random", "bouton", "--executor", "cloud"), "no executor is called 'cloud'"),
    (("league", "run", "toy_nim", "--agents", "random"), "at least 2 agents"),
    (("league", "run", "toy_nim", "--store", "oracle://x"), "a store is a SQLite file or a postgresql"),
    (("league", "table", "toy_nim"), "there is no store at runs/league/toy_nim.sqlite"),
    (("league", "table", "toy_nim", "-f", "pdf"), "no format is called 'pdf'"),
    (("replay", "toy_nim", "1"), "there is no store"),
    (("play", "toy_nim", "--seat", "ninth"), "no seat 'ninth'"),
    (("play", "toy_nim", "--against", "random", "--against", "random"), "needs 1 opponents, 2 were given"),
    (("juggle", "toy_nim"), "No such command"),
    (("toy_nim", "juggle"), "brings no commands of its own"),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The command line's message for each bad input."""
    return asobiba_each([arguments for arguments, _ in BAD], tmp_path_factory.mktemp("bad"))


@pytest.mark.parametrize(("number", "message"), list(enumerate(message for _, message in BAD)))
def test_bad_input_is_named_and_ends_with_2(answers, number, message):
    done = answers[number]
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_bad_stores_end_with_2_and_lose_nothing(league, tmp_path):
    (tmp_path / "notes.txt").write_text("my notes\n" * 200)
    done = asobiba("league", "run", "toy_nim", "--store", "notes.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert "not a database" in done.stderr
    assert (tmp_path / "notes.txt").read_text() == "my notes\n" * 200
    store = league / "runs" / "league" / "toy_nim.sqlite"
    done = asobiba("league", "run", "toy_kuhn", "--store", store)
    assert done.returncode == 2
    assert "holds the results of toy_nim, not of toy_kuhn" in done.stderr
    done = asobiba("league", "table", "toy_nim", "--store", store, "-p", "heaps=5")
    assert done.returncode == 2
    assert "It holds: toy_nim v0" in done.stderr
    assert asobiba("replay", "toy_kuhn", 1, "--store", store).returncode == 2
    assert asobiba("replay", "toy_nim", 1, "--store", store, "-o", tmp_path / "x.bmp").returncode == 2
