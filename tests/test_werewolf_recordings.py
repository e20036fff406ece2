"""Our server against recordings of the official ones: every packet field by field, every line of the log."""

import pytest
from werewolf_recordings import ScriptedGame, load

OURS_ALONE = {"randomSeed", "timeLimit", "enableRoleRequest"}
"""Settings that we choose: the seed is not told, and no role is asked for."""


def without_settings(found):
    if not found["gameSetting"]:
        return found
    return {**found, "gameSetting": {k: v for k, v in found["gameSetting"].items() if k not in OURS_ALONE}}


@pytest.mark.parametrize(("name", "rules"), [("2016", "2016"), ("0_6", "0.6")])
def test_the_packets_and_the_log_are_those_of_the_official_server(name, rules):
    recording = load(name)
    game = ScriptedGame(recording, rules)
    hosted = game.replay()
    compared = 0
    for client in recording["clients"]:
        told = [found for found, _ in client if found["request"] not in ("NAME", "ROLE")]
        seat = told[0]["gameInfo"]["agent"] - 1
        for number, (ours, theirs) in enumerate(zip(game.heard[seat], told, strict=False)):
            assert without_settings(ours) == without_settings(theirs), (seat + 1, number)
            compared += 1
        assert len(game.heard[seat]) == len(told)
    assert compared > 1500
    assert hosted.log == recording["log"]
