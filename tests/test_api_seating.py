"""One seating for all: who sits where, who acts, what comes in from outside."""

from __future__ import annotations

import copy

import cloudpickle
import numpy as np
import pytest

from asobiba.api import AEC, Batch, SB3VecEnv, SeatEnv, Seating, VectorEnv
from asobiba.arena.match import Match
from asobiba.arena.playing import play_lockstep, play_match, plays_in_lockstep
from asobiba.arena.replay import check_record
from asobiba.core import (
    Agent,
    GameParameterError,
    IllegalAction,
    KernelAgent,
    StateBytesError,
    game,
    kernel,
    make_agent,
    registry,
    states,
)
from asobiba.core.agents import agent_declarations
from asobiba.core.record import culprit

VILLAGE = game("toy_village").ruleset()
SMALL = game("toy_village").ruleset(players=3)
NIM = game("toy_nim").ruleset()
PUSH = game("toy_push").ruleset()


class First(Agent):
    """Plays the first legal action."""

    name = "first"

    def reset(self, ruleset, seat, seed):
        self.seat = seat

    def act(self, view, legal):
        assert int(view["to_move"]) == self.seat
        return int(np.flatnonzero(legal)[0])


class Rogue(First):
    """Answers what is not an action."""

    def act(self, view, legal):
        return 99


@kernel
def nobody_policy(view, p, legal, memory):
    return 99


def play(env, seed):
    """Returns, seats and observations of three episodes of first legal actions."""
    found = []
    for episode in range(3):
        observation, info = env.reset(seed=seed + episode)
        over = False
        while not over:
            action = np.flatnonzero(info["action_mask"])[0] if "action_mask" in info else np.zeros(1, np.float32)
            observation, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
            found.append((reward, env.learner, observation.tobytes()))
    return found


def test_each_seat_may_have_its_own_opponent():
    by_name = SeatEnv(NIM, opponent={"second": "bouton"}, seat="first")
    in_order = SeatEnv(NIM, opponent=(None, "bouton"), seat="first")
    for_all = SeatEnv(NIM, opponent="bouton", seat="first")
    assert by_name._batch.compiled
    assert play(by_name, 1) == play(in_order, 1) == play(for_all, 1)
    mixed = SeatEnv(NIM, opponent={"first": "random", "second": "bouton"}, seat="random")
    assert mixed._batch.compiled
    assert {agent.name for agent in mixed.opponents} == {"random", "bouton"}
    assert {seat for _, seat, _ in play(mixed, 1)} == {0, 1}


@pytest.mark.parametrize(
    ("opponent", "seat", "message"),
    [
        ({"second": "bouton"}, "random", "nobody plays first"),
        (("bouton",), "first", "2 seats"),
        ({"third": "bouton"}, "first", "no seat 'third'"),
    ],
)
def test_opponents_that_do_not_fit_the_seats_are_refused(opponent, seat, message):
    with pytest.raises(GameParameterError, match=message):
        SeatEnv(NIM, opponent=opponent, seat=seat)


@pytest.mark.parametrize("ruleset", [VILLAGE, SMALL, PUSH], ids=["village", "three players", "push"])
def test_joint_games_go_the_same_way_compiled_or_not(ruleset):
    class InPython(Agent):
        def __init__(self):
            self.inner = make_agent(ruleset.game, "random")

        def reset(self, ruleset, seat, seed):
            self.inner.begin(ruleset, (seat,), (seed,))

        def act(self, view, legal):
            return self.inner.act(view, legal)

    compiled, python = SeatEnv(ruleset, opponent="random"), SeatEnv(ruleset, opponent=InPython())
    assert compiled._batch.compiled
    assert not python._batch.compiled
    assert play(compiled, 5) == play(python, 5)


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_more_compiled_agents_than_one_loop_takes_play_as_few_do(autoreset):
    ruleset = game("toy_nim").ruleset(players=6)
    few = Seating(ruleset, 5, opponent="random", autoreset=autoreset)
    many = Seating(
        ruleset, 5, opponent=tuple(make_agent(ruleset.game, "random") for _ in range(6)), autoreset=autoreset
    )
    assert few.compiled
    assert not many.compiled
    for games in (few, many):
        games.reset(seed=3)
    for _ in range(16):
        actions = few.learner_masks.argmax(1)
        assert (few.step(actions) == many.step(actions)).all()
        for name in ("states", "rewards", "gains", "terminated", "reasons", "learner_masks"):
            assert getattr(few, name).tobytes() == getattr(many, name).tobytes(), name


def test_only_those_who_act_are_asked_and_the_dead_are_gone():
    env = AEC(VILLAGE)
    for seed in range(20):
        env.reset(seed=seed)
        while env.agents:
            observation, _, terminated, truncated, _ = env.last()
            seat = env._seats[env.agent_selection]
            if terminated or truncated:
                env.step(None)
                continue
            assert env.record["acting"][seat]
            assert not env.record["left"][seat]
            env.step(int(np.flatnonzero(observation["action_mask"])[0]))
    assert env.record["terminated"]


def test_a_learner_that_leaves_gets_what_its_team_gets():
    env = SeatEnv(VILLAGE, opponent="random")
    died = 0
    for seed in range(60):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, reward, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        died += bool(env.record["left"][env.learner])
        assert reward == env.record["rewards"][env.learner] != 0
    assert died > 10


def test_a_seating_without_learners_plays_like_single_matches():
    for ruleset in (VILLAGE, PUSH, NIM):
        seats = ["random"] * ruleset.num_players
        matches = [Match.of(ruleset, seats, seed) for seed in range(12)]
        agents = [make_agent(ruleset.game, "random") for _ in seats]
        assert plays_in_lockstep(ruleset, agents)
        together = {r.match.seed: r for some in play_lockstep(matches, agents) for r in some}
        for match in matches:
            alone = play_match(match, [make_agent(ruleset.game, "random") for _ in seats])
            assert alone.same_play(together[match.seed])
            check_record(alone)


def test_illegal_answers_are_replaced_where_the_game_says_so():
    match = Match.of(VILLAGE, ["rogue", "first", "first", "first"], 3)
    record = play_match(match, [Rogue(), First(), First(), First()])
    assert record.reason == "rules"
    assert record.culprit is None
    assert record.detail == "villager0: 1 action replaced"
    check_record(record)


def test_who_is_replaced_for_good_is_not_asked_in_lockstep_either():
    def agents():
        return [KernelAgent(nobody_policy), *(make_agent(VILLAGE.game, "random") for _ in range(3))]

    matches = [Match.of(VILLAGE, ["nobody", "random", "random", "random"], seed) for seed in range(12)]
    together = {r.match.seed: r for some in play_lockstep(matches, agents()) for r in some}
    alone = [play_match(match, agents()) for match in matches]
    assert all(record.same_play(together[record.match.seed]) for record in alone)
    assert {record.decisions[0] for record in alone} == {1}
    assert max(record.moves for record in alone) > 1  # it would have acted again


def test_a_crash_whose_action_is_replaced_stands_in_the_record():
    class Crashes(First):
        def act(self, view, legal):
            raise ValueError("no idea")

    match = Match.of(VILLAGE, ["crashes", "first", "first", "first"], 3)
    record = play_match(match, [Crashes(), First(), First(), First()])
    assert (record.reason, record.culprit) == ("rules", None)
    assert record.detail == "villager0: 1 action replaced (crash: ValueError: no idea)"


def test_the_culprit_stands_in_the_final_state():
    state = states.new_state(PUSH, 1)
    after = states.step(PUSH, state, [[0.0], [np.nan]], strict=False)
    assert culprit(after) == 1
    assert after["rewards"].tolist() == [1.0, -1.0]
    match = Match.of(PUSH, ["first", "bad"], 1)

    class Still(Agent):
        def reset(self, ruleset, seat, seed):
            self.value = 0.0 if seat == 0 else np.nan

        def act(self, view, legal):
            return np.array([self.value], np.float32)

    assert play_match(match, [Still(), Still()]).culprit == 1


@pytest.mark.parametrize("seat", [-1, 2, 100, 10**7, "first", True])
def test_seats_out_of_range_are_refused(seat):
    state = states.new_state(NIM, 0)
    for ask in (states.observation, states.view_of, lambda r, s, k: states.resample(r, s, k, 1)):
        with pytest.raises(GameParameterError, match="seats are 0 to 1"):
            ask(NIM, state, seat)


def test_records_that_the_rules_cannot_produce_are_refused_at_every_door():
    bad = states.new_state(NIM, 0)
    bad["heaps"][0] = 100
    data = states.state_bytes(NIM, bad)
    doors = [
        lambda: states.from_bytes(NIM, data),
        lambda: Batch(NIM, 3).set_states(np.repeat(bad, 3)),
        lambda: Seating(NIM, 3).set_states(bad),
        lambda: SeatEnv(NIM).set_state(bad),
        lambda: AEC(NIM).set_state(bad),
        lambda: AEC(NIM).load_bytes(data),
    ]
    for door in doors:
        with pytest.raises(StateBytesError, match="not a state of"):
            door()
    header = states.new_state(NIM, 0)
    for field, value in (("to_move", 7), ("terminated", 9), ("end_reason", 200), ("steps", -4)):
        wrong = header.copy()
        wrong[field] = value
        with pytest.raises(StateBytesError, match="not a state of"):
            SeatEnv(NIM).set_state(wrong)


@pytest.mark.parametrize("opponent", ["bouton", First(), ("bouton", "random"), {"first": "bouton"}])
@pytest.mark.parametrize("seat", ["first", "second", "random"])
def test_a_state_that_is_put_into_a_game_finds_everybody_at_a_seat(opponent, seat):
    start = states.new_state(NIM, 0)
    for to_move, state in enumerate((start, states.step(NIM, start, 0))):
        leaves = seat != "random" and seat != NIM.players[to_move]
        try:
            env = SeatEnv(NIM, opponent=opponent, seat=seat)
        except GameParameterError:
            assert isinstance(opponent, dict)
            continue
        if leaves and isinstance(opponent, (tuple, dict)):
            with pytest.raises(GameParameterError, match="nobody plays"):
                env.set_state(state)
            continue
        env.set_state(state)
        assert env.learner == to_move
        over = False
        while not over:
            _, _, over, _, info = env.step(int(np.flatnonzero(env.action_masks())[0]))
        assert info["end_reason"] == "rules"


def test_a_learner_who_does_not_act_in_a_state_takes_the_seat_of_one_who_does():
    env, aec, others = SeatEnv(VILLAGE, seat=0), AEC(VILLAGE), AEC(VILLAGE)
    nights = 0
    for seed in range(12):
        aec.reset(seed=seed)
        while aec.agents:
            if aec.terminations[aec.agent_selection]:
                aec.step(None)
                continue
            env.set_state(aec.record)
            assert env.action_masks().any()
            nights += env.learner != 0
            others.set_state(aec.record)
            assert others.agents == [f"player_{k}" for k in range(4) if not aec.record["left"][k]]
            assert others.agent_selection in others.agents
            aec.step(int(np.flatnonzero(aec.observe(aec.agent_selection)["action_mask"])[0]))
    assert nights > 0


def test_seats_of_many_states_are_checked():
    records = np.repeat(states.new_state(NIM, 0), 5)
    for seats, error in (([0, 1, 0, 1, 2], "no seat 2"), ([0, 1], "array of 5"), ([0.0] * 5, "array of 5")):
        with pytest.raises(GameParameterError, match=error):
            states.views_of(NIM, records, np.array(seats))
    with pytest.raises(StateBytesError, match="not states of"):
        states.views_of(VILLAGE, records, np.zeros(5, int))
    with pytest.raises(GameParameterError, match="no seat 7"):
        make_agent(NIM.game, "random").begin(NIM, (7,), (1,))


@pytest.mark.parametrize("ruleset", [NIM, VILLAGE], ids=["one at a time", "together"])
@pytest.mark.parametrize("action", [1.5, 2**70, np.nan, np.inf, "1", None, [1, 2], 1j])
def test_what_is_no_whole_number_is_no_discrete_action(ruleset, action):
    seat, aec = SeatEnv(ruleset), AEC(ruleset)
    joint = [action] * ruleset.seats if ruleset.simultaneous else action
    for env in (seat, aec):
        env.reset(seed=1)
    doors = [
        lambda: seat.step(action),
        lambda: aec.step(action),
        lambda: states.step(ruleset, states.new_state(ruleset, 1), joint, strict=False),
    ]
    for door in doors:
        with pytest.raises(IllegalAction):
            door()


def test_environments_have_a_learner():
    for build in (SeatEnv, VectorEnv, SB3VecEnv):
        with pytest.raises(GameParameterError, match="no seat None"):
            build(NIM, seat=None)


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, True])
def test_numbers_of_games_and_threads_are_whole(value):
    for build in (Batch, Seating):
        with pytest.raises(GameParameterError, match="num_envs must be a whole number"):
            build(NIM, value)
    if value is not None:
        with pytest.raises(GameParameterError, match="threads must be a whole number"):
            Batch(NIM, 2, threads=value)


def test_one_state_for_many_games_must_be_one_of_each_games_parameters():
    small = NIM.params.copy()
    small["largest"] = 1
    params = np.concatenate([NIM.params, small])
    with pytest.raises(StateBytesError, match="record 1 of 2"):
        Batch(NIM, 2, params=params).set_states(states.new_state(NIM, 0))


def test_arrays_of_the_wrong_form_are_refused():
    batch = Batch(NIM, 4)
    with pytest.raises(GameParameterError, match=r"select must be a \(4,\) array"):
        batch.reset(select=np.ones(3, bool))
    with pytest.raises(GameParameterError, match="4 games"):
        batch.set_states(np.repeat(states.new_state(NIM, 0), 3))
    with pytest.raises(StateBytesError, match="dtype"):
        batch.set_states(np.zeros(4))


def test_continuous_actions_are_drawn_by_each_game():
    many, few = Batch(PUSH, 5), Batch(PUSH, 2)
    many.reset(seed=3)
    few.reset(seed=3)
    for _ in range(4):
        drawn = many.sample_actions().copy()
        assert (np.abs(drawn) <= 1).all()
        assert (few.sample_actions() == drawn[:2]).all()


def test_seatings_are_the_same_on_any_number_of_threads():
    alone, shared = Seating(NIM, 21, threads=1), Seating(NIM, 21, threads=2)
    for games in (alone, shared):
        games.reset(seed=5)
    for _ in range(12):
        actions = alone.sample_actions().copy()
        assert (actions == shared.sample_actions()).all()
        assert (alone.step(actions) == shared.step(actions)).all()
        assert alone.states.tobytes() == shared.states.tobytes()


class _Thinker(Agent):
    """Plays by what its searcher, which no copy holds, makes of the seed of the game."""

    name = "thinker"

    def __init__(self):
        self.searcher = None

    def reset(self, ruleset, seat, seed):
        self.searcher = np.random.default_rng(seed % 2**32).permutation(ruleset.num_actions)

    def act(self, view, legal):
        return next(int(a) for a in self.searcher if legal[a])

    def __getstate__(self):
        return {"searcher": None}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: cloudpickle.loads(cloudpickle.dumps(env))])
def test_a_copy_goes_on_with_agents_that_cannot_be_copied_whole(copied):
    seating = Seating(game("bao").ruleset(), 3, opponent=_Thinker(), seat="first", autoreset="same_step")
    seating.reset(5)
    for _ in range(4):
        seating.step(seating.masks.argmax(1))
    twin = copied(seating)
    for _ in range(30):
        actions = seating.masks.argmax(1)
        seating.step(actions)
        twin.step(actions)
        assert (seating.states == twin.states).all()


@pytest.mark.parametrize("name", [name for name in registry.game_names() if not name.startswith("toy_")])
def test_every_agent_can_sit_in_many_games_at_once(name):
    """A seating copies agents that answer one at a time."""
    declared = agent_declarations(game(name))
    assert all(copy.deepcopy(make_agent(game(name), agent)).name for agent in declared)
