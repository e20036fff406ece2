"""The agents of `examples`, which the page "Write an agent" shows; its programs are in test_programs.py."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.arena.results import Result
from asobiba.arena.standings import as_result, columns, narrow_columns, shown_names, standings
from asobiba.arena.submit import agent_text, names_in_table
from asobiba.arena.trust import Trust
from asobiba.core import game, make_agent
from asobiba.core.states import action_mask, is_over, legal_actions, new_state, step
from asobiba.protocols import hosted, sandbox

EXAMPLES = Path(__file__).parent.parent / "examples"
BAO = game("bao").ruleset()


def build(text, of="bao"):
    with sandbox.consent(True):
        return make_agent(game(of), text)


def played(first, second, seed=3):
    names = (first, second)
    return play_match(Match.of(BAO, names, seed), [build(name) for name in names])


def positions(count=40):
    state, found = new_state(BAO, 0), []
    for k in range(count):
        if is_over(state):
            state = new_state(BAO, k)
        found.append(state)
        state = step(BAO, state, int(np.random.default_rng(k).choice(legal_actions(BAO, state))))
    return found


def test_the_kernel_plays_as_the_python_agent_does():
    plain, compiled = build(f"file:{EXAMPLES}/fullest.py"), build(f"file:{EXAMPLES}/fullest_kernel.py")
    assert (plain.declared, compiled.declared) == ("fullest", "fullest_kernel")
    for state in positions():
        seat, mask = int(state["to_move"]), action_mask(BAO, state)
        for agent in (plain, compiled):
            agent.reset(BAO, seat, 0)
        chosen = plain.act(state, mask)
        assert mask[chosen]
        assert compiled.act(state, mask) == chosen


def test_the_search_beats_the_fullest_hole_from_both_seats():
    search, fullest = f"file:{EXAMPLES}/search.py", f"file:{EXAMPLES}/fullest.py"
    for seat, names in enumerate([(search, fullest), (fullest, search)]):
        record = played(*names)
        assert (record.reason, record.winner) == ("rules", seat)


def test_the_rules_complete_a_five():
    gogo = game("gogo").ruleset()
    state = new_state(gogo, 0)
    for move in ("g7", "a1", "h7", "a3", "i7", "a5", "j7", "c1"):
        state = step(gogo, state, gogo.notation.text_to_action(gogo, state, move))
    agent = build(f"rules:{EXAMPLES}/rules.yaml", "gogo")
    agent.reset(gogo, 0, 0)
    move = gogo.notation.action_to_text(gogo, state, agent.act(state, action_mask(gogo, state)))
    assert move in ("f7", "k7")


def test_submitted_files_are_named_as_they_declare(tmp_path):
    """In tables too, where two of one name are told apart."""
    copied = agent_text(str(EXAMPLES / "rules.yaml"), tmp_path / "submissions" / "gogo", game("gogo"))
    assert re.fullmatch(r"rules:.*/five_first-[0-9a-f]{8}\.yaml", copied)
    code = agent_text(str(EXAMPLES / "fullest_kernel.py"), tmp_path / "submissions" / "bao", BAO.game)
    assert re.fullmatch(r"file:.*/fullest_kernel-[0-9a-f]{8}\.py", code)
    other = code.replace(code[-11:-3], "00112233")
    assert shown_names([copied, code, "random", "file:mine.py"]) == {
        copied: "five_first", code: "fullest_kernel", "random": "random", "file:mine.py": "file:mine.py",
    }  # fmt: skip
    assert shown_names([code, other])[other] == "fullest_kernel (00112233)"
    rows = [Result(1, (code, "random"), 1, (1.0, -1.0), 0, 9, "rules", None, (5, 4), (0.1, 0.1), None)]
    # Of a single game nothing is known but that it was played.
    assert narrow_columns(standings(BAO, rows))[1][0][1:4] == ["fullest_kernel", "provisional", ""]
    assert columns(standings(BAO, rows))[1][0][2:4] == ["provisional", ""]


def test_a_match_names_files_as_they_declare(tmp_path):
    mine, kernel = (f"file:{EXAMPLES}/{name}.py" for name in ("fullest", "fullest_kernel"))
    trust = Trust.of(["all"])
    assert names_in_table(BAO, [mine, "random", kernel], trust) == {
        mine: "fullest", "random": "random", kernel: "fullest_kernel",
    }  # fmt: skip
    (tmp_path / "copy.py").write_text((EXAMPLES / "fullest.py").read_text())
    (tmp_path / "false.py").write_text((EXAMPLES / "fullest.py").read_text().replace('"fullest"', '"uct"'))
    copy, false = f"file:{tmp_path}/copy.py", f"file:{tmp_path}/false.py"
    assert names_in_table(BAO, [mine, copy], trust) == {mine: f"fullest ({mine})", copy: f"fullest ({copy})"}
    assert names_in_table(BAO, [false, "random"], trust)[false] == f"uct ({false})"
    record = played(mine, "random").renamed({mine: "fullest", "random": "random"})
    assert {line.agent for line in standings(BAO, [as_result(record)]).lines} == {"fullest", "random"}


def test_a_contained_agent_has_its_kernels_before_its_first_move():
    """Its time for a move does not go to the compiler, neither for its own kernel nor for looking ahead."""
    hosted._compile_positions(BAO)
    for name in ("advance_all", "write_masks", "observe_all", "hide_all"):
        assert getattr(BAO.engine, name).signatures
    with sandbox.consent(True):
        answerer = hosted._Answerer("bao", f"file:{EXAMPLES}/fullest_kernel.py")
        parameters = json.loads(json.dumps(BAO.parameters))
        answer = answerer.answer({"type": "begin", "parameters": parameters, "seat": 1, "seed": 0})
        assert answer == {"ready": True, "name": "fullest_kernel"}
    assert answerer._agent._hand.engine.ask.signatures
