"""Opponents in learning by search: who plays whom from where, what is learned from it, and what a run tells about it."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from network_tools import drawn_network, uniform_network

from asobiba.core import AsobibaError, GameParameterError, registry
from asobiba.learn.config import ConfigError, load_config, read_settings
from asobiba.learn.members import Member
from asobiba.learn.search import SelfPlay
from asobiba.learn.sparring import Against, Opponents, Sparring

NIM = registry.game("toy_nim")
HEAPS = {"heaps": 4, "size": 4}
SETTINGS = {"simulations": 8, "length": 20, "openings": 2}


def own_positions(games, g):
    """What is learned from game `g`: observations, policies, values and results."""
    own = np.flatnonzero(games.learned[g, : games.lengths[g]])
    return [getattr(games, name)[g][own].copy() for name in ("observations", "policies", "values", "results")]


def assert_equal(found, wanted):
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_against_itself_a_network_plays_its_self_play():
    ruleset = NIM.ruleset(**HEAPS)
    network = drawn_network(ruleset, 1)
    alone = SelfPlay(ruleset, network, games=8, threads=1, **SETTINGS).play(network, 6)
    sparring = Sparring(ruleset, network, games=8, threads=1, **SETTINGS)
    assert_equal(sparring.play(network, 6), alone)
    met = sparring.play(network, 6, Against((network,), np.zeros(8, np.int64)))
    for g in range(8):  # a pair has the opening and the noise of its first seed
        moves = alone.lengths[g - g % 2]
        seat = alone.movers[g - g % 2, :moves] == g % 2
        assert met.lengths[g] == moves
        assert_equal(own_positions(met, g), [part[seat] for part in own_positions(alone, g - g % 2)])


def test_the_two_games_of_a_pair_are_played_from_both_seats():
    ruleset = NIM.ruleset(**HEAPS)
    one, other = drawn_network(ruleset, 1), drawn_network(ruleset, 2)
    sparring = Sparring(ruleset, one, games=12, threads=1, **SETTINGS)
    first = [own_positions(sparring.play(one, 6, Against((other,), np.zeros(12, np.int64))), g) for g in range(12)]
    games = sparring.play(other, 6, Against((one,), np.zeros(12, np.int64)))
    opening = [games.movers[g, 0] for g in range(12)]
    for g in range(0, 12, 2):
        # The same game with the roles exchanged: what the one learns from is what the other leaves out.
        for a, b in ((g, g + 1), (g + 1, g)):
            seen, results = own_positions(games, a)[0], own_positions(games, a)[3]
            assert len(seen) + len(first[b][0]) == games.lengths[a]
            if len(results) and len(first[b][3]):
                assert results[0] == -first[b][3][0]
        assert opening[g] == opening[g + 1]


def test_an_agent_plays_its_own_moves_at_its_own_seat():
    ruleset = NIM.ruleset(**HEAPS)
    network = uniform_network(ruleset)
    sparring = Sparring(ruleset, network, games=60, threads=1, agents=["bouton"], **SETTINGS)
    games = sparring.play(network, 6, Against(("bouton",), np.zeros(60, np.int64)))
    lost = 0
    for g in range(60):
        observations, _, _, results = own_positions(games, g)
        heaps = observations.reshape(len(observations), 4, 4).sum(2).astype(int)
        sums = [int(np.bitwise_xor.reduce(row)) for row in heaps]
        assert set(games.movers[g, : games.lengths[g]][games.learned[g, : games.lengths[g]] != 0]) <= {g % 2}
        for k in range(1, len(sums)):  # Bouton: who is left a sum of 0 is left it to the end
            assert sums[k] == 0 or sums[k - 1] != 0
        if len(sums) and not sums[-1]:
            assert results[-1] == -1
            lost += 1
    assert lost > 20


@pytest.mark.parametrize("agents", [(), ("bouton", "random")])
def test_games_against_opponents_do_not_depend_on_threads_or_on_the_games_beside_them(agents):
    ruleset = NIM.ruleset(**HEAPS)
    network = drawn_network(ruleset, 1)
    players = (drawn_network(ruleset, 2), drawn_network(ruleset, 3), *agents)
    against = Against(players, np.repeat(np.arange(12) % (len(players) + 1) - 1, 2))
    one, two = (Sparring(ruleset, network, games=24, threads=threads, agents=agents, **SETTINGS) for threads in (1, 2))
    part = Sparring(ruleset, network, games=8, threads=1, agents=agents, **SETTINGS)
    whole = one.play(network, 32, against)
    for found, first in ((two.play(network, 32, against), 0), (part.play(network, 48, against.part(16, 8)), 16)):
        for g in range(len(found.lengths)):
            assert_equal(own_positions(found, g), own_positions(whole, first + g))


def config_of(**changes):
    small = {
        "rounds": 6, "games": 16, "simulations": 4, "length": 20, "width": 16, "threads": 1, "batch_size": 32,
        "window": 500, "snapshot_every": 2, "opponents": ["self", "pool", "random"], "checkpoint_every": 100,
        "evaluation": {"games": 4, "every": 100, "openings": 1, "simulations": [4]},
    }  # fmt: skip
    return load_config(NIM, algorithm="gumbel_az", **{**small, **changes})


def test_opponents_are_dealt_to_pairs_in_turn_and_snapshots_are_kept():
    ruleset = NIM.ruleset()
    opponents = Opponents(ruleset, config_of(pool={"keep": 2, "latest": 0.0, "uniform": 1.0, "prioritised": 0.0}))
    networks = [drawn_network(ruleset, seed) for seed in range(7)]
    met = [opponents.of_round(k, networks[k], 16 * k) for k in range(7)]
    assert [one.steps for one in opponents.roster.members] == [0, 6]
    for k, against in enumerate(met):
        assert against is not None
        assert against.chosen[::2].tolist() == against.chosen[1::2].tolist()
        who = ["self" if c < 0 else against.players[c] for c in against.chosen[::2]]
        for place, one in enumerate(who, 8 * k):
            if place % 3 == 1:
                assert any(one is each for each in networks[: k + 1 : 2])
            else:
                assert one == ("self", None, "random")[place % 3]
    again = Opponents(ruleset, config_of(pool={"keep": 2, "latest": 0.0, "uniform": 1.0, "prioritised": 0.0}))
    again.restore(opponents.saved(), networks[0])
    np.testing.assert_array_equal(again.roster.members[1].player.weights, networks[6].weights)


def test_scores_are_those_of_the_games():
    ruleset = NIM.ruleset(**HEAPS)
    config = config_of(parameters=HEAPS, games=60, opponents=["bouton", "self", "bouton"])
    opponents, network = Opponents(ruleset, config), uniform_network(ruleset)
    sparring = Sparring(ruleset, network, games=60, threads=1, agents=opponents.agents, **SETTINGS)
    games = sparring.play(network, 0, opponents.of_round(0, network, 0))
    points = []
    for pair in [k for k in range(30) if k % 3 != 1]:
        for g in (2 * pair, 2 * pair + 1):
            moves = int(games.lengths[g])
            if (games.movers[g, :moves] == g % 2).any():  # who takes the last counter wins
                points.append(float(games.movers[g, moves - 1] == g % 2))
    assert opponents.record(games) == {"score against bouton": pytest.approx(np.mean(points))}
    (line,) = opponents.rows(1)
    assert line["opponent"] == "bouton"
    assert line["score"] < 0.5
    assert 0 < np.mean(points) < 0.5  # it wins where the opening leaves Bouton a lost position


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("pool", [{}, {"anchors": 1.0, "agents": ["bouton"], "keep": 2}])
def test_a_run_with_opponents_that_was_killed_ends_as_if_it_had_not_been(pool, tmp_path, monkeypatch):
    expert = pytest.importorskip("asobiba.learn.expert")
    config = config_of(pool=pool, checkpoint_every=3)

    def trained(folder, **changes):
        expert.train(NIM, {**config, **changes}, tmp_path / folder, say=lambda _: None)
        return {file.name: file.read_bytes() for file in (tmp_path / folder).iterdir()}

    class Killed(Exception):
        pass

    whole, two = trained("whole"), trained("two", threads=2)
    play_and_learn = expert.Expert.play_and_learn

    def until_the_fifth(run):
        if run.round == 5:
            raise Killed
        return play_and_learn(run)

    monkeypatch.setattr(expert.Expert, "play_and_learn", until_the_fifth)
    with pytest.raises(Killed):
        trained("stopped")
    monkeypatch.undo()
    stopped = trained("stopped")
    for name in ("policy.safetensors", "pool.csv", "payoff.svg"):
        assert whole[name] == two[name] == stopped[name]
    lines = rows_of(tmp_path / "whole" / "pool.csv")
    assert list(dict.fromkeys(line["round"] for line in lines)) == ["2", "4", "6"]
    last = [line["opponent"] for line in lines if line["round"] == "6"]
    assert last == (["0", "4", "bouton", "random"] if pool else ["0", "2", "4", "random"])
    scores = rows_of(tmp_path / "stopped" / "learning.csv")
    assert [row["round"] for row in scores] == [str(k) for k in range(1, 7)]
    assert all(0 <= float(row[f"score against {who}"]) <= 1 for row in scores for who in ("pool", "random"))
    assert "against itself and pool, random" in (tmp_path / "whole" / "README.md").read_text(encoding="utf-8")
    record = json.loads((tmp_path / "whole" / "run.json").read_text(encoding="utf-8"))
    assert record["positions"] < sum(float(row["length"]) * 16 for row in scores)  # the others' moves are left out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["opponents=[]"], "expected a list of self, pool and agents"),
        (["opponents=[random & self]"], "in a game of two players expected one"),
        (["opponents=[pool]", "games=15"], "games is 15; expected an even number"),
        (["pool.exploiter_every=5"], "pool.exploiter_every: gumbel_az trains no exploiters"),
        (["pool.exploiters=0.5"], "pool.exploiters: gumbel_az trains no exploiters"),
        (["pool.anchors=1.0"], "anchors that are drawn are named there"),
        (["pool.latest=0", "pool.uniform=0", "pool.prioritised=0"], "not all 0"),
        (["snapshot_every=0"], "snapshot_every is 0; expected at least 1"),
        (["seat=first"], "no hyperparameter is called seat"),
    ],
)
def test_settings_that_a_pool_cannot_have_are_refused_by_name(words, message):
    with pytest.raises(ConfigError, match=message):
        load_config(NIM, algorithm="gumbel_az", **read_settings(words))


@pytest.mark.parametrize(
    ("opponents", "anchors", "message"),
    [
        (["nobody_of_that_name"], [], "nobody_of_that_name"),
        (["pool"], ["nobody_of_that_name"], "nobody_of_that_name"),
        (["alpha_beta:seconds=0.1"], [], "alpha_beta:seconds=0.1 has no compiled form"),
        (["ppo"], [], "ppo has no compiled form"),
    ],
)
def test_opponents_that_cannot_play_are_refused_before_the_folder_is_touched(opponents, anchors, message, tmp_path):
    expert = pytest.importorskip("asobiba.learn.expert")
    game = registry.game("animal_shogi")
    config = load_config(
        game, algorithm="gumbel_az", opponents=opponents, pool={"agents": anchors}, games=4, window=100
    )
    with pytest.raises((AsobibaError, GameParameterError), match=message):
        expert.train(game, config, tmp_path / "run", say=lambda _: None)
    assert not (tmp_path / "run").exists()


def test_a_member_fades():
    member = Member(0, None)
    for gain in (1.0, -1.0, 0.0, 2.0):
        member.record(gain)
    assert member.games == pytest.approx(1 + 0.995 + 0.995**2 + 0.995**3)
    assert member.points == pytest.approx(1 + 0.5 * 0.995 + 0.995**3)
