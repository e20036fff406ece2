"""Proof search over every reply, and the collection of positions with forced wins.

The engine's threat search looks at the answers that meet a threat at once. Here each of its wins is proved: the attacker
plays the move it names, the defender every legal move, and every line must end in the attacker's win by the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asobiba.api.seating import Seating
from asobiba.baselines.search.alpha_beta import Searcher
from asobiba.core import NotationError, Ruleset
from asobiba.core.states import is_over, legal_actions, step
from asobiba.envs.gogo import notation

WINS = Path(__file__).parent / "wins.txt"
_SHORTEST = 5
_PLAYERS = ("champion", "strong", "middle")
_OPENING = 4


@dataclass(frozen=True)
class Win:
    """A position in one line, the winning move, and the plies of the longest line."""

    position: str
    move: str
    plies: int


def after_all(ruleset: Ruleset, state: np.void, actions: np.ndarray) -> np.ndarray:
    """The states after each of these actions, `(k,)` records."""
    states = np.repeat(np.array([state], ruleset.dtype), len(actions))
    masks = np.zeros((len(actions), *ruleset.mask_shape), np.int8)
    ruleset.engine.write_masks(states, ruleset.params, masks)
    ruleset.engine.advance_all(states, ruleset.params, np.asarray(actions, np.int64), masks)
    return states


def prove(searcher: Searcher, state: np.void, most: int = 20_000) -> tuple[int, int]:
    """Plies of the longest line of a win that every reply has been tried against, and its first move; or (0, -1).

    Args:
        searcher: names the attacker's moves.
        most: positions of the attacker that may be looked at.
    """
    left = [most]

    def attack(state: np.void) -> tuple[int, int]:
        left[0] -= 1
        if left[0] < 0:
            return 0, -1
        mover = int(state["to_move"])
        found = searcher.search(state, depth=1)
        if found.proven <= 0:
            return 0, -1
        after = step(searcher.ruleset, state, found.action)
        if is_over(after):
            return int(after["rewards"][mover] > 0), found.action
        longest = 0
        children = after_all(searcher.ruleset, after, legal_actions(searcher.ruleset, after))
        over = (children["terminated"] != 0) | (children["truncated"] != 0)
        if (children["rewards"][over, mover] <= 0).any():
            return 0, -1
        longest = 2 if over.any() else 0
        for child in children[~over]:
            plies, _ = attack(child)
            if not plies:
                return 0, -1
            longest = max(longest, 2 + plies)
        return longest, found.action

    return attack(state)


def collect(ruleset: Ruleset, games: int, most: int, seed: int = 0) -> list[Win]:
    """Positions, distinct up to the symmetries of the board, whose win of five plies or more is proved.

    They come from games of references against themselves that begin with random stones around the centre; of each game
    the first such position is kept.
    """
    searcher = Searcher(ruleset, depth=1, solve_root=4000)
    generator = np.random.Generator(np.random.Philox(seed))
    wins: list[Win] = []
    seen: set[str] = set()
    for number, name in enumerate(_PLAYERS):
        count = games // len(_PLAYERS) + (number < games % len(_PLAYERS))
        seating = Seating(ruleset, count, opponent=name, seat=None, autoreset="disabled", threads=1)
        seeds = np.arange(count, dtype=np.uint64) + np.uint64(1000 * (seed + number))
        seating.begin_games(seeds, np.stack([seeds, seeds + np.uint64(500)], 1))
        running = np.ones(count, bool)
        for ply in range(ruleset.max_steps):
            if not running.any() or len(wins) == most:
                break
            for seat in (0, 1):
                seating.decide(seat, running)
            for i in np.flatnonzero(running) if ply < _OPENING else ():
                seating.actions[i] = generator.choice(_central(ruleset, seating.masks[i]))
            seating.advance(running)
            running &= (seating.states["terminated"] | seating.states["truncated"]) == 0
            for i in np.flatnonzero(running) if ply >= _OPENING else ():
                win = _win(searcher, seating.states[i], seen)
                if win is not None and len(wins) < most:
                    wins.append(win)
                    running[i] = False
        seating.close()
    return wins


def _central(ruleset: Ruleset, mask: np.ndarray) -> np.ndarray:
    """The legal points at most two from the centre."""
    n = notation.size_of(ruleset)
    legal = np.flatnonzero(mask)
    far = np.maximum(abs(legal // n - n // 2), abs(legal % n - n // 2))
    return legal[far <= 2]


def _win(searcher: Searcher, state: np.void, seen: set[str]) -> Win | None:
    """The proved win of a position that is not among those `seen`, turned or mirrored; they join them."""
    found = searcher.search(state, depth=1)
    if found.proven <= 0 or (found.plies_to_end or 0) < _SHORTEST:
        return None
    ruleset = searcher.ruleset
    form = canonical(ruleset, state)
    if form in seen:
        return None
    seen.add(form)
    plies, move = prove(searcher, state, 2000)
    if plies < _SHORTEST:
        return None
    return Win(notation.state_to_text(ruleset, state), notation.point_name(ruleset, move), plies)


def canonical(ruleset: Ruleset, state: np.void) -> str:
    """A text that positions share which are each other's image under the eight symmetries of the board."""
    stones = notation.stones_of(ruleset, state)
    images = [turned[::way] for turned in (np.rot90(stones, k) for k in range(4)) for way in (1, -1)]
    rest = f"{state['to_move']} {state['captured'].tolist()}"
    return min("".join(".xo"[k + 1] for k in image.ravel()) for image in images) + rest


def write_wins(wins: list[Win]) -> str:
    """Wins as text, one a line."""
    head = "# Positions with a forced win: position | winning move | plies of the longest line. Proved against every reply.\n"
    return head + "".join(f"{win.position} | {win.move} | {win.plies}\n" for win in wins)


def read_wins(path: Path = WINS) -> list[Win]:
    """The wins of a file.

    Raises:
        NotationError: naming the line that is none.
    """
    wins = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not parts[2].isdigit():
            raise NotationError(f"{path}, line {number}: expected position | move | plies, not {line!r}")
        wins.append(Win(parts[0], parts[1], int(parts[2])))
    return wins
