"""The players of digital curling: their formulas against hand-worked values, their tables, and their strength."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from curling_tools import position

from asobiba.arena.evaluation import evaluate
from asobiba.baselines.curling import (
    halving,
    imitation,
    masks,
    opening,
    plans,
    self_play,
    tree,
    tuning,
)
from asobiba.baselines.curling.candidates import ALL_KINDS, KINDS, MOST, PRINCIPAL
from asobiba.baselines.curling.jiritsu import Jiritsu
from asobiba.baselines.curling.matches import over_single_ends, play_game, play_match
from asobiba.baselines.curling.player import Clock, FewSimulations, end_values, free_stop, to_action
from asobiba.baselines.curling.playout import playout_shot
from asobiba.baselines.curling.regression import ROOT, ManyCandidates
from asobiba.core import AsobibaError, GameParameterError, compiled, game, make_agent
from asobiba.core.random import seed_record
from asobiba.core.record import SAMPLER
from asobiba.core.states import step
from asobiba.envs.curling.simulate import Shot, simulate
from asobiba.envs.curling.win_table import LEAD, win_table

pytestmark = pytest.mark.filterwarnings("ignore::asobiba.baselines.curling.player.FewSimulations")
RULES = game("curling").ruleset()


def test_an_ends_scores_are_worth_what_the_win_table_says():
    view = position({}, 0, end=9, total=(3, 3))
    values = end_values(RULES, view)
    assert values.tolist() == [0.0] * 8 + [0.5] + [1.0] * 8
    view = position({}, 0, end=8, total=(3, 4))
    table = win_table(10)
    values = end_values(RULES, view)
    assert values[9] == pytest.approx(table[1, LEAD])  # one point ties, and its scorer throws first
    assert values[7] == pytest.approx(1 - table[1, LEAD + 2])
    assert (np.diff(values) >= -1e-12).all() or values[8] < values[7]


def test_free_stops_and_actions_are_inverse():
    for simulator in ("cs2", "fcv1"):
        for actions in ("velocity", "target"):
            ruleset = game("curling").ruleset(simulator=simulator, actions=actions, noise="none")
            for x, y, spin in ((0.0, 0.0, 1), (-1.2, -3.0, -1), (0.7, 1.1, 1)):
                shot = Shot.draw(ruleset, x, y, spin)
                assert free_stop(ruleset, shot.vx, shot.vy, spin) == pytest.approx((x, y), abs=1e-6)
                action = to_action(ruleset, shot.vx, shot.vy, spin)
                vx, vy, turn = ruleset.game.rules.velocity_of(ruleset.params[0], action.astype(float))
                assert (vx, vy, turn) == pytest.approx((shot.vx, shot.vy, spin), abs=2e-5)


def test_candidates_of_every_kind_do_what_they_are_called():
    lying = {0: (1.2, -3.0), 1: (0.1, 0.2), 2: (0.9, -0.3), 3: (0.5, 0.9), 5: (-0.6, -2.6)}
    view = position(lying, 6)
    shots = np.zeros((MOST, 4))
    kinds = set()
    for kind in range(len(KINDS)):
        count = tree.list_candidates(RULES.params, view["stones"].copy(), view["in_play"].copy(), 6, 1 << kind, shots)
        assert {int(k) for k in shots[:count, 3]} <= {kind, 1}, KINDS[kind]
        if count and int(shots[0, 3]) == kind:
            kinds.add(kind)
            assert np.isfinite(shots[:count]).all()
    assert kinds == set(range(len(KINDS)))
    everything = tree.list_candidates(RULES.params, view["stones"].copy(), view["in_play"].copy(), 6, ALL_KINDS, shots)
    assert 60 <= everything < MOST
    hits = shots[:everything][shots[:everything, 3] == KINDS.index("hit")]
    result = simulate(RULES, view, Shot(hits[0, 0], hits[0, 1], int(hits[0, 2])))
    assert result.in_play[1] == 0 or np.hypot(*(result.stones[1] - lying[1])) > 0.1
    (through,) = shots[:everything][shots[:everything, 3] == KINDS.index("pass")]
    result = simulate(RULES, view, Shot(through[0], through[1], int(through[2])))
    assert (result.stones == view["stones"]).all()


def test_the_table_of_candidates_is_never_full_and_begins_with_one_of_each_kind():
    """All 160 rows of an earlier table were full in every third shot: ring draws and the pass were not there."""
    generator = np.random.default_rng(0)
    worst = 0
    for shot in (1, 6, 15, 15, 15):
        lying = {row: (generator.uniform(-1.8, 1.8), generator.uniform(-5.0, 1.5)) for row in range(shot)}
        view = position(lying, shot)
        args = RULES.params, view["stones"].copy(), view["in_play"].copy(), shot, ALL_KINDS
        table, short = np.zeros((MOST, 4)), np.zeros((24, 4))
        count = tree.list_candidates(*args, table)
        assert len(np.unique(table[:count, :3].round(9), axis=0)) > 0.8 * count
        assert tree.list_candidates(*args, short) == min(count, 24)
        assert (short[: min(count, 24)] == table[:24][: min(count, 24)]).all()
        assert {"draw", "preguard", "pass", "ring draw"} <= {KINDS[int(k)] for k in table[:PRINCIPAL, 3]}
        worst = max(worst, count)
    assert 160 < worst < MOST


def test_halving_finds_the_best_of_many_and_tries_the_first_where_simulations_are_few():
    generator = np.random.default_rng(1)
    worth = np.linspace(0.0, 1.0, 100)[generator.permutation(100)]
    sums, visits = np.zeros(100), np.zeros(100)

    def think(alive, n):
        assert n % len(alive) == 0
        for k in alive:
            visits[k] += n // len(alive)
            sums[k] += generator.normal(worth[k], 0.3, n // len(alive)).sum()

    def means():
        return sums / np.maximum(visits, 1)

    clock = Clock(5000)
    best = halving.halve(100, clock, position({}, 0), think, means, "a")
    assert worth[best] > 0.95
    assert 4000 <= clock.done <= 5000
    sums[:], visits[:] = 0, 0
    with pytest.warns(FewSimulations, match="first 15 candidates"):
        best = halving.halve(100, Clock(60), position({}, 0), think, means, "a")
    assert (visits > 0).sum() == 15 == visits.nonzero()[0].max() + 1
    # All equal: the first of the table.
    assert halving.halve(100, Clock(5000), position({}, 0), lambda alive, n: None, lambda: np.zeros(100), "a") == 0


def test_a_search_by_the_clock_tries_every_candidate():
    """The time is looked at every 200 simulations or so; there are more candidates than that."""
    visits = np.zeros(300)

    def think(alive, n):
        for line in range(n):  # as the search does it
            visits[alive[line % len(alive)]] += 1

    halving.halve(300, Clock(1, seconds=0.5), position({}, 0), think, lambda: np.arange(300.0), "a")
    assert visits.min() > 0
    assert visits[:150].max() == visits[:150].min()  # the worse half: one round


def test_threads_share_the_candidates_and_repeat_their_game():
    view = position({0: (0.3, 0.2), 1: (0.1, -3.0), 3: (-0.5, 0.5)}, 12, end=9)
    chosen = []
    for threads in (1, 2, 2, 3):
        agent = make_agent(game("curling"), f"ayumu:simulations=800,threads={threads}")
        agent.reset(RULES, int(view["to_move"]), 5)
        chosen.append((agent.choose(view), agent.expected.tolist()))
        assert 750 <= agent.clock.lines <= 800
        assert np.isfinite(agent.expected).all()
    assert chosen[1] == chosen[2]
    assert chosen[0][1] != chosen[1][1] != chosen[3][1]  # other generators


@pytest.mark.parametrize("name", ["ayumu", "kr_uct"])
def test_a_search_with_fewer_simulations_than_candidates_does_not_throw_the_first(name):
    """The stone that decides the end lies open: with 100 simulations the tee draw used to be thrown in any position."""
    view = position({0: (1.2, 0.3), 1: (0.9, -3.0), 3: (-0.5, -3.5), 5: (0.0, -4.0), 2: (-1.2, -3.0)}, 15, end=9)
    agent = make_agent(game("curling"), f"{name}:simulations=100")
    chosen = []
    for seed in range(3):
        agent.reset(RULES, int(view["to_move"]), seed)
        chosen.append(agent.choose(view))
    tee = Shot.draw(RULES, 0.0, 0.0, 1)
    assert any(shot != (tee.vx, tee.vy, 1.0) for shot in chosen)


def test_kernel_regression_says_that_it_leaves_candidates_out():
    generator = np.random.default_rng(1626)
    view = position({row: (generator.uniform(-1.8, 1.8), generator.uniform(-5.0, 1.5)) for row in range(15)}, 15)
    shots = np.zeros((MOST, 4))
    count = tree.list_candidates(RULES.params, view["stones"].copy(), view["in_play"].copy(), 15, ALL_KINDS, shots)
    assert count > ROOT
    agent = make_agent(game("curling"), "kr_uct:simulations=1200")
    agent.reset(RULES, int(view["to_move"]), 0)
    with pytest.warns(ManyCandidates, match=f"only the first {ROOT} candidates"):
        agent.choose(view)
    with warnings.catch_warnings():  # no word where there is room for all
        warnings.simplefilter("error", ManyCandidates)
        agent.choose(position({0: (0.0, 0.0)}, 15))


def test_playouts_guard_a_lead_and_hit_what_is_open():
    """After the first side's stone on the tee its own guard follows as a rule, the hammer's answer is a hit."""
    sampler = np.zeros(1, SAMPLER)
    seed_record(sampler[0], 3)
    wants = {14: ({2: (0.0, 0.0)}, (-3.0, -1.0)), 15: ({2: (0.3, 0.1)}, (1.5, 30.0)), 0: ({}, (-3.3, 0.3))}
    for shot, (lying, (low, high)) in wants.items():
        view = position(lying, shot)
        stops = []
        for _ in range(40):
            vx, vy, spin = playout_of(RULES.params, view["stones"].copy(), view["in_play"].copy(), shot, sampler)
            stops.append(free_stop(RULES, vx, vy, spin)[1])
        assert np.mean((np.array(stops) > low) & (np.array(stops) < high)) > 0.5, shot


@compiled()
def playout_of(params, stones, in_play, shot, sampler):
    return playout_shot(params[0], stones, in_play, shot, sampler[0])


def test_plans_follow_the_one_entry_that_the_paper_tells():
    """End 8 of 10, ahead by 2, without the hammer: Force 1, in the second system its aggressive version."""
    plan = plans.plan_of(RULES, position({}, 0, end=7, total=(4, 2)))
    assert plan.version == "force aggressive"
    assert plans.kinds_for(RULES, position({0: (0.0, -3.0)}, 2, end=7, total=(4, 2))) & (
        1 << KINDS.index("come-around")
    )
    for side in ("first", "hammer"):
        for row in plans.tables()[0][side].values():
            assert len(row) == 6


def test_the_book_covers_three_stones_of_both_sides_under_every_plan():
    assert opening.area_of(RULES, 0.0, 0.0) == "MC"
    assert opening.area_of(RULES, -1.2, 1.0) == "BL"
    assert opening.area_of(RULES, 0.0, -3.0) == "GC"
    assert opening.area_of(RULES, 1.9, 1.5) == "OO"
    view = position({0: (0.0, -3.0), 1: (-1.3, -2.9), 2: (0.1, -0.1)}, 4)
    assert opening.key_of(RULES, view) == "MC+ GL- GC+"
    assert opening.mirrored("MC+ GL- GC+") == "MC+ GC+ GR-"
    assert opening.mirrored("guard left") == "guard right"
    shots = 0
    for shot in range(6):
        view = position({}, shot)
        side = plans.FIRST_PLANS if shot % 2 == 0 else plans.HAMMER_PLANS
        for name in side:
            for risk in range(4):
                word = opening.line_of(RULES, view, plans.Plan(name, risk))
                assert word is not None
                shots += opening.shot_of(RULES, view, word) is not None
    assert shots >= 20
    assert opening.line_of(RULES, position({}, 6), plans.Plan("force", 2)) is None
    # The mirror image of a line is played where only that is in the book.
    left = position({0: (0.0, -3.0), 1: (-1.3, -2.9)}, 3)
    right = position({0: (0.0, -3.0), 1: (1.3, -2.9)}, 3)
    for risk in range(4):
        plan = plans.Plan("score3", risk)
        assert opening.mirrored(opening.line_of(RULES, left, plan)) == opening.line_of(RULES, right, plan)
    guarded = position({0: (0.0, -3.0)}, 1)
    assert opening.shot_of(RULES, guarded, "hit GC") is None  # the free guard zone forbids it


def test_take_out_masks_are_those_in_the_file():
    for simulator in ("cs2", "fcv1"):
        front, back = masks.load(simulator)
        assert front.shape == back.shape == (masks.COLUMNS, masks.ROWS, 2)
        assert masks.longest_run(int(front[0, 2, 0])) == masks.PATHS  # far aside: every path is open
        straight = int(front[masks.COLUMNS // 2, 10, 0])
        assert masks.longest_run(straight) < 8  # a metre in front, dead centre
    assert [masks.longest_run(bits) for bits in (0, 0b1, 0b1011, 0b111011)] == [0, 1, 2, 3]


def test_the_completed_win_table_keeps_the_printed_entries():
    table = self_play.complete(np.array(self_play.END_SCORES))
    for lead, row in self_play.PRINTED_FIRST.items():
        assert [round(100 * table[left, LEAD + lead]) for left in (3, 2, 1, 0)] == list(row)
    for lead, row in self_play.PRINTED_HAMMER.items():
        assert [round(100 * (1 - table[left, LEAD - lead])) for left in (3, 2, 1, 0)] == list(row)
    assert (np.diff(table[1:], axis=1) > -0.08).all()
    assert (table[4:, LEAD] < 0.5).all()


@pytest.mark.parametrize("name", ["ayumu", "gccs", "end_plan", "through", "kr_uct"])
def test_searchers_remove_the_stone_that_decides_the_end(name):
    """The last shot, the opponent's stone on the tee, a tied last end: the way to win is to take it out."""
    agent = make_agent(game("curling"), f"{name}:simulations=300")
    view = position({0: (0.0, 0.1), 2: (1.3, 0.9)}, 15, end=9)
    agent.reset(RULES, int(view["to_move"]), 1)
    vx, vy, spin = agent.choose(view)
    scores = [simulate(RULES, view, Shot(vx, vy, int(spin)), seed=k).score for k in range(60)]
    assert np.mean(np.array(scores) < 0) > 0.6  # negative: the side with the hammer scores


def test_jiritsu_removes_the_stone_that_decides_the_end():
    view = position({0: (0.0, 0.1), 2: (1.3, 0.9)}, 15, end=9)
    agent = Jiritsu(1, 1)
    agent.reset(RULES, int(view["to_move"]), 1)
    vx, vy, spin = agent.choose(view)
    scores = [simulate(RULES, view, Shot(vx, vy, int(spin)), seed=k).score for k in range(60)]
    assert np.mean(np.array(scores) < 0) > 0.6
    assert agent.work[0] == 3328


@pytest.mark.parametrize("name", ["jiritsu", "jiritsu:grid=6,stride=6", "jiritsu_depth1:grid=2", "jiritsu_learned"])
def test_jiritsu_keeps_its_stone_on_the_button(name):
    """A tied last end, the own stone alone on the tee, the second-last shot: the stone must stay, for an empty house loses."""
    view = position({0: (0.0, 0.0)}, 14, end=9)
    agent = make_agent(game("curling"), name)
    agent.reset(RULES, int(view["to_move"]), 1)
    vx, vy, spin = agent.choose(view)
    kept = [simulate(RULES, view, Shot(vx, vy, int(spin)), seed=k).in_play[0] for k in range(30)]
    assert np.mean(kept) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jiritsu", "jiritsu_depth1", "jiritsu_learned"])
def test_jiritsu_steals_with_its_stone_on_the_button(name):
    """The same position, played out: after a guard the last stone often fails. rule_based scores in a half of the ends."""
    view, stolen = position({0: (0.0, 0.0)}, 14, end=9), 0
    for seed in range(40):
        shooters = make_agent(game("curling"), name), make_agent(game("curling"), "ayumu:simulations=400")
        state = view
        for shot, agent in enumerate(shooters):
            agent.reset(RULES, int(state["to_move"]), seed)
            vx, vy, spin = agent.choose(state)
            thrown = simulate(RULES, state, Shot(vx, vy, int(spin)), seed=2 * seed + shot)
            state = position({k: xy for k, xy in enumerate(thrown.stones) if thrown.in_play[k]}, 15, end=9)
        stolen += thrown.score > 0  # of the side without the hammer
    assert stolen >= 10, stolen


def test_jiritsu_looks_at_the_replies_to_every_shot():
    agent = Jiritsu(2, 8, 8)
    agent.reset(RULES, 0, 1)
    agent.choose(position({}, 14, end=9))
    cells = 2 * (11 + 7 * 4)
    assert cells < agent.work[0] <= cells + cells * cells
    assert agent.work[0] > 0.4 * cells * cells  # but those that miss everything are looked at once


def test_the_same_seed_plays_the_same_game():
    ruleset = game("curling").ruleset(ends=1)
    played = [
        play_game(
            ruleset,
            [make_agent(ruleset.game, "gccs:simulations=20"), make_agent(ruleset.game, "ayumu:simulations=20")],
            5,
        )
        for _ in range(2)
    ]
    assert played[0].tobytes() == played[1].tobytes()


def test_a_match_counts_both_seats():
    ruleset = game("curling").ruleset(ends=1)
    result = play_match(ruleset, "ayumu:simulations=60", "ayumu:simulations=60", 2)
    assert result.games == 2 == len(result.margins)
    low, high = result.interval()
    assert 0 <= low <= result.rate <= high <= 1


def test_the_searchers_go_by_a_table_of_their_own_ends():
    """The file's last round gives the table; a round counts its ends in the situations that it set up."""
    assert self_play.situation(1, -2) == 0
    assert self_play.situation(1, 0) == 1
    assert self_play.situation(5, 3) == 5
    prior = self_play.table_of(np.zeros((6, 17)))
    assert np.abs(prior[1:] - win_table(10, extra_first=prior[0, LEAD])[1:]).max() < 1e-12
    table = self_play.own_table()
    assert (np.diff(table, axis=1) > -1e-9).all()
    assert 0.1 < table[0, LEAD] < 0.5
    (found,) = tuning.win_table_rounds("rule_based:trials=2", 1, 12, 0, lambda: None)
    counts = np.array(found["counts"])
    assert counts.sum(axis=1).tolist() == [2.0] * 6
    assert 0.0 < found["moved"] < 1.0


def test_the_networks_tell_a_stone_on_the_tee_from_none():
    for kind, features in imitation.FEATURES.items():
        empty, tee = features(position({}, 4)), features(position({1: (0.0, 0.0)}, 4))
        assert np.abs(empty - tee).max() >= 1.0, kind
    lying = {0: (1.0, 0.5), 2: (0.1, 0.0), 1: (-0.4, -3.0)}
    view, mirror = position(lying, 5), position({row: (-x, y) for row, (x, y) in lying.items()}, 5)
    assert (imitation.mirrored(imitation.sorted_features(view)[None])[0] == imitation.sorted_features(mirror)).all()
    assert imitation.published_features(view)[[0, 16]] == pytest.approx([3.375, 4.38])  # cs2's frame
    stones = imitation.sorted_features(view)[:64].reshape(2, 8, 4)
    assert stones[0, 0, :2].tolist() == [-0.4, -3.0]  # who throws the sixth stone threw row 1
    assert stones[1, :2, :2].tolist() == [[0.1, 0.0], [1.0, 0.5]]


def test_a_target_has_the_counter_clockwise_spin_where_either_does_the_same():
    draw = Shot.draw(RULES, 0.4, -0.5, -1)
    hit = Shot.hit(RULES, 0.3, 0.0, -1, 6.0)
    views = np.array([position({}, 4), position({1: (0.3, 0.0)}, 4), *[position({}, 4)] * 2], RULES.dtype)
    hard = Shot.hit(RULES, 2.0, 0.0, -1, 13.0)  # would stop off the sheet
    targets = np.array([[s.vx, s.vy, -1.0] for s in (draw, hit)] + [[0.5, 29.0, 1.0], [hard.vx, hard.vy, -1.0]])
    settled = imitation.with_one_spin(RULES, views, targets)
    assert settled[:, 2].tolist() == [1.0, -1.0, 1.0, -1.0]  # the hit's other spin drives the stone elsewhere
    assert (settled[1:] == targets[1:]).all()
    assert simulate(RULES, views[0], Shot(*settled[0, :2], 1)).stones[4] == pytest.approx((0.4, -0.5), abs=1e-3)


def test_imitation_learns_what_it_is_shown():
    """Shots that depend on the shot's number alone; and two equally good ones, whose mean is none."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    generator = np.random.default_rng(0)
    views = [position({row: (generator.normal(), generator.normal()) for row in range(shot)}, shot) for shot in
             generator.integers(0, 16, 800)]  # fmt: skip
    side = generator.choice([-1.0, 1.0], len(views))
    targets = np.stack([side, 29.0 + np.array([view["shot"] for view in views]) / 8, side], axis=1)
    inputs = {kind: np.array([features(view) for view in views]) for kind, features in imitation.FEATURES.items()}
    weights, errors = imitation.train(inputs["mixture"], targets, "mixture", 150, 0)
    found = imitation.deliveries(weights, "mixture", inputs["mixture"][:50])
    assert np.abs(np.abs(found[:, 0]) - 1).mean() < 0.3
    assert (np.sign(found[:, 0]) == found[:, 2]).mean() > 0.9
    assert errors["forward, m/s"] < 0.3
    curve = []
    weights, errors = imitation.train(inputs["mean"], targets, "mean", 60, 0, curve=curve)
    assert [point["steps"] for point in curve] == list(range(3, 61, 3))
    assert curve[-1]["forward, m/s"] == errors["forward, m/s"] < curve[0]["forward, m/s"]
    assert imitation.passes(10_000, 16_000) == 1_100_000
    assert np.abs(imitation.deliveries(weights, "mean", inputs["mean"][:50])[:, 0]).mean() < 0.5
    assert errors["learned shots"] == 704
    with pytest.raises(AsobibaError, match="train curling-dis"):
        imitation.load("nowhere.npz")


def test_a_clock_shares_the_games_time_out_as_the_program_ayumu_does():
    """438 s, less half a second a shot and four seconds, over 7.5 shots for each end to come and eight of this one."""
    agent = make_agent(RULES.game, "ayumu:clock=true")
    agent.reset(RULES, 0, 1)
    shots = 9 * 7.5 + 8
    assert agent.clock.shot_seconds(position({}, 0)) == pytest.approx((438 - 0.5 * shots - 4) / shots)
    agent.time_left(24.0)  # as a server tells it
    assert agent.clock.shot_seconds(position({}, 1, end=9)) == pytest.approx((24 - 4 - 4) / 8)
    agent.time_left(0.0)
    assert agent.clock.shot_seconds(position({}, 0)) == 10.0
    agent.time_left(2.0)  # too little for its reserve: half of it
    assert agent.clock.shot_seconds(position({}, 0)) == pytest.approx((2 - 1) / shots)
    agent.time_left(-0.2)  # too late: a shot at once, rather than none
    assert agent.clock.shot_seconds(position({}, 0)) == 0.01


def test_wrong_settings_are_refused_by_name():
    for text, words in (
        ("ayumu:simulations=0", "simulations"), ("ayumu:seconds=-1", "seconds"), ("end_plan:shots=17", "shots"),
        ("kr_uct:widening=0", "widening"), ("jiritsu:grid=0", "grid"), ("rule_based:trials=0", "trials"),
    ):  # fmt: skip
        with pytest.raises(GameParameterError, match=words):
            make_agent(game("curling"), text)


def test_the_policy_throws_the_same_shots_in_both_games():
    pytest.importorskip("sb3_contrib")
    discrete = game("curling_discrete").ruleset()
    one, two = make_agent(discrete.game, "ppo"), make_agent(game("curling"), "ppo")
    one.begin(discrete, (1,), (0,))
    two.begin(RULES, (1,), (0,))
    for stones in ({}, {0: (0.0, 0.1)}, {0: (-0.9, 0.3), 2: (0.4, -3.0), 1: (0.3, 0.9)}):
        view = position(stones, 15)
        number = one.act(view.view(discrete.dtype), np.ones(discrete.mask_shape, np.int8))
        vx, vy, spin = discrete.params["shots"][0][number]
        expected = to_action(RULES, vx, vy, spin)
        assert two.act(view, np.ones(RULES.mask_shape, np.int8)).tolist() == expected.tolist()


def test_a_teacher_tells_of_every_shot_what_the_rules_make_of_it():
    """The last shot of a tied game, without noise: what the engine pays for each of the 832 shots."""
    ruleset = game("curling_discrete").ruleset(noise="none", ends=1)
    teacher = make_agent(ruleset.game, "jiritsu_learned")
    teacher.begin(ruleset, (1,), (0,))
    for stones, hammer in (({0: (0.3, 0.4), 1: (-0.5, 0.2), 2: (0.0, -3.0)}, 1), ({1: (0.1, 0.1)}, 0)):
        state = position(stones, 15, hammer=hammer, ruleset=ruleset)
        legal = np.ones(ruleset.mask_shape, np.int8)
        told = teacher.worths(np.array([state], ruleset.dtype), legal[None])[0]
        paid = [step(ruleset, state, action)["rewards"][hammer] for action in range(ruleset.num_actions)]
        assert told == pytest.approx((1.0 + np.array(paid)) / 2.0)
        assert len(set(told.tolist())) > 1


def test_a_policy_learns_what_shots_are_worth(tmp_path):
    """Shown again, the last shots of a few ends: it has learned to throw more than a shot at random is worth."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sb3_contrib")
    from asobiba.api.seating import Seating
    from asobiba.learn.agent import PolicyAgent
    from asobiba.learn.config import ConfigError, load_config
    from asobiba.learn.imitation import demonstrate, imitate
    from asobiba.learn.training import new_model

    discrete = game("curling_discrete")
    ruleset = discrete.ruleset(ends=1)
    config = load_config(
        discrete, opponents=["tee_draw"], num_envs=4, parameters={"ends": 1}, policy_kwargs={"width": 16},
        imitation={"decisions": 64, "epochs": 30, "learning_rate": 1e-2}, learner={"batch_size": 16},
    )  # fmt: skip
    model = new_model(ruleset, config)
    imitate(model, ruleset, config, tmp_path)
    seating = Seating(ruleset, 4, opponent="random", seat=None, autoreset="disabled", threads=1)
    shown = demonstrate(seating, 0, 1.0, teller=make_agent(discrete, "jiritsu_learned"))
    assert (shown.actions == shown.worths.argmax(1)).all()
    logits = PolicyAgent(model.policy).logits(torch.as_tensor(shown.observations), None).detach()
    told = torch.softmax(logits, 1).numpy()
    thrown, random = (told * shown.worths).sum(1).mean(), shown.worths.mean()
    assert thrown > random + 0.3 * (shown.worths.max(1).mean() - random)
    config["imitation"]["teacher"] = "tee_draw"
    with pytest.raises(ConfigError, match="tee_draw does not tell what the actions"):
        imitate(model, ruleset, config, tmp_path)


def over_one_end(opponent, ends):
    """The policy's results over single ends, half of them with the hammer; a blank end counts half."""
    pytest.importorskip("sb3_contrib")
    return over_single_ends("ppo", opponent, ends, 12345)


def test_the_policy_beats_the_sample_player_over_one_end():
    assert over_one_end("rule_based", 300).score > 0.55


@pytest.mark.slow
def test_the_policy_beats_the_exact_sample_player_over_two_ends():
    pytest.importorskip("sb3_contrib")
    ruleset = game("curling").ruleset(ends=2)
    pair = [(name, make_agent(ruleset.game, name)) for name in ("ppo", "rule_based")]
    assert evaluate(ruleset, *pair, 2000, 0).low > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("opponent", ["tee_draw", "rule_based"])
def test_the_policy_beats_both_simple_players_over_four_thousand_ends(opponent):
    assert over_one_end(opponent, 4000).low > 0.5


def test_two_runs_are_drawn_into_one_picture(tmp_path):
    pytest.importorskip("matplotlib")
    sac = pytest.importorskip("asobiba.baselines.curling.sac")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "practice.csv").write_text("steps,mean_return,mean_length\n8,-0.5,8\n16,-0.25,8\n")
        (tmp_path / name / "curve.csv").write_text(
            "steps,opponent,score,low,high,mean_return\n8,tee_draw,0.1,0.0,0.2,-0.5\n16,tee_draw,0.3,0.2,0.4,-0.2\n"
        )
    sac.draw_curves({"PPO": tmp_path / "one", "SAC": tmp_path / "two"}, tmp_path / "both.svg")
    text = (tmp_path / "both.svg").read_text()
    assert "PPO : tee_draw" in text
    assert "SAC : tee_draw" in text


@pytest.mark.slow
def test_sac_learns_and_leaves_its_curve(tmp_path):
    sac = pytest.importorskip("asobiba.baselines.curling.sac")
    lines = []
    sac.learn(tmp_path, 4_800, 2_400, 0, lines.append, "a test")
    assert len((tmp_path / "curve.csv").read_text().splitlines()) == 5 == len(lines) + 1
    assert '"steps": 4800' in (tmp_path / "run.json").read_text()
