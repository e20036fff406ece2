"""Checks that every game must pass: they compare a declaration with the behaviour of its rules.

    from asobiba import conformance, game

    conformance.check(game("my_game"))

or, with pytest, one test per check: `@pytest.mark.parametrize("name", conformance.CHECKS)` and
`conformance.CHECKS[name](game)`. A failed check is an `AssertionError` that names the result and the expectation.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np

from asobiba.api.batch import Batch
from asobiba.api.render import ansi, svg
from asobiba.api.seating import Seating
from asobiba.core import states
from asobiba.core.errors import GameMistake, IllegalAction, NotationError, PositionError, StateBytesError
from asobiba.core.game import Game, Ruleset
from asobiba.core.mistakes import require_sound
from asobiba.core.record import BY_RULES, EVERYBODY, HEADER, ILLEGAL_ACTION, STEP_LIMIT, culprit

__all__ = [
    "CHECKS",
    "SECTIONS",
    "check",
    "random_states",
]

GAMES, STEPS = 8, 150
SECTIONS = (
    "Description",
    "Action Space",
    "Observation Space",
    "Rewards",
    "Starting State",
    "Episode End",
    "Arguments",
    "References",
    "Version History",
)


def check(game: Game) -> None:
    """Runs every check. Raises `AssertionError` at the first that fails."""
    for one in CHECKS.values():
        one(game)


def random_states(ruleset: Ruleset, seed: int = 1, count: int = 24, within: int = STEPS) -> Iterator[np.void]:
    """States of random play, from the start to the end."""
    batch = Batch(ruleset, GAMES, autoreset="next_step", threads=1)
    batch.reset(seed=seed)
    generator = np.random.default_rng(seed)
    keep = sorted(generator.choice(within * GAMES, min(count, within * GAMES), replace=False).tolist())
    yield batch.states[0].copy()
    for k in range(within):
        while keep and keep[0] < (k + 1) * GAMES:
            yield batch.states[keep.pop(0) % GAMES].copy()
        batch.step(batch.sample_actions())


def digest_of_play(ruleset: Ruleset, threads: int) -> str:
    """A digest of all that random play writes (actions, observations, states), on so many threads; then from one seat,
    against random agents. The same in every process."""
    digest = hashlib.sha256()
    for games in (Batch(ruleset, 300, threads=threads), Seating(ruleset, 20, threads=1)):
        games.reset(seed=99)
        for _ in range(30):
            actions = games.sample_actions()
            digest.update(np.ascontiguousarray(actions).tobytes())
            observations = games.step(actions)
            digest.update(np.ascontiguousarray(observations).tobytes() + games.states.tobytes())
    return digest.hexdigest()


def declaration(game: Game) -> None:
    """Names, players, kernels and spaces are as declared."""
    try:
        require_sound(game)
    except GameMistake as mistake:
        raise AssertionError(str(mistake)) from mistake
    ruleset = game.ruleset()
    assert re.fullmatch(r"[a-z][a-z0-9_]*", game.name), f"name {game.name!r} is not lower case with underscores"
    assert game.version >= 0, f"version {game.version} is negative"
    alone = ruleset.num_players == 1
    assert alone == (game.utility == "single_agent"), f"{ruleset.num_players} players, but utility {game.utility!r}"
    assert len(set(ruleset.players)) == ruleset.num_players, f"seats share a name: {ruleset.players}"
    assert ruleset.max_steps > 0, f"max_steps is {ruleset.max_steps}"
    json.dumps(ruleset.parameters, default=repr)
    assert ruleset == game.ruleset(), "two rulesets of the same parameters differ"
    low, high = game.reward_range
    assert low <= game.illegal_reward <= high, f"illegal_reward {game.illegal_reward} is outside {game.reward_range}"
    assert game.evidence, "the declaration says nothing about what the rules were verified against (`evidence`)"


def openings(game: Game) -> None:
    """Random plies, as many as games usually begin with, seldom end the game."""
    ruleset = game.ruleset()
    if not ruleset.usual_opening:
        return
    assert ruleset.takes_openings, f"usual_opening is {ruleset.usual_opening}, but the game takes no openings"
    batch = Batch(ruleset, GAMES, autoreset="disabled", threads=1)
    batch.reset(seed=11)
    for _ in range(ruleset.usual_opening):
        batch.step(batch.sample_actions())
    ended = float(np.mean((batch.states["terminated"] | batch.states["truncated"]) != 0))
    assert ended < 0.5, (
        f"{ruleset.usual_opening} random plies end {100 * ended:.0f} % of the games: declare a smaller usual_opening"
    )


def laws(game: Game) -> None:
    """Turns, masks, rewards, observations and the ends of random games are as declared."""
    ruleset = game.ruleset()
    batch = Batch(ruleset, GAMES, autoreset="same_step", threads=1)
    batch.reset(seed=3)
    low, high = game.reward_range
    returns = np.zeros((GAMES, ruleset.num_players))
    box = ruleset.observation_space
    for _ in range(STEPS):
        before = batch.states.copy()
        _check_position(ruleset, batch)
        batch.step(batch.sample_actions())
        rewards = batch.rewards
        returns += rewards
        least, greatest = ruleset.return_range
        assert (returns >= least - 1e-3).all(), f"a player got {returns.min()} in a game, below {least}"
        assert (returns <= greatest + 1e-3).all(), f"a player got {returns.max()} in a game, above {greatest}"
        assert np.isfinite(rewards).all(), "a reward is not finite"
        assert (rewards >= low - 1e-6).all(), f"reward {rewards.min()} is below {low}"
        assert (rewards <= high + 1e-6).all(), f"reward {rewards.max()} is above {high}"
        if game.utility == "zero_sum":
            assert np.abs(rewards.sum(axis=1)).max() < 1e-4, f"rewards {rewards} of a zero-sum game do not cancel out"
        over = batch.terminated | batch.truncated
        assert not (batch.terminated & batch.truncated).any(), "a game is terminated and truncated"
        assert (batch.reasons[batch.terminated] == BY_RULES).all(), "a legal action ended a game, but not by its rules"
        assert (batch.reasons[batch.truncated] == STEP_LIMIT).all(), "a truncated game has another reason"
        went_on = batch.states["steps"] == before["steps"] + 1
        assert (went_on | over).all(), "a step was not counted"
        assert box.contains(batch.finals.reshape(-1, ruleset.observation_size)[0]), (
            "a last observation is out of bounds"
        )
        returns[over] = 0


def _check_position(ruleset: Ruleset, batch: Batch) -> None:
    to_move = batch.states["to_move"]
    acting = np.ones((len(batch.states), 1), bool)
    if ruleset.simultaneous:
        assert (to_move == EVERYBODY).all(), f"several players may act at once, but to_move is {to_move}"
        acting = np.ones((len(batch.states), ruleset.seats), bool)
        if ruleset.game.turns == "some":
            acting = batch.states["acting"] != 0
            assert acting.any(axis=1).all(), "the game goes on, but nobody acts"
            if ruleset.game.leaves:
                assert not (acting & (batch.states["left"] != 0)).any(), "a player acts who has left"
    else:
        assert ((to_move >= 0) & (to_move < ruleset.num_players)).all(), f"to_move is {to_move}"
    if ruleset.discrete:
        masks = batch.masks if ruleset.simultaneous else batch.masks[:, None]
        assert np.isin(masks, (0, 1)).all(), "a mask holds something else than 0 and 1"
        assert masks.any(axis=-1)[acting].all(), "nobody has won or lost, but a player has no legal action"
        assert not masks[~acting].any(), "a player who does not act has legal actions"
    observations = batch.observations
    box = ruleset.observation_space
    assert np.isfinite(observations).all(), "an observation is not finite"
    assert (observations >= box.low.min()).all(), f"an observation holds {observations.min()}, below {box.low.min()}"
    assert (observations <= box.high.max()).all(), f"an observation holds {observations.max()}, above {box.high.max()}"


def everything_is_written(game: Game) -> None:
    """`observe` and `legal` write every entry, whatever stood there before."""
    ruleset = game.ruleset()
    engine = ruleset.engine
    for state in random_states(ruleset):
        one = ruleset.zeros()
        one[0] = state
        for seat in range(ruleset.num_players):
            results = []
            for poison in (0, 1):
                out = np.full((1, ruleset.observation_size), poison, ruleset.observation_space.dtype)
                engine.observe_all(one, ruleset.params, np.array([seat]), out)
                results.append(out.tobytes())
            assert results[0] == results[1], f"observe leaves entries unwritten for {ruleset.players[seat]}"
        masks = []
        for poison in (0, 1, 77):
            mask = np.full((1, *ruleset.mask_shape), poison, np.int8)
            engine.write_masks(one, ruleset.params, mask)
            masks.append(mask.tobytes())
        assert masks[0] == masks[1] == masks[2], "legal leaves entries unwritten"
        assert one[0].tobytes() == state.tobytes(), "observe or legal changes the state"


def chance(game: Game) -> None:
    """Games without chance draw no random number; games with chance do, unless only some of their parameters say so."""
    ruleset = game.ruleset()
    batch = Batch(ruleset, GAMES, threads=1)
    batch.reset(seed=5)
    drawn = int(batch.states["rng_counter"].max())
    for _ in range(STEPS):
        batch.step(batch.sample_actions())
        drawn = max(drawn, int(batch.states["rng_counter"].max()))
    if ruleset.chance:
        assert drawn > 0 or game.parameters, "the game declares chance, but no random number was drawn in random play"
    else:
        assert drawn == 0, f"the game declares no chance, but drew {drawn} random numbers"


def illegal_actions(game: Game) -> None:
    """An illegal action ends the game and costs its player `illegal_reward`, or is replaced and counted, as declared; in
    strict play it raises."""
    ruleset = game.ruleset()
    for state in random_states(ruleset, count=6):
        if states.is_over(state):
            continue
        player = int(ruleset.actors(state)[0])
        if ruleset.discrete:
            illegal: Any = ruleset.num_actions
            if ruleset.simultaneous:
                illegal = [ruleset.num_actions] * ruleset.seats
        else:
            illegal = np.full(ruleset.actions_shape, np.nan, ruleset.action_dtype)
        after = states.step(ruleset, state, illegal, strict=False)
        if game.faults == "replace":
            assert int(after["end_reason"]) != ILLEGAL_ACTION, "an illegal action ended a game that replaces it"
            assert after["faults"][player] == state["faults"][player] + 1, "a replaced action was not counted"
            continue
        assert culprit(after) == player, f"the culprit on record is {culprit(after)}, not {player}"
        assert after["terminated"], "an illegal action did not end the game"
        assert int(after["end_reason"]) == ILLEGAL_ACTION, "an illegal action ended the game for another reason"
        assert np.isclose(after["rewards"][player], game.illegal_reward), f"its player got {after['rewards'][player]}"
        if game.utility == "zero_sum":
            assert abs(after["rewards"].sum()) < 1e-5, "the others did not share what he lost"
        assert not states.action_mask(ruleset, after).any(), "the mask of a finished game is not all zero"
        frozen = states.step(ruleset, after, illegal, strict=False)
        assert not frozen["rewards"].any(), "a step after the end gives rewards"
        assert frozen["steps"] == after["steps"], "a step after the end was counted"
        try:
            states.step(ruleset, state, illegal)
        except IllegalAction as error:
            message = str(error)
        else:
            raise AssertionError("an illegal action was accepted in strict play")
        assert game.name in message, f"the message does not name the game: {message}"


def truncation(game: Game) -> None:
    """A game that reaches its longest length is truncated there."""
    ruleset = game.ruleset()
    params = ruleset.params.copy()
    params["max_steps"] = 3
    batch = Batch(ruleset, GAMES, autoreset="disabled", threads=1, params=params)
    batch.reset(seed=2)
    for _ in range(3):
        assert not batch.truncated.any(), "a game was truncated too early"
        batch.step(batch.sample_actions())
    late = ~batch.terminated
    assert batch.truncated[late].all(), "a game that reached its longest length goes on"
    assert (batch.reasons[late] == STEP_LIMIT).all(), "a truncated game has another reason"
    assert not batch.masks.any(), "the mask of a truncated game is not all zero"


def views(game: Game) -> None:
    """A view holds what its seat may know and nothing else; `resample` agrees with it."""
    ruleset = game.ruleset()
    others = list(random_states(ruleset, seed=9, count=6))
    for number, state in enumerate(random_states(ruleset, count=16)):
        for seat in range(ruleset.num_players):
            view = states.view_of(ruleset, state, seat)
            name = ruleset.players[seat]
            assert not view["rng_key"], f"{name} sees the random number generator"
            assert not view["rng_counter"], f"{name} sees how many random numbers were drawn"
            again = states.view_of(ruleset, view, seat)
            assert again.tobytes() == view.tobytes(), f"hiding what {name} may not know twice is not the same as once"
            seen = states.observation(ruleset, state, seat)
            assert (states.observation(ruleset, view, seat) == seen).all(), (
                f"{name} observes something else in its view than in the state"
            )
            if seat in ruleset.actors(state):
                mine = (seat,) if ruleset.simultaneous else ()
                assert (states.action_mask(ruleset, view)[mine] == states.action_mask(ruleset, state)[mine]).all(), (
                    f"{name} has other legal actions in its view than in the state"
                )
            if not ruleset.hidden:
                full = state.copy()
                full["rng_key"] = full["rng_counter"] = 0
                assert full.tobytes() == view.tobytes(), (
                    "the game declares perfect information, but a view hides something"
                )
                continue
            _check_resampling(ruleset, state, view, seat, seen, number)
        if ruleset.hidden:
            _check_generator_is_hidden(ruleset, state, others)


def _check_resampling(
    ruleset: Ruleset, state: np.void, view: np.void, seat: int, seen: np.ndarray, number: int
) -> None:
    name = ruleset.players[seat]
    for draw in range(3):
        full = states.resample(ruleset, state, seat, 100 * number + draw)
        same = states.resample(ruleset, view, seat, 100 * number + draw)
        assert full.tobytes() == same.tobytes(), f"resample looks at what {name} may not know"
        assert states.view_of(ruleset, full, seat).tobytes() == view.tobytes(), (
            f"a resampled state looks different to {name}"
        )
        assert (states.observation(ruleset, full, seat) == seen).all(), f"{name} observes another resampled state"
        for field in ruleset.dtype.names or ():
            # One hidden field at a time takes the value that it has in the other state.
            mixed = state.copy()
            mixed[field] = full[field]
            assert states.view_of(ruleset, mixed, seat).tobytes() == view.tobytes(), (
                f"{name} sees field {field!r} of what is hidden from it"
            )
        if not states.is_over(full):
            mask = states.action_mask(ruleset, full)
            assert mask.any() or not ruleset.discrete, "a resampled position has no legal action"


def _check_generator_is_hidden(ruleset: Ruleset, state: np.void, others: list[np.void]) -> None:
    for other in others:
        mixed = state.copy()
        mixed["rng_key"], mixed["rng_counter"] = other["rng_key"], other["rng_counter"]
        for seat in range(ruleset.num_players):
            one, two = (states.view_of(ruleset, s, seat).tobytes() for s in (state, mixed))
            assert one == two, "a view depends on the random number generator"


def resampled_games_go_on(game: Game) -> None:
    """From resampled states one can play to the end."""
    ruleset = game.ruleset()
    for number, state in enumerate(random_states(ruleset, count=4)):
        if states.is_over(state):
            continue
        seat = int(ruleset.actors(state)[0])
        full = states.resample(ruleset, state, seat, number)
        batch = Batch(ruleset, 4, autoreset="disabled", threads=1)
        batch.set_states(full)
        for _ in range(STEPS):
            batch.step(batch.sample_actions())
            assert (batch.reasons != ILLEGAL_ACTION).all(), "a legal action of a resampled state was illegal"


def bytes_and_copies(game: Game) -> None:
    """States survive `state_bytes` and `from_bytes`; other bytes are refused."""
    ruleset = game.ruleset()
    for state in random_states(ruleset, count=6):
        data = states.state_bytes(ruleset, state)
        back = states.from_bytes(ruleset, data)
        assert back.tobytes() == state.tobytes(), "a state changed on its way through bytes"
        twin = states.clone(state)
        twin["steps"] += 1
        assert twin["steps"] != state["steps"], "a clone shares memory with its original"
        header, _, body = data.partition(b"\n")
        other = header.replace(f'"{game.name}"'.encode(), b'"another_game"')
        for bad in (b"", b"nonsense", data[:-1], data + b"x", other + b"\n" + body, header):
            try:
                states.from_bytes(ruleset, bad)
            except StateBytesError:
                continue
            raise AssertionError(f"bytes that are no state of {game.name} were accepted: {bad[:60]!r}")


def records_from_outside(game: Game) -> None:
    """Every state of random play is valid; whatever the bytes of a record, it is refused or can be played on."""
    ruleset = game.ruleset()
    found = list(random_states(ruleset, seed=4, count=40))
    states.require_valid(ruleset, np.array(found, ruleset.dtype))
    generator = np.random.default_rng(11)
    for number in range(400):
        data = np.frombuffer(found[number % len(found)].tobytes(), np.uint8).copy()
        count = int(generator.integers(1, 4)) if number % 8 else len(data)
        data[generator.integers(0, len(data), count)] = generator.integers(0, 256, count)
        record = np.frombuffer(data.tobytes(), ruleset.dtype)
        try:
            states.require_valid(ruleset, record)
        except StateBytesError:
            continue
        batch = Batch(ruleset, 1, autoreset="disabled", threads=1)
        batch.set_states(record[0])
        for seat in range(ruleset.num_players):
            states.observation(ruleset, record[0], seat)
            view = states.view_of(ruleset, record[0], seat)
            if ruleset.hidden:
                states.resample(ruleset, view, seat, number)
        for _ in range(5):
            batch.step(batch.sample_actions())


def batches_of_every_size(game: Game) -> None:
    """The same seed and actions give the same bytes in batches of any size."""
    ruleset = game.ruleset()
    _same_as_one_batch(ruleset, [Batch(ruleset, 1, threads=1), Batch(ruleset, 3, threads=1)])


def any_number_of_threads(game: Game) -> None:
    """The same seed and actions give the same bytes on any number of threads."""
    with contextlib.suppress(ValueError):  # a machine with one core
        ruleset = game.ruleset()
        _same_as_one_batch(ruleset, [Batch(ruleset, 64, threads=2)])


def _same_as_one_batch(ruleset: Ruleset, rest: list[Batch]) -> None:
    one = Batch(ruleset, 64, threads=1)
    one.reset(seed=40)
    for batch in rest:
        batch.reset(seed=40)
    for _ in range(40):
        actions = one.sample_actions().copy()
        one.step(actions)
        for batch in rest:
            batch.step(actions[: batch.num_envs])
            n = batch.num_envs
            for name in ("states", "masks", "observations", "rewards", "terminated", "truncated"):
                mine, theirs = getattr(batch, name)[:n], getattr(one, name)[:n]
                assert mine.tobytes() == theirs.tobytes(), (
                    f"{name} depend on the batch: {n} games, {batch.threads} threads"
                )


def single_steps(game: Game) -> None:
    """Stepping one state gives the bytes of the batch."""
    ruleset = game.ruleset()
    batch = Batch(ruleset, 2, autoreset="disabled", threads=1)
    batch.reset(seed=7)
    alone = [states.new_state(ruleset, 7 + i) for i in range(2)]
    for _ in range(60):
        for i in range(2):
            assert batch.states[i].tobytes() == alone[i].tobytes(), "one state went another way than its batch"
            assert states.action_mask(ruleset, alone[i]).tobytes() == batch.masks[i].tobytes(), "masks differ"
        actions = batch.sample_actions().copy()
        batch.step(actions)
        alone = [s if states.is_over(s) else states.step(ruleset, s, actions[i]) for i, s in enumerate(alone)]
        for i in range(2):
            if states.is_over(alone[i]):
                batch.states["rewards"][i] = alone[i]["rewards"]


def symmetries(game: Game) -> None:
    """Games that are played with turned actions from a turned start show what the declared symmetries say."""
    for parameters in ({}, *game.variants.values()):
        commuting(game.ruleset(**parameters))


def commuting(ruleset: Ruleset, plies: int = 60) -> int:
    """Plays a game beside each of its images, as far as no move draws random numbers, which are not turned.

    Returns:
        The number of moves compared.
    """
    compared = 0
    for number, symmetry in enumerate(ruleset.game.symmetries(ruleset) if ruleset.game.symmetries else ()):
        generator = np.random.default_rng(number)
        state = states.new_state(ruleset, number)
        turned = state.copy()
        if symmetry.start is not None:
            symmetry.start(turned)
        for ply in range(plies):
            for seat in range(ruleset.num_players):
                seen = symmetry.seen(states.observation(ruleset, state, seat))
                assert np.allclose(seen, states.observation(ruleset, turned, seat), rtol=0, atol=1e-5), (
                    f"symmetry {number}: the observation of seat {seat} after {ply} moves is not the turned one"
                )
            mask = states.action_mask(ruleset, state)
            assert (mask[symmetry.actions] == states.action_mask(ruleset, turned)).all(), (
                f"symmetry {number}: other actions are legal after {ply} moves"
            )
            if states.is_over(state):
                break
            action, drawn = int(generator.choice(np.flatnonzero(mask))), state["rng_counter"]
            state = states.step(ruleset, state, action)
            if state["rng_counter"] != drawn:
                break
            turned = states.step(ruleset, turned, symmetry.turned(action))
            assert (state["rewards"] == turned["rewards"]).all(), f"symmetry {number}: other rewards after {ply} moves"
            compared += 1
    return compared


def _joint_or_continuous_notation(ruleset: Ruleset, state: np.void) -> None:
    """Each player's own action, and those of all, are read back from their text; numbers as exactly as it gives them."""
    generator = np.random.default_rng(int(state["steps"]))
    joint = np.zeros(ruleset.actions_shape, ruleset.action_dtype)
    for seat in ruleset.actors(state).tolist():
        view = states.agent_views(ruleset, np.array([state]), np.array([seat]))[0]
        if ruleset.discrete:
            own: Any = generator.choice(np.flatnonzero(states.action_mask(ruleset, state)[seat]))
        else:
            box: Any = ruleset.action_space
            own = generator.uniform(box.low, box.high).astype(box.dtype)
        _same_text(ruleset, view, own)
        joint[seat if ruleset.simultaneous else ...] = own
    if ruleset.simultaneous:
        _same_text(ruleset, state, joint)


def _same_text(ruleset: Ruleset, state: np.void, action: Any) -> None:
    module = ruleset.notation
    text = module.action_to_text(ruleset, state, action)
    back = module.text_to_action(ruleset, state, text)
    assert np.shape(back) == np.shape(action), f"{text!r} is read as an action of shape {np.shape(back)}"
    assert module.action_to_text(ruleset, state, back) == text, f"{text!r} is not read as what it was written for"
    if ruleset.discrete:
        assert np.array_equal(back, action), f"{text!r} is not read as {action}"


def notation(game: Game) -> None:
    """Actions and positions survive their text; other text is refused."""
    if game.notation is None:
        return
    ruleset = game.ruleset()
    module = ruleset.notation
    for state in random_states(ruleset, count=10):
        if ruleset.discrete and not ruleset.simultaneous:
            names = set()
            for action in states.legal_actions(ruleset, state).tolist():
                text = module.action_to_text(ruleset, state, action)
                assert module.text_to_action(ruleset, state, text) == action, f"{text!r} is not read as {action}"
                names.add(text)
            assert len(names) == len(states.legal_actions(ruleset, state)), "two legal actions have the same text"
        elif not states.is_over(state):
            _joint_or_continuous_notation(ruleset, state)
        for seat in (None, *range(ruleset.num_players)):
            view = state if seat is None else states.view_of(ruleset, state, seat)
            assert isinstance(module.board_text(ruleset, view, seat), str), "board_text is not a text"
        if hasattr(module, "state_to_text") and hasattr(module, "text_to_state"):
            text = module.state_to_text(ruleset, state)
            back = module.text_to_state(ruleset, text)
            assert module.state_to_text(ruleset, back) == text, f"the position {text!r} changed on its way through text"
            if not states.is_over(state):
                assert (states.action_mask(ruleset, back) == states.action_mask(ruleset, state)).all(), (
                    f"the position {text!r} has other legal actions when it is read back"
                )
    if ruleset.discrete and not ruleset.simultaneous:
        for bad in ("", "?", "no such move", "999"):
            try:
                module.text_to_action(ruleset, states.new_state(ruleset, 0), bad)
            except NotationError:
                continue
            raise AssertionError(f"{bad!r} was read as a move")
    if hasattr(module, "text_to_state"):
        for bad in ("", "no such position"):
            try:
                module.text_to_state(ruleset, bad)
            except (NotationError, PositionError):
                continue
            raise AssertionError(f"{bad!r} was read as a position")


def pictures(game: Game) -> None:
    """Every state has a text and an SVG picture of one size, from every seat."""
    ruleset = game.ruleset()
    sizes = set()
    for state in random_states(ruleset, count=4):
        for seat in (None, *range(ruleset.num_players)):
            assert ansi(ruleset, state, seat).strip(), "the text picture is empty"
            root = ElementTree.fromstring(svg(ruleset, state, seat))
            assert root.tag == "{http://www.w3.org/2000/svg}svg", f"the picture is <{root.tag}>, not an SVG image"
            sizes.add((root.get("width"), root.get("height")))
    assert game.draw is None or len(sizes) == 1, f"pictures differ in size: {sizes}"


def documentation(game: Game) -> None:
    """The package's docstring has Gymnasium's sections in order, and a history that knows the version."""
    text = importlib.import_module(game.package).__doc__ or ""
    found = [name for name in re.findall(r"^## (.+)$", text, re.M) if name != "State"]
    assert tuple(found) == SECTIONS, f"sections are {found}, expected {list(SECTIONS)}"
    state = re.search(r"^## State\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert state is not None, "there is no section State, which says what the rules keep (fields, units)"
    kept = [name for name in game.ruleset().dtype.names or () if name not in (*HEADER, "acting", "left", "faults")]
    missing = [name for name in kept if not name.startswith("_pad") and f"`{name}`" not in state[1]]
    assert not missing, f"the section State does not tell of {', '.join(missing)}"
    if game.information == "hidden" and game.utility != "single_agent":
        assert "agent_selection" in text, (
            "say what PettingZoo's `agent_selection` tells, and whether players may know it"
        )
    history = text[text.index("## Version History") :]
    assert re.search(rf"\bv{game.version} \(\d{{4}}-\d{{2}}-\d{{2}}\)", history), (
        f"the Version History has no dated line for v{game.version}"
    )


def examples(game: Game) -> None:
    """The Python examples of the package's docstring run."""
    text = importlib.import_module(game.package).__doc__ or ""
    for code in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(compile(code, f"<example of {game.package}>", "exec"), {"__name__": "__example__"})


def exposed_names(game: Game) -> None:
    """The package has PettingZoo's functions `env`, `raw_env` and `parallel_env`."""
    module = importlib.import_module(game.package)
    for name in ("env", "raw_env", "parallel_env"):
        assert callable(getattr(module, name, None)), (
            f"write: env, raw_env, parallel_env = expose(GAME) in {game.package}"
        )


CHECKS: dict[str, Callable[[Game], None]] = {
    one.__name__: one
    for one in (
        declaration,
        openings,
        laws,
        everything_is_written,
        chance,
        illegal_actions,
        truncation,
        views,
        resampled_games_go_on,
        bytes_and_copies,
        records_from_outside,
        batches_of_every_size,
        any_number_of_threads,
        single_steps,
        symmetries,
        notation,
        pictures,
        documentation,
        examples,
        exposed_names,
    )
}
