"""One game between agents: what was to be played (`Match`), what happened (`Record`), and playing it again."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from asobiba.api.batch import BEGIN, STEP_BLIND, Batch
from asobiba.core import Agent, AsobibaError, Ruleset, game
from asobiba.core.answers import describe, no_action, printable, read_answer, refused
from asobiba.core.record import END_REASONS, ILLEGAL_ACTION
from asobiba.core.states import agent_views
from asobiba.protocols.process import EngineKilled, EngineTimeout, HostedFault, IllegalAnswer

RULES, ILLEGAL, TRUNCATION = END_REASONS[1], END_REASONS[2], END_REASONS[3]
CRASH, TIME_OUT = "crash", "time-out"
__all__ = ["refused"]  # for the games in lockstep
REASONS = (RULES, ILLEGAL, CRASH, TIME_OUT, TRUNCATION)
"""Why a game ended, as it stands on record."""

DRAW = -1
"""`Record.winner` of a game that nobody won."""


class ReplayError(AsobibaError, ValueError):
    """A record whose actions do not lead to what it says."""


@dataclass(frozen=True)
class Match:
    """A game to be played; enough, with the actions, to replay it exactly.

    Args:
        game: name of the game.
        version: the game's version when the match was made.
        parameters: the value of every parameter of the game.
        seats: the agents as text (`name:key=value,...`), first seat first.
        seed: 0 or greater, below 2**63: the number of the deal, which everybody may know.
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
        """32 hexadecimal digits that name this match and no other, whatever its seeds are."""
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
class Record:
    """Record of a match.

    Args:
        match: what was played.
        actions: the actions in order, as the bytes of an array of `action_dtype` (see `decode_actions`); an answer
            that was no action at all stands as -1, or as not-a-number where actions are continuous.
        returns: each seat's sum of rewards.
        moves: actions that the game took.
        reason: one of `REASONS`.
        culprit: the seat whose illegal action, crash or time-out ended the game, else `None`.
        detail: what exactly went wrong, else ""; where the rules replace actions, whose and how many.
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
        """The seat with the greatest return (the first of the team with the greatest mean return), or `DRAW` where
        several share it, or nobody plays against anybody."""
        return winner(self.returns, self.teams)

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats that won: the winner's, with those of its team; nobody's in a draw."""
        if self.winner == DRAW:
            return ()
        if self.teams is None:
            return (self.winner,)
        return tuple(seat for seat, team in enumerate(self.teams) if team == self.teams[self.winner])

    def same_play(self, other: Record) -> bool:
        """Whether both tell of the same game; only the time that the agents took, and where, may differ."""
        mine, yours = asdict(self), asdict(other)
        return all(mine[name] == yours[name] for name in mine if name not in ("seconds", "contained"))


def winner(returns: Sequence[float], teams: Sequence[int] | None = None) -> int:
    """The seat with the greatest return, or `DRAW` where several share it or there is one side only.

    In teams it is the first seat of the team whose members' mean return is greatest.
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
        raise ReplayError(f"{len(data)} bytes are no actions of {ruleset}: expected a multiple of {size}")
    return np.frombuffer(data, dtype).reshape(-1, *shape)


def agent_seed(seed: int, seat: int) -> int:
    """The seed of the agent at `seat` in a match that has no other seeds than this."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{seat}".encode(), digest_size=8).digest(), "big") >> 1


def digest(state: np.ndarray | np.void) -> str:
    """16 hexadecimal digits of a state's bytes."""
    return hashlib.blake2b(state.tobytes(), digest_size=8).hexdigest()


class Table:
    """One game on the table, as agents are seated at it one by one: a batch of one game."""

    def __init__(self, ruleset: Ruleset):
        self.ruleset = ruleset
        self._batch = Batch(ruleset, 1, autoreset="disabled", threads=1)
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

    def replaced_for_good(self, seat: int) -> bool:
        """Whether the rules play for this seat from now on (`Game.fault_limit`)."""
        limit = self.ruleset.game.fault_limit
        return limit > 0 and int(self.states["faults"][0][seat]) >= limit

    def begin(self, seed: int) -> None:
        """Deals the game of this seed."""
        self._batch.seed(seed)
        self._batch.run(BEGIN)

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


class Thinking:
    """Told when an agent starts and stops thinking; the worker processes use it to enforce the time limit."""

    faults: tuple[type[BaseException], ...] = (Exception, SystemExit, GeneratorExit)
    """Exceptions of an agent that are its own fault; where no person sits at the keyboard, all are."""
    patience = False
    """Whether what cannot be decided raises `Undecided` instead of being the agent's fault."""

    def __init__(self, limit: float | None = None):
        self.limit = limit
        self._started = 0.0

    def start(self, seat: int, agent: str, moves: int = 1, slack: float = 0.0) -> None:
        """`seat` begins to think about this many moves; nobody interferes for `slack` seconds after its limit."""
        self._started = time.perf_counter()

    def warm(self, seat: int, agent: str) -> None:
        """The agent at `seat` starts, compiles or loads what it needs, which is no thinking."""
        self.start(seat, agent)

    def stop(self) -> float:
        """It has answered; returns the seconds that count as its thinking."""
        return time.perf_counter() - self._started

    def note(self, action: bytes) -> None:
        """The game took this action."""


class Undecided(Exception):
    """Nobody can say who is to blame for the end of a game: it is to be played again."""

    def __init__(self, seat: int, detail: str):
        super().__init__(detail)
        self.seat, self.detail = seat, detail


@dataclass(frozen=True)
class _Ending:
    """Reason of the end of a game that the rules did not end."""

    seat: int
    reason: str
    detail: str


@dataclass
class _Tally:
    decisions: list[int]
    seconds: list[float]
    returns: np.ndarray
    actions: list[Any] = field(default_factory=list)
    remarks: dict[int, str] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    """Of each seat whose crash or time-out did not end the game: the last one."""


def play_match(match: Match, agents: Sequence[Agent], thinking: Thinking | None = None) -> Record:
    """Plays one match, asking one agent after another.

    An agent that raises, takes longer than the time limit, or answers what is no legal action loses this game.

    Raises:
        Undecided: where `thinking.patience` asks for it.

    Args:
        match: what to play.
        agents: one agent per seat; the same object must not sit twice.
        thinking: enforces the time limit of a move; `None` for none.
    """
    ruleset = match.ruleset()
    thinking = thinking or Thinking()
    table, dtype = Table(ruleset), action_dtype(ruleset)
    table.begin(match.game_seed)
    count = ruleset.num_players
    tally = _Tally([0] * count, [0.0] * count, np.zeros(count))
    ending: _Ending | None = None
    for seat, agent in enumerate(agents):
        ending = ending or _begin(match, agent, seat, ruleset, thinking, tally)
    while not table.over and ending is None:
        action = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
        for seat in table.movers:
            if table.replaced_for_good(seat):
                action[seat if ruleset.simultaneous else ...] = no_action(ruleset)
                continue
            answer = _ask(match, agents[seat], seat, table, thinking, tally)
            if isinstance(answer, _Ending):
                if ruleset.game.faults == "end":
                    ending = answer
                    break
                tally.failures[seat] = f"{answer.reason}: {answer.detail}"
                answer = no_action(ruleset)  # the rules say what is played instead
            action[seat if ruleset.simultaneous else ...] = answer
        if ending is None:
            tally.actions.append(action)
            thinking.note(action.astype(dtype).tobytes())
            table.play(action)
            tally.returns += table.states["rewards"][0][:count]
    return _record(match, table, tally, ending)


def _begin(
    match: Match, agent: Agent, seat: int, ruleset: Ruleset, thinking: Thinking, tally: _Tally
) -> _Ending | None:
    ending, _ = _think(match, seat, agent, thinking, lambda: agent.begin(ruleset, (seat,), (match.agent_seed(seat),)))
    if isinstance(ending, _Ending):
        return replace(ending, detail=f"reset: {ending.detail}") if ending.reason == CRASH else ending
    return None


def _ask(match: Match, agent: Agent, seat: int, table: Table, thinking: Thinking, tally: _Tally) -> Any:
    view, legal = table.view(seat), table.legal(seat)
    found, seconds = _think(match, seat, agent, thinking, lambda: read_answer(table.ruleset, agent.act(view, legal)))
    tally.decisions[seat] += 1
    tally.seconds[seat] += seconds
    if isinstance(found, _Ending):
        if found.reason != ILLEGAL:
            return found
        found = no_action(table.ruleset), found.detail
    action, remark = found
    if remark:
        tally.remarks[seat] = remark
    return action


_SLACK = 5.0
"""Seconds that an agent in a process of its own, which watches that process itself, has to say that it is late."""


def _think(match: Match, seat: int, agent: Agent, thinking: Thinking, think: Callable[[], Any]) -> tuple[Any, float]:
    """Action that an agent chooses, or the fault by which it ended the game; and the seconds that it took.

    An answer may be anything; reading it may run its own code, and is part of the thinking.
    """
    outside = getattr(agent, "thinks_outside", False)
    if outside and not agent.running:  # type: ignore[attr-defined]
        thinking.warm(seat, match.seats[seat])
    else:
        thinking.start(seat, match.seats[seat], slack=_SLACK if outside else 0.0)
    try:
        found = think()
    except EngineTimeout as error:
        found = _Ending(seat, TIME_OUT, printable(str(error)))
    except IllegalAnswer as error:
        found = _Ending(seat, ILLEGAL, printable(str(error)))
    except EngineKilled as error:
        if thinking.patience:
            thinking.stop()
            raise Undecided(seat, printable(str(error))) from None
        found = _Ending(seat, CRASH, describe(error))
    except thinking.faults as error:
        found = _Ending(seat, CRASH, str(error) if isinstance(error, HostedFault) else describe(error))
    seconds = thinking.stop()
    late = thinking.limit is not None and seconds > thinking.limit and not outside
    if late and not isinstance(found, _Ending):
        found = _Ending(seat, TIME_OUT, f"took {seconds:.3g} s, the limit is {thinking.limit:.3g} s")
    return found, seconds


def _record(match: Match, table: Table, tally: _Tally, ending: _Ending | None) -> Record:
    ruleset = table.ruleset
    data = np.array(tally.actions, action_dtype(ruleset)).tobytes() if tally.actions else b""
    if ending is None:
        return finished_record(
            match, ruleset, table.states[0], data, tally.returns, tally.decisions, tally.seconds, tally.remarks,
            tally.failures,
        )  # fmt: skip
    returns = tally.returns + forfeit_rewards(ruleset, ending.seat)
    return Record(
        match=match,
        actions=data,
        returns=tuple(float(x) for x in returns),
        moves=int(table.states["steps"][0]),
        reason=ending.reason,
        culprit=ending.seat,
        detail=ending.detail,
        decisions=tuple(tally.decisions),
        seconds=tuple(tally.seconds),
        tie_break=_tie_break(ruleset, table.states[0]),
        digest=digest(table.states[0]),
        teams=teams_of(ruleset, table.states[0]),
    )


def finished_record(
    match: Match,
    ruleset: Ruleset,
    state: np.void,
    actions: bytes,
    returns: np.ndarray,
    decisions: Sequence[int],
    seconds: Sequence[float],
    remarks: Mapping[int, str],
    failures: Mapping[int, str] | None = None,
) -> Record:
    """The record of a game that its rules, an illegal action or the step limit ended.

    Where the rules replace actions, `detail` says whose, how many, and in which crash or time-out the last came about.
    """
    reason = END_REASONS[int(state["end_reason"])]
    culprit, detail = None, _replaced(ruleset, state, failures or {})
    if int(state["end_reason"]) == ILLEGAL_ACTION:
        culprit = int(state["to_move"])
        detail = remarks.get(culprit, "") or "action " + np.array2string(
            decode_actions(ruleset, actions)[-1], separator=","
        ).replace("\n", "")
    return Record(
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


def killed_record(match: Match, seat: int, reason: str, detail: str, actions: bytes) -> Record:
    """The record of a game whose process had to be killed, or died, while `seat` was thinking after `actions`."""
    ruleset = match.ruleset()
    table = Table(ruleset)
    table.begin(match.game_seed)
    tally = _Tally([0] * ruleset.num_players, [0.0] * ruleset.num_players, np.zeros(ruleset.num_players))
    for action in decode_actions(ruleset, actions):
        for mover in table.movers:
            tally.decisions[mover] += 1
        tally.actions.append(action)
        table.play(action)
        tally.returns += table.states["rewards"][0][: ruleset.num_players]
    tally.decisions[seat] += 1
    return _record(match, table, tally, _Ending(seat, reason, detail))
