"""Games that begin with random plies: in every environment, in matches and leagues, and in their records."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from scipy import stats

import asobiba.api
from asobiba.api.batch import Batch
from asobiba.api.sb3 import SB3VecEnv
from asobiba.api.seating import Seating
from asobiba.arena.evaluation import evaluate
from asobiba.arena.match import Match, ReplayError, decode_actions
from asobiba.arena.playing import play_lockstep, play_match
from asobiba.arena.replay import check_record as verify
from asobiba.arena.replay import replay
from asobiba.arena.show import record_json
from asobiba.core import GameParameterError, UnknownParameter, game, make_agent, states
from asobiba.core import games as all_games
from asobiba.core.agents import KernelAgent, agent_declarations

PLIES = 2
OPENED = [one.name for one in all_games() if one.package.startswith("asobiba.") and one.ruleset().usual_opening]
"""The games that usually begin with an opening; those of the tests have agents that are rogues."""


@pytest.fixture(scope="module")
def nim():
    return game("toy_nim").ruleset(heaps=4, size=5, opening_plies=PLIES)


def without_generator(state):
    copy = state.copy()
    copy["rng_key"] = copy["rng_counter"] = 0
    return copy.tobytes()


def test_an_opening_is_legal_random_play_that_follows_from_the_seed(nim):
    seen = set()
    for seed in range(40):
        state, plies = states.opened_state(nim, seed)
        assert state.tobytes() == states.new_state(nim, seed).tobytes()
        assert len(plies) == state["steps"] == PLIES
        assert not state["rewards"].any()
        replayed = states.new_state(nim.unopened, seed)
        for ply in plies:
            assert ply in states.legal_actions(nim, replayed)
            replayed = states.step(nim.unopened, replayed, ply)
        assert without_generator(replayed) == without_generator(state)
        seen.add(plies)
    assert len(seen) > 30


@pytest.mark.parametrize("name", OPENED)
def test_no_compiled_agent_is_lost_after_an_opening(name):
    """An agent is asked for the first time in the middle of a game, even of a turn."""
    ruleset = game(name).ruleset().opened()
    for text in agent_declarations(ruleset.game):
        agent = make_agent(ruleset.game, text)
        if isinstance(agent, KernelAgent):
            found = evaluate(ruleset, (text, agent), ("random", make_agent(ruleset.game, "random")), games=24)
            assert (found.forfeits, found.opponent_forfeits) == (0, 0), text


def test_plies_are_uniform(nim):
    """The first ply of 4,000 openings, by Pearson's test."""
    first = states.opened_states(nim, np.arange(4000, dtype=np.uint64))[1][:, 0]
    legal = states.legal_actions(nim, states.new_state(nim.unopened, 0))
    counts = np.bincount(first, minlength=nim.num_actions)[legal]
    assert counts.sum() == 4000
    assert stats.chisquare(counts).pvalue > 1e-4


def test_every_episode_of_every_environment_has_a_fresh_opening(nim):
    settings = {"heaps": 4, "size": 5, "opening_plies": PLIES}
    batch = Batch(nim, 8, autoreset="same_step", threads=1)
    batch.reset(seed=5)
    assert all(batch.states[i].tobytes() == states.new_state(nim, 5 + i).tobytes() for i in range(8))
    vector = asobiba.api.VectorEnv("toy_nim", 4, seat="first", **settings)
    learning = SB3VecEnv("toy_nim", 4, seat="first", seed=0, **settings)
    seat = gymnasium.make("asobiba/ToyNim-v0", **settings)
    turns = asobiba.api.AEC("toy_nim", **settings)
    begun = {name: set() for name in ("batch", "vector", "sb3", "seat", "turns")}
    vector.reset(seed=0)
    learning.reset()
    for _ in range(40):
        batch.step(batch.sample_actions())
        vector.step(vector.games.sample_actions())
        learning.step(learning.games.sample_actions())
        for name, games in (("batch", batch), ("vector", vector.games), ("sb3", learning.games)):
            for state in games.states:
                assert state["steps"] >= PLIES
                if state["steps"] == PLIES:
                    begun[name].add(without_generator(state))
    for seed in range(20):
        for name, env in (("seat", seat.unwrapped), ("turns", turns)):
            env.reset(seed=seed)
            begun[name].add(without_generator(env.record))
            assert env.record["steps"] >= PLIES
    assert all(len(found) > 15 for found in begun.values()), {name: len(found) for name, found in begun.items()}


def test_agents_in_python_begin_after_the_opening_too(nim):
    def last(view, legal):
        return int(np.flatnonzero(legal)[-1])

    slow = Seating(nim, 4, opponent=last, seat="second", threads=1)
    slow.reset(seed=3)
    assert not slow.compiled
    assert (slow.states["steps"] >= PLIES).all()


def test_a_record_holds_its_opening_and_both_sides_meet_in_it(nim):
    one, other = make_agent(nim.game, "bouton"), make_agent(nim.game, "random")
    matches = [Match.of(nim, seats, 7) for seats in (("bouton", "random"), ("random", "bouton"))]
    records = [play_match(matches[0], [one, other]), play_match(matches[1], [other, one])]
    opening = states.opened_state(nim, 7)[1]
    for match, record in zip(matches, records, strict=True):
        played = decode_actions(nim, record.actions)
        assert tuple(played[:PLIES].tolist()) == opening
        assert len(played) == record.moves
        assert sum(record.decisions) == record.moves - PLIES
        verify(record)
        assert next(replay(record))[0]["steps"] == PLIES
        agents = [make_agent(nim.game, name) for name in match.seats]
        (together,) = [found for ended in play_lockstep([match], agents) for found in ended]
        assert together.same_play(record)
        told = record_json(record)  # for programs that know no openings
        assert "opening_plies" not in told["parameters"]
        plain = replace(record, match=replace(match, parameters=told["parameters"]), digest=told["digest"])
        verify(plain)
        other_first = (played[0] + 1) % 20
        forged = replace(record, actions=bytes([other_first]) + record.actions[1:])
        with pytest.raises(ReplayError, match="not those on record"):
            verify(forged)


def test_what_makes_no_sense_is_refused():
    nim = game("toy_nim")
    with pytest.raises(GameParameterError, match="whole number from 0"):
        nim.ruleset(opening_plies=-1)
    with pytest.raises(GameParameterError, match="whole number from 0"):
        nim.ruleset(opening_plies="4")
    with pytest.raises(GameParameterError, match="do not move in turn"):
        game("toy_village").ruleset(opening_plies=2)
    with pytest.raises(UnknownParameter, match="opening_plies"):
        nim.ruleset(opening_ply=2)


def test_a_game_that_every_opening_ends_begins_without_one():
    ruleset = game("toy_nim").ruleset(heaps=4, size=1, opening_plies=4)
    state, plies = states.opened_state(ruleset, 0)
    assert plies == ()
    assert state["steps"] == 0
    assert not states.is_over(state)


def test_games_say_how_many_plies_are_usual():
    usual = {name: game(name).ruleset().usual_opening for name in ("toy_nim", "toy_kuhn", "animal_shogi", "tactics")}
    assert usual == {"toy_nim": 2, "toy_kuhn": 0, "animal_shogi": 4, "tactics": 4}
    assert game("bao").ruleset(start="random").usual_opening == 0
    nim = game("toy_nim").ruleset()
    assert nim.opened().opening_plies == 2
    assert nim.opened(3).opened().opening_plies == 3
    assert nim.opened(0) is nim
    assert nim.opened(2).unopened == nim
    assert game("battleship").ruleset().opened().opening_plies == 0
