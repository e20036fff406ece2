"""Ratings by role, on results whose strengths are known."""

import numpy as np
import pytest

from asobiba import game
from asobiba.arena.match import Match
from asobiba.arena.playing import play_lockstep
from asobiba.arena.ratings import ELO
from asobiba.arena.schedule import pairings, seatings
from asobiba.arena.standings import as_result
from asobiba.baselines.werewolf.roles import Games, games_of, markdown, strengths
from asobiba.core import make_agent
from asobiba.envs.werewolf.layout import POSSESSED, ROLES, SEER, VILLAGES, WEREWOLF

NAMES = ("bold", "meek", "wise")


@pytest.fixture(scope="module")
def invented():
    """Games of agents who differ as seers and as werewolves only, and what each adds there to the log-odds."""
    generator = np.random.default_rng(5)
    truth = np.zeros((len(NAMES), len(ROLES)))
    truth[:, SEER - 1] = 0.8, -0.8, 0.0
    truth[:, WEREWOLF - 1] = -0.5, 0.0, 0.5
    deal = np.repeat(np.arange(len(ROLES)), VILLAGES[5])
    roles = np.array([generator.permutation(deal) for _ in range(20_000)])
    seats = generator.integers(0, len(NAMES), roles.shape)
    sign = np.where(roles >= POSSESSED - 1, 1, -1)
    odds = 0.3 + (sign * truth[seats, roles]).sum(1)
    won = generator.random(len(odds)) < 1 / (1 + np.exp(-odds))
    return Games(NAMES, seats, roles, sign * np.where(won, 1.0, -1.0)[:, None]), truth


def test_strengths_in_a_role_are_found_again(invented):
    games, truth = invented
    for role in (SEER, WEREWOLF, 1):
        for k, (name, found) in enumerate(strengths(games, role - 1).items()):
            assert name == NAMES[k]
            assert found.value == pytest.approx(truth[k, role - 1] * ELO, abs=1.5 * found.half)
            assert 0 < found.half < 40


def test_the_overall_rating_is_the_strength_over_all_roles(invented):
    games, _ = invented
    found = strengths(games)
    assert found["wise"].value > found["bold"].value > found["meek"].value
    assert sum(strength.value for strength in found.values()) == pytest.approx(0, abs=1e-6)


def test_every_agent_of_a_group_plays_every_role_equally_often():
    ruleset = game("werewolf").ruleset(players=5, seats=5, rules="0.6")
    declared = game("werewolf")
    agents = [make_agent(declared, "sample") for _ in range(5)]
    names = [f"agent {k}" for k in range(5)]
    assert pairings(ruleset, names) == [tuple(names)]
    matches = [Match.of(ruleset, seating, seed) for seed in range(4) for seating in seatings(ruleset, names, 0, seed)]
    records = [record for part in play_lockstep(matches, agents) for record in part]
    games = games_of(ruleset, [as_result(record) for record in records])
    counts = np.zeros((5, len(ROLES)), int)
    np.add.at(counts, (games.seats.ravel(), games.roles.ravel()), 1)
    assert (counts == np.array(VILLAGES[5]) * 4).all()
    text = markdown(ruleset, games, "asobiba roles werewolf")
    assert "20 games" in text
    assert all(f"| {name} |" in text for name in names)
