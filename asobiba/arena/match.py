"""One game between agents: what was to be played (`Match`), what happened (`Record`), and playing it again."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from asobiba.core import Agent, AsobibaError, Ruleset, game
from asobiba.core.state import END_REASONS, ILLEGAL_ACTION
from asobiba.core.states import as_seed

RULES, ILLEGAL, TRUNCATION = END_REASONS[1], END_REASONS[2], END_REASONS[3]
CRASH, TIME_OUT = "crash", "time-out"
REASONS = (RULES, ILLEGAL, CRASH, TIME_OUT, TRUNCATION)
"""Why a game ended, as it stands on record."""

DRAW = -1
"""`Record.winner` of a game that nobody won."""

_DETAIL_LENGTH = 500


class ReplayError(AsobibaError, ValueError):
    """A record whose actions do not lead to what it says."""


@dataclass(frozen=True)
class Match:
    """What is to be played; enough, with the actions, to replay it exactly.

    Args:
        game: name of the game.
        version: the game's version when the match was made.
        parameters: the value of every parameter of the game.
        seats: the agents as text (`name:key=value,...`), first seat first.
        seed: 0 or greater, below 2**63; the game's chance and each agent's generator follow from it.
    """

    game: str
    version: int
    parameters: Mapping[str, Any]
    seats: tuple[str, ...]
    seed: int

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
        """32 hexadecimal digits that name this match and no other."""
        text = json.dumps([self.game, self.version, self.parameters_text, self.seats, self.seed])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @cached_property
    def parameters_text(self) -> str:
        """The parameters as JSON with sorted keys."""
        return parameters_text(self.parameters)

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
    """What happened in a match.

    Args:
        match: what was played.
        actions: the actions in order, as the bytes of an array of `action_dtype` (see `decode_actions`); an answer
            that was no action at all stands as -1, or as not-a-number where actions are continuous.
        returns: each seat's sum of rewards.
        moves: actions that the game took.
        reason: one of `REASONS`.
        culprit: the seat whose illegal action, crash or time-out ended the game, else `None`.
        detail: what exactly went wrong, else "".
        decisions: how often each seat was asked.
        seconds: how long each seat thought, in all.
        tie_break: the game's tie-breaker for each seat, where it declares one.
        digest: 16 hexadecimal digits of the final state's bytes; a replay must reach the same.
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

    @property
    def winner(self) -> int:
        """The seat with the greatest return, or `DRAW` where several share it (or nobody plays against anybody)."""
        return winner(self.returns)

    def same_play(self, other: Record) -> bool:
        """Whether both tell of the same game; only the time that the agents took may differ."""
        mine, yours = asdict(self), asdict(other)
        return all(mine[name] == yours[name] for name in mine if name != "seconds")


def winner(returns: Sequence[float]) -> int:
    """The index of the greatest return, or `DRAW` where several share it or there is one player only."""
    best = max(returns)
    first = [k for k, value in enumerate(returns) if value == best]
    return first[0] if len(first) == 1 and len(returns) > 1 else DRAW


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
    """The seed of the agent at `seat` in the match of this seed."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{seat}".encode(), digest_size=8).digest(), "big") >> 1


def digest(state: np.ndarray | np.void) -> str:
    """16 hexadecimal digits of a state's bytes."""
    return hashlib.blake2b(state.tobytes(), digest_size=8).hexdigest()


class Table:
    """One game on the table: the state, the legal mask, and the compiled rules that change them."""

    def __init__(self, ruleset: Ruleset):
        self.ruleset = ruleset
        self.engine = ruleset.engine
        self.states = ruleset.zeros()
        self.masks = np.zeros((1, *ruleset.mask_shape), np.int8)
        self._views = ruleset.zeros()
        self._blank = ruleset.zeros()

    @property
    def state(self) -> np.void:
        return self.states[0]

    @property
    def over(self) -> bool:
        return bool(self.states["terminated"][0] or self.states["truncated"][0])

    @property
    def movers(self) -> range:
        """The seats to be asked for an action now."""
        if self.ruleset.simultaneous:
            return range(self.ruleset.num_players)
        mover = int(self.states["to_move"][0])
        return range(mover, mover + 1)

    def begin(self, seed: int) -> None:
        """Deals the game of this seed."""
        self.states[:] = self._blank
        self.engine.seed_one(self.states, 0, as_seed(seed), 0)
        self.engine.begin_one(self.states, 0, self.ruleset.params, self._blank)
        self.engine.mask_one(self.states, 0, self.ruleset.params, self.masks)

    def view(self, seat: int) -> np.void:
        """A copy of the state as `seat` may see it."""
        self._views[0] = self.states[0]
        self.engine.hide_one(self._views, 0, self.ruleset.params, seat)
        return self._views.copy()[0]

    def legal(self, seat: int) -> np.ndarray:
        """A copy of the legal mask of `seat`."""
        return (self.masks[0][seat] if self.ruleset.simultaneous else self.masks[0]).copy()

    def play(self, action: Any) -> None:
        """Applies one step's action (a row a player where all act at once)."""
        if not self.ruleset.simultaneous and self.ruleset.discrete:
            action = int(action)
        else:
            action = np.ascontiguousarray(action, self.ruleset.action_dtype)
        self.engine.advance_one(self.states, 0, self.ruleset.params, action, self.masks)
        self.engine.mask_one(self.states, 0, self.ruleset.params, self.masks)


class Thinking:
    """Told when an agent starts and stops thinking; the worker processes use it to enforce the time limit."""

    def __init__(self, limit: float | None = None):
        self.limit = limit

    def start(self, seat: int, agent: str, moves: int = 1) -> float | None:
        """`seat` begins to think about this many moves. Returns the seconds it may take; `None`: as long as it likes."""
        return None if self.limit is None else moves * self.limit

    def stop(self) -> None:
        """It has answered."""

    def note(self, action: bytes) -> None:
        """The game took this action."""


@dataclass
class _Ending:
    """How a game ended that the rules did not end."""

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


def play_match(match: Match, agents: Sequence[Agent], thinking: Thinking | None = None) -> Record:
    """Plays one match, asking one agent after another.

    An agent that raises, takes longer than the time limit, or answers what is no legal action loses this game.

    Args:
        match: what to play.
        agents: one agent per seat; the same object must not sit twice.
        thinking: enforces the time limit of a move; `None` for none.
    """
    ruleset = match.ruleset()
    thinking = thinking or Thinking()
    table, dtype = Table(ruleset), action_dtype(ruleset)
    table.begin(match.seed)
    count = ruleset.num_players
    tally = _Tally([0] * count, [0.0] * count, np.zeros(count))
    ending: _Ending | None = None
    for seat, agent in enumerate(agents):
        ending = ending or _begin(match, agent, seat, ruleset, thinking, tally)
    while not table.over and ending is None:
        answers = []
        for seat in table.movers:
            answer = _ask(match, agents[seat], seat, table, thinking, tally)
            if isinstance(answer, _Ending):
                ending = answer
                break
            answers.append(answer)
        if ending is None:
            action = np.stack(answers) if ruleset.simultaneous else answers[0]
            tally.actions.append(action)
            thinking.note(action.astype(dtype).tobytes())
            table.play(action)
            tally.returns += table.states["rewards"][0]
    return _record(match, table, tally, ending)


def _begin(
    match: Match, agent: Agent, seat: int, ruleset: Ruleset, thinking: Thinking, tally: _Tally
) -> _Ending | None:
    limit = thinking.start(seat, match.seats[seat])
    started = time.perf_counter()
    try:
        agent.reset(ruleset, seat, agent_seed(match.seed, seat))
    except Exception as error:
        return _Ending(seat, CRASH, f"reset: {_describe(error)}")
    finally:
        thinking.stop()
    return _too_late(seat, time.perf_counter() - started, limit)


def _ask(match: Match, agent: Agent, seat: int, table: Table, thinking: Thinking, tally: _Tally) -> Any:
    view, legal = table.view(seat), table.legal(seat)
    limit = thinking.start(seat, match.seats[seat])
    started = time.perf_counter()
    try:
        answer = agent.act(view, legal)
    except Exception as error:
        return _Ending(seat, CRASH, _describe(error))
    finally:
        thinking.stop()
        elapsed = time.perf_counter() - started
        tally.decisions[seat] += 1
        tally.seconds[seat] += elapsed
    late = _too_late(seat, elapsed, limit)
    if late is not None:
        return late
    action, remark = as_action(table.ruleset, answer)
    if remark:
        tally.remarks[seat] = remark
    return action


def _too_late(seat: int, elapsed: float, limit: float | None) -> _Ending | None:
    if limit is None or elapsed <= limit:
        return None
    return _Ending(seat, TIME_OUT, f"took {elapsed:.3g} s, the limit is {limit:.3g} s")


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_DETAIL_LENGTH]


def as_action(ruleset: Ruleset, answer: Any) -> tuple[Any, str]:
    """An agent's answer as an action that can be put on record, and a remark if it was none.

    What is no integer (or no array of numbers of the right shape) becomes -1 (or not-a-number), which every game's
    engine takes for an illegal action.
    """
    if ruleset.discrete:
        try:
            array = np.asarray(answer)
            if array.size == 1 and array.dtype.kind in "iu":
                value = int(array.reshape(()))
                if 0 <= value < ruleset.num_actions:
                    return np.int64(value), ""
                return np.int64(-1), out_of_range(ruleset, value)
        except (ValueError, TypeError, OverflowError):
            pass
        return np.int64(-1), f"answered {_short(answer)}, which is no integer"
    box = ruleset.action_space
    try:
        array = np.asarray(answer, box.dtype)
        if array.shape == box.shape and np.isfinite(array).all():
            return array, ""
    except (ValueError, TypeError, OverflowError):
        pass
    return np.full(
        box.shape, np.nan, box.dtype
    ), f"answered {_short(answer)}, expected finite numbers of shape {box.shape}"


def out_of_range(ruleset: Ruleset, value: int) -> str:
    """What is remarked on an integer that is no action."""
    return f"answered {value}, actions are 0 to {ruleset.num_actions - 1}"


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        text = f"{type(value).__name__} (its repr raises {type(error).__name__})"
    return text if len(text) <= 100 else text[:97] + "..."


def _record(match: Match, table: Table, tally: _Tally, ending: _Ending | None) -> Record:
    ruleset = table.ruleset
    data = np.array(tally.actions, action_dtype(ruleset)).tobytes() if tally.actions else b""
    if ending is None:
        return finished_record(
            match, ruleset, table.states[0], data, tally.returns, tally.decisions, tally.seconds, tally.remarks
        )
    returns = tally.returns + forfeit(ruleset, ending.seat)
    return Record(
        match, data, tuple(float(x) for x in returns), int(table.states["steps"][0]), ending.reason, ending.seat,
        ending.detail, tuple(tally.decisions), tuple(tally.seconds), _tie_break(ruleset, table.states[0]),
        digest(table.states[0]),
    )  # fmt: skip


def finished_record(
    match: Match,
    ruleset: Ruleset,
    state: np.void,
    actions: bytes,
    returns: np.ndarray,
    decisions: Sequence[int],
    seconds: Sequence[float],
    remarks: Mapping[int, str],
) -> Record:
    """The record of a game that its rules, an illegal action or the step limit ended."""
    reason = END_REASONS[int(state["end_reason"])]
    culprit, detail = None, ""
    if int(state["end_reason"]) == ILLEGAL_ACTION:
        culprit = _offender(ruleset, state, remarks)
        detail = remarks.get(culprit, "") or "action " + np.array2string(
            decode_actions(ruleset, actions)[-1], separator=","
        ).replace("\n", "")
    return Record(
        match, actions, tuple(float(x) for x in returns), int(state["steps"]), reason, culprit, detail,
        tuple(int(x) for x in decisions), tuple(float(x) for x in seconds), _tie_break(ruleset, state), digest(state),
    )  # fmt: skip


def _offender(ruleset: Ruleset, state: np.void, remarks: Mapping[int, str]) -> int:
    """The seat that the engine found guilty: who moves, or where all act at once the one with the forfeit's reward."""
    if not ruleset.simultaneous:
        return max(int(state["to_move"]), 0)
    return int(np.argmin(np.abs(state["rewards"] - np.float32(ruleset.game.illegal_reward))))


def _tie_break(ruleset: Ruleset, state: np.void) -> tuple[float, ...] | None:
    function = ruleset.game.tie_break
    return None if function is None else tuple(float(x) for x in function(ruleset, state))


def forfeit(ruleset: Ruleset, seat: int) -> np.ndarray:
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
    table.begin(match.seed)
    tally = _Tally([0] * ruleset.num_players, [0.0] * ruleset.num_players, np.zeros(ruleset.num_players))
    for action in decode_actions(ruleset, actions):
        for mover in table.movers:
            tally.decisions[mover] += 1
        tally.actions.append(action)
        table.play(action)
        tally.returns += table.states["rewards"][0]
    tally.decisions[seat] += 1
    return _record(match, table, tally, _Ending(seat, reason, detail))


def replay(record: Record) -> Iterator[tuple[np.void, Any]]:
    """Plays a record again: yields `(state, action that follows)` for every position, the last with `None`.

    Raises:
        ReplayError: if the final state's bytes, or the length, are not those on record.
    """
    ruleset = record.match.ruleset()
    table = Table(ruleset)
    table.begin(record.match.seed)
    actions = decode_actions(ruleset, record.actions)
    for action in actions:
        if table.over:
            raise ReplayError(f"match {record.match.key}: the game is over after {table.state['steps']} actions, "
                              f"but {len(actions)} are on record")  # fmt: skip
        yield table.states.copy()[0], action
        table.play(action)
    if digest(table.states[0]) != record.digest:
        raise ReplayError(
            f"match {record.match.key}: replaying its {len(actions)} actions gives another final state than the one "
            "on record; the rules have changed or the record is damaged"
        )
    yield table.states.copy()[0], None


def verify(record: Record) -> None:
    """Replays a record and compares all that the rules decide.

    Raises:
        ReplayError: naming what differs.
    """
    ruleset = record.match.ruleset()
    returns = np.zeros(ruleset.num_players)
    state = None
    for step, (state, _) in enumerate(replay(record)):
        if step:
            returns += state["rewards"]
    assert state is not None
    if record.reason in (CRASH, TIME_OUT):
        assert record.culprit is not None
        returns += forfeit(ruleset, record.culprit)
    elif END_REASONS[int(state["end_reason"])] != record.reason:
        raise ReplayError(f"match {record.match.key}: ended by {record.reason!r} on record, not so in the replay")
    if tuple(float(x) for x in returns) != record.returns:
        raise ReplayError(f"match {record.match.key}: returns {record.returns} on record, {returns} in the replay")
