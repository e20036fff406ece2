"""The agents of turn-based tactics: their formulas by hand, features, labels, searches, the round robin."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

from asobiba.arena import lists, pairs
from asobiba.baselines.search.fuzzy import FuzzySet
from asobiba.baselines.search.uct import UctSearcher
from asobiba.baselines.tactics import agents, commands, labelling, meetings, parking, reproduction, simple
from asobiba.baselines.tactics.features import NAMES_OF
from asobiba.baselines.tactics.playouts import draw_any_attack, draw_order
from asobiba.core import Agent, GameParameterError, compiled, make_agent, states
from asobiba.core.record import SAMPLER, record_dtype
from asobiba.envs.tactics import GAME, STEPS, notation, orders
from asobiba.envs.tactics.rules import random_action
from asobiba.envs.tactics.steps import step as words_step
from asobiba.envs.tactics.units import NAMES

FLAT, WORDS = GAME.ruleset(), STEPS.ruleset()


def at(text):
    return notation.text_to_state(FLAT, text)


@compiled()
def advise(records, params, memory, which):
    """The actions of the simple agents, and of random play, without the engine of a whole game around them."""
    view, p, m = records[0], params[0], memory[0]
    if which == 0:
        return random_action(view, p, m)
    if which == 1:
        unit, goal, target = simple.attack_first_order(view, p, m)
    elif which == 3:
        unit, goal, target = draw_order(view, p, np.int64(view.to_move), m, 0.8, 0.0)
    else:
        unit, goal, target = simple.max_act_order(view, p, m)
    return simple.action_of_order(view, p, unit, goal, target)


class Quick(Agent):
    """One of the simple agents by `advise`."""

    def __init__(self, which):
        self.which, self.memory = which, np.zeros(1, SAMPLER)

    def reset(self, ruleset, seat, seed):
        self.ruleset, self.records = ruleset, ruleset.zeros()
        self.memory["rng_key"] = seed + 77

    def act(self, view, legal):
        self.records[0] = view
        return int(advise(self.records, self.ruleset.params, self.memory, self.which))


RANDOM, ATTACK_FIRST, MAX_ACT, PLAYOUT = range(4)


def agent_of(text):
    return Quick(text) if isinstance(text, int) else make_agent(GAME, text)


def choose(agent, state, seed=0):
    seat = int(state["to_move"])
    agent.begin(FLAT, [seat], [seed])
    action = agent.act(states.view_of(FLAT, state, seat), states.action_mask(FLAT, state))
    return notation.action_to_text(FLAT, state, action)


def contest(texts, games):
    """Points of the first agent, colours swapped."""
    points = 0.0
    for number in range(games):
        seats = [agent_of(text) for text in (texts if number % 2 == 0 else texts[::-1])]
        state = states.new_state(FLAT, number // 2)
        for seat, agent in enumerate(seats):
            agent.begin(FLAT, [seat], [number])
        while not states.is_over(state):
            seat = int(state["to_move"])
            view = states.view_of(FLAT, state, seat)
            state = states.step(FLAT, state, seats[seat].act(view, states.action_mask(FLAT, state)))
        points += (1 + float(state["rewards"][number % 2])) / 2
    return points


def test_max_act_eval_takes_the_best_exchange():
    # The panzer: 7 damage on either infantry and no counter; only the left one threatens what has moved (b2 attacked).
    agent = Quick(MAX_ACT)
    state = at("skirmish 0 I10b2+,P10c3 I10b3,I10d4")
    assert choose(agent, state).endswith("xb3")
    # An attack on the panzer would cost more than it takes: (0 or 1) x 10 - 8 x 20 is below -20, so the infantry moves.
    state = at("skirmish 0 I10c3 P10c4,P10e5")
    assert "x" not in choose(agent, state)


def test_attack_first_attacks():
    agent = Quick(ATTACK_FIRST)
    state = at("skirmish 0 P10c2 I10d3,I10d5")
    assert all("x" in choose(agent, state, seed=seed) for seed in range(8))


def test_playouts_attack_in_four_of_five_actions():
    """A uniform attack of all that take something; otherwise a uniform unit and a uniform action of it, staying included."""
    state, draws = at("skirmish 0 P10c2,U8b3,I1d2 I10c4,P6e3"), 8000
    actions: dict[int, list[int]] = {}
    attacks = []
    for action in states.legal_actions(FLAT, state).tolist():
        if action == orders.end_of_turn(FLAT, state):
            continue
        order = orders.order_of(FLAT, state, action)
        takes = states.step(FLAT, state, action)["hp"][1].sum() < state["hp"][1].sum()
        if order.target < 0 or takes:
            actions.setdefault(order.unit, []).append(action)
        attacks += [action] * int(order.target >= 0 and takes)
    chances = {action: 0.2 / 3 / len(those) for those in actions.values() for action in those}
    for action in attacks:
        chances[action] += 0.8 / len(attacks)
    assert len(actions) == 3
    assert len(attacks) > 3
    agent = Quick(PLAYOUT)
    agent.begin(FLAT, [0], [0])
    found = Counter(agent.act(state, None) for _ in range(draws))
    assert set(found) <= set(chances)
    for group in (attacks, *([action] for action in chances)):
        chance = sum(chances[action] for action in group)
        assert abs(sum(found[a] for a in group) - draws * chance) < 5 * (draws * chance * (1 - chance)) ** 0.5, group


@compiled()
def spell(records, params, memory, out):
    """The words in which MaxActEval says what it does, for as long as one unit is spoken of."""
    s, p, m = records[0], params[0], memory[0]
    count = 0
    while count == 0 or s.phase != 0:
        out[count] = simple.max_act_words(s, p, out, m)
        words_step(s, p, out[count])
        s.steps += 1
        count += 1
    return count


def test_agents_in_words_say_what_the_flat_ones_do():
    for seed in range(4):
        state = at("skirmish 0 I10b2,P10c3,U10b3 I10b4,I10d4,P6e5")
        flat = Quick(MAX_ACT)
        action = notation.text_to_action(FLAT, state, choose(flat, state, seed))
        memory = np.zeros(1, record_dtype([("rng_key", np.uint64), ("rng_counter", np.uint64), *simple.PLAN]))
        memory["rng_key"] = seed + 77
        words = WORDS.zeros()
        words[0] = notation.text_to_state(WORDS, notation.state_to_text(FLAT, state))
        out = np.zeros(3, np.int64)
        count = spell(words, WORDS.params, memory, out)
        assert out[:count].tolist() == orders.in_words(FLAT, state, action)


def test_features_of_an_attack():
    """skirmish: plain at c4, wood at d2, ...; the panzer goes from c2 to c3 and hits the infantry on c4."""
    state = at("skirmish 2 P10c2,I4b2+ I10c4,P6e5")
    vector = labelling.Positions(FLAT).vector(state, notation.text_to_action(FLAT, state, "c2-c3xc4"))
    found = dict(zip(NAMES_OF, vector.tolist()))
    # 7 damage leaves 3, whose counter takes (5 * 3 + 70) / (100 + 10) = 0. Next the infantry (5 * 3 ...: 0) and the panzer
    # of 6 ((330 + 70) / 110 = 3) can attack.
    wanted = {
        "hp": 10, "target": 5, "damage": 7, "danger": 3, "blocked": 1, "friends": 1, "enemies": 2, "last": 1, "lead": 5,
        "turns_left": 12, "own_panzer": 1, "own_infantry": 1, "other_panzer": 1, "other_infantry": 1,
    }  # fmt: skip
    assert {name: value for name, value in found.items() if value} == wanted


def test_the_wrong_sign_expects_help_from_the_enemy():
    """Red leads by six, one more than the threshold; the enemy's last turn takes that away, unless it is a friend's."""
    state = at("duel 18 I10b2+,I10b3 P10d3,I4f4")
    honest, friendly = (
        UctSearcher(FLAT, cooperative=c, playout=True, expand_after=2, exploration=0.3, settings={"attack_share": 0.5})
        .search(state, 2000)
        .value
        for c in (False, True)
    )
    assert friendly > honest + 0.2


@compiled()
def draw_often(records, params, memory, size, counts):
    for _ in range(400 * size):
        unit, goal, target = draw_any_attack(records[0], params[0], np.int64(records[0].to_move), memory[0])
        counts[simple.action_of_order(records[0], params[0], unit, goal, target)] += 1


def test_published_playouts_attack_where_that_takes_nothing():
    """The fighter attacks infantry; all attacks that the rules allow are drawn alike."""
    state = at("strait 0 F8e4,U10b3,P4d4,A3f4 I10c4,R8e5,P5g4,U2c6")
    records, memory, counts = FLAT.zeros(), np.zeros(1, SAMPLER), np.zeros(FLAT.num_actions, np.int64)
    records[0] = state
    attacks = [a for a in states.legal_actions(FLAT, state).tolist() if "x" in notation.action_to_text(FLAT, state, a)]
    assert any(notation.action_to_text(FLAT, state, a).endswith("b4xc4") for a in attacks)
    draw_often(records, FLAT.params, memory, len(attacks), counts)
    assert set(np.flatnonzero(counts)) == set(attacks)
    # Each count is binomial with mean 400 and a standard deviation of 20.
    assert abs(counts[attacks] - 400).max() < 100


def test_published_playouts_count_turns_and_leads_as_the_program_does():
    """Red leads by seven and moves its last unit; blue's last turn takes three, on the mountain two: a lead of four or five."""
    state = at("duel 18 I10c3 A3e5")
    for as_published, wanted in ((True, {"c3-b3": 0, "c3-e3": 1}), (False, {"c3-b3": 0, "c3-e3": 0})):
        searcher = UctSearcher(
            FLAT, playout=True, expand_after=100, settings={"attack_share": 1.0, "as_published": as_published}
        )
        means = searcher.search(state, 60).means
        assert {text: means[notation.text_to_action(FLAT, state, text)] for text in wanted} == wanted


def test_published_switches():
    agent = make_agent(GAME, "m_uct:simulations=50")
    assert agent.settings["cooperative"]
    assert agent.settings["log_count"] == "root"
    assert agent.settings["expand_after"] == 11
    assert agent.settings["final"] == "mean"
    corrected = make_agent(GAME, "m_uct_corrected")
    assert not corrected.settings["cooperative"]
    assert make_agent(GAME, "uct_plus:widening=4").settings["widening"] == (4, 0.4)
    fuzzy = make_agent(GAME, "f_uct_corrected").settings
    assert (fuzzy["expand_after"], fuzzy["settings"]["rules_of_thumb"]) == (21, False)
    with pytest.raises(GameParameterError, match="variant is one of plain, widening"):
        make_agent(GAME, "m_uct:variant=best")
    assert make_agent(GAME, "uct_plus:exploration=1e-3").settings["exploration"] == 0.001
    for text, message in (
        ("uct_plus:transpositions=maybe", "transpositions of agent 'uct_plus' is true or false, not 'maybe'"),
        ("uct_plus:exploration=high", "exploration of agent 'uct_plus' is a number, not 'high'"),
        ("f_uct:neighbours=2.5", "neighbours of agent 'f_uct' is a whole number, not 2.5"),
        ("alpha_beta:depth=true", "depth of agent 'alpha_beta' is a whole number or null, not True"),
    ):
        with pytest.raises(GameParameterError, match=message):
            make_agent(GAME, text)
    with pytest.raises(GameParameterError, match="holds no fuzzy sets"):
        make_agent(GAME, "f_uct:labels=nowhere")
    with pytest.raises(GameParameterError, match="attack_share is from 0 to 1"):
        make_agent(GAME, "m_uct:attack_share=2").prepare(FLAT)
    with pytest.raises(GameParameterError, match="population"):
        make_agent(GAME, "rhea:population=2")


@pytest.mark.parametrize("width", [80, 220])
def test_the_list_of_agents_shows_every_parameter(width, capsys, monkeypatch):
    monkeypatch.setattr(lists, "console", lambda: Console(width=width))
    lists.print_agents("tactics")
    columns: dict[int, str] = {}
    for line in capsys.readouterr().out.splitlines():
        for number, part in enumerate(line.split("│")):
            columns[number] = columns.get(number, "") + part.strip()
    assert any("bargain=0.02,caution=0.5,mean=0.2,neighbours=10,widening=0.0" in text for text in columns.values())


def test_the_shipped_sets_say_how_they_were_made():
    made = yaml.safe_load((agents.LABELS / "made.yml").read_text(encoding="utf-8"))
    assert "deep search" in made["by"]
    assert made["command"].startswith("asobiba tactics derive-labels")
    for name in NAMES:
        fuzzy = FuzzySet.load(agents.LABELS / f"{name}.csv")
        assert fuzzy.names == NAMES_OF
        assert fuzzy.memberships.max() == 1
        assert made["sets"][name]["samples"] >= len(fuzzy.vectors)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hp,target", "target,hp", "is a fuzzy set of target, hp, .*; expected the features hp, target"),
        ("\n", "\nnan,", "line 2: expected 24 numbers"),
        ("\n0", "\nnan", "line 2: expected 24 numbers"),
        ("label,membership", "membership", "its first line should end with label,membership"),
        ("hp", "\udcff", "is not a fuzzy set: .* can't decode"),
    ],
)
def test_files_of_other_features_are_no_labels(tmp_path, old, new, message):
    text = (agents.LABELS / "panzer.csv").read_text(encoding="utf-8").replace(old, new, 1)
    (tmp_path / "panzer.csv").write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(GameParameterError, match=message):
        agents.knowledge(str(tmp_path))


def test_priors_are_ten_visits_times_the_membership():
    """The root's children before any has more than one playout of its own."""
    state = at("crossing 0 P10c3 I10d4,I10g7")
    searcher = UctSearcher(
        FLAT, playout=True, knowledge=agents.knowledge(), urgency=199.0, settings={"rules_of_thumb": False, "lowest": 1}
    )
    found = searcher.search(state, 1)
    sets = [FuzzySet.load(agents.LABELS / f"{name}.csv") for name in NAMES]
    positions, fresh = labelling.Positions(FLAT), 0
    for action, visits in found.visits.items():
        member = sets[2].membership(positions.vector(state, action), 1)
        fresh += visits - max(1, int(10.0 * member))
    assert abs(fresh) == 1


def test_priors_by_what_an_action_gains():
    """Two visits each, with a mean of 0.2 and 0.02 for a hit point; what the enemies could take counts half."""
    state = at("skirmish 2 P10c2,I4b2+ I10c4,P6e5")
    searcher = UctSearcher(
        FLAT,
        playout=True,
        knowledge=np.zeros((1, 1)),
        urgency=199.0,
        settings={"weight": 2, "bargain": 0.02, "caution": 0.5, "mean": 0.2},
    )
    found = searcher.search(state, 1)
    assert sorted(found.visits.values())[-2:] == [2, 3]  # one of them got the only playout, whose result is -1, 0 or 1
    positions = labelling.Positions(FLAT)
    for action, visits in found.visits.items():
        vector = dict(zip(NAMES_OF, positions.vector(state, action).tolist()))
        lost = 10 - vector["hp"]
        gained = vector["damage"] - lost - (0.5 * vector["danger"] if vector["hp"] else 0)
        rest = found.means[action] * visits - 2 * (0.2 + 0.02 * gained)
        assert rest == pytest.approx(round(rest) if visits == 3 else 0, abs=1e-6)


@pytest.mark.parametrize("transpositions", [False, True])
def test_other_orders_of_unit_moves_lead_to_the_same_node(transpositions):
    """Two units that go to two cells: whichever goes first, the position is one."""
    state = at("skirmish 0 I10b2,I10b3 I10e5")
    searcher = UctSearcher(FLAT, expand_after=1, playout=True, transpositions=transpositions)
    searcher.search(state, 6000)
    tree = searcher._tree
    blocks: dict[bytes, set[int]] = {}
    ways = 0

    def walk(at: int, position: np.void, depth: int) -> None:
        nonlocal ways
        if depth == 2:
            if tree[at]["children"]:
                blocks.setdefault(position.tobytes(), set()).add(int(tree[at]["first"]))
                ways += 1
            return
        for child in range(tree[at]["first"], tree[at]["first"] + tree[at]["children"]):
            walk(child, states.step(FLAT, position, int(tree[child]["move"])), depth + 1)

    walk(0, state, 0)
    assert ways > len(blocks) + 20
    assert (max(map(len, blocks.values())) == 1) is transpositions


@pytest.mark.parametrize(
    ("agent", "least"),
    [
        (MAX_ACT, 12),
        ("m_uct_corrected:simulations=60", 13),
        ("uct_plus:simulations=60", 14),
        ("rhea:evaluations=60", 12),
    ],
)
def test_agents_beat_random_play(agent, least):
    assert contest((agent, RANDOM), 16) >= least


def test_the_trained_policy_beats_max_act_eval():
    from asobiba.learn.agent import PolicyFileError

    assert contest(("ppo", MAX_ACT), 32) > 20  # 85.7 % in 1,000 games
    with pytest.raises(PolicyFileError, match="was trained on observations"):
        make_agent(GAME, "ppo").prepare(GAME.ruleset(map="plains"))


@pytest.mark.parametrize("agent", ["m_uct", "f_uct", "f_uct_corrected", "m_uct_corrected:variant=widening"])
def test_published_agents_play_whole_games(agent):
    colon = "," if ":" in agent else ":"
    assert 0 <= contest((f"{agent}{colon}simulations=20", ATTACK_FIRST), 2) <= 2


def test_equal_seeds_give_equal_games():
    state = states.new_state(FLAT, 3)
    for text in ("uct_plus:simulations=80", "f_uct:simulations=80", "rhea:evaluations=60"):
        assert choose(make_agent(GAME, text), state, seed=4) == choose(make_agent(GAME, text), state, seed=4)


def test_label_asks_and_makes_sets(tmp_path):
    runner = CliRunner()
    asked = runner.invoke(commands.app, ["label", str(tmp_path), "--count", "6"], input="y\nn\nperhaps\ny\ns\nn\ny\n")
    assert asked.exit_code == 0, asked.output
    assert asked.output.count("Is this good") == 7  # one answer was none
    samples = labelling.read_samples(tmp_path)
    assert [sample.good for sample in samples] == [True, False, True, False, True]
    again = runner.invoke(commands.app, ["label", str(tmp_path), "--count", "2"], input="y\n")
    assert again.exit_code == 0, again.output
    assert "1 judgements now, 6 in all" in again.output  # the end of the input is as good as q
    distinct = {(sample.kind, sample.vector.tobytes()) for sample in labelling.read_samples(tmp_path)}
    assert len(distinct) == 6  # what was judged is not asked again
    assert yaml.safe_load((tmp_path / "made.yml").read_text())["by"].startswith("a person")
    assert agents.knowledge(str(tmp_path)).shape[0] == 24
    for line in ("knight,1,2,1", f"panzer,nan{21 * ',0'},1", f"panzer{22 * ',0'},7"):
        (tmp_path / labelling.SAMPLES).write_text(f"type\n{line}\n")
        with pytest.raises(GameParameterError, match=r"line 2: .* is not a sample"):
            labelling.read_samples(tmp_path)


def test_derived_labels_tell_good_actions_from_others():
    samples = list(labelling.derive(FLAT, 12, 1000, seed=2))
    good = [sample for sample in samples if sample.good]
    assert 3 <= len(good) < 0.3 * len(samples)
    assert min(s.visits for s in good) > max(
        np.median([t.visits for t in samples if t.position == s.position]) for s in good
    )
    few = labelling.balanced(samples, 4, 0)
    assert max(sum(s.kind == kind and s.good == g for s in few) for kind in range(6) for g in (True, False)) <= 4


def test_lists_and_files_that_do_not_fit():
    runner = CliRunner()
    for arguments, named in (
        (["derive-labels", "x", "--sizes", "8"], "'8'"),
        (["reproduce", "--rounds", "1,2"], "'1,2'"),
        (["generate", "a_map"], "a_map.tbsmap"),
        (["reproduce", "--sizes", "8,9"], "'8,9'"),
    ):
        asked = runner.invoke(commands.app, arguments)
        assert asked.exit_code == 2
        assert named in asked.output


def test_orders_are_measured_position_by_position():
    """Two positions of three and two actions; in the first the better of two good ones stands behind the bad one."""
    vector = np.zeros(22, np.float32)
    told = [(0, True, 50), (0, False, 20), (0, True, 30), (1, False, 5), (1, True, 40), (2, None, 9)]
    samples = [labelling.Sample(5, vector, good, position, visits) for position, good, visits in told]
    order = labelling.order_by(np.array([0.5, 0.6, 0.9, 0.1, 0.7, 0.3]), samples)
    # Position 0: ranks 1, 2, 3 beside 3, 1, 2 (Spearman: 1 - 6 * (4 + 1 + 1) / 24 = -0.5), one of two pairs is right.
    assert order == labelling.Order(2, correlation=0.25, area=0.75, top=1.0, chance=round((2 / 3 + 1 / 2) / 2, 3))


def test_the_shipped_sets_know_good_actions():
    """Of positions that they were not made of."""
    samples = list(labelling.derive(FLAT, 25, 1000, seed=77))
    order = labelling.order_by(labelling.memberships_of(agents._sets(agents.LABELS), samples, 10), samples)
    assert order.positions >= 5
    assert order.area > 0.65
    assert order.top > 2 * order.chance


def test_corrected_priors_leave_the_others_for_later():
    """Children of memberships below a tenth are tried first as published, and last when corrected."""
    state, positions = states.new_state(FLAT, 3), labelling.Positions(FLAT)
    tried = {}
    for name in ("f_uct", "f_uct_corrected"):
        agent = make_agent(GAME, f"{name}:simulations=10")
        agent.begin(FLAT, [0], [0])
        agent.act(states.view_of(FLAT, state, 0), states.action_mask(FLAT, state))
        settings = agent.settings["settings"]
        outside = []
        for action, visits in agent.last.visits.items():
            order = orders.order_of(FLAT, state, action)
            kind, stays = state["kind"][0, order.unit], order.goal == state["cell"][0, order.unit]
            member = agents._sets(agents.LABELS)[kind].membership(
                positions.vector(state, action), settings["neighbours"] if not settings["rules_of_thumb"] else 1
            )
            if member < 0.1 and not (settings["rules_of_thumb"] and stays):
                outside.append(visits)
        assert len(outside) > 10
        tried[name] = sum(outside)
    assert tried == {"f_uct": 10, "f_uct_corrected": 0}


def test_the_round_robin_swaps_colours_and_goes_on_where_it_stopped(tmp_path):
    (part,) = meetings.planned({100: 1}, [8])
    opponents = [{m.red, m.blue} for m in part]
    claimed = opponents.index({"m_uct:simulations=100", "uct_plus:simulations=100"})
    assert {"f_uct_corrected:simulations=100", "m_uct_corrected:simulations=100"} in opponents[:claimed]
    assert {m.map for m in part[:claimed]} == {m.map for m in part}
    small = [m for m in part if m.map == "skirmish"]
    assert {(m.blue, m.red) for m in small} == {(m.red, m.blue) for m in small}
    few = [
        m._replace(red=m.red.replace("100", "10"), blue=m.blue.replace("100", "10"))
        for m in small
        if {m.red, m.blue} == {"m_uct:simulations=100", "f_uct:simulations=100"}
    ]
    kept = tmp_path / "games.jsonl"
    results = meetings.play_all([few], kept, None, lambda n: None)
    assert len(results) == len(few) == 4  # the claim's pairs meet once more
    lines = kept.read_text()
    assert meetings.play_all([few], kept, None, lambda n: None) == results
    assert kept.read_text() == lines
    kept.write_text(lines.replace('"result": 1}', '"result": -1}').replace('"result": 0}', '"result": 1}'))
    with pytest.raises(ValueError, match="rules or agents have changed"):
        meetings.play_all([few], kept, None, lambda n: None)
    found = reproduction.score(results, "f_uct:simulations=10", "m_uct:simulations=10")
    assert found.games == 4


def test_the_page_counts_points_from_both_colours():
    a, b = "f_uct:simulations=100", "m_uct:simulations=100"
    results = {
        meetings.Meeting("duel", a, b, 0): 1,
        meetings.Meeting("duel", b, a, 0): 0,
        meetings.Meeting("duel", "uct_plus:simulations=100", a, 0): -1,
        meetings.Meeting("duel", a, "m_uct:simulations=200", 0): -1,
    }
    assert reproduction.score(results, a, b) == pairs.Score(((1.0, 0.5),), 1)
    text = reproduction.page(results)
    assert "| 100 | as published | 75.0 (" in text
    assert "Games of a pair: 1 to 2, on 1 of the maps." in text
    # 75 % at the same playouts and 0 % at twice as many: 50 % a third of the way between, at 2 ** (1 / 3) times.
    assert reproduction.equal_ratio(results, "") == "1.3 times"


def test_units_that_stand_still_are_counted_and_drawn(tmp_path):
    games = [parking.watch("duel", *pair, 0) for pair in itertools.permutations(["attack_first", "max_act_eval"])]
    for played in games:
        units = [turn[1] for turn in played.turns]
        assert all(0 <= turn[2] <= turn[1] for turn in played.turns)
        assert [turn[0] for turn in played.turns] == [n % 2 for n in range(len(units))]
        assert int(np.sign(played.turns[-1][3]["rewards"][0])) == {0: 1, 1: -1, -1: 0}[played.winner]
    kinds = dict.fromkeys(parking.KINDS, games)
    text = reproduction.page({}, None, (kinds, tmp_path / "parked.svg"))
    still, units = parking.share_still(games, loser=True)
    assert f"({still} of {units})" in text
    assert "<svg" in (tmp_path / "parked.svg").read_text(encoding="utf-8")


def test_the_page_names_maps_that_one_side_wins():
    names = [meetings.with_budget(name, 100) for name in meetings.ALL]
    results = {
        meetings.Meeting(map_, red, blue, 0): 1 if map_ == "duel" or number % 2 else -1
        for number, (red, blue) in enumerate(itertools.permutations(names, 2))
        for map_ in ("duel", "front")
    }
    text = reproduction.page(results)
    assert "On duel (red) the side in brackets\nwon over 85 % of the games" in text
    rows = [line for line in text.splitlines() if line.startswith(("| duel ", "| front "))]
    assert rows == ["| duel | 100 (42) | - |", "| front | 50 (42) | - |"]
    some = {meeting: result for meeting, result in results.items() if meeting.map == "front"}
    assert "On none of them did one side win over 85 %" in reproduction.page(some)


def test_the_strongest_meets_all_others_at_equal_time():
    found = meetings.peer_meetings(1, [8, 14])
    assert {(m.blue, m.red) for m in found} == {(m.red, m.blue) for m in found}
    assert {(m.map, m.red) for m in found} >= {("duel", "ppo"), ("plains", "alpha_beta:nodes=100000")}
    assert ("plains", "ppo") not in {(m.map, m.red) for m in found}
    text = reproduction.page(
        {m: 1 if m.red == meetings.STRONGEST else 0 for m in found if "alpha_beta" in m.red + m.blue},
        {meetings.STRONGEST: [3.25, 9.0, 16.0], "alpha_beta": [3.0, 10.0, 17.0]},
    )
    # Won as red, drawn as blue.
    row = next(line for line in text.splitlines() if line.startswith("| alpha_beta |"))
    assert row.startswith("| alpha_beta | 24,000 / 70,000 / 100,000 nodes | 3.0 / 10.0 / 17.0 | 75.0 (")
    assert row.endswith("| uct_plus is stronger |")
    assert "300 playouts" not in text


def test_agents_of_the_game_in_words_play_the_flat_game():
    from asobiba.baselines.tactics import LEARNED

    state = at("skirmish 0 I10b2,P10c3,U10b3 I10b4,I10d4,P6e5")

    class Speaker(Agent):
        said = ("c3", "to c4", "hit b4")

        def reset(self, ruleset, seat, seed):
            assert ruleset == WORDS
            self.left = list(self.said)

        def act(self, view, legal):
            action = notation.text_to_action(WORDS, view, self.left.pop(0))
            assert legal[action]
            return action

    assert choose(LEARNED["tactics"](Speaker()), state) == "c3-c4xb4"


def test_a_search_says_its_action_word_by_word():
    """Left alone it plays what the search plays; where somebody else chose the unit, it goes on with that one."""
    text, state = "uct_learned:simulations=50", at("skirmish 0 I10b2,P10c3,U10b3 I10b4,I10d4,P6e5")
    flat = make_agent(GAME, text + ",reuse=false")
    speaker = make_agent(STEPS, text)
    for agent, ruleset in ((flat, FLAT), (speaker, WORDS)):
        agent.begin(ruleset, [0], [4])
    spoken = orders.other_state(FLAT, state)
    chosen = flat.act(state, states.action_mask(FLAT, state))
    for word in orders.in_words(FLAT, state, chosen):
        assert speaker.act(spoken, states.action_mask(WORDS, spoken)) == word
        spoken = states.step(WORDS, spoken, word)
    words = orders.other_state(FLAT, state)
    for unit in np.flatnonzero(states.action_mask(WORDS, words)[:64]):
        after = states.step(WORDS, words, int(unit))
        goal = speaker.act(after, states.action_mask(WORDS, after))
        assert states.action_mask(WORDS, after)[goal]
        after = states.step(WORDS, after, goal)
        if after["phase"] == 2:
            word = speaker.act(after, states.action_mask(WORDS, after))
            assert states.action_mask(WORDS, after)[word]


def test_the_network_gives_a_logit_for_every_word():
    import torch

    from asobiba.baselines.tactics.network import CellNetwork

    network = CellNetwork(WORDS.layout.observation, WORDS.num_actions, width=8, depth=2)
    logits, value = network(torch.zeros(3, WORDS.observation_size))
    assert logits.shape == (3, 66)
    assert value.shape == (3, 8)


def test_a_network_that_reads_the_whole_board_sees_the_far_corner():
    import torch

    from asobiba.baselines.tactics.network import CellNetwork

    torch.manual_seed(0)
    near, far = (CellNetwork(WORDS.layout.observation, WORDS.num_actions, 8, 2, whole=whole) for whole in (False, True))
    observation = torch.zeros(2, WORDS.observation_size)
    observation[1, WORDS.channels(np.arange(WORDS.observation_size))["own"][0, 7, 7]] = 1
    changed = [(net(observation)[0].diff(dim=0)[0, :64].reshape(8, 8) != 0) for net in (near, far)]
    assert changed[0].nonzero().min() == 5  # two convolutions of 3 x 3
    assert changed[1].all()
