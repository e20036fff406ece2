"""The network of werewolf, and the tables that are counted over games."""

import numpy as np
import pytest

from asobiba import game
from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.arena.replay import replay
from asobiba.baselines.werewolf.fitting import COLUMNS, Counts, as_text, current, played
from asobiba.core import AsobibaError, make_agent
from asobiba.envs.werewolf import layout

SEATS = 5
CHANNELS = layout.observation_channels(SEATS)
OF_PLAYERS = ("seat", "players", "alive", "known_roles", "known_species", "claims", "over", "remaining")
OF_PAIRS = ("reports", "identifications", "declared")


def flat(channels):
    return np.concatenate([channels[name].reshape(-1) for name in CHANNELS]).astype(np.float32)


def invented(generator):
    """Channels of an observation that nobody need ever see."""
    channels = {name: generator.integers(0, 2, shape) for name, shape in CHANNELS.items()}
    for name in ("executed", "victims", "votes"):
        channels[name] = generator.integers(0, SEATS + 1, CHANNELS[name])
    channels["seat"] = np.eye(SEATS, dtype=int)[2]
    channels["players"][:] = 1
    return channels


def moved(channels, order):
    """The same village with its players in another order: `order[new] = old`."""
    number = np.zeros(SEATS + 1, int)
    number[np.asarray(order) + 1] = np.arange(SEATS) + 1
    new = dict(channels)
    for name in OF_PLAYERS:
        new[name] = channels[name][order]
    for name in OF_PAIRS:
        new[name] = channels[name][order][:, order]
    for name in ("executed", "victims"):
        new[name] = number[channels[name]]
    new["votes"] = number[channels["votes"]][:, :, order]
    return new


def test_the_network_treats_all_seats_alike():
    torch = pytest.importorskip("torch")
    pytest.importorskip("sb3_contrib")
    from asobiba.baselines.werewolf.network import VillageNetwork

    torch.manual_seed(0)
    actions = layout.number_of_actions(SEATS, False)
    network = VillageNetwork(CHANNELS, actions, width=16)
    torch.nn.init.normal_(network.targets[2].weight)
    generator = np.random.default_rng(1)
    for _ in range(5):
        channels, order = invented(generator), generator.permutation(SEATS)
        with torch.no_grad():
            logits, value = network(torch.tensor(np.stack([flat(channels), flat(moved(channels, order))])))
        plain, aimed = np.split(logits.numpy(), [layout.BLOCKS], axis=1)
        assert plain[1] == pytest.approx(plain[0], abs=1e-5)
        assert value[1].numpy() == pytest.approx(value[0].numpy(), abs=1e-5)
        blocks = aimed.reshape(2, -1, SEATS)
        assert blocks[1] == pytest.approx(blocks[0][:, order], abs=1e-4)
        assert np.ptp(blocks[0], axis=1).min() > 1e-3


def test_the_network_refuses_the_game_with_operators():
    pytest.importorskip("sb3_contrib")
    from asobiba.baselines.werewolf.network import VillageNetwork

    with pytest.raises(ValueError, match="without operators"):
        VillageNetwork(CHANNELS, layout.number_of_actions(SEATS, True))


def test_what_is_counted_is_who_did_it():
    ruleset = game("werewolf").ruleset()
    counts, states_ = Counts(15), list(played(ruleset, [["basic:theory=A"]], 8, 3))
    for state in states_:
        counts.add(state)
    claims = counts.roles["claims", "SEER"]
    # The seer, the possessed and the first of the wolves claim, each in every game that he lives to see day 1 of.
    assert claims.tolist() == [0, 8, 0, 8, 8]
    assert counts.roles["results", "WEREWOLF"].sum() == sum(
        (state["reported"] == layout.WOLF).sum() for state in states_
    ) + sum((state["identified"] == layout.WOLF).sum() for state in states_)
    tables = counts.fitted(current())
    assert tables["estimates"] == current()["estimates"]
    assert tables["claims"] == current()["claims"]  # 24 claims are too few
    votes = tables["votes"]["HUMAN"]
    assert votes[COLUMNS.index("VILLAGER")] > votes[COLUMNS.index("SEER")] > 0


def test_tables_are_written_as_they_are_read():
    import yaml

    assert yaml.safe_load(as_text(current(), "of nobody's games")) == current()


def test_the_committed_policy_plays_every_role_of_its_village_and_refuses_others():
    pytest.importorskip("sb3_contrib")
    declared = game("werewolf")
    village = declared.ruleset(players=5, seats=5, rules="0.6")
    policy, others = make_agent(declared, "ppo"), [make_agent(declared, "basic") for _ in range(4)]
    roles = set()
    for seed in range(12):
        record = play_match(Match.of(village, ["ppo", *["basic"] * 4], seed), [policy, *others])
        assert record.reason == "rules"
        *_, (state, _) = replay(record)
        assert not state["faults"][0]
        roles.add(layout.ROLES[int(state["role"][0]) - 1])
    assert roles == {"VILLAGER", "SEER", "POSSESSED", "WEREWOLF"}
    with pytest.raises(AsobibaError, match="was trained on"):
        policy.begin(declared.ruleset(), (0,), (0,))


def test_a_learner_is_shown_the_decisions_of_all_who_act_at_once():
    pytest.importorskip("sb3_contrib")
    from asobiba.api.seating import Seating
    from asobiba.learn.imitation import demonstrate

    village, games = game("werewolf").ruleset(players=5, seats=5, rules="0.6"), 20
    seating = Seating(village, games, opponent="basic", seat=None, autoreset="disabled", threads=1)
    shown = demonstrate(seating, 3, 1.0)
    assert shown.masks[np.arange(len(shown.actions)), shown.actions].all()
    channels = village.channels(shown.observations)
    assert not channels["phase"][:, layout.WAIT].any()  # nobody is shown who was not asked
    # Every ballot of the records was somebody's decision, seen from his own seat.
    voting = channels["phase"][:, layout.VOTE] != 0
    assert voting.sum() == (seating.states["votes"] != 0).sum()
    target = (shown.actions - layout.BLOCKS) % SEATS
    assert not channels["seat"][np.flatnonzero(voting), target[voting]].any()
    night = channels["phase"][:, layout.NIGHT] != 0
    first = night & (channels["time"][:, 0] == 0)
    assert first.sum() == games  # the seer's divination of day 0
    assert set(np.unique(shown.values)) == {-1.0, 1.0}
    assert shown.values[first].tolist() == [
        float(s["win_reward"][np.flatnonzero(s["role"] == layout.SEER)[0]]) for s in seating.states
    ]
