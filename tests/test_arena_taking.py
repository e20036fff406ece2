"""Games of a published league are taken over if the present agents play them as they are on record."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from arena_tools import ROGUES, asobiba

from asobiba.arena.executors import LocalExecutor
from asobiba.arena.league import run_league
from asobiba.arena.publish import publish
from asobiba.arena.records_file import NAME, RecordsFile
from asobiba.arena.store import Store
from asobiba.arena.taking import ChangedAgents, compare_games, sampled, take_games
from asobiba.arena.trust import EVERYBODY
from asobiba.arena.verify import verify_folder
from asobiba.core import AsobibaError, game
from asobiba.pages import all_pages
from asobiba.publishing import commands_of, take_command

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROGUES))
NIM = game("toy_nim").ruleset()
AGENTS = ("random", "bouton", "moody")


def played(store, agents=AGENTS):
    return run_league(NIM, agents, store, LocalExecutor(1, time_limit=30.0, trust=EVERYBODY), 6).played


@pytest.fixture(scope="module")
def league(tmp_path_factory):
    """A published league of 18 games."""
    folder = tmp_path_factory.mktemp("published")
    with Store(folder / "league.sqlite") as store:
        assert played(store) == 18
        publish(NIM, store, store.results(NIM), folder)
    return folder


def compare(compared):
    compare_games(compared, LocalExecutor(1, time_limit=30.0, trust=EVERYBODY))


def test_only_games_of_agents_that_have_changed_are_played_again(league, tmp_path, monkeypatch):
    monkeypatch.setenv("MOODY", "yes")
    file, compared = sampled(NIM, league, ["moody"])
    assert {record.match.seats for record in compared} == {("random", "bouton"), ("bouton", "random")}
    compare(compared)
    with Store(tmp_path / "league.sqlite") as store:
        assert take_games(file, ["moody"], store) == 6
        assert take_games(file, ["moody"], store) == 0
        assert played(store) == 12
        publish(NIM, store, store.results(NIM), tmp_path)
    assert verify_folder(tmp_path).faults == ()
    assert "same edition" not in (tmp_path / "README.md").read_text()
    old, new = (
        {one.record.match.key: one for one in RecordsFile(folder / NAME).listed()} for folder in (league, tmp_path)
    )
    assert old.keys() == new.keys()
    for key, one in old.items():
        same = "moody" not in one.record.match.seats
        assert (
            new[key].entry.secret == one.entry.secret
        ) == same  # nobody knows the seeds of new games before they are played
        assert not same or new[key].record == one.record


def test_an_agent_that_has_changed_unsaid_is_found_and_nothing_is_taken(league, tmp_path, monkeypatch):
    monkeypatch.setenv("MOODY", "yes")
    with pytest.raises(ChangedAgents, match=r"moody.*--again moody"):
        compare(sampled(NIM, league, [])[1])
    monkeypatch.delenv("MOODY")
    compare(sampled(NIM, league, [])[1])


def test_a_new_agent_has_no_games_to_leave_out(league, tmp_path):
    file, compared = sampled(NIM, league, ["slow"])
    assert len({record.match.seats for record in compared}) == 6
    with Store(tmp_path / "league.sqlite") as store:
        assert take_games(file, ["slow"], store) == 18


def test_another_league_a_damaged_one_and_a_misspelt_agent_are_refused(league, tmp_path):
    with pytest.raises(AsobibaError, match=r"holds games of .*, not of .*; give its parameters with -p"):
        sampled(game("toy_nim").ruleset(players=3), league, [])
    with pytest.raises(AsobibaError, match=r"no games of rndom.*but of"):
        sampled(NIM, league, ["rndom"])
    with pytest.raises(AsobibaError, match="cannot be read"):
        sampled(NIM, tmp_path, [])


def test_publish_takes_into_a_store_that_is_not_begun(tmp_path):
    page = next(page for page in all_pages(ROOT) if page.path == "leaderboards/bao/README.md")
    words = take_command(ROOT, page, ["ppo", "gumbel_az"])
    store = words[-1]
    assert words == ["league", "take", "bao", "leaderboards/bao", "-p", "opening_plies=4", "--again", "ppo", "--again", "gumbel_az",
                     "--store", store]  # fmt: skip
    assert any(store in command for command in commands_of(page))
    assert take_command(ROOT, page, []) is None
    assert take_command(tmp_path, page, ["ppo"]) is None  # no league is published there
    (tmp_path / "leaderboards" / "bao").mkdir(parents=True)
    (tmp_path / "leaderboards" / "bao" / "records.xz").touch()
    assert take_command(tmp_path, page, ["ppo"]) is not None
    (tmp_path / store).parent.mkdir(parents=True)
    (tmp_path / store).touch()
    assert take_command(tmp_path, page, ["ppo"]) is None


def test_the_command_takes_and_the_league_goes_on(league, tmp_path):
    store = str(tmp_path / "league.sqlite")
    words = ("toy_nim", str(league), "--again", "moody", "--store", store, "--jobs", "1")
    done = asobiba("league", "take", *words)
    assert done.returncode == 0, done.stderr
    assert f"6 games of {league} are in {store}; 2 of them were played again" in " ".join(done.stdout.split())
    done = asobiba("league", "run", "toy_nim", "--agents", "random bouton", "-n", "6", "--store", store, "--jobs", "1")
    assert "left" not in done.stdout
    with Store(store) as kept:
        assert len(kept.results(NIM)) == 6
