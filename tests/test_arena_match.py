"""Matches and records: every way a game can end, replay, and games in lockstep."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from arena_tools import ROGUES

from asobiba import baselines
from asobiba.arena.match import Match, ReplayError, decode_actions
from asobiba.arena.playing import play_lockstep, play_match, plays_in_lockstep
from asobiba.arena.referee import Clock
from asobiba.arena.replay import check_record, replay
from asobiba.arena.worker import Unit
from asobiba.core import Agent, GameParameterError, game, make_agent

sys.path.insert(0, str(ROGUES))


def play(name, seats, seed=1, clock=None, **parameters):
    ruleset = game(name).ruleset(**parameters)
    agents = [make_agent(ruleset.game, text) for text in seats]
    return play_match(Match.of(ruleset, seats, seed), agents, clock)


@pytest.mark.parametrize(
    ("name", "seats", "parameters"),
    [
        ("toy_nim", ["random", "bouton"], {}),
        ("toy_nim", ["random", "bouton", "random"], {"players": 3}),
        ("toy_kuhn", ["timid", "random"], {"hands": 3}),
        ("toy_walk", ["random"], {}),
        ("toy_push", ["random", "random"], {"noise": 0.3}),
    ],
)
def test_replay_of_a_record_gives_the_same_bytes(name, seats, parameters):
    for seed in range(20):
        record = play(name, seats, seed, **parameters)
        check_record(record)
        states = [state for state, _ in replay(record)]
        assert len(states) == record.moves + 1
        assert record.same_play(play(name, seats, seed, **parameters))
        assert sum(record.decisions) == record.moves * (len(seats) if name == "toy_push" else 1)


def test_who_is_replaced_for_good_is_not_asked_again():
    ruleset = game("toy_village").ruleset()

    class Babbler(Agent):
        asked = 0

        def reset(self, ruleset, seat, seed):
            pass

        def act(self, view, legal):
            Babbler.asked += 1
            return 10_000

    most = 0
    for seed in range(10):
        Babbler.asked = 0
        seats = ["babbler", *["random"] * (ruleset.num_players - 1)]
        agents = [Babbler(), *(make_agent(ruleset.game, text) for text in seats[1:])]
        record = play_match(Match.of(ruleset, seats, seed), agents)
        assert record.decisions[0] == Babbler.asked
        most = max(most, Babbler.asked)
    assert most == ruleset.game.fault_limit


@pytest.mark.parametrize(
    ("agent", "reason", "detail"),
    [
        ("raises", "crash", "RuntimeError: out of ideas"),
        ("raises_at_once", "crash", "reset: ValueError: no book found"),
        ("babbles", "illegal action", "answered 'my best move', which is not an integer"),
        ("cheats", "illegal action", "answered 10000, actions are 0 to 14"),
        ("wild", "illegal action", "answered 1000, actions are 0 to 14"),
    ],
)
@pytest.mark.parametrize("seat", [0, 1])
def test_who_misbehaves_loses_with_the_reason_on_record(agent, reason, detail, seat):
    seats = ["random", "random"]
    seats[seat] = agent
    record = play("toy_nim", seats)
    assert (record.reason, record.culprit, record.detail) == (reason, seat, detail)
    assert record.winner == 1 - seat
    assert record.returns[seat] == -1
    assert record.returns[1 - seat] == 1
    check_record(record)


def test_who_answers_too_late_loses():
    record = play("toy_nim", ["bouton", "sleeps"], clock=Clock(0.5))
    assert (record.reason, record.culprit, record.winner) == ("time-out", 1, 0)
    assert "the limit is 0.5 s" in record.detail


@pytest.mark.parametrize("seats", [["random", "bouton"], ["bouton", "random"], ["wild", "bouton"]])
def test_lockstep_gives_the_records_of_one_game_after_another(seats):
    _compare("toy_nim", seats)


def test_lockstep_of_hidden_games_three_players_and_one():
    _compare("toy_kuhn", ["random", "bold"])
    _compare("toy_nim", ["random", "bouton", "random"], players=3)
    _compare("toy_walk", ["random"])


NETWORK = Path(baselines.__path__[0]) / "animal_shogi" / "policies" / "gumbel_az" / "policy.safetensors"


def test_lockstep_of_networks_gives_the_records_of_one_game_after_another():
    seats = ["gumbel_az:simulations=4", f"sb3:{NETWORK}", f"net_uct:policy={NETWORK},simulations=3", "one_ply"]
    for pair in (seats[:2], seats[1:3], seats[2:], [seats[3], seats[1]]):
        _compare("animal_shogi", pair, games=12, opening_plies=4)


def test_a_search_with_noise_or_for_a_time_does_not_play_in_lockstep():
    ruleset = game("animal_shogi").ruleset()
    for setting in ("noise=1", "time=2"):
        agent = make_agent(ruleset.game, f"net_uct:policy={NETWORK},{setting}")
        assert not plays_in_lockstep(ruleset, [agent])
    with pytest.raises(GameParameterError, match="plays one game at a time"):
        make_agent(ruleset.game, f"net_uct:policy={NETWORK},noise=1").begin(ruleset, (0, 0), (0, 1))


def _compare(name, seats, games=60, **parameters):
    ruleset = game(name).ruleset(**parameters)
    agents = [make_agent(ruleset.game, text) for text in seats]
    assert plays_in_lockstep(ruleset, agents)
    matches = [Match.of(ruleset, seats, seed) for seed in range(games)]
    fast = {record.match.key: record for records in play_lockstep(matches, agents) for record in records}
    assert len(fast) == len(matches)
    for match in matches:
        assert fast[match.key].same_play(play_match(match, [make_agent(ruleset.game, text) for text in seats]))


def test_agents_that_are_no_kernels_do_not_play_in_lockstep():
    ruleset = game("toy_kuhn").ruleset()
    assert not plays_in_lockstep(ruleset, [make_agent(ruleset.game, "timid")])
    push = game("toy_push").ruleset()
    assert plays_in_lockstep(push, [make_agent(push.game, "random")] * 2)


def test_keys_name_game_parameters_seats_and_seed():
    ruleset = game("toy_nim").ruleset()
    match = Match.of(ruleset, ["random", "bouton"], 7)
    others = [
        Match.of(ruleset, ["bouton", "random"], 7),
        Match.of(ruleset, ["random", "bouton"], 8),
        Match.of(game("toy_nim").ruleset(heaps=4), ["random", "bouton"], 7),
        dataclasses.replace(match, version=1),
    ]
    assert len({match.key, *(other.key for other in others)}) == 5
    assert Match.of(ruleset, ["random", "bouton"], 7).key == match.key
    assert hash(Unit((), "batch"))


def test_a_damaged_or_foreign_record_does_not_replay():
    record = play("toy_nim", ["random", "bouton"])
    with pytest.raises(ReplayError, match="another final state"):
        check_record(dataclasses.replace(record, actions=record.actions[:-1]))
    with pytest.raises(ReplayError, match="the game is over"):
        check_record(dataclasses.replace(record, actions=record.actions + b"\x00"))
    with pytest.raises(ReplayError, match="version 9, but version 0"):
        check_record(dataclasses.replace(record, match=dataclasses.replace(record.match, version=9)))
    with pytest.raises(ReplayError, match="returns"):
        check_record(dataclasses.replace(record, returns=(5.0, -5.0)))
    push = game("toy_push").ruleset()
    with pytest.raises(ReplayError, match="expected a multiple of 8"):
        decode_actions(push, b"123")


@pytest.mark.parametrize(
    ("seats", "seed"), [(["random"], 0), (["random"] * 3, 0), (["random"] * 2, -1), (["random"] * 2, 2**63)]
)
def test_a_match_needs_its_seats_and_a_seed(seats, seed):
    with pytest.raises(ValueError, match=r"seats|seed"):
        Match.of(game("toy_nim").ruleset(), seats, seed)


def test_continuous_nonsense_is_illegal():
    class Silly(Agent):
        name = "silly"

        def reset(self, ruleset, seat, seed):
            pass

        def act(self, view, legal):
            assert legal.shape == (0,)
            return [1.0, 2.0, 3.0]

    ruleset = game("toy_push").ruleset()
    match = Match.of(ruleset, ["random", "silly"], 3)
    record = play_match(match, [make_agent(ruleset.game, "random"), Silly()])
    assert (record.reason, record.culprit, record.moves) == ("illegal action", 1, 1)
    assert "expected finite numbers of shape (1,)" in record.detail
    assert np.isnan(decode_actions(ruleset, record.actions)[0, 1]).all()
    check_record(record)
