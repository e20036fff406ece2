"""Programs that speak JSON lines: the examples play, and whatever a program does wrong loses it the game."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from asobiba.arena.match import Match
from asobiba.arena.playing import play_match
from asobiba.arena.referee import Clock
from asobiba.arena.replay import check_record
from asobiba.core import game, make_agent
from asobiba.core.answers import read_answer
from asobiba.protocols.json_lines import JsonLinesAgent

NIM = game("toy_nim").ruleset()
EXAMPLES = Path(__file__).parent.parent / "examples"
BEGIN = "import sys, json, time, os\nfor line in sys.stdin:\n    q = json.loads(line)\n    if q['type'] == 'begin':\n        print('{}', flush=True); continue\n    "


def play(program, seconds=5.0, seat=0):
    agent = JsonLinesAgent([sys.executable, "-c", program] if isinstance(program, str) else program, seconds=seconds)
    other = make_agent(NIM.game, "bouton")
    agents = [agent, other] if seat == 0 else [other, agent]
    match = Match.of(NIM, [a.name for a in agents], 3)
    try:
        record = play_match(match, agents, Clock(60))
    finally:
        agent.close()
    return record


def test_the_example_in_python_plays_whole_games():
    for seat in (0, 1):
        record = play([sys.executable, str(EXAMPLES / "program.py")], seat=seat)
        assert record.reason == "rules", record.detail
        check_record(record)


def test_the_example_in_c_plays_whole_games(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler; on Debian: apt-get install gcc libc6-dev"
    program = tmp_path / "random_legal"
    subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-o", program, EXAMPLES / "program.c"], check=True)
    record = play([str(program)])
    assert record.reason == "rules", record.detail


@pytest.mark.parametrize(
    ("answer", "reason", "detail"),
    [
        ("time.sleep(60)", "time-out", "did not answer within 0.5 s"),
        ("print('I resign', flush=True)", "illegal action", "which is not JSON"),
        ("print('[1]', flush=True)", "illegal action", "not a JSON object"),
        ("print('[' * 100000, flush=True)", "illegal action", "which is not JSON"),
        ("print('{\"action\": NaN}', flush=True)", "illegal action", "which is not JSON"),
        ("print('{\"action\": true}', flush=True)", "illegal action", "which is not a number"),
        ("print('{\"action\": 99999}', flush=True)", "illegal action", "actions are 0 to"),
        ('print(\'{"move": "z9"}\', flush=True)', "illegal action", "z9"),
        ("print('{}', flush=True)", "illegal action", "holds no action"),
        ("sys.exit(3)", "crash", "exit status 3"),
        ("os.write(1, b'\\xff\\x00\\xed\\xa0\\x80\\n')", "illegal action", "which is not JSON"),
    ],
)
def test_what_a_program_does_wrong_is_on_record(answer, reason, detail):
    record = play(BEGIN + answer, seconds=0.5 if reason == "time-out" else 5.0)
    assert (record.reason, record.culprit) == (reason, 0), record.detail
    assert detail in record.detail
    check_record(record)


def test_moves_may_be_text_and_actions_numbers():
    program = (
        BEGIN.replace("'{}'", '\'{"wants": ["moves"]}\'') + "print(json.dumps({'move': q['moves'][0]}), flush=True)"
    )
    assert play(program).reason == "rules"


def test_answers_of_any_kind_become_actions_or_remarks():
    class Odd:
        def __repr__(self):
            raise RuntimeError("no")

    for odd in (Odd(), None, "\ud800", [1, 2], 1.5, {"a": 1}, b"\0"):
        action, remark = read_answer(NIM, odd)
        assert int(action) == -1
        remark.encode()
        assert "\0" not in remark
