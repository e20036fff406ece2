"""Gogo's agents: patterns, rule files, the references' order, forced wins, the contest."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from asobiba.api.seating import Seating
from asobiba.arena.match import Match
from asobiba.arena.playing import play_lockstep
from asobiba.arena.ratings import wilson
from asobiba.arena.submit import agent_text
from asobiba.baselines.gogo import REFERENCES, STRATEGIES, engines
from asobiba.baselines.gogo.contest import check, rescheduled
from asobiba.baselines.gogo.contest_page import write_page
from asobiba.baselines.gogo.patterns import _WEIGHT, CLASS_OF, CLASSES
from asobiba.baselines.gogo.proof import canonical, prove, read_wins
from asobiba.baselines.gogo.published import table_5_points
from asobiba.baselines.gogo.rule_table import JAPANESE, PATTERNS, RuleFileError, load_strategy, read_strategy
from asobiba.baselines.gogo.years import Size, agreement, king_makers, play_year
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.core import make_agent
from asobiba.core.states import action_mask, is_over, new_state, step
from asobiba.envs.gogo import GAME, notation

GOGO = GAME.ruleset()


# --- patterns -------------------------------------------------------------------------------------------------------


def slow_class(window, exact):
    """The class of eleven squares with the player's stone in the middle, by playing on."""

    def is_five(w):
        left = right = 0
        while 5 - left - 1 >= 0 and w[4 - left] == "x":
            left += 1
        while 5 + right + 1 < 11 and w[6 + right] == "x":
            right += 1
        run = left + right + 1
        return run == 5 if exact else run >= 5

    def placed(w):
        return [w[:k] + "x" + w[k + 1 :] for k in range(11) if w[k] == "."]

    def fives(w):
        return sum(is_five(v) for v in placed(w))

    if is_five(window):
        return "five"
    if fives(window):
        return "open four" if fives(window) > 1 else "four"

    def three(w):
        """2 for an open three, 1 for a closed one."""
        if is_five(w) or fives(w):
            return 0
        later = [fives(v) for v in placed(w) if not is_five(v)]
        return 2 if any(n > 1 for n in later) else 1 if any(later) else 0

    kind = three(window)
    if kind:
        return "open three" if kind == 2 else "closed three"
    later = [three(v) for v in placed(window)]
    return "open two" if 2 in later else "closed two" if 1 in later else "nothing"


def test_window_classes_agree_with_playing_on():
    generator = np.random.default_rng(2)
    seen = set()
    for _ in range(500):
        own = generator.random()
        letters = generator.choice([".", "x", "o"], 11, p=[1 - own, own * 0.75, own * 0.25])
        window = "".join(letters)[:5] + "x" + "".join(letters)[6:]
        code = sum(".xo".index(letter) * _WEIGHT[k] for k, letter in enumerate(window) if k != 5)
        for exact in (0, 1):
            name = CLASSES[CLASS_OF[exact, code]]
            assert name == slow_class(window, exact), (window, exact)
            seen.add(name)
    assert seen == set(CLASSES)


# --- rule files -----------------------------------------------------------------------------------------------------


def test_table_1_of_the_paper_is_the_weak_reference():
    rows = {(row[0], row[1]): row[4] for row in load_strategy(STRATEGIES / "weak.yaml").rows}
    table = {
        ("break five", 0): 1000,
        ("five captures", 0): 950,
        ("five", 0): 900,
        ("five captures", 1): 900,
        ("five", 1): 850,
        ("four", 0): 800,
        ("open three", 1): 700,
        ("capture", 0): 300,
    }
    assert {(name, side): rows[PATTERNS[name][0], side] for name, side in table} == table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: [", "line 1: this is not YAML"),
        ("- five", "line 1: a strategy is a mapping"),
        ("name: a\nrules: [\x00]", "line 2: this is not YAML: special characters"),
        ("name: a\nrules:\n- {pattern: five, value: 1}\nname: b", "line 4: 'name' is given twice"),
        ("name: [a]\nrules:\n- {pattern: five, value: 1}", "line 1: name is a word or a text"),
        ("? [a]\n: b", "line 1: "),
        ("name: a\nrule: []", "line 2: 'rule' is not a key of a strategy"),
        ("name: a", "line 1: a strategy has a list of rules"),
        ("rules: []", "line 1: a strategy has 1 to 64 rules, not 0"),
        ("rules:\n- five", "line 2: a rule is a mapping"),
        ("rules:\n- {pattern: fve, value: 1}", "line 2: 'fve' is not a pattern; did you mean 'five'?"),
        ("rules:\n- {pattern: 五つ, value: 1}", "line 2: '五つ' is not a pattern"),
        ("rules: " + "[" * 3000, "line 1: it is nested too deeply"),
        ("rules:\n- {pattern: five, value: 1_000}", "line 2: value is a whole number"),
        ("rules:\n- {pattern: five, value: 1}\n- {pattern: four}", "line 3: this rule has no 'value'"),
        ("rules:\n- {pattern: five, value: much}", "line 2: value is a whole number"),
        ("rules:\n- {pattern: five, value: 1, aim: capture}", "line 2: the aim of 'five' is 'line'"),
        (
            "rules:\n- {pattern: five, value: 1, purpose: fun}",
            "line 2: purpose is attack (実現) or defence (阻止), not",
        ),
        ("rules:\n- {pattern: five, value: 1, weight: 2}", "line 2: 'weight' is not a key of a rule"),
        ("rules:\n- {pattern: five, value: 1, value: 2}", "line 2: 'value' is given twice"),
        ("combine: product\nrules:\n- {pattern: five, value: 1}", "line 1: combine is highest or sum"),
    ],
)
def test_a_wrong_rule_file_is_refused_by_line_and_reason(text, message):
    with pytest.raises(RuleFileError, match=re.escape(f"mine.yaml, {message}")):
        read_strategy(text, "mine.yaml")


def test_patterns_have_japanese_names():
    rules = "\n".join(f"- {{pattern: {word}, value: {k}}}" for k, word in enumerate(JAPANESE))
    english = "\n".join(f"- {{pattern: {word}, value: {k}}}" for k, word in enumerate(JAPANESE.values()))
    assert read_strategy(f"rules:\n{rules}").rows == read_strategy(f"rules:\n{english}").rows
    ours = read_strategy("rules: [{pattern: 四連, purpose: 実現, value: 1}, {pattern: 三連, purpose: 阻止, value: 2}]")
    plain = "rules: [{pattern: four, value: 1}, {pattern: open three, purpose: defence, value: 2}]"
    assert ours.rows == read_strategy(plain).rows


def test_a_refused_submission_names_the_file_that_was_given(tmp_path):
    (tmp_path / "mine.yaml").write_text("rules:\n- {pattern: fve, value: 1}")
    with pytest.raises(RuleFileError, match=re.escape(f"{tmp_path / 'mine.yaml'}, line 2")):
        agent_text(str(tmp_path / "mine.yaml"), tmp_path / "kept", GAME)
    assert not (tmp_path / "kept").exists()


def test_a_strategy_of_ones_own_plays(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("rules:\n- {pattern: capture, purpose: attack, value: 10}\n- {pattern: centre, value: 1}\n")
    agent = make_agent(GAME, f"rules:{path}")
    agent.reset(GOGO, 0, 0)
    state = new_state(GOGO, 0)
    assert notation.point_name(GOGO, agent.act(state, action_mask(GOGO, state))) == "g7"
    state = notation.set_up(GOGO, [(84, 0), (85, 1), (86, 1), (0, 0)], 0, (0, 0), -1)
    assert notation.point_name(GOGO, agent.act(state, action_mask(GOGO, state))) == "j7"
    with pytest.raises(RuleFileError, match="cannot be read"):
        make_agent(GAME, f"rules:{tmp_path / 'none.yaml'}")


def test_breaking_a_five_comes_first():
    x, o = "c7 d7 e7 f7 e8 b2 d2", "g3 h3 i3 j3 e9 k9 m9"
    stones = [(notation.text_to_action(GOGO, None, name), 0) for name in x.split()]
    stones += [(notation.text_to_action(GOGO, None, name), 1) for name in o.split()]
    state = step(GOGO, notation.set_up(GOGO, stones, 0, (0, 0), -1), notation.text_to_action(GOGO, None, "g7"))
    agent = make_agent(GAME, "weak")
    agent.reset(GOGO, 1, 0)
    assert notation.point_name(GOGO, agent.act(state, action_mask(GOGO, state))) == "e6"


def test_each_reference_is_stronger_than_the_one_below():
    """Two hundred games a pair; the interval of the share of wins lies above a half."""
    for weaker, stronger in pairwise(REFERENCES):
        won, games = 0.0, 0
        for seats in ((weaker, stronger), (stronger, weaker)):
            agents = [make_agent(GAME, name) for name in seats]
            for records in play_lockstep([Match.of(GOGO, seats, seed) for seed in range(100)], agents):
                for record in records:
                    won += (record.returns[seats.index(stronger)] + 1) / 2
                    games += 1
        low, _ = wilson(won, games)
        assert low > 0.5, (weaker, stronger, won, games)


# --- the strong engine ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def searcher():
    return Searcher(GOGO, nodes=3000, solve_root=4000)


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_forced_wins_are_found_and_proved_against_every_reply(searcher, every):
    wins = read_wins()
    assert len(wins) >= 50
    states = [notation.text_to_state(GOGO, win.position) for win in wins]
    assert len({canonical(GOGO, state) for state in states}) == len(wins)
    for win, state in zip(wins, states, strict=True):
        assert searcher.search(state, nodes=3000).proven == 1, win
        assert win.plies >= 5
    for win, state in list(zip(wins, states, strict=True))[::every]:
        plies, move = prove(searcher, state)
        assert plies >= 5, win
        assert prove(searcher, step(GOGO, state, move)) == (0, -1)  # the loser has no forced win


def test_two_threads_find_the_forced_wins_too():
    """A search ends as soon as it has settled a position, so the limit is never reached."""
    both = Searcher(GOGO, threads=2, solve_root=4000)
    for win in read_wins()[::3]:
        both.clear()
        found = both.search(notation.text_to_state(GOGO, win.position), seconds=60)
        assert found.proven == 1, win


def test_the_opening_is_searched_up_to_symmetry(searcher):
    searcher.search(new_state(GOGO, 0), depth=1)
    state = notation.play_moves(GOGO, "g7")
    searcher._load(state)
    count = int(searcher._compiled.generate_root(searcher._frames, GOGO.params))
    turned = {_canonical(int(move)) for move in searcher._frames["moves"][0][:count]}
    assert len(turned) == count


def _canonical(point, n=13):
    images = []
    row, column = divmod(point, n)
    for _ in range(4):
        row, column = column, n - 1 - row
        images += [row * n + column, row * n + n - 1 - column]
    return min(images)


def test_four_and_five_are_answered_by_captures(searcher):
    """The only defence against the four c7-f7 with its open end at g7 forbidden to nobody is found: block or capture."""
    x, o = "c7 d7 e7 f7 e8", "b7 e9 k2 m2"
    stones = [(notation.text_to_action(GOGO, None, name), 0) for name in x.split()]
    stones += [(notation.text_to_action(GOGO, None, name), 1) for name in o.split()]
    state = notation.set_up(GOGO, stones, 1, (0, 0), -1)
    found = searcher.search(state, nodes=3000)
    assert notation.point_name(GOGO, found.action) in ("g7", "e6")


def test_patterns_are_kept_up_as_they_are_worked_out_anew(searcher):
    """After every move of a game with captures, `play` has the node that `load` makes of the state."""
    agents = [make_agent(GAME, name) for name in ("middle", "prototype")]
    for seat, agent in enumerate(agents):
        agent.reset(GOGO, seat, 3)
    state, captured = new_state(GOGO, 3), 0
    while not is_over(state):
        action = agents[int(state["to_move"])].act(state, action_mask(GOGO, state))
        searcher._load(state)
        searcher._compiled.play_root(searcher._frames, GOGO.params, action)
        child = searcher._frames[1].copy()
        state = step(GOGO, state, action)
        captured += int(state["last_taken"])
        if not is_over(state):
            searcher._load(state)
            for name in ("kinds", "tally", "hashes", "planes", "lines", "key", "side", "captured", "fives", "empty"):
                assert np.array_equal(child[name], searcher._frames[0][name]), name
    assert captured > 0


def duel(engine, games):
    """An engine's share of games against the champion, which begin with two stones put at random near the centre; each
    beginning is played from both sides."""
    won = 0.0
    for number in range(games):
        seat, seed = number % 2, number // 2
        players = {seat: make_agent(GAME, engine), 1 - seat: make_agent(GAME, "champion")}
        for place, agent in players.items():
            agent.reset(GOGO, place, seed)
        generator = np.random.default_rng(seed)
        state = new_state(GOGO, seed)
        for _ in range(2):
            near = [q for q in np.flatnonzero(action_mask(GOGO, state)) if abs(q // 13 - 6) < 3 and abs(q % 13 - 6) < 3]
            state = step(GOGO, state, int(generator.choice(near)))
        while not is_over(state):
            state = step(GOGO, state, players[int(state["to_move"])].act(state, action_mask(GOGO, state)))
        won += (float(state["rewards"][seat]) + 1) / 2
    return won


def test_alpha_beta_beats_the_champion_with_a_small_budget_already():
    assert duel("alpha_beta:nodes=3000", 4) >= 3


@pytest.mark.slow
def test_alpha_beta_wins_nine_games_of_ten_against_the_champion():
    """With about a second's positions for each move."""
    assert duel("alpha_beta:nodes=50000", 40) >= 36


# --- learning -------------------------------------------------------------------------------------------------------


def test_a_learner_is_shown_what_the_teacher_saw_did_and_got():
    pytest.importorskip("sb3_contrib")
    from asobiba.learn.imitation import demonstrate

    small = GAME.ruleset(board_size=9)
    seating = Seating(small, 6, opponent="weak", seat=None, autoreset="disabled", threads=1)
    shown = demonstrate(seating, 5, 0.9)
    assert shown.masks[np.arange(len(shown.actions)), shown.actions].all()
    channels = small.channels(shown.observations)
    taken = channels["stones"].sum(1) + channels["forbidden"][:, 0]
    assert (taken.reshape(-1, 81) + shown.masks == 1).all()  # every point has a stone, is forbidden or legal
    assert channels["to_move"].all()
    # Of each game, the winner's last decision is worth 1, the one before it 0.9; the loser's as much less.
    worth = np.unique(np.abs(shown.values).round(6))
    assert worth.max() == 1
    assert np.isclose(worth, 0.9 ** np.round(np.log(worth) / np.log(0.9))).all()
    assert abs(float((shown.values > 0).mean()) - 0.5) < 0.05


def test_a_network_of_lines_sees_five_squares_to_each_side():
    """A stone changes the features along lines of points up to five squares away, in eight directions, and no others."""
    torch = pytest.importorskip("torch")
    from asobiba.baselines.gogo.network import LinesNetwork, line_squares

    squares = line_squares(13, 13)
    around = {int(k) for k in squares[:, 84].unique()}
    assert around == {84 + k * way for k in range(-5, 6) for way in (1, 13, 14, -12)}
    assert (squares[:, 0] == 169).sum() == 5 * 3 + 10  # the corner a1: half of three lines and both ends of the fourth
    network = LinesNetwork(GOGO.layout.observation, 169)
    observation = torch.zeros(2, GOGO.observation_size)
    logits, value = network(observation)
    assert logits.shape == (2, 169)
    assert value.shape == (2, network.latent_dim_vf)
    observation[1, 84] = 1
    torch.manual_seed(0)
    for blocks in (0, 1):
        found = LinesNetwork(GOGO.layout.observation, 169, blocks=blocks).features(observation)[0]
        changed = {int(k) for k in (found[0] != found[1]).any(1).nonzero()[:, 0]}
        # The whole board is read by the blocks only; they see it everywhere.
        assert changed == (around if blocks == 0 else set(range(169)))


def test_the_trained_policy_beats_the_champion():
    pytest.importorskip("sb3_contrib")
    from asobiba.learn.evaluation import evaluate

    # 98.8 and 74.5 % over 400 openings of four random plies
    for opponent, games in (("weak", 40), ("champion", 120)):
        (result,) = evaluate(make_agent(GAME, "ppo"), GOGO, [opponent], games, seed=3)
        assert result.low > 0.5, result


# --- the contest ----------------------------------------------------------------------------------------------------


def test_a_small_contest_and_its_page(tmp_path):
    year = play_year(GOGO, Size(students=4, submissions=35, entry=5), seed=1)
    contest, full = year.contest, year.full
    assert len(contest.strategies) == 45
    assert contest.references == 10
    assert contest.played[10:, :10].all()
    assert np.allclose(contest.points + contest.points.T, 4 * contest.played)
    assert np.array_equal(contest.points, np.where(contest.played, full, 0))
    found = check(contest)
    assert found.rho > 0.8
    assert found.steps < 40
    smaller = rescheduled(contest, full, references=5, entry=2)
    assert smaller.played[10:, :5].all()
    assert not smaller.played[10:, 5:10].any()
    everybody = rescheduled(contest, full, references=10, entry=45)
    assert agreement(everybody, full).weighted > agreement(smaller, full).weighted
    text = write_page([year], tmp_path / "page.md", "asobiba reproduce gogo", 60.0)
    assert "## Verdict" in text
    assert "written by `asobiba reproduce gogo` in 60 s" in text.lower()
    assert len(list(tmp_path.glob("page_*.svg"))) == 3
    # The references come out in their order.
    final = contest.daily[-1][:5]
    assert final[0] < final[2] < final[4]


@pytest.mark.parametrize("count", [4, 9])
def test_the_papers_king_makers_do_not_lift_their_friend_of_its_table_5(count):
    _, table = table_5_points(count, as_printed=False)
    without = 11  # A and B0 to B9
    points = table[:without, :without]
    everybody = ~np.eye(without, dtype=bool)
    lift = king_makers(points, everybody, 0, count, "paper")
    assert lift.above == (5, 5)
    assert lift.gained == lift.passed == (0, 0)
    copied = king_makers(points, everybody, 0, count, "copy")
    assert copied.gained[0] >= lift.gained[0]


@pytest.mark.parametrize("engine", ["alpha_beta:late=0,forced=False", "alpha_beta_learned"])
def test_a_program_of_others_is_timed_and_meets_the_engine(engine, tmp_path):
    program = Path(__file__).parents[1] / "examples" / "program.py"
    meeting = engines.Meeting("pente", "the first point", f"process:{sys.executable} {program}", None, engine)
    told = []
    row = engines.play(meeting, 2, told.append)
    assert (row.won, row.drawn, row.lost, row.score) == (2, 0, 0, 1.0)
    assert min(row.theirs, row.ours) > 0
    assert told[-1] == 2
    engines.save([row], tmp_path / "record.json")
    assert engines.load(tmp_path / "record.json") == [row]
    text = engines.page([row])
    assert f"| the first point | pente | `{engine}` |" in text
    assert "| 100.0 % (" in text
    assert f"--engine {engine}`" in text


def test_matches_of_the_page_with_others():
    file = Path("program")
    both = engines.meetings(file, file, ["alpha_beta", "alpha_beta_learned"])
    assert len({(meeting.program, meeting.engine) for meeting in both}) == 12
    assert both[0].program.startswith("Rapfi")
    assert "seconds=0.1 " in both[1].agent
    assert {meeting.program.startswith("Mammel") for meeting in engines.meetings(None, file)} == {True}
    assert [meeting.program for meeting in engines.meetings(file, file, only="level 7")] == ["Mammel, level 7"]


def test_an_engine_at_equal_time_makes_up_for_what_it_spent():
    ruleset = GAME.ruleset(preset="pente")
    search = make_agent(GAME, "alpha_beta:seconds=1")
    program, state = engines.Timed(make_agent(GAME, "random")), new_state(ruleset, 0)
    paced = engines.Paced(search, program)
    paced.begin(ruleset, [0], [0])

    def limit(mean: float, spent: float, decisions: int) -> float:
        program.restart(mean, 10)
        paced.restart(spent, decisions)
        paced.act(state, action_mask(ruleset, state))
        return search._budget["seconds"]

    assert limit(0.01, 0.01, 3) == pytest.approx(0.01)
    assert limit(0.01, 0.008, 3) == pytest.approx(0.016)
    assert limit(0.01, 0.001, 9) == 0.02
    assert limit(0.01, 0.1, 1) == 0.0005
