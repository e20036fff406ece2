"""Curling's learned evaluation: its inputs beside a plain recount, its network beside PyTorch's, ends beside what it foretold."""

from __future__ import annotations

import numpy as np
import pytest

from asobiba.baselines.curling import evaluation as e
from asobiba.baselines.curling.jiritsu import JiritsuLearned
from asobiba.baselines.curling.learning import examples, learn, play
from asobiba.baselines.curling.masks import PATHS, load, longest_run, mask_at
from asobiba.baselines.curling.matches import play_match
from asobiba.core import GameParameterError, compiled, game
from asobiba.envs.curling.win_table import LEAD

SIMULATORS = ("cs2", "fcv1")
VALUES = np.linspace(0.0, 1.0, 17) ** 2


@compiled()
def describe_all(params, stones, in_play, shots, values, masks, scratch, out):
    for n in range(shots.shape[0]):
        e.describe(params[0], stones[n], in_play[n], shots[n], values, masks, scratch)
        for k in range(out.shape[1]):
            out[n, k] = scratch.numbers[k]


@compiled()
def foretell_all(params, stones, in_play, shots, values, masks, net, scratch, chances, worths):
    for n in range(shots.shape[0]):
        worths[n] = e.foretell(params[0], stones[n], in_play[n], shots[n], values, masks, net, scratch, chances[n])


def drawn(count=60):
    """Positions with up to 15 stones, anywhere from the hog line to the back."""
    generator = np.random.default_rng(3)
    stones, in_play = np.zeros((count, 16, 2)), np.zeros((count, 16), np.uint8)
    shots = generator.integers(-1, 15, count)
    for n in range(count):
        for k in range(shots[n] + 1):
            if generator.random() < 0.7:
                stones[n, k] = generator.normal(0, 0.8), generator.normal(-0.7, 1.6)
                in_play[n, k] = 1
    return stones, in_play, shots


def recounted(p, stones, in_play, shot, masks):
    """The inputs as their description says."""
    far = np.hypot(stones[:, 0], stones[:, 1])
    order = sorted(np.flatnonzero(in_play), key=lambda k: far[k])
    found = np.zeros(e.INPUTS)
    found[e.SHOT + shot + 1] = 1
    found[e.OBJECTIVE : e.STONE] = VALUES[4:13]
    for n, k in enumerate(order[:8]):
        x, y = stones[k]
        at = e.STONE + 5 * (2 * n + k % 2)
        found[at : at + 5] = 1, x, abs(x), y / 2, min(far[k], 4)
        if n < 4:
            at = e.MASK + 3 * (2 * n + k % 2)
            runs = np.full((2, 2), (1 << PATHS) - 1)
            for j in order:
                if j != k:
                    dx, dy = stones[j] - stones[k]
                    for turn in range(2):
                        side, table = (0, masks[0]) if dy < 0 else (1, masks[1])
                        runs[side, turn] &= mask_at.py_func(table, dx, abs(dy), turn)
            open_paths = [longest_run.py_func(int(bits)) for bits in (*runs[0], runs[1, 0] & runs[1, 1])]
            found[at : at + 3] = 1 - np.array(open_paths) / PATHS
    guards = [k for k in order if far[k] >= p["score"] and stones[k, 1] < 0]
    for n, k in enumerate(sorted(guards, key=lambda k: abs(stones[k, 0]))[:4]):
        at = e.GUARD + 3 * (2 * n + k % 2)
        found[at : at + 3] = 1, stones[k, 0], stones[k, 1] / 2
    nearest = [min([far[k] for k in order if k % 2 == side], default=9.0) for side in (0, 1)]
    points = 0
    if min(nearest) < p["score"]:
        best = int(nearest[1] < nearest[0])
        reach = min(p["score"], nearest[1 - best])
        points = (1 - 2 * best) * sum(far[k] < reach for k in order if k % 2 == best)
    found[e.SCORE + 8 + points] = 1
    for k in order:
        at = e.COUNTS + 3 * (k % 2)
        found[at] += 0.25
        found[at + 1] += 0.25 * (far[k] < p["score"])
        found[at + 2] += 0.25 * (k in guards)
    return found


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_inputs_are_what_a_recount_of_the_stones_gives(simulator):
    ruleset, masks = game("curling").ruleset(simulator=simulator), load(simulator)
    stones, in_play, shots = drawn()
    found = np.zeros((len(shots), e.INPUTS))
    describe_all(ruleset.params, stones, in_play, shots, VALUES, masks, e.new_net_scratch(), found)
    for n in range(len(shots)):
        wanted = recounted(ruleset.params[0], stones[n], in_play[n], int(shots[n]), masks)
        assert np.abs(found[n] - wanted).max() < 1e-6
    assert (np.ptp(found, axis=0) > 0).mean() > 0.6  # the rest are scores and objectives


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_network_gives_what_pytorch_gives(simulator):
    torch = pytest.importorskip("torch")
    ruleset, masks, net = game("curling").ruleset(simulator=simulator), load(simulator), e.published(simulator)
    weights = {name: torch.tensor(value) for name, value in np.load(e.FOLDER / simulator / "evaluation.npz").items()}
    stones, in_play, shots = drawn()
    inputs, chances = np.zeros((len(shots), e.INPUTS), np.float32), np.zeros((len(shots), 17))
    worths, scratch = np.zeros(len(shots)), e.new_net_scratch()
    describe_all(ruleset.params, stones, in_play, shots, VALUES, masks, scratch, inputs)
    foretell_all(ruleset.params, stones, in_play, shots, VALUES, masks, net, scratch, chances, worths)
    units = torch.from_numpy(inputs)
    for name in ("first", "second", "last"):
        units = torch.nn.functional.linear(units, weights[name], weights[f"{name}_bias"])
        units = units if name == "last" else torch.relu(units)
    wanted = torch.softmax(units.double(), 1).numpy()
    assert np.abs(chances - wanted).max() < 1e-4
    assert np.abs(worths - wanted @ VALUES).max() < 1e-4
    assert np.ptp(worths) > 0.1


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ends_go_as_the_evaluation_foretells(simulator):
    """Ends that it was not taught by, played by its own search: its forecast beats the frequencies of the scores."""
    with np.load(e.FOLDER / simulator / "evaluation.npz") as saved:
        weights = dict(saved)
    parameters = {"simulator": simulator}
    ruleset, net = game("curling").ruleset(**parameters), e.net_of(weights)
    ends = play(parameters, weights, 6, 99, 0)
    inputs, _, number = examples(ruleset, [ends])
    scores = ends.told[:, -1].argmax(1)  # before the last shot: what the search saw, and how it went
    first = inputs[:, e.SHOT : e.OBJECTIVE].argmax(1) - 1
    chances = np.array([forward(net, row) for row in inputs])
    happened = scores[number]
    frequencies = np.bincount(scores, minlength=17) + 0.1
    plain = -np.log((frequencies / frequencies.sum())[happened]).mean()
    told = -np.log(np.maximum(chances[np.arange(len(happened)), happened], 1e-9))
    assert told.mean() < plain - 0.1
    assert told[first >= 13].mean() < told[first <= 6].mean()  # later it knows better
    points = np.arange(-8, 9)
    assert abs((chances @ points).mean() - (happened - 8).mean()) < 0.4


def forward(net, row):
    scratch, out = e.new_net_scratch(), np.zeros(17)
    scratch.numbers[: e.INPUTS] = row
    through(net, scratch)
    out[:] = scratch.numbers[-17:]
    out = np.exp(out - out.max())
    return out / out.sum()


@compiled()
def through(net, scratch):
    e.forward(net.layers, net.weights, scratch.numbers, scratch.active)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_win_table_is_that_of_curling(simulator):
    """Who leads is better off, who throws first in a tied last end is not."""
    ruleset = game("curling").ruleset(simulator=simulator)
    table = e.win_table_of(ruleset.params, load(simulator), e.published(simulator), 10, extra=True)
    assert ((table >= 0) & (table <= 1)).all()
    near = table[:, LEAD - 3 : LEAD + 4]
    assert (np.diff(near, axis=1) > -0.02).all()
    assert 0.05 < table[0, LEAD] < 0.45
    assert 0.1 < table[1, LEAD] < 0.5


def test_it_plays_better_than_simple_players():
    ruleset = game("curling").ruleset(ends=2)
    assert play_match(ruleset, "jiritsu_learned:grid=4", "rule_based", 8).rate > 0.6


def test_weights_follow_from_the_seed_alone(tmp_path):
    """By one process, by two, and by a run that stopped after its first generation: the same bytes."""
    settings = {"ends": 100, "grid": 12, "epochs": 2, "seed": 5}
    parameters = {"ends": 2}
    one = learn(parameters, tmp_path / "one", generations=2, workers=1, **settings)
    two = learn(parameters, tmp_path / "two", generations=2, workers=2, **settings)
    learn(parameters, tmp_path / "stopped", generations=1, workers=1, **settings)
    resumed = learn(parameters, tmp_path / "stopped", generations=2, workers=1, **settings)
    found = [dict(np.load(tmp_path / name / "evaluation.npz")) for name in ("one", "two", "stopped")]
    for other in found[1:]:
        assert found[0].keys() == other.keys()
        assert all((found[0][name] == other[name]).all() for name in other)
    assert one["loss"] == two["loss"] == resumed["loss"]
    with pytest.raises(GameParameterError, match=r"other settings \(seed\)"):
        learn(parameters, tmp_path / "one", generations=2, workers=1, **{**settings, "seed": 6})
    assert one["ends"] == 300
    assert one["loss"]["tested"] < np.log(17)
    player = JiritsuLearned(1, 8, 8, e.net_of(found[0]))
    player.begin(game("curling").ruleset(**parameters), (0,), (0,))
    assert ((player.own >= 0) & (player.own <= 1)).all()


def test_learning_may_begin_with_weights_of_another_simulator(tmp_path):
    start = e.FOLDER / "cs2" / "evaluation.npz"
    settings = {"generations": 1, "ends": 100, "grid": 8, "epochs": 1, "seed": 1, "workers": 1}
    begun = learn({"simulator": "fcv1"}, tmp_path / "begun", start=start, **settings)
    fresh = learn({"simulator": "fcv1"}, tmp_path / "fresh", **settings)
    assert begun["loss"]["tested"] < fresh["loss"]["tested"]
