"""Every parser of text and packets against what is nearly right: a named error, or an answer, at once.

The cases are the same every time; `pytest -m slow` has many more.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asobiba import game, game_names
from asobiba.arena.commands import ruleset_of
from asobiba.arena.person import move_text
from asobiba.baselines.curling import dc3, dc4
from asobiba.baselines.gogo.rule_table import read_strategy
from asobiba.baselines.werewolf import joining
from asobiba.core import Agent, AsobibaError, states
from asobiba.core.agents import parse_agent
from asobiba.envs.battleship.parameters import parse_placement
from asobiba.envs.curling import dcl
from asobiba.envs.mini4wd.course_source import load_course
from asobiba.envs.tactics.maps import read_map
from asobiba.learn.config import read_settings
from asobiba.learn.policy_file import read_tensors
from asobiba.protocols import aiwolf
from asobiba.protocols.gomocup import serve as serve_gomocup
from asobiba.protocols.usi import UsiServer

ENVS = Path(dcl.__file__).parents[1]
SPICE = [
    "1000000000", "9" * 30, "9" * 5000, "-1", "1e999", "NaN", "-inf", "1_000", "0x10", "\uff11\uff12", "\u00b2", "\u0661", "\u2460",
    "\0", "\x1b[2J", "\u202e", "\ud7ff", "\U0001f43a", "\n", "\r\n", "\t", "   ", "(", ")", "(" * 3000, "[" * 3000, "{" * 3000, "]" * 50,
    "/" * 300, " ." * 40 + " !", "- " * 500, ",", ":", ";", "=", "#", '"', "'", "&a [*a]", "!!int ''", "!!float ''", "!!timestamp x", "2026-99-99",
    "null", "true", "{}", "[]", "x" * 3000, "$(id)", "[/red]", "%s%n", "../../etc/passwd",
]  # fmt: skip


@st.composite
def mangled(draw, texts):
    """One of the texts, with up to three things put in, cut out or doubled; or something else altogether."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(0, 3))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 12)))
        kind = draw(st.integers(0, 4))
        if kind == 0:
            text = text[:begin] + draw(st.sampled_from(SPICE)) + text[begin:]
        elif kind == 1:
            text = text[:begin] + text[end:]
        elif kind == 2:
            text = text[:end] + text[begin:]
        elif kind == 3:
            text = text[:begin] + draw(st.sampled_from(SPICE)) + text[end:]
        else:
            text = draw(st.one_of(st.text(max_size=30), st.sampled_from(SPICE)))
    return text


def try_all(parse, texts, cases, allowed=AsobibaError):
    """Parses this many mangled texts; anything but an `allowed` error fails."""

    @settings(
        max_examples=cases, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(mangled(texts))
    def attempt(text):
        reason = "answered"
        try:
            parse(text)
        except allowed as error:
            reason = str(error)
        assert reason

    attempt()


def notation_parsers():
    """The notation of every game: moves and positions as text, with texts from random play."""
    for name in game_names():
        ruleset = game(name).ruleset()
        if ruleset.game.notation is None:
            continue
        notation = ruleset.notation
        state, generator, moves, positions = states.new_state(ruleset, 1), np.random.default_rng(1), [], []
        for _ in range(6):
            if states.is_over(state):
                break
            if ruleset.discrete:
                masks = states.action_mask(ruleset, state)
                rows = masks if masks.ndim > 1 else masks[None]
                chosen = [int(generator.choice(np.flatnonzero(row))) if row.any() else -1 for row in rows]
                action = np.array(chosen) if masks.ndim > 1 else chosen[0]
            else:
                action = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
            moves.append(move_text(ruleset, state, action))
            if hasattr(notation, "state_to_text"):
                positions.append(notation.state_to_text(ruleset, state))
            state = states.step(ruleset, state, action)
        first = states.new_state(ruleset, 1)

        def move(text, notation=notation, ruleset=ruleset, first=first):
            notation.text_to_action(ruleset, first, text)

        yield f"{name} moves", move, moves
        if positions and hasattr(notation, "text_to_state"):

            def position(text, notation=notation, ruleset=ruleset):
                notation.text_to_state(ruleset, text)

            yield f"{name} positions", position, positions


def file_of(folder, text, suffix):
    path = folder / f"fuzzed{suffix}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


class Passive(Agent):
    name = "passive"

    def reset(self, ruleset, seat, seed):
        pass

    def act(self, view, legal):
        return int(np.flatnonzero(legal)[0])


def hear_packet(text):
    """The reaction of `join` to a server's line."""
    found = aiwolf.read_packet(text)
    playing = joining.RemoteGame(Passive(), 0)
    for line in (*AIWOLF[:1], text):
        joining.reply_to(playing, aiwolf.read_packet(line), "name", "none")
    return found


AIWOLF = [
    aiwolf.packet(
        "INITIALIZE",
        {"agent": 1, "day": 1, "statusMap": dict.fromkeys("12345", "ALIVE"), "roleMap": {"1": "SEER"}, "voteList": []},
        {"playerNum": 5, "maxSkip": 2},
    ),
    aiwolf.packet("TALK", None, None, [{"idx": 0, "day": 1, "turn": 0, "agent": 2, "text": "VOTE Agent[03]"}], []),
    aiwolf.packet(
        "VOTE",
        {
            "agent": 1,
            "day": 1,
            "lastDeadAgentList": [2],
            "divineResult": {"day": 1, "agent": 1, "target": 2, "result": "HUMAN"},
        },
    ),
    aiwolf.packet("NAME"),
]
MOVE = {"cmd": "move", "move": {"type": "shot", "velocity": {"x": 0.13, "y": 2.4}, "rotation": "ccw"}}
SETTING = {"max_end": 2, "sheet_width": 4.75, "five_rock_rule": True, "thinking_time": {"team0": 60, "team1": 60}}
PLAYERS = {"team0": [{"type": "normal_dist", "stddev_speed": 0.01, "stddev_angle": 0.002}]}
SHOT = {"translational_velocity": 2.3, "angular_velocity": 1.57, "shot_angle": 1.57}
EVENT = {
    "winner_team": None, "end_number": 0, "shot_number": 1, "total_shot_number": 2, "next_shot_team": "team0",
    "first_team_remaining_time": 219.0, "second_team_remaining_time": 200.5, "mix_doubles_settings": None, "last_move": SHOT,
    "stone_coordinate": {"data": {team: [{"x": 0.1, "y": 38.0}, *[{"x": 0.0, "y": 0.0}] * 7] for team in dc3.TEAMS}},
    "score": {team: [0] * 8 for team in dc3.TEAMS},
}  # fmt: skip
PLACES = {team: [{"position": {"x": 0.1, "y": 38.0}, "angle": 0}, *[None] * 7] for team in dc3.TEAMS}
STATE = {
    "end": 0, "shot": 2, "hammer": "team1", "stones": PLACES, "scores": {team: [None] * 2 for team in dc3.TEAMS},
    "extra_end_score": {}, "thinking_time_remaining": {},
}  # fmt: skip


def of_json(read):
    """A parser of what a JSON text holds, as `dc3.read_message` makes it."""

    def parse(text):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict):
            read(found)

    return parse


def gomocup(text):
    out = io.StringIO()
    serve_gomocup(game("gogo"), "random", None, text.split("\n"), out)
    return out.getvalue()


def usi(text):
    UsiServer(game("animal_shogi"), "random", io.StringIO()).run(text.split("\n"))


def other_parsers(folder):
    """Other texts that are read, beside notations: name, parser, texts that are right."""
    fcv1 = game("curling").ruleset(simulator="fcv1", ends=2)
    course = (ENVS / "mini4wd" / "courses").glob("*.yaml")
    rules = (ENVS.parents[0] / "baselines" / "gogo" / "strategies").glob("*.yaml")
    tactics_map = sorted((ENVS / "tactics" / "maps").glob("*.tbsmap"))
    yield "agents", parse_agent, ["alpha_beta:depth=3,nodes=50", "kr_uct:simulations=100,width=0.5"]
    yield "parameters", lambda text: ruleset_of("gogo", [text]), ["size=9", "goal=4", "captures=true"]
    yield "settings", lambda text: read_settings([text]), ["learner.learning_rate=1e-4", "total_steps=100"]
    yield "placements", parse_placement, ["r", "ed1sp3x4"]
    yield "strategies", read_strategy, [path.read_text() for path in sorted(rules)[:2]]
    yield (
        "courses",
        lambda text: load_course(file_of(folder, text, ".yaml")),
        [sorted(course)[0].read_text(), "random:7"],
    )
    yield "course names", load_course, ["random:7", "oval"]
    yield "maps", read_map, [path.read_text() for path in tactics_map[:2]]
    yield (
        "policies",
        lambda text: read_tensors(file_of(folder, text, ".safetensors")),
        ["\x10\0\0\0\0\0\0\0{}              "],
    )
    yield "game logs of curling", dcl.read, ["[GameInfo]\nFirst=a\nSecond=b\n[0000]\nBESTSHOT=BESTSHOT -0.9 -29.5 0\n"]
    yield "shots", lambda text: dcl.shot_from_server(text.split()), ["0.990740 -29.559770 1"]
    yield "moves of dc3", of_json(dc3.read_move), [json.dumps(MOVE)]
    yield (
        "rules of dc3",
        of_json(lambda found: dc3.ruleset_of(found, {"type": "fcv1"}, PLAYERS, "team0")),
        [json.dumps(SETTING)],
    )
    yield "shots of dc4", of_json(dc4.read_shot), [json.dumps(SHOT)]
    yield "states of dc4", of_json(lambda found: dc4.view_of(fcv1, found, "team0")), [json.dumps(EVENT)]
    yield "states of dc3", of_json(lambda found: dc3.view_of_state(fcv1, found, "team0")), [json.dumps(STATE)]
    yield "replies of AIWolf", aiwolf.read_target, ['{"agentIdx":3}', ""]
    yield "sentences of AIWolf", aiwolf.is_sentence, ["BECAUSE (DAY 1 (VOTE ANY)) (REQUEST Agent[02] (VOTE Agent[03]))"]
    yield "packets of AIWolf", hear_packet, AIWOLF
    yield (
        "commands of Gomocup",
        gomocup,
        ["START 13\nBEGIN\nTURN 3,4\nTAKEBACK 3,4", "START 13\nBOARD\n1,1,1\n2,2,2\nDONE"],
    )
    yield (
        "commands of USI",
        usi,
        ["usi\nisready\nposition startpos moves 3c3b\ngo depth 1\nquit", "position sfen gle/1c1/1C1/ELG b - 1"],
    )


def test_every_notation_answers_or_names_what_is_wrong():
    tried = 0
    for _, parse, texts in notation_parsers():
        try_all(parse, texts, 40)
        tried += 1
    assert tried > 8


def test_every_other_parser_answers_or_names_what_is_wrong(tmp_path):
    for _, parse, texts in other_parsers(tmp_path):
        try_all(parse, texts, 60)


@pytest.mark.slow
def test_every_parser_with_thousands_of_cases(tmp_path):
    for _, parse, texts in (*notation_parsers(), *other_parsers(tmp_path)):
        try_all(parse, texts, 4000)
