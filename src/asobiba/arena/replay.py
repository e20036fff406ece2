"""Replays a record and compares the result with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from asobiba.arena.match import (
    CRASH,
    ILLEGAL,
    TIME_OUT,
    LiveGame,
    MatchRecord,
    ReplayError,
    decode_actions,
    digest,
    forfeit_rewards,
    teams_of,
)
from asobiba.core.record import END_REASONS


def replay(record: MatchRecord) -> Iterator[tuple[np.void, Any]]:
    """Plays a record again: yields `(state, action that follows)` for every position after the opening, the last with `None`.

    Raises:
        ReplayError: if the final state's bytes, or the length, are not those on record.
    """
    ruleset = record.match.ruleset()
    live = LiveGame(ruleset)
    live.begin(record.match.game_seed)
    actions = decode_actions(ruleset, record.actions)
    plies = len(live.opening)
    if tuple(actions[:plies].tolist()) != live.opening:
        raise ReplayError(
            f"match {record.match.key}: its seed begins it with the plies {live.opening}, not those on record"
        )
    for action in actions[plies:]:
        if live.over:
            raise ReplayError(f"match {record.match.key}: the game is over after {live.state['steps']} actions, "
                              f"but {len(actions)} are on record")  # fmt: skip
        yield live.states.copy()[0], action
        live.play(action)
    if digest(live.states[0]) != record.digest:
        raise ReplayError(
            f"match {record.match.key}: replaying its {len(actions)} actions gives another final state than the one "
            "on record; the rules have changed or the record is damaged"
        )
    yield live.states.copy()[0], None


def check_record(record: MatchRecord) -> None:
    """Replays a record and compares everything that the rules decide.

    Raises:
        ReplayError: names the difference.
    """
    ruleset = record.match.ruleset()
    returns = np.zeros(ruleset.num_players)
    state = None
    for step, (state, _) in enumerate(replay(record)):
        if step:
            returns += state["rewards"][: ruleset.num_players]
    assert state is not None
    if record.reason in (CRASH, TIME_OUT):
        if record.culprit is None:
            raise ReplayError(f"match {record.match.key}: ended by {record.reason!r}, but nobody is to blame on record")
        returns += forfeit_rewards(ruleset, record.culprit)
    elif END_REASONS[int(state["end_reason"])] != record.reason:
        raise ReplayError(f"match {record.match.key}: ended by {record.reason!r} on record, not so in the replay")
    if tuple(float(x) for x in returns) != record.returns:
        raise ReplayError(f"match {record.match.key}: returns {record.returns} on record, {returns} in the replay")
    if int(state["steps"]) != record.moves:
        raise ReplayError(f"match {record.match.key}: {record.moves} moves on record, {state['steps']} in the replay")
    if record.reason == ILLEGAL and record.culprit != max(int(state["to_move"]), 0) and int(state["to_move"]) >= 0:
        raise ReplayError(f"match {record.match.key}: seat {record.culprit} is to blame on record, not in the replay")
    if record.teams != teams_of(ruleset, state):
        raise ReplayError(f"match {record.match.key}: teams {record.teams} on record, others in the replay")
