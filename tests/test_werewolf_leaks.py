"""Knowledge that a player of werewolf could gain from outside his view: who is selected when, how long a game takes, what is masked.

Two games of the same deal, seed and public conduct differ only in what happens in secret: how often the wolf whispers,
whom the seer looks at. Nobody else may notice.
"""

import numpy as np
import pytest

from asobiba import game
from asobiba.core import states
from asobiba.envs import werewolf
from asobiba.envs.werewolf import layout

DEAL = "vvspw"
OUTSIDERS, SEER, WOLF = (0, 1, 3), 2, 4
PARAMETERS = {"players": 5, "seats": 5, "deal": DEAL}


class Conduct:
    """The play of all players: in public at random, by the number of his own public decisions, or so `quiet`ly that nothing is
    drawn by lot; in secret as told."""

    def __init__(self, whispers, look, quiet=False):
        self.whispers, self.look, self.quiet = whispers, look, quiet
        self.public = [np.random.default_rng([7, seat]) for seat in range(5)]
        self.whispered = 0

    def __call__(self, seat, phase, legal):
        if phase == layout.WHISPER:
            self.whispered += 1
            return 0 if self.whispered % (self.whispers + 1) == 0 else 1
        if phase == layout.NIGHT:
            targets = [int(action) for action in legal if action > 1]
            return targets[self.look % len(targets)] if seat == SEER else targets[0]
        if phase == layout.TALK and (self.quiet or self.public[seat].random() < 0.5):
            return 0
        if self.quiet:
            return int(legal[0])
        return int(self.public[seat].choice(legal))


SECRETS = [(0, 0), (3, 1), (8, 2)]


def squeezed(found):
    """Without what repeats the entry before it."""
    return [value for k, value in enumerate(found) if k == 0 or value != found[k - 1]]


def play_pettingzoo(whispers, look, seed):
    """Of every seat: what it met whenever it was selected, and what it could have observed at any time before the end."""
    env = werewolf.raw_env(**PARAMETERS)
    env.reset(seed=seed)
    conduct = Conduct(whispers, look)
    met, seen = ([[] for _ in range(5)] for _ in range(2))
    channels = env.unwrapped.ruleset.channels
    for agent in env.agent_iter():
        observation, reward, over, _, info = env.last()
        seat = env.possible_agents.index(agent)
        if over:
            env.step(None)
            continue
        legal = np.flatnonzero(observation["action_mask"])
        phase = int(channels(observation["observation"])["phase"].argmax())
        met[seat].append(
            (observation["observation"].tobytes(), observation["action_mask"].tobytes(), reward, str(info))
        )
        for k, other in enumerate(env.possible_agents):
            now = env.observe(other)
            if k != seat:
                seen[k].append((now["observation"].tobytes(), now["action_mask"].tobytes()))
        env.step(conduct(seat, phase, legal))
    return met, [squeezed(found) for found in seen]


@pytest.mark.parametrize("seed", range(3))
def test_pettingzoo_tells_the_others_nothing_of_whispers_and_nights(seed):
    first, *others = (play_pettingzoo(*secret, seed) for secret in SECRETS)
    for met, seen in others:
        for seat in OUTSIDERS:
            assert met[seat] == first[0][seat]
            assert [value[0] for value in seen[seat]] == [value[0] for value in first[1][seat]]
        assert met[WOLF] != first[0][WOLF]
        assert met[SEER] != first[0][SEER]
        assert len(met[SEER]) == len(first[0][SEER])
    assert min(len(first[0][seat]) for seat in OUTSIDERS) > 5


def test_who_is_selected_later_in_a_step_does_not_see_what_the_first_did():
    env = werewolf.raw_env(**PARAMETERS)
    for said in (0, 2, 40):
        env.reset(seed=1)
        agent = env.agent_selection
        before = env.observe("player_3")["observation"].tobytes()
        env.step(said)
        assert env.agent_selection != agent
        assert env.observe("player_3")["observation"].tobytes() == before


def play_openspiel(pyspiel, name, whispers, look, outcome):
    """Of every seat: its information states until the end, without repetitions, and the tensor of the first vote."""
    spiel = pyspiel.load_game(name, {**PARAMETERS, "horizon": 200})
    state, conduct = spiel.new_initial_state(), Conduct(whispers, look, quiet=True)
    known, tensors = [[] for _ in range(5)], None
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(outcome)
            continue
        for seat in range(5):
            known[seat].append(state.information_state_string(seat))
        record = state.record
        if tensors is None and int(record["phase"]) == layout.VOTE:
            tensors = [list(state.information_state_tensor(seat)) for seat in OUTSIDERS]
        actions = [0] * 5
        for seat in range(5):
            if legal := state.legal_actions(seat):
                actions[seat] = conduct(seat, int(record["phase"]), legal)
        acting = [seat for seat in range(5) if record["acting"][seat]]
        if len(acting) == 1:
            state.apply_action(actions[acting[0]])
        else:
            state.apply_actions(actions)
    return [squeezed(found) for found in known], tensors


def test_openspiels_information_states_tell_nothing_either():
    # A chance node draws anew at each step, so that lots would fall otherwise after more whispers.
    pyspiel = pytest.importorskip("pyspiel")
    from asobiba.api import openspiel

    (name,) = openspiel.register(game("werewolf"))
    (known, tensors), *others = (play_openspiel(pyspiel, name, *secret, 3) for secret in SECRETS[:2])
    assert tensors is not None
    for again, again_tensors in others:
        for seat in OUTSIDERS:
            assert again[seat] == known[seat]
        assert again_tensors == tensors
        assert again[WOLF] != known[WOLF]


def test_a_view_of_the_night_is_the_same_whoever_acts_and_however_often():
    ruleset = game("werewolf").ruleset(players=5, seats=5, rules="0.6")
    waiting = {}
    for deal in ("vvspw", "vvwps", "vvpsw"):
        state = states.new_state(ruleset, 0)
        state["role"] = ["?vsmbpw".index(letter) for letter in deal]
        state["team"] = [letter in "pw" for letter in deal]
        state["phase"], state["acting"] = layout.NIGHT, [letter in "sw" for letter in deal]
        waiting[deal] = states.view_of(ruleset, state, 0).tobytes()
    assert len(set(waiting.values())) == 1
