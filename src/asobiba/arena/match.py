"""One game between agents: its setup (`Match`), its record (`MatchRecord`), and its replay."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from asobiba.api.batch import BEGIN, STEP_BLIND, Batch
from asobiba.core import AsobibaError, Ruleset, game
from asobiba.core.record import END_REASONS, ILLEGAL_ACTION
from asobiba.core.states import agent_views, opened_state

__all__ = ["DRAW", "REASONS", "LiveGame", "Match", "MatchRecord", "ReplayError"]

RULES, ILLEGAL, TRUNCATION = END_REASONS[1], END_REASONS[2], END_REASONS[3]
CRASH, TIME_OUT = "crash", "time-out"
REASONS = (RULES, ILLEGAL, CRASH, TIME_OUT, TRUNCATION)
"""Reasons for which a game ends, as they are recorded."""

DRAW = -1
"""`MatchRecord.winner` of a game that nobody won."""


class ReplayError(AsobibaError, ValueError):
    """Raised for a record whose actions do not lead to its result."""


@dataclass(frozen=True)
class Match:
    """A game to be played; enough, with the actions, to replay it exactly.

    Args:
        game: name of the game.
        version: the game's version when the match was made.
        parameters: the value of every parameter of the game.
        seats: the agents as text (`name:key=value,...`), first seat first.
        seed: 0 or greater, below 2**63: the public number of the deal.
        seeds: of the game's chance, and of each agent (`asobiba.arena.secret`); if there are none, they follow from
            `seed`.
    """

    game: str
    version: int
    parameters: Mapping[str, Any]
    seats: tuple[str, ...]
    seed: int
    seeds: tuple[int, ...] = ()

    @classmethod
    def of(cls, ruleset: Ruleset, seats: Sequence[str], seed: int) -> Match:
        """The match of these agents under this ruleset.

        Raises:
            ValueError: if the number of seats is wrong or the seed is negative.
        """
        if len(seats) != ruleset.num_players:
            raise ValueError(f"{ruleset} has {ruleset.num_players} seats, but {len(seats)} agents were given: {seats}")
        if not 0 <= seed < 2**63:
            raise ValueError(f"a seed is at least 0 and below 2**63, not {seed}")
        return cls(ruleset.game.name, ruleset.game.version, dict(ruleset.parameters), tuple(seats), int(seed))

    @cached_property
    def key(self) -> str:
        """A unique identifier of this match, independent of its seeds: 32 hexadecimal digits."""
        text = json.dumps([self.game, self.version, self.parameters_text, self.seats, self.seed])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @cached_property
    def parameters_text(self) -> str:
        """The parameters as JSON with sorted keys."""
        return parameters_text(self.parameters)

    @property
    def game_seed(self) -> int:
        """The seed of the game's chance."""
        return self.seeds[0] if self.seeds else self.seed

    def agent_seed(self, seat: int) -> int:
        """The seed of the agent at `seat`."""
        return self.seeds[1 + seat] if self.seeds else agent_seed(self.seed, seat)

    def ruleset(self) -> Ruleset:
        """The ruleset that this match is played under.

        Raises:
            ReplayError: if the installed game has another version.
        """
        found = _ruleset(self.game, self.parameters_text)
        if found.game.version != self.version:
            raise ReplayError(
                f"this match is of {self.game} version {self.version}, but version {found.game.version} is installed; "
                "install the asobiba that it was played with"
            )
        return found


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """The parameters of a game as JSON with sorted keys: equal parameters give equal text."""
    return json.dumps(parameters, sort_keys=True, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"a game parameter must be a number, text or a list of them to be put on record, not {value!r}")


@lru_cache(maxsize=64)
def _ruleset(name: str, text: str) -> Ruleset:
    found = game(name)
    parameters = json.loads(text)
    for key, default in found.parameters.items():
        if isinstance(default, tuple) and isinstance(parameters.get(key), list):
            parameters[key] = _tuples(parameters[key])
    return found.ruleset(**parameters)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class MatchRecord:
    """The course and the result of a match.

    Args:
        match: what was played.
        actions: the actions in order, the random plies of the opening first, as the bytes of an array of `action_dtype`
            (see `decode_actions`); an answer that was not an action is recorded as -1, or as not-a-number where actions are
            continuous.
        returns: each seat's sum of rewards.
        moves: actions that the game took, those of the opening included.
        reason: one of `REASONS`.
        culprit: the seat whose illegal action, crash or time-out ended the game, else `None`.
        detail: details of the failure, else ""; where the rules replace actions, how many of each seat.
        decisions: how often each seat was asked.
        seconds: how long each seat thought, in all.
        tie_break: the game's tie-breaker for each seat, where it declares one.
        digest: 16 hexadecimal digits of the final state's bytes; a replay must reach the same.
        teams: each seat's team, where the game declares teams (by roles: those of the final state).
        contained: how the agents that are not trusted were contained, one word for each seat and "" for a trusted one;
            "" altogether where all are.
    """

    match: Match
    actions: bytes
    returns: tuple[float, ...]
    moves: int
    reason: str
    culprit: int | None = None
    detail: str = ""
    decisions: tuple[int, ...] = ()
    seconds: tuple[float, ...] = ()
    tie_break: tuple[float, ...] | None = None
    digest: str = ""
    teams: tuple[int, ...] | None = None
    contained: str = ""

    @property
    def winner(self) -> int:
        """The seat with the greatest return (the first of the team with the greatest mean return), or `DRAW` if several
        share it or there is only one side.
        """
        return winner(self.returns, self.teams)

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats that won: the winner's, with those of its team; nobody's in a draw."""
        if self.winner == DRAW:
            return ()
        if self.teams is None:
            return (self.winner,)
        return tuple(seat for seat, team in enumerate(self.teams) if team == self.teams[self.winner])

    def renamed(self, names: Mapping[str, str]) -> MatchRecord:
        """The record with other names of the agents, for tables; it cannot be replayed by them."""
        return replace(self, match=replace(self.match, seats=tuple(names[seat] for seat in self.match.seats)))

    def same_play(self, other: MatchRecord) -> bool:
        """Whether both record the same game; only the agents' times and containment may differ."""
        mine, yours = asdict(self), asdict(other)
        return all(mine[name] == yours[name] for name in mine if name not in ("seconds", "contained"))


def winner(returns: Sequence[float], teams: Sequence[int] | None = None) -> int:
    """The seat with the greatest return, or `DRAW` where several share it or there is one side only.

    With teams, it is the first seat of the team with the greatest mean return.
    """
    sides: dict[int, list[int]] = {}
    for seat in range(len(returns)):
        sides.setdefault(seat if teams is None else teams[seat], []).append(seat)
    values = {side: sum(returns[k] for k in seats) / len(seats) for side, seats in sides.items()}
    best = [side for side, value in values.items() if value == max(values.values())]
    return sides[best[0]][0] if len(best) == 1 and len(sides) > 1 else DRAW


def teams_of(ruleset: Ruleset, state: np.void) -> tuple[int, ...] | None:
    """Each seat's team, where the game declares teams: fixed ones, or by a field of the state."""
    declared = getattr(ruleset.game, "teams", None)
    if not declared:
        return None
    found = state[declared] if isinstance(declared, str) else declared
    return tuple(int(team) for team in found)[: ruleset.num_players]


def action_dtype(ruleset: Ruleset) -> np.dtype:
    """The smallest dtype that holds every action and -1."""
    if not ruleset.discrete:
        return np.dtype(ruleset.action_space.dtype)
    for candidate in (np.int8, np.int16, np.int32):
        if ruleset.num_actions - 1 <= np.iinfo(candidate).max:
            return np.dtype(candidate)
    return np.dtype(np.int64)


def decode_actions(ruleset: Ruleset, data: bytes) -> np.ndarray:
    """The actions of a record: `(moves, *Ruleset.actions_shape)`.

    Raises:
        ReplayError: if the bytes cannot be actions of this game.
    """
    dtype, shape = action_dtype(ruleset), ruleset.actions_shape
    size = dtype.itemsize * math.prod(shape)
    if len(data) % size:
        raise ReplayError(f"{len(data)} bytes are not actions of {ruleset}: expected a multiple of {size}")
    return np.frombuffer(data, dtype).reshape(-1, *shape)


def agent_seed(seed: int, seat: int) -> int:
    """The seed of the agent at `seat` in a match with only this one seed."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{seat}".encode(), digest_size=8).digest(), "big") >> 1


def digest(state: np.ndarray | np.void) -> str:
    """16 hexadecimal digits of a state's bytes."""
    return hashlib.blake2b(state.tobytes(), digest_size=8).hexdigest()


class LiveGame:
    """One game, played or replayed move by move: a batch of one game."""

    def __init__(self, ruleset: Ruleset):
        self.ruleset = ruleset
        self._batch = Batch(ruleset, 1, autoreset="disabled", threads=1)
        self.opening: tuple[int, ...] = ()
        self.states = self._batch.states

    @property
    def state(self) -> np.void:
        return self.states[0]

    @property
    def over(self) -> bool:
        return bool(self.states["terminated"][0] or self.states["truncated"][0])

    @property
    def movers(self) -> list[int]:
        """The seats to be asked for an action now."""
        return self.ruleset.actors(self.states[0]).tolist()

    def begin(self, seed: int) -> None:
        """Deals the game of this seed; `opening` holds its opening's random plies."""
        self._batch.seed(seed)
        self._batch.run(BEGIN)
        self.opening = opened_state(self.ruleset, seed)[1] if self.ruleset.opening_plies else ()

    def view(self, seat: int) -> np.void:
        """A copy of the state as the agent at `seat` may see it."""
        return agent_views(self.ruleset, self.states, np.array([seat]))[0]

    def legal(self, seat: int) -> np.ndarray:
        """A copy of the legal mask of `seat`."""
        mask = self._batch.masks[0]
        return (mask[seat] if self.ruleset.simultaneous else mask).copy()

    def play(self, action: Any) -> None:
        """Applies one step's action (a row a seat where several may act at once)."""
        self._batch.actions[0] = action
        self._batch.run(STEP_BLIND)


@dataclass(frozen=True)
class Fault:
    """A failure of the agent at `seat` to act: one of `REASONS`, and the details."""

    seat: int
    reason: str
    detail: str


def finished_record(
    match: Match,
    ruleset: Ruleset,
    state: np.void,
    actions: bytes,
    *,
    returns: np.ndarray,
    decisions: Sequence[int] | np.ndarray,
    seconds: Sequence[float] | np.ndarray,
    remarks: Mapping[int, str] | None = None,
    failures: Mapping[int, str] | None = None,
    fault: Fault | None = None,
) -> MatchRecord:
    """The record of a game that has ended.

    Args:
        match, ruleset: what was played.
        state: the final one.
        actions: as `MatchRecord.actions`.
        returns: `(players,)`, without the penalty of a fault.
        decisions, seconds: as in `MatchRecord`.
        remarks: answers of seats that were not actions.
        failures: the last crash or time-out of each seat, where the rules replace actions.
        fault: the fault that ended the game, if it was not the rules, an illegal action or the step limit.
    """
    reason = END_REASONS[int(state["end_reason"])]
    culprit, detail = None, _replaced(ruleset, state, failures or {})
    if fault is not None:
        reason, culprit, detail = fault.reason, fault.seat, fault.detail
        returns = returns + forfeit_rewards(ruleset, fault.seat)
    elif int(state["end_reason"]) == ILLEGAL_ACTION:
        culprit = int(state["to_move"])
        detail = (remarks or {}).get(culprit, "") or "action " + np.array2string(
            decode_actions(ruleset, actions)[-1], separator=","
        ).replace("\n", "")
    return MatchRecord(
        match=match,
        actions=actions,
        returns=tuple(float(x) for x in returns),
        moves=int(state["steps"]),
        reason=reason,
        culprit=culprit,
        detail=detail,
        decisions=tuple(int(x) for x in decisions),
        seconds=tuple(float(x) for x in seconds),
        tie_break=_tie_break(ruleset, state),
        digest=digest(state),
        teams=teams_of(ruleset, state),
    )


def _replaced(ruleset: Ruleset, state: np.void, failures: Mapping[int, str]) -> str:
    if ruleset.game.faults == "end":
        return ""
    counts = {name: int(count) for name, count in zip(ruleset.players, state["faults"])}
    told = [
        f"{name}: {count} action{'s' if count > 1 else ''} replaced" + (f" ({failures[k]})" if k in failures else "")
        for k, (name, count) in enumerate(counts.items())
        if count
    ]
    return "; ".join(told)


def _tie_break(ruleset: Ruleset, state: np.void) -> tuple[float, ...] | None:
    function = ruleset.game.tie_break
    return None if function is None else tuple(float(x) for x in function(ruleset, state))


def forfeit_rewards(ruleset: Ruleset, seat: int) -> np.ndarray:
    """The rewards `(players,)` when `seat` crashes or oversteps its time: the same as for an illegal action."""
    lost = float(ruleset.game.illegal_reward)
    others = -lost / (ruleset.num_players - 1) if ruleset.game.utility == "zero_sum" else 0.0
    rewards = np.full(ruleset.num_players, others)
    rewards[seat] = lost
    return rewards
