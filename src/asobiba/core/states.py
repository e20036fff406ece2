"""Functions on a state: step, view it from a seat, copy it, save it.

These functions never change the state that they are given; agents that search are built on them. They are made for
one state at a time; `asobiba.api.Batch` steps thousands in one call.

Seats and actions are checked. The contents of records are not: searches would pay for it in every step. Pass a record
that was not made here or by an environment through `require_valid` first, since kernels use its contents as indices.

>>> from asobiba.core import game
>>> ruleset = game("battleship").ruleset(height=3, width=3, fleet=(2,))
>>> state = new_state(ruleset, seed=0)
>>> actions = legal_actions(ruleset, state)
>>> after = step(ruleset, state, actions[0])
>>> int(after["steps"]), is_over(after)
(1, False)
>>> bool(from_bytes(ruleset, state_bytes(ruleset, after)) == after)
True
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from asobiba.core.errors import GameParameterError, IllegalAction, StateBytesError
from asobiba.core.game import Ruleset
from asobiba.core.random import Stream, seed_keys

__all__ = [
    "action_mask",
    "as_action",
    "clone",
    "from_bytes",
    "is_over",
    "legal_actions",
    "new_state",
    "observation",
    "require_seat",
    "require_valid",
    "resample",
    "seed_states",
    "state_bytes",
    "step",
    "view_of",
    "views_of",
]

_MAGIC = b"asobiba-state "
_TOO_LARGE = 2**63
_TAKES_NO_INTEGER = "{name} takes an integer action from 0 to {last}, not {given!r}"


def _records(state: np.void, ruleset: Ruleset) -> np.ndarray:
    if getattr(state, "dtype", None) != ruleset.dtype or np.ndim(state) != 0:
        raise StateBytesError(f"this is not a state record of {ruleset!r}: {state!r}"[:300])
    records = np.zeros(1, ruleset.dtype)
    records[0] = state
    return records


def require_seat(ruleset: Ruleset, seat: int) -> int:
    """`seat` as a number, from 0 to the number of players less 1.

    Raises:
        GameParameterError: for another number, or anything but a number.
    """
    if isinstance(seat, (int, np.integer)) and not isinstance(seat, bool) and 0 <= seat < ruleset.num_players:
        return int(seat)
    raise GameParameterError(
        f"{ruleset.game.name} has no seat {seat!r}: seats are 0 to {ruleset.num_players - 1} ({', '.join(ruleset.players)})"
    )


def require_seats(ruleset: Ruleset, states: np.ndarray, seats: Any) -> np.ndarray:
    """One seat for each of these `(n,)` records, as an array that compiled code may read.

    Raises:
        GameParameterError: for another number of seats, or a seat that the game does not have.
        StateBytesError: for records of another kind.
    """
    if states.dtype != ruleset.dtype or states.ndim != 1:
        raise StateBytesError(
            f"these are not states of {ruleset!r}: an array of shape {states.shape} and dtype {str(states.dtype)[:80]}"
        )
    found = np.asarray(seats)
    if found.shape != states.shape or found.dtype.kind not in "iu":
        raise GameParameterError(
            f"seats must be an array of {len(states)} whole numbers, one for each state, not of shape {found.shape} and "
            f"dtype {found.dtype}"
        )
    if len(found) == 1:
        require_seat(ruleset, found.item())
    elif len(found) and not (found.min() >= 0 and found.max() < ruleset.num_players):
        require_seat(ruleset, next(int(seat) for seat in found if not 0 <= seat < ruleset.num_players))
    return found


def require_valid(ruleset: Ruleset, records: Any, params: np.ndarray | None = None) -> np.ndarray:
    """External records as a `(n,)` array, after the game has checked each (its kernel `valid`).

    Raises:
        StateBytesError: if they are not records of this ruleset, or one of them is not a state that its rules can reach.
    """
    found = np.atleast_1d(np.asarray(records))
    if found.dtype != ruleset.dtype or found.ndim != 1:
        raise StateBytesError(
            f"these are not states of {ruleset!r}: an array of shape {np.shape(records)} and dtype "
            f"{str(found.dtype)[:80]}, expected records of Ruleset.dtype"
        )
    if params is not None and len(params) not in (1, len(found)):
        raise GameParameterError(f"{len(params)} parameter records were given for {len(found)} states")
    found = np.ascontiguousarray(found)
    good = np.zeros(len(found), np.uint8)
    ruleset.engine.valid_all(found, ruleset.params if params is None else params, good)
    if not good.all():
        bad = np.flatnonzero(good == 0)
        where = f"record {int(bad[0])} of {len(found)} is" if len(found) > 1 else "this record is"
        raise StateBytesError(
            f"{where} not a state of {ruleset!r}: the rules cannot have produced it. Records come from environments, "
            "asobiba.core.states, or the game's notation; a view is made a state by resample"
        )
    return found


def as_seed(seed: int) -> np.uint64:
    """Any integer as the 64 bits that seed a generator."""
    return np.uint64(int(seed) & (2**64 - 1))


def seed_states(states: np.ndarray, seed: int) -> None:
    """Seeds the generator of each state, `(n,)` records: state `i` like a single game with `seed + i`."""
    seeds = np.arange(len(states), dtype=np.uint64) + as_seed(seed)
    states["rng_key"] = seed_keys(seeds, Stream.GAME)
    states["rng_counter"] = 0


def new_state(ruleset: Ruleset, seed: int) -> np.void:
    """A starting position, drawn from `seed`, its opening played."""
    return opened_state(ruleset, seed)[0]


def opened_state(ruleset: Ruleset, seed: int) -> tuple[np.void, tuple[int, ...]]:
    """A starting position, drawn from `seed`, and the random plies that led there (`Ruleset.opening_plies`)."""
    states, plies = opened_states(ruleset, np.array([as_seed(seed)]))
    return states[0], tuple(plies[0, : int(states[0]["steps"])].tolist())


def opened_states(ruleset: Ruleset, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A starting position for each seed, `(n,)` records, and the random plies that led there, `(n, opening_plies)` int64.

    Only as many of the plies count as the position has steps.
    """
    states = ruleset.zeros(len(seeds))
    states["rng_key"], states["rng_counter"] = seed_keys(seeds, Stream.GAME), 0
    ruleset.engine.begin_all(states, ruleset.params, ruleset.zeros())
    plies = np.zeros((len(seeds), ruleset.opening_plies), np.int64)
    if ruleset.opening_plies:
        masks = np.zeros((len(seeds), *ruleset.mask_shape), np.int8)
        ruleset.engine.open_all(states, ruleset.params, ruleset.zeros(), masks, plies)
    return states, plies


def clone(state: np.void) -> np.void:
    """A copy that shares nothing with the original."""
    return state.copy()


def is_over(state: np.void) -> bool:
    """Whether the game has ended, by its rules or by truncation."""
    return bool(state["terminated"] or state["truncated"])


def action_mask(ruleset: Ruleset, state: np.void) -> np.ndarray:
    """The legal actions of the player to move: `(num_actions,)` int8; a row a seat where several may act at once.

    It is all zero when the game is over (and for players who do not act), and empty for continuous actions.
    """
    masks = np.zeros((1, *ruleset.mask_shape), np.int8)
    ruleset.engine.write_masks(_records(state, ruleset), ruleset.params, masks)
    return masks[0]


def legal_actions(ruleset: Ruleset, state: np.void, seat: int | None = None) -> np.ndarray:
    """The legal actions as `(k,)` integers: of the player to move, or of `seat` where several may act at once."""
    mask = action_mask(ruleset, state)
    if mask.ndim == 2:
        mask = mask[0 if seat is None else require_seat(ruleset, seat)]
    return np.flatnonzero(mask)


def step(ruleset: Ruleset, state: np.void, action: Any, *, strict: bool = True) -> np.void:
    """The state after `action` (an integer, a float array, or a row a seat where several may act at once).

    Raises:
        IllegalAction: for an action that the rules forbid; with `strict=False` it is treated as in the environments.
    """
    states = _records(state, ruleset)
    masks = np.zeros((1, *ruleset.mask_shape), np.int8)
    engine = ruleset.engine
    engine.write_masks(states, ruleset.params, masks)
    action = as_action(ruleset, action)
    if strict:
        require_legal(ruleset, states[0], masks[0], action)
    actions = np.zeros((1, *ruleset.actions_shape), ruleset.action_dtype)
    actions[0] = action
    engine.advance_all(states, ruleset.params, actions, masks)
    return states[0]


def as_action(ruleset: Ruleset, action: Any) -> Any:
    """`action` in the form the engine takes: an `int`, or an array of `Ruleset.actions_shape`.

    Raises:
        IllegalAction: if it has another form.
    """
    if ruleset.actions_shape == () and ruleset.discrete:
        try:
            number = int(action)
        except (TypeError, ValueError, OverflowError):
            raise IllegalAction(_wanted(ruleset, action)) from None
        if number != action or not -_TOO_LARGE < number < _TOO_LARGE:
            raise IllegalAction(_wanted(ruleset, action))
        return number
    array = numbers_of(ruleset, action)
    if array is None or array.shape != ruleset.actions_shape:
        raise IllegalAction(_wanted(ruleset, action))
    return array


def numbers_of(ruleset: Ruleset, action: Any) -> np.ndarray | None:
    """An array of actions in the dtype that the engine takes, or `None` for values of another kind."""
    try:
        given = np.asarray(action)
        if ruleset.discrete and given.dtype.kind != "i" and given.dtype != np.bool_:
            with np.errstate(invalid="ignore"):
                if not (np.equal(np.mod(given, 1), 0) & (np.abs(given) < _TOO_LARGE)).all():  # no whole numbers
                    return None
        return np.ascontiguousarray(given, ruleset.action_dtype).reshape(given.shape)
    except (TypeError, ValueError, OverflowError):
        return None


def _wanted(ruleset: Ruleset, action: Any) -> str:
    if ruleset.actions_shape == () and ruleset.discrete:
        return _TAKES_NO_INTEGER.format(name=ruleset.game.name, last=ruleset.num_actions - 1, given=action)
    return (
        f"{ruleset.game.name} takes actions of shape {ruleset.actions_shape} and dtype {ruleset.action_dtype}, "
        f"not {action!r}"
    )


def require_legal(ruleset: Ruleset, state: np.void, mask: np.ndarray, action: Any) -> None:
    """Checks an action (as `as_action` returns it) against the mask of the state.

    Raises:
        IllegalAction: naming the action, the legal ones and the position.
    """
    if not ruleset.discrete:
        values = np.asarray(action)
        box: Any = ruleset.action_space
        if not np.all((values >= box.low) & (values <= box.high)):
            raise IllegalAction(f"{values.tolist()} is outside the action space of {ruleset.game.name}: {box}")
        return
    rows = [(int(state["to_move"]), mask, action)]
    if ruleset.simultaneous:
        rows = [(int(seat), mask[seat], action[seat]) for seat in ruleset.actors(state)]
    for seat, row, chosen in rows:
        if not 0 <= chosen < len(row) or not row[chosen]:
            raise IllegalAction(_explain(ruleset, state, seat, row, int(chosen)))


def _explain(ruleset: Ruleset, state: np.void, seat: int, mask: np.ndarray, action: int) -> str:
    def named(number: int) -> str:
        if ruleset.game.notation is None or not 0 <= number < ruleset.num_actions:
            return str(number)
        try:
            return f"{number} ({ruleset.notation.action_to_text(ruleset, state, number)})"
        except Exception:  # an action that is not legal may have no text
            return str(number)

    legal = np.flatnonzero(mask)
    shown = ", ".join(named(int(a)) for a in legal[:40])
    more = f" and {len(legal) - 40} more" if len(legal) > 40 else ""
    text = f"{ruleset.players[seat]} may not play {named(action)} in {ruleset!r}. "
    text += f"Legal actions: {shown or 'none, the game is over'}{more}."
    if ruleset.game.notation is not None:
        view = view_of(ruleset, state, seat)
        text += f"\nPosition:\n{ruleset.notation.board_text(ruleset, view, seat)}"
    return text


def view_of(ruleset: Ruleset, state: np.void, seat: int) -> np.void:
    """The state as `seat` may see it: hidden fields and the random number generator are blank."""
    return views_of(ruleset, _records(state, ruleset), np.array([require_seat(ruleset, seat)]))[0]


def views_of(ruleset: Ruleset, states: np.ndarray, seats: np.ndarray, params: np.ndarray | None = None) -> np.ndarray:
    """`(n,)` copies of states as the players `seats` (`(n,)`) may see them.

    Raises:
        GameParameterError, StateBytesError: as `require_seats`.
    """
    seats = require_seats(ruleset, states, seats)
    params = ruleset.params if params is None else params
    if len(params) not in (1, len(states)):
        raise GameParameterError(f"{len(params)} parameter records were given for {len(states)} states")
    views = states.copy()
    ruleset.engine.hide_all(views, params, seats)
    return views


def agent_views(
    ruleset: Ruleset, states: np.ndarray, seats: np.ndarray, params: np.ndarray | None = None
) -> np.ndarray:
    """`views_of` in the form that agents get: `to_move` is the seat that is asked, in joint games too."""
    views = views_of(ruleset, states, seats, params)
    if ruleset.simultaneous:
        views["to_move"] = seats
    return views


def resample(ruleset: Ruleset, view: np.void, seat: int, seed: int) -> np.void:
    """A full state that is consistent with the knowledge of `seat`.

    Fields that the seat cannot see, and the random number generator, are drawn from `seed`; the result holds nothing
    else of the state that `view` came from. `view` may be a full state; it is hidden first.
    """
    states = _records(view, ruleset)
    seats = np.array([require_seat(ruleset, seat)])
    if ruleset.simultaneous and not is_over(states[0]):
        states["to_move"] = -1  # an agent's view holds its seat there
    engine = ruleset.engine
    engine.hide_all(states, ruleset.params, seats)
    seed_states(states, seed)
    engine.resample_all(states, ruleset.params, seats)
    return states[0]


def observation(ruleset: Ruleset, state: np.void, seat: int) -> np.ndarray:
    """Observation of `seat`: `(observation_size,)`; `Ruleset.channels` splits it."""
    out = np.zeros((1, ruleset.observation_size), ruleset.observation_space.dtype)
    seats = np.array([require_seat(ruleset, seat)])
    ruleset.engine.observe_all(_records(state, ruleset), ruleset.params, seats, out)
    return out[0]


def _identity(ruleset: Ruleset) -> dict[str, Any]:
    return {"game": ruleset.game.name, "version": ruleset.game.version, "parameters": ruleset.parameters}


def state_header(ruleset: Ruleset) -> str:
    """The line that begins a state's bytes: the game, its version and parameters, as JSON."""
    return json.dumps(_identity(ruleset), sort_keys=True, default=repr)


def state_bytes(ruleset: Ruleset, state: np.void) -> bytes:
    """The state as bytes: one line that names the game, its version and parameters, then the record."""
    return _MAGIC + state_header(ruleset).encode() + b"\n" + state.tobytes()


def from_bytes(ruleset: Ruleset, data: bytes) -> np.void:
    """The state from the bytes of `state_bytes`.

    Raises:
        StateBytesError: for bytes of another kind, game, version or set of parameters, of the wrong length, or that are no
            state of the game.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise StateBytesError(f"a state is read from bytes, not from {type(data).__name__}")
    data = bytes(data)
    head, newline, body = data.partition(b"\n")
    if not data.startswith(_MAGIC) or not newline:
        raise StateBytesError(f"these {len(data)} bytes are no state: they do not begin with {_MAGIC.decode()!r}")
    try:
        found = json.loads(head[len(_MAGIC) :])
    except (ValueError, RecursionError):
        raise StateBytesError(f"the header of these bytes cannot be read: {head[:80]!r}") from None
    wanted = json.loads(state_header(ruleset))
    if found != wanted:
        raise StateBytesError(f"these bytes are a state of {found}, expected one of {wanted}")
    if len(body) != ruleset.dtype.itemsize:
        raise StateBytesError(
            f"a state of {ruleset!r} has {ruleset.dtype.itemsize} bytes after its header, these are {len(body)}"
        )
    return require_valid(ruleset, np.frombuffer(body, ruleset.dtype))[0].copy()
