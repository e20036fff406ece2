"""Records of a game with changed bytes, thrown at its kernel `valid` and, where that lets them pass, at its rules."""

from __future__ import annotations

import numpy as np

from asobiba.core.game import Ruleset
from asobiba.core.states import seed_states

GAMES, STEPS = 32, 150


def draw(masks: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A uniform legal action of each mask, `(n,)`; 0 where there is none."""
    return np.array([generator.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks], np.int64)


def reached_states(ruleset: Ruleset, seed: int = 1) -> np.ndarray:
    """Every state of random games, their ends included: `(n,)` records."""
    engine, params, generator = ruleset.engine, ruleset.params, np.random.default_rng(seed)
    states, masks = ruleset.zeros(GAMES), np.zeros((GAMES, *ruleset.mask_shape), np.int8)
    seed_states(states, seed)
    engine.begin_all(states, params, ruleset.zeros())
    found = [states.copy()]
    for _ in range(STEPS):
        engine.write_masks(states, params, masks)
        if not masks.any():
            break
        engine.advance_all(states, params, draw(masks, generator), masks)
        found.append(states.copy())
    return np.concatenate(found)


def changed(states: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """`count` of these records with one to three bytes changed, everywhere in the record, mostly near its beginning."""
    records = states[generator.integers(len(states), size=count)].copy()
    raw = records.view(np.uint8).reshape(count, -1)
    for row in raw:
        for _ in range(generator.integers(1, 4)):
            at = int(len(row) * generator.random() ** generator.choice([1, 3]))
            row[at] = generator.choice([0, 1, 2, row[at] ^ 1, 127, 128, 255, generator.integers(256)])
    return records


def try_records(ruleset: Ruleset, count: int = 5000, seed: int = 2) -> tuple[int, int]:
    """Asserts that reached states are valid, and that what is valid can be played on, seen, hidden and drawn anew.

    Returns how many of the changed records were valid, and how many were not.
    """
    generator, engine, params = np.random.default_rng(seed), ruleset.engine, ruleset.params

    def valid(records: np.ndarray) -> np.ndarray:
        found = np.zeros(len(records), np.uint8)
        engine.valid_all(records, params, found)
        return found != 0

    states = reached_states(ruleset)
    assert valid(states).all(), f"a state of random play is not valid: {states[~valid(states)][0]}"
    assert not valid(np.frombuffer(generator.bytes(500 * ruleset.dtype.itemsize), ruleset.dtype).copy()).any()
    records = changed(states, count, generator)
    good = valid(records)
    records = np.ascontiguousarray(records[good])
    masks = np.zeros((len(records), *ruleset.mask_shape), np.int8)
    engine.write_masks(records, params, masks)
    over = (records["terminated"] != 0) | (records["truncated"] != 0)
    assert (masks.any(axis=1) != over).all(), "a valid state of a game that goes on has legal actions"
    for seat in range(ruleset.num_players):
        seats = np.full(len(records), seat)
        seen = np.zeros((len(records), ruleset.observation_size), ruleset.observation_space.dtype)
        engine.observe_all(records, params, seats, seen)
        assert all(ruleset.observation_space.contains(row) for row in seen)
        views = records.copy()
        engine.hide_all(views, params, seats)
        drawn = views.copy()
        engine.resample_all(drawn, params, seats)
        if ruleset.hidden:
            assert valid(drawn).all(), f"what is drawn anew is not a state: {drawn[~valid(drawn)][0]}"
        engine.hide_all(drawn, params, seats)
        assert drawn.tobytes() == views.tobytes()
    engine.advance_all(records, params, draw(masks, generator), masks)
    assert valid(records).all(), f"a valid state led to one that is not: {records[~valid(records)][0]}"
    return int(good.sum()), int((~good).sum())
